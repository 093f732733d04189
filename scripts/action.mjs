// What action.yml runs: turns its inputs into arguments, runs `ralph loop`, and passes the result and the proof to the job.
import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const bin = join(dirname(fileURLToPath(import.meta.url)), '../dist/bin/ralph.cjs');
const input = name => (process.env[`RALPH_ACTION_${name}`] ?? '').trim();
const lines = name =>
  input(name)
    .split('\n')
    .map(line => line.trim())
    .filter(Boolean);
const flag = (name, value) => (value === '' ? [] : [`--${name}=${value}`]);

const args = [
  'loop',
  '--json',
  ...lines('CHECKS').map(check => `--check=${check}`),
  ...lines('PROTECT').map(glob => `--protect=${glob}`),
  ...flag('spec', input('SPEC')),
  ...flag('agent', input('AGENT')),
  ...flag('model', input('MODEL')),
  ...flag('max-iterations', input('MAX_ITERATIONS')),
  ...flag('max-cost', input('MAX_COST')),
  ...flag('max-time', input('MAX_TIME')),
  ...flag('mutate-min', input('MUTATE_MIN')),
  ...flag('junit', input('JUNIT')),
  // Behind the two dashes a task may begin with one.
  ...(input('TASK') === '' ? [] : ['--', input('TASK')]),
];
const { status, stdout } = spawnSync(process.execPath, [bin, ...args], {
  stdio: ['ignore', 'pipe', 'inherit'],
  maxBuffer: 1e9,
});
const result = stdout.toString().trim();
if (process.env.GITHUB_OUTPUT && result.startsWith('{')) {
  // Written anew, so that no line of it can set another output.
  const parsed = JSON.parse(result);
  const reason = String(parsed.stopReason).replace(/\W/g, '');
  const outputs = [`result=${JSON.stringify(parsed)}`, `stop-reason=${reason}`, ...bundleOf(parsed.runId)];
  appendFileSync(process.env.GITHUB_OUTPUT, outputs.map(line => `${line}\n`).join(''));
}
process.exitCode = status ?? 1;

/** In a folder that did not exist while the agent worked. */
function bundleOf(run) {
  if (input('BUNDLE') === '') return [];
  const file = join(mkdtempSync(join(process.env.RUNNER_TEMP || tmpdir(), 'ralph-proof-')), 'run.proof');
  const made = spawnSync(process.execPath, [bin, 'report', String(run), `--bundle=${file}`, '--quiet'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return made.status === 0 ? [`bundle=${file}`] : [];
}
