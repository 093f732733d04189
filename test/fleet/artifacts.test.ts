import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { HIDDEN } from '../../src/domain/text/secret-formats.ts';
import { createRedactor } from '../../src/domain/text/secrets.ts';
import { collectArtifacts, isArtifact } from '../../src/fleet/artifacts.ts';
import { folder } from '../rig/repo.ts';

const REDACT = createRedactor({ MY_API_KEY: 'a-secret-of-mine-4711' });

function runFolder(files: Readonly<Record<string, string>>) {
  const { dir } = folder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(dir, name, '..'), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
  return { folder: dir, run: join(dir, 'run.json'), task: join(dir, 'task.md') };
}

test('what a report shows is collected, without secrets, and nothing else', () => {
  const run = runFolder({
    'run.json': '{}',
    'events.jsonl': 'x',
    'iterations/0001/agent.jsonl': 'x',
    'iterations/0001/prompt.md': 'with a-secret-of-mine-4711 in it',
    'iterations/0001/checks/npm_test.log': 'red',
  });
  const found = collectArtifacts(run, REDACT);
  expect(Object.fromEntries(found.map(({ name, content }) => [name, content]))).toEqual({
    'run.json': '{}',
    'iterations/0001/prompt.md': `with ${HIDDEN} in it`,
    'iterations/0001/checks/npm_test.log': 'red',
  });
});

test('a long file is cut at the end that matters less, and says so; what a program reads is whole or not there', () => {
  const run = runFolder({
    'run.json': `"${'x'.repeat(1024 * 1024)}"`,
    'iterations/0001/changes.diff': `head ${'x'.repeat(200_000)}`,
    'iterations/0001/checks/check.log': `${'x'.repeat(50_000)} tail`,
  });
  const [diff, log] = collectArtifacts(run, REDACT);
  expect(diff?.content).toMatch(/^head x+\n\[5 bytes more stayed on the worker\]\n$/);
  expect(log?.content).toMatch(/^\[5 bytes more stayed on the worker\]\nx+ tail$/);
});

test('of many iterations the latest are kept', () => {
  const numbers = Array.from({ length: 60 }, (_, at) => String(at + 1).padStart(4, '0'));
  const run = runFolder(
    Object.fromEntries(numbers.map(number => [`iterations/${number}/prompt.md`, 'x'.repeat(100_000)])),
  );
  const names = collectArtifacts(run, REDACT).map(({ name }) => name);
  expect(names).toEqual(
    numbers
      .slice(-41)
      .reverse()
      .map(number => `iterations/${number}/prompt.md`),
  );
});

test('links lead nowhere', () => {
  const run = runFolder({ 'task.md': 'x' });
  const { dir: other } = folder();
  mkdirSync(join(other, '0001'));
  writeFileSync(join(other, '0001/prompt.md'), 'private');
  symlinkSync(other, join(run.folder, 'iterations'));
  symlinkSync(join(other, '0001/prompt.md'), join(run.folder, 'progress.md'));
  expect(collectArtifacts(run, REDACT).map(({ name }) => name)).toEqual(['task.md']);
});

test.each([
  '../run.json',
  '/task.md',
  'iterations/0001/../../x/prompt.md',
  'iterations/0001/checks/../x.log',
  'events.jsonl',
])('%s is no name of ours', name => expect(isArtifact(name)).toBe(false));
