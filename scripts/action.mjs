// What action.yml runs: turns its inputs into arguments, runs `ralph loop`, and passes the result and the proof to the job.
// The agent is hostile: nothing it prints is obeyed, and nothing it writes into the files of the runner is left there.
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { fileURLToPath } from 'node:url';

const bin = join(dirname(fileURLToPath(import.meta.url)), '../dist/bin/ralph.cjs');
const input = name => (process.env[`RALPH_ACTION_${name}`] ?? '').trim();
const lines = name =>
  input(name)
    .split('\n')
    .map(line => line.trim())
    .filter(Boolean);
const flag = (name, value) => (value === '' ? [] : [`--${name}=${value}`]);

/** Written into by whoever runs in a step, and read by the runner when it is over. */
const FILES = ['GITHUB_OUTPUT', 'GITHUB_ENV', 'GITHUB_PATH', 'GITHUB_STATE', 'GITHUB_STEP_SUMMARY'];
const NOT_PASSED_ON = /^(?:GITHUB_TOKEN|GH_TOKEN|ACTIONS_.*|INPUT_.*|RALPH_ACTION_.*)$/;
/** The summary may have 1 MiB, the outputs of a job as much. */
const LONGEST = 900_000;
/** Milliseconds. The runner gives a step ten seconds from its first signal to its end. */
const ASK_AGAIN = 250;
const PATIENCE = 5_000;

process.exitCode = await main();

async function main() {
  if (!existsSync(bin)) {
    console.log(
      '::error::This is the source of Ralph, not a release: use a tag such as @v0.3.0, or @release.',
    );
    return 2;
  }
  const before = new Map(FILES.map(name => [name, contentOf(process.env[name])]));
  const { code, stdout, stopped } = await runLoop(argumentsOf(), cleanEnv());
  const result = parsed(stdout);
  const left = result?.runId ? leave(String(result.runId)) : {};
  const outputs = {
    result: shortened(result),
    'run-id': String(result?.runId ?? ''),
    'stop-reason': reasonOf(result, stopped, code),
    cost: String(result?.totalCost ?? ''),
    report: left.report ?? '',
    bundle: left.bundle ?? '',
  };
  // Last, when nothing of the agent is left: as they were, and what is ours.
  for (const [name, content] of before) rewrite(process.env[name], content);
  append(process.env.GITHUB_OUTPUT, Object.entries(outputs).map(heredoc).join(''));
  append(process.env.GITHUB_STEP_SUMMARY, left.summary ?? '');
  if (result?.proof?.contained === 'none')
    console.log(
      '::warning::Nothing contains the agent here: it can read the variables of this step. Set sandbox.',
    );
  return code;
}

function argumentsOf() {
  return [
    'loop',
    '--json',
    ...lines('CHECKS').map(check => `--check=${check}`),
    ...lines('PROTECT').map(glob => `--protect=${glob}`),
    ...flag('spec', input('SPEC')),
    ...flag('config', input('SETTINGS')),
    ...flag('agent', input('AGENT')),
    ...flag('model', input('MODEL')),
    ...flag('fallback', input('FALLBACK')),
    ...flag('max-iterations', input('MAX_ITERATIONS')),
    ...flag('max-cost', input('MAX_COST')),
    ...flag('max-tokens', input('MAX_TOKENS')),
    ...flag('max-time', input('MAX_TIME')),
    ...flag('mutate-min', input('MUTATE_MIN')),
    ...flag('junit', input('JUNIT')),
    ...(input('SANDBOX') === ''
      ? []
      : input('SANDBOX') === 'none'
        ? ['--no-sandbox']
        : flag('sandbox', input('SANDBOX'))),
    ...lines('ARGS'),
    // Behind the two dashes a task may begin with one.
    ...(input('TASK') === '' ? [] : ['--', input('TASK')]),
  ];
}

function cleanEnv() {
  const kept = lines('KEEP_ENV');
  const isPassedOn = name => kept.includes(name) || !(FILES.includes(name) || NOT_PASSED_ON.test(name));
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => isPassedOn(name)));
}

