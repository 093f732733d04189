/** Settings of another version: what they are called now, and how a file is changed. */
import { describe, expect, test } from 'vitest';
import { parseSettings } from '../../src/config/load.ts';
import { migrateSettings } from '../../src/config/migrate.ts';
import { parseYaml } from '../../src/config/yaml.ts';
import { formatProblem } from '../../src/domain/text/problem.ts';

const NAME = '.ralph/settings.json';
const words = (problems: ReturnType<typeof parseSettings>['problems']) => problems.map(formatProblem);
const wrongIn = (value: unknown) => words(parseSettings(JSON.stringify(value), NAME).problems);

function migrated(source: string, isJson = true) {
  const found = migrateSettings(source, NAME, isJson);
  if (!('diff' in found)) throw new Error(words(found).join('\n'));
  return found;
}

function refused(source: string, isJson = true) {
  const found = migrateSettings(source, NAME, isJson);
  if ('diff' in found) throw new Error(found.text);
  return words(found);
}

describe('a version', () => {
  test('is 1 where there is none, and is no setting', () => {
    for (const version of [{}, { version: 1 }, { $schema: 'x', version: 1 }])
      expect(parseSettings(JSON.stringify({ ...version, maxCost: 2 }), NAME)).toEqual({
        layer: { maxCost: 2 },
        problems: [],
      });
  });

  test('of a later Ralph is refused in one sentence, whatever else the file holds', {
    tags: 'P-settings-version',
  }, () => {
    const update = '(update Ralph: npm install -g @ralph-loop/ralph)';
    const later = (where: string) => [
      `${where}: has version 2 of the settings, and this Ralph knows version 1 ${update}`,
    ];
    expect(wrongIn({ version: 2, whatever: true, maxCost: 'x' })).toEqual(later(NAME));
    expect(refused('{"version": 2, "whatever": true}')).toEqual(later(NAME));
    const yaml = 'ralph_loop:\n  whatever: 1\n  version: 2\n';
    expect(words(parseYaml(yaml, 'loop.yaml').problems)).toEqual(later('loop.yaml:3'));
  });

  test.each([0, -1, 1.5, '1', null, [1], 1e300])('%j is none', version => {
    expect(wrongIn({ version })).toEqual([expect.stringMatching(/: version: must be a whole number/)]);
  });
});

describe('an unknown key', () => {
  test.each([
    ['maxIterations', 'maximumIterations'],
    ['max_iterations', 'maximumIterations'],
    ['max-cost', 'maxCost'],
    ['check', 'checks'],
    ['verifyCommands', 'checks'],
    ['completion_promise', 'completionTag'],
  ])('%s names what it is called: %s', { tags: 'P-settings-version' }, (key, now) => {
    const fix = `(it is ${now}; \`ralph migrate\` renames it)`;
    expect(wrongIn({ [key]: 1 })).toEqual([`${NAME}: ${key}: unknown setting ${fix}`]);
  });

  test('that nobody knows gets the nearest one, or none', () => {
    expect(wrongIn({ maxCots: 1 })).toEqual([expect.stringContaining('did you mean maxCost?')]);
    expect(wrongIn({ __proto__x: 1, constructor: 2 })).toHaveLength(2);
  });

  test('in YAML is named as it is there', () => {
    const { problems } = parseYaml('ralph_loop:\n  maximumIterations: 3\n', 'my loop.yaml');
    expect(words(problems)).toEqual([
      'my loop.yaml:2: unknown setting maximumIterations (it is max_iterations; `ralph migrate my loop.yaml` renames it)',
    ]);
  });
});

describe('a file is changed in its words alone', () => {
  test.each([
    [
      'as init writes it',
      '{\n  "maxIterations": 3\n}\n',
      '{\n  "version": 1,\n  "maximumIterations": 3\n}\n',
    ],
    ['with tabs', '{\n\t"check": "npm test"\n}', '{\n\t"version": 1,\n\t"checks": ["npm test"]\n}'],
    ['in one line', '{"max_cost":1,"agent":"x"}', '{"version": 1, "maxCost":1,"agent":"x"}'],
    ['with spaces', '{ "maxCost": 1 }', '{ "version": 1, "maxCost": 1 }'],
    [
      'with line breaks of Windows',
      '{\r\n  "keep": "last"\r\n}',
      '{\r\n  "version": 1,\r\n  "keep": "last"\r\n}',
    ],
    ['with line breaks of old', '{\r"max_cost": 1\r}\r', '{\r"version": 1,\r"maxCost": 1\r}\r'],
    ['with a mark at its beginning', '\ufeff{ "max-cost": 1 }', '\ufeff{ "version": 1, "maxCost": 1 }'],
    ['with escapes', '{"max\\u005fcost": 1}', '{"version": 1, "maxCost": 1}'],
    ['that is empty', '{}', '{}'],
    ['that is as it should be', '{"version":1,"maxCost":1}', '{"version":1,"maxCost":1}'],
  ])('JSON %s', (_, before, after) => {
    expect(migrated(before).text).toBe(after);
    expect(migrated(after)).toEqual({ text: after, renamed: [], diff: '' });
  });

  test('YAML with its comments', () => {
    const before = '# mine\nralph_loop:\n  # how often\n  maxIterations: 3 # enough\n  check: npm test\n';
    const { text, renamed } = migrated(before, false);
    expect(text).toBe(
      '# mine\nralph_loop:\n  # how often\n  version: 1\n  max_iterations: 3 # enough\n  checks: ["npm test"]\n',
    );
    expect(renamed).toEqual([
      { from: 'maxIterations', to: 'max_iterations' },
      { from: 'check', to: 'checks' },
    ]);
    expect(migrated('ralph_loop: {maxIterations: 3}\n', false).text).toBe(
      'ralph_loop: {version: 1, max_iterations: 3}\n',
    );
  });

  test('JSON that a loop is given stays JSON', () => {
    const { text } = migrated('{"ralph_loop": {"maxIterations": 3}}\n', false);
    expect(text).toBe('{"ralph_loop": {"version": 1, "max_iterations": 3}}\n');
  });

  test('and the diff shows them, with what is around', () => {
    const lines = Array.from({ length: 12 }, (_, at) => `    "m${at}": { "input": 1, "output": 1 }`);
    const before = `{\n  "version": 1,\n  "prices": {\n${lines.join(',\n')}\n  },\n  "maxIterations": 3\n}`;
    expect(migrated(before).diff).toBe(
      `--- ${NAME}
+++ ${NAME}
@@ -15,4 +15,4 @@
     "m11": { "input": 1, "output": 1 }
   },
-  "maxIterations": 3
+  "maximumIterations": 3
 }
\\ No newline at end of file
`.replace('@@ -15,4 +15,4 @@\n', '@@ -14,5 +14,5 @@\n     "m10": { "input": 1, "output": 1 },\n'),
    );
  });
});

test('where something is wrong, all of it is said and nothing is changed', () => {
  expect(refused('{"maxIterations": 3, "maximumIterations": 4}')).toEqual([
    `${NAME}: maxIterations: stands beside maximumIterations, which is the same (remove one of them)`,
  ]);
  expect(refused('{"maxIterations": 0, "nobodyKnows": 1}')).toHaveLength(2);
  expect(refused('{"maxIterations": 3,}')).toEqual([expect.stringContaining('is not valid JSON')]);
  expect(refused('[]')).toEqual([expect.stringContaining('must hold a JSON object')]);
  expect(refused('other:\n  maxIterations: 3\n', false)).toEqual([expect.stringContaining('other')]);
  expect(refused(`{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`)).toHaveLength(1);
});
