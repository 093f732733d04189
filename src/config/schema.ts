/** Two views of the settings table: the JSON schema that editors use, and the reference that people read. */
import { VERSION } from '../platform/version.ts';
import type { Setting } from './setting.ts';
import { SETTINGS } from './settings.ts';

/** Of this version: what a later one adds or takes away does not change it. */
const SCHEMA_ADDRESS = `https://unpkg.com/@ralph-loop/ralph@${VERSION}/schema/settings.schema.json`;

export function buildSchema(): Readonly<Record<string, unknown>> {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: SCHEMA_ADDRESS,
    title: 'Ralph settings',
    description: '.ralph/settings.json and .ralph/settings.local.json',
    type: 'object',
    additionalProperties: false,
    properties: {
      $schema: { type: 'string' },
      ...Object.fromEntries(SETTINGS.map(row => [row.key, property(row)])),
    },
  };
}

function property({ kind, help, default: fallback }: Setting): Readonly<Record<string, unknown>> {
  return { ...kind.schema, description: help, ...(fallback !== undefined && { default: fallback }) };
}

/** One value for all commands, or `run: 10, loop: 25`. */
function byCommand(one: unknown, each: Readonly<Record<string, unknown>> | undefined): string {
  if (each === undefined) return one === undefined ? '' : `\`${JSON.stringify(one)}\``;
  return Object.entries(each)
    .map(([command, value]) => `${command}: \`${JSON.stringify(value)}\``)
    .join(', ');
}

function flagCell(flag: Setting['flag']): string {
  const flags = Object.entries(flag ?? {});
  const [first] = flags;
  if (!first) return '';
  if (flags.length > 1 && flags.every(([, text]) => text === first[1])) return `\`${cell(first[1])}\``;
  return flags.map(([command, text]) => `${command}: \`${cell(text)}\``).join(', ');
}

export function buildReference(): string {
  const rows = SETTINGS.map(
    row =>
      `| \`${row.key}\` | ${cell(row.kind.words)} | ${byCommand(row.default, row.defaults)} | ${flagCell(row.flag)} | ${cell(row.help)} |`,
  );
  return `# Settings

Generated from \`src/config/rows/\`; \`npm run generate\` writes it.

\`.ralph/settings.json\` is shared with the project, \`.ralph/settings.local.json\` is yours. The second is laid over the first, and
flags over both: scalars override, lists replace, objects merge. An unknown key is an error. For completion in an editor:
\`"$schema": "${SCHEMA_ADDRESS}"\`, the settings of this version; or \`"../node_modules/@ralph-loop/ralph/schema/settings.schema.json"\`, those of the one that is installed.

| setting | what it holds | default | flag | meaning |
|---|---|---|---|---|
${rows.join('\n')}
`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
}