/** All that people see goes through one stream, which obeys no command from its start to its end. */
async function runLoop(args, env) {
  const token = randomUUID();
  process.stdout.write(`\n::stop-commands::${token}\n`);
  const child = spawn(process.execPath, [bin, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const chunks = [];
  child.stdout.on('data', chunk => chunks.push(chunk));
  const disarm = createDisarm();
  child.stderr.on('data', chunk => process.stdout.write(disarm(chunk)));
  let stopped = false;
  // The second request ends everything at once.
  const stop = () => {
    if (stopped) return;
    stopped = true;
    child.kill('SIGTERM');
    const again = setInterval(() => child.kill('SIGTERM'), ASK_AGAIN);
    const kill = setTimeout(() => child.kill('SIGKILL'), PATIENCE);
    child.once('close', () => {
      clearInterval(again);
      clearTimeout(kill);
    });
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop);
  const code = await new Promise(resolve =>
    child.on('close', status => resolve(status ?? (stopped ? 130 : 1))),
  );
  process.stdout.write(`\n::${token}::\n`);
  return { code, stopped, stdout: Buffer.concat(chunks).toString().trim() };
}

/** Both forms of a command, wherever they stand: with a mark of no width inside they read the same and are none. */
function createDisarm() {
  const decoder = new StringDecoder('utf8');
  let last = '';
  return chunk => {
    const text = decoder.write(chunk).replace(/\r\n?/g, '\n');
    const marked = (last + text)
      .replace(/:(?=:)/g, ':\u200b')
      .replace(/#(?=#)/g, '#\u200b')
      .replace(/#(?=\[)/g, '#\u200b');
    const shown = last === '' ? marked : marked.slice(last.length);
    last = text.at(-1) ?? last;
    return shown;
  };
}

function parsed(stdout) {
  try {
    const value = JSON.parse(stdout);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function reasonOf(result, stopped, code) {
  if (result?.stopReason) return String(result.stopReason).replace(/\W/g, '');
  return stopped ? 'interrupted' : code === 2 ? 'invalid_config' : 'agent_failed';
}

function shortened(result) {
  const whole = JSON.stringify(result ?? {});
  return whole.length <= LONGEST ? whole : JSON.stringify({ ...result, iterations: [] });
}

/** In a folder that did not exist while the agent worked. */
function leave(run) {
  const temp = process.env.RUNNER_TEMP || tmpdir();
  mkdirSync(temp, { recursive: true }); // an agent can remove it
  const folder = mkdtempSync(join(temp, 'ralph-proof-'));
  const make = (...args) => {
    const made = spawnSync(process.execPath, [bin, 'report', run, '--quiet', ...args], {
      env: cleanEnv(),
      maxBuffer: 1e9,
    });
    process.stdout.write(createDisarm()(made.stderr ?? Buffer.alloc(0)));
    return made.status === 0 ? made.stdout.toString() : undefined;
  };
  const [bundle, report] = [join(folder, 'run.proof'), join(folder, 'report.html')];
  return {
    ...(input('BUNDLE') !== '' && make(`--bundle=${bundle}`) !== undefined && { bundle }),
    ...(make(`--output=${report}`) !== undefined && { report }),
    summary: (make('--format=md') ?? '').slice(0, LONGEST),
  };
}

function contentOf(path) {
  return path && existsSync(path) ? readFileSync(path) : '';
}

/** Not through what the agent may have put in its place. */
function rewrite(path, content) {
  if (!path) return;
  rmSync(path, { recursive: true, force: true });
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content, { flag: 'wx' });
}

function append(path, content) {
  if (path) rewrite(path, Buffer.concat([Buffer.from(contentOf(path)), Buffer.from(content)]));
}

/** Its end cannot be guessed, so no value can set another output. */
function heredoc([name, value]) {
  const end = `end_${randomUUID()}`;
  return `${name}<<${end}\n${value}\n${end}\n`;
}
