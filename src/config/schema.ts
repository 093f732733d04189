/** Two views of the settings table: the JSON schema that editors use, and the reference that people read. */
import { SETTINGS, type Setting } from './settings.ts';

export function settingsSchema(): Readonly<Record<string, unknown>> {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
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

export function settingsReference(): string {
  const rows = SETTINGS.map(
    ({ key, kind, help, flag, default: fallback }) =>
      `| \`${key}\` | ${cell(kind.words)} | ${fallback === undefined ? '' : `\`${JSON.stringify(fallback)}\``} | ${flag ? `\`${cell(flag)}\`` : ''} | ${cell(help)} |`,
  );
  return `# Settings

Generated from \`src/config/settings.ts\`; \`npm run generate\` writes it anew.

\`.ralph/settings.json\` is shared with the project, \`.ralph/settings.local.json\` is yours. The second is laid over the first, and
flags over both: scalars override, lists replace, objects merge. An unknown key is an error. For completion in an editor:
\`"$schema": "../node_modules/@ralph-loop/ralph/schema/settings.schema.json"\`.

| setting | what it holds | default | flag | meaning |
|---|---|---|---|---|
${rows.join('\n')}
`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
}
