/** Two views of the settings table: the JSON schema that editors use, and the reference that people read. */

import { SETTINGS_VERSION } from '../../src/config/names.ts';
import type { Setting } from '../../src/config/setting.ts';
import { GROUPS, SETTINGS } from '../../src/config/settings.ts';
import { VERSION } from '../../src/platform/version.ts';

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
      version: {
        type: 'integer',
        minimum: 1,
        maximum: SETTINGS_VERSION,
        description: 'The version of these settings.',
        default: 1,
      },
      ...Object.fromEntries(SETTINGS.map(row => [row.key, property(row)])),
    },
  };
}

function property({ kind, help, default: fallback }: Setting): Readonly<Record<string, unknown>> {
  return { ...kind.schema, description: help, ...(fallback !== undefined && { default: fallback }) };
}

/** One for all commands, or `loop: --max-cost <usd>`, each as code. */
function byCommand(each: Readonly<Record<string, string>>): string {
  const [first = '', ...others] = Object.values(each);
  if (others.length > 0 && others.every(text => text === first)) return `\`${first}\``;
  return Object.entries(each)
    .map(([command, text]) => `${command}: \`${text}\``)
    .join(', ');
}

function defaultWords({ default: one, defaults }: Setting): string {
  if (defaults === undefined) return one === undefined ? 'none' : `\`${JSON.stringify(one)}\``;
  const texts = Object.entries(defaults).map(([command, value]) => [command, JSON.stringify(value)]);
  return byCommand(Object.fromEntries(texts));
}

/** Not a table: five columns cannot be read on a narrow screen. */
function entry(row: Setting): string {
  const flag = row.flag ? `\n- flag: ${byCommand(row.flag)}` : '';
  return `### \`${row.key}\`
${prose(row.help)}

- holds: ${prose(row.kind.words)}
- default: ${defaultWords(row)}${flag}
`;
}

export function buildReference(): string {
  const groups = Object.entries(GROUPS).map(
    ([title, rows]) => `## ${title}\n\n${rows.map(entry).join('\n')}`,
  );
  return `# Settings

Generated from \`src/config/rows/\`; \`npm run generate\` writes it.

\`.ralph/settings.json\` is shared with the project, \`.ralph/settings.local.json\` is yours. The second is laid over the first, and
flags over both: scalars override, lists replace, objects merge. An unknown key is an error. A flag that names a command, such as \`prd:\`, belongs to that command only.

For completion in an editor, \`$schema\` names the settings of this version:

\`\`\`json
{ "$schema": "${SCHEMA_ADDRESS}" }
\`\`\`

or \`"../node_modules/@ralph-loop/ralph/schema/settings.schema.json"\` those of the one that is installed.

\`"version": ${SETTINGS_VERSION}\` says for which version of the settings a file is written; without it that is 1. A file for a later version is refused. A key that has another
name is named with it, and [\`ralph migrate\`](stability.md#bring-your-settings-up-to-date) renames it.

${groups.join('\n')}`;
}

/** Nothing in it is a tag or emphasis. */
function prose(text: string): string {
  return text.replaceAll('<', '&lt;').replaceAll('*', '\\*');
}
