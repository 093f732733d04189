#!/usr/bin/env node
// What CI runs before every landing: all tests, on all versions of Node, in a browser and with the real agent CLIs. Says what each step took,
// and last of all what failed: of a long log often only the end is kept.
//   npm run test:all [-- --only rest,hosts] [-- --without test]
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { nodeOf } from './nodes.mjs';

const { values } = parseArgs({ options: { only: { type: 'string' }, without: { type: 'string' } } });

const found = mkdtempSync(join(tmpdir(), 'ralph-test-all-'));
const results = join(found, 'results.json');
process.on('exit', () => rmSync(found, { recursive: true, force: true }));
const reported = ['--reporter=default', '--reporter=json', `--outputFile=${results}`];
const npm = (name, ...args) => ['npm', ['run', name, ...(args.length > 0 ? ['--', ...args] : [])]];

/** Each with the environment that it needs beside ours. */
const STEPS = [
  { name: 'test', command: npm('test', ...reported) },
  { name: 'build', command: npm('build') },
  { name: 'rest', command: ['npx', ['vitest', 'run', ...reported]], level: 'rest' },
  ...[22, 24].map(version => ({ name: `node${version}`, command: npm('test:core', ...reported), version })),
  { name: 'browser', command: npm('test:browser', ...reported) },
  { name: 'agents', command: npm('hosts:install') },
  { name: 'hosts', command: npm('test:hosts', ...reported) },
];

const wanted = values.only?.split(',');
const unwanted = values.without?.split(',') ?? [];
const took = [];
for (const { name, command, version, level } of STEPS) {
  if (unwanted.includes(name) || (wanted && !wanted.includes(name))) continue;
  const began = Date.now();
  rmSync(results, { force: true });
  const env = version === undefined ? { ...process.env, RALPH_LEVEL: level ?? '' } : withNode(version);
  const { status } = env ? spawnSync(...command, { stdio: 'inherit', env }) : { status: 1 };
  took.push(`${((Date.now() - began) / 60_000).toFixed(1).padStart(6)} min  ${name}`);
  if (status === 0) continue;
  process.exitCode = status ?? 1;
  const failed = failedTests();
  took.push(`        FAILED: ${name}`, ...failed);
  // A test that fails says nothing of the later steps; what cannot be built or installed does.
  if (failed.length === 0) break;
}
console.log(`\n${took.join('\n')}`);

/** Each with the beginning of why. */
function failedTests() {
  let files;
  try {
    files = JSON.parse(readFileSync(results, 'utf8')).testResults;
  } catch {
    return []; // not a step of tests, or it did not come so far
  }
  return files
    .filter(({ status }) => status === 'failed')
    .flatMap(({ name, message, assertionResults }) => {
      const tests = assertionResults.filter(({ status }) => status === 'failed');
      const words = tests.map(test => `${test.fullName}: ${shortly(test.failureMessages[0])}`);
      const place = relative(process.cwd(), name);
      return (words.length > 0 ? words : [shortly(message)]).map(text => `        ${place}: ${text}`);
    });
}

function shortly(text = '') {
  return text.replaceAll(/\s+/g, ' ').slice(0, 600);
}

/** With another version of Node; undefined: it could not be had. */
function withNode(version) {
  const bin = nodeOf(version);
  if (bin === undefined) console.error(`not Node ${version}`);
  return bin && { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
}
