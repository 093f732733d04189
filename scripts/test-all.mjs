#!/usr/bin/env node
// What CI runs before every landing: all tests, on all versions of Node, in a browser and with the real agent CLIs. Says what each step took,
// and last of all what failed: of a long log often only the end is kept.
//   npm run test:all [-- --only rest,hosts] [-- --without test]
import { spawn } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { nodeOf } from './nodes.mjs';

const { values } = parseArgs({ options: { only: { type: 'string' }, without: { type: 'string' } } });

const found = mkdtempSync(join(tmpdir(), 'ralph-test-all-'));
process.on('exit', () => rmSync(found, { recursive: true, force: true }));
const resultsOf = name => join(found, `${name}.json`);
const npm = script => ['npm', ['run', script]];
const tests = (name, program, ...args) => ({
  name,
  command: [program, [...args, '--reporter=default', '--reporter=json', `--outputFile=${resultsOf(name)}`]],
});

/** Each with the environment that it needs beside ours. `isBeside`: it waits for most of its time, so the next steps do not wait for it, but one that `needs` it. */
const STEPS = [
  { name: 'agents', command: npm('hosts:install'), isBeside: true },
  { name: 'test', command: npm('test') },
  { name: 'build', command: npm('build') },
  { ...tests('rest', 'npx', 'vitest', 'run'), level: 'rest' },
  // What a function answers, and what becomes of the variants of a promise, on the oldest and on the newest version, it is on the one between.
  {
    ...tests('node22', 'npm', 'run', 'test:core', '--', '--project', 'programs'),
    version: 22,
    level: 'quick',
  },
  { ...tests('node24', 'npm', 'run', 'test:core', '--'), version: 24 },
  {
    ...tests('browser', 'npx', 'vitest', 'run', '--config', 'test/browser/vitest.config.ts'),
    isBeside: true,
  },
  { ...tests('hosts', 'node', 'test/hosts/run.mjs'), needs: 'agents' },
];

const wanted = values.only?.split(',');
const unwanted = values.without?.split(',') ?? [];
const took = [];
const beside = new Map();
for (const step of STEPS) {
  if (unwanted.includes(step.name) || (wanted && !wanted.includes(step.name))) continue;
  if ((await beside.get(step.needs)) === 'broken') continue;
  if (step.isBeside) beside.set(step.name, run(step));
  // A test that fails says nothing of the later steps; what cannot be built or installed does.
  else if ((await run(step)) === 'broken') break;
}
await Promise.all(beside.values());
console.log(`\n${took.join('\n')}`);

async function run({ name, command, version, level, isBeside }) {
  const began = Date.now();
  const path = version === undefined ? process.env.PATH : pathWith(version);
  const env = path && { ...process.env, RALPH_LEVEL: level ?? '', PATH: path };
  // Two that print at a time are printed one after the other.
  const log = join(found, `${name}.log`);
  const print = isBeside ? openSync(log, 'w') : 'inherit';
  const status = env ? await ended(spawn(...command, { stdio: ['inherit', print, print], env })) : 1;
  if (isBeside) writeSync(1, readFileSync(log));
  took.push(`${((Date.now() - began) / 60_000).toFixed(1).padStart(6)} min  ${name}`);
  if (status === 0) return 'passed';
  process.exitCode = status ?? 1;
  const failed = failedTests(resultsOf(name));
  took.push(`        FAILED: ${name}`, ...failed);
  return failed.length === 0 ? 'broken' : 'failed';
}

function ended(child) {
  return new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
}

/** Each with the beginning of why. */
function failedTests(results) {
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

/** Where another version of Node comes first; undefined: it could not be had. */
function pathWith(version) {
  const bin = nodeOf(version);
  if (bin === undefined) console.error(`not Node ${version}`);
  return bin && `${bin}${delimiter}${process.env.PATH}`;
}
