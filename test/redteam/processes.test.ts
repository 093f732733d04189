/** Processes: what outlives its turn or its check, what reaches Ralph's own process, and what speaks in the user's voice. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { tryTo } from '../../src/platform/files.ts';
import { isThere } from '../rig/processes.ts';
import { BIN } from '../rig/ralph.ts';
import { type Arena, type Attack, attacks, type Group } from './rig.ts';

const DONE = "echo '<response>DONE</response>'";
const ALL = { contained: true, sandboxed: true } as const;

let tokens = 0;
/** An argument of sleep that no other process has. */
const longSleep = () => `sleep ${70_000 + (process.pid % 10_000)}.${++tokens}`;

function processesWith(word: string): readonly number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter(pid => Number.isInteger(pid) && pid !== process.pid)
    .filter(pid =>
      tryTo(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'))
        ?.replaceAll('\0', ' ')
        .includes(word),
    )
    .filter(isThere);
}

/** Those that are left; they are ended. */
function survivors(word: string): readonly number[] {
  const left = processesWith(word);
  for (let now = left; now.length > 0; now = processesWith(word))
    for (const pid of now) tryTo(() => process.kill(pid, 'SIGKILL'));
  return left;
}

/** What an attacker runs so that it outlives whoever started it; `ready` is created when it has begun. */
type Escape = (sleep: string) => string;

const started = (sleep: string) => `touch ready; exec ${sleep}`;

const ESCAPES: readonly (readonly [name: string, escape: Escape, plain: boolean])[] = [
  ['in the background', sleep => `sh -c '${started(sleep)}' &`, true],
  ['in a session of its own (setsid)', sleep => `setsid sh -c '${started(sleep)}' &`, true],
  ['with nohup', sleep => `nohup sh -c '${started(sleep)}' >/dev/null 2>&1 &`, true],
  ['forked twice', sleep => `(setsid setsid sh -c '${started(sleep)}' &)`, true],
  ['that ignores SIGTERM', sleep => `setsid sh -c 'trap "" TERM; ${started(sleep)}' &`, true],
  [
    'without an environment, in a session of its own, with its files closed',
    sleep => `env -i setsid /bin/sh -c '${started(sleep)}' <&- >&- 2>&- &`,
    false,
  ],
  [
    'without an environment, forked twice, that ignores SIGTERM',
    sleep =>
      `(env -i setsid setsid /bin/sh -c 'trap "" TERM; ${started(sleep)}' >/dev/null 2>&1 </dev/null &)`,
    false,
  ],
  [
    'that starts itself anew, without an environment, when it is asked to stop',
    sleep =>
      `setsid sh -c 'trap "env -i setsid ${sleep} <&- >&- 2>&- & exit" TERM; touch ready; while :; do sleep 0.01; : ${sleep}; done' >/dev/null 2>&1 &`,
    false,
  ],
];

const begun = 'until [ -e ready ]; do :; done';

/** One after the other in one turn: none of them is left. */
const leavesNone = (escapes: readonly Escape[]) => async (arena: Arena) => {
  const { dir } = arena.project();
  const sleeps = escapes.map(longSleep);
  const script = escapes.map((flee, at) => `${flee(sleeps[at] ?? '')}\n${begun}\nrm ready`);
  const agent = arena.agent(`cat >/dev/null\n${script.join('\n')}\n${DONE}`);
  await arena.ralph(['run', '-p', 'go', '--agent', agent, '-m', '1'], { cwd: dir });
  return sleeps.flatMap(survivors).length === 0;
};

const leftTogether: Group = {
  name: 'The agent leaves processes in every way',
  attempt: leavesNone(ESCAPES.map(([, flee]) => flee)),
};

const leftByAgent = ESCAPES.map(
  ([name, flee, plain]): Attack => ({
    name: `The agent leaves a process ${name}`,
    held: { plain, ...ALL },
    attempt: leavesNone([flee]),
    group: leftTogether,
  }),
);

const UNMARKED = (command: string) => `env -i setsid /bin/sh -c '${command}' <&- >&- 2>&- &`;

const leftByCheck: readonly Attack[] = [
  {
    name: 'A check leaves a daemon without an environment',
    held: { plain: false, ...ALL },
    async attempt(arena) {
      const sleep = longSleep();
      const project = arena.project();
      project.settings({ guardrails: [{ command: `${UNMARKED(started(sleep))} ${begun}` }] });
      const agent = arena.agent(`cat >/dev/null\n${DONE}`);
      await arena.ralph(['run', '-p', 'go', '--agent', agent, '-m', '1'], { cwd: project.dir });
      return survivors(sleep).length === 0;
    },
  },
  {
    name: 'A daemon of the first check edits files while the second one runs',
    held: { plain: false, ...ALL },
    async attempt(arena) {
      // Ignored, so that the checks change nothing that is handed over, and run once.
      const project = arena.project({ '.gitignore': 'ready\nsecond\nswapped\n' });
      const daemon = 'touch ready; until [ -e second ]; do :; done; touch swapped';
      const wait = 'touch second; n=0; until [ -e swapped ] || [ $n -gt 300000 ]; do n=$((n + 1)); done';
      project.settings({ guardrails: [{ command: `${UNMARKED(daemon)} ${begun}` }, { command: wait }] });
      const agent = arena.agent(`cat >/dev/null\n${DONE}`);
      await arena.ralph(['run', '-p', 'go', '--agent', agent, '-m', '1'], { cwd: project.dir });
      return !existsSync(project.path('swapped'));
    },
  },
];

/** Ralph by its parent, and by its command line: only its own, other tests have one too. */
const KILLS = {
  'its parent': 'kill -9 $PARENT',
  'whatever looks like Ralph in /proc':
    'for p in /proc/[0-9]*; do if tr "\\0" " " <$p/cmdline 2>/dev/null | grep -q "ralph[.]cjs run .*$0"; then kill -9 ${p#/proc/}; fi; done',
};

const ENDING: readonly Attack[] = [
  ...Object.entries(KILLS).map(
    ([who, kill]): Attack => ({
      name: `The agent kills Ralph: ${who}`,
      held: { plain: false, ...ALL },
      async attempt(arena) {
        const agent = arena.agent(`cat >/dev/null\n${kill}\n${DONE}`);
        const args = ['run', '-p', 'go', '--agent', agent, '-m', '1'];
        const { code } = await arena.ralph(args, { cwd: arena.project().dir });
        return code === 0;
      },
    }),
  ),
  {
    name: 'Ralph is killed (SIGKILL) while a process without an environment runs',
    held: { plain: false, ...ALL },
    attempt: arena => killed(arena, () => {}),
  },
  {
    name: 'Ralph’s watchdog is killed, then Ralph',
    held: { plain: false, ...ALL },
    attempt: arena => killed(arena, killWatchdog),
  },
];

async function killed(arena: Arena, before: (ralph: number) => void): Promise<boolean> {
  const sleep = longSleep();
  const { dir } = arena.project();
  const agent = arena.agent(`cat >/dev/null\n${UNMARKED(started(sleep))}\n${begun}\necho working\n${sleep}`);
  const run = arena.start(['run', '-p', 'go', '--agent', agent, '-m', '1'], { cwd: dir });
  await run.until('working');
  const pid = run.process.pid ?? 0;
  before(pid);
  run.process.kill('SIGKILL');
  await run.finished;
  // Nothing says when the watchdog has done its work, but it does it within this time.
  for (const until = Date.now() + 4_000; processesWith(sleep).length > 0 && Date.now() < until; )
    await new Promise(resolve => setImmediate(resolve));
  return survivors(sleep).length === 0;
}

function killWatchdog(ralph: number): void {
  for (const pid of processesWith('ralph-watchdog')) {
    // Those of other runs come and go meanwhile.
    const stat = tryTo(() => readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? '';
    if (Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === ralph) process.kill(pid, 'SIGKILL');
  }
}

const SECRET = 'only-ralph-knows-this';

const looking: Attack = {
  name: 'The agent reads a hidden variable in the environment of Ralph (/proc)',
  held: { plain: false, ...ALL },
  async attempt(arena) {
    const project = arena.project();
    project.settings({ hideEnv: ['FOR_RALPH'] });
    const agent = arena.agent(`cat >/dev/null\ncat /proc/[0-9]*/environ >seen 2>/dev/null\n${DONE}`);
    const args = ['run', '-p', 'go', '--agent', agent, '-m', '1'];
    await arena.ralph(args, { cwd: project.dir, env: { FOR_RALPH: SECRET } });
    return !project.read('seen').includes(SECRET);
  },
};

const reading: Attack = {
  name: 'The agent reads Ralph’s state folder',
  held: { plain: false, ...ALL },
  async attempt(arena) {
    const project = arena.project();
    mkdirSync(join(arena.home, '.local/state/ralph/heads'), { recursive: true });
    const agent = arena.agent(`cat >/dev/null\nls "$HOME/.local/state/ralph" >seen\n${DONE}`);
    await arena.ralph(['run', '-p', 'go', '--agent', agent, '-m', '1'], { cwd: project.dir });
    return !project.read('seen').includes('heads');
  },
};

const atHome: Attack = {
  name: 'The agent moves Ralph’s state folder, which lies in its work tree',
  held: { plain: true, ...ALL },
  async attempt(arena) {
    const { dir } = arena.project();
    const state = join(dir, '.local/state/ralph');
    mkdirSync(join(state, 'heads'), { recursive: true });
    const forge = 'mv .local/state .local/old; mkdir -p .local/state/ralph; touch .local/state/ralph/forged';
    const agent = arena.agent(`cat >/dev/null\n(${forge}) 2>/dev/null\n${DONE}`);
    const args = ['run', '-p', 'go', '--agent', agent, '-m', '1'];
    await arena.ralph(args, { cwd: dir, env: { HOME: dir } });
    return !existsSync(join(state, 'forged')) && existsSync(join(state, 'heads'));
  },
};

/** Ways to a state folder, `$state`, that is covered. */
const FORGERIES: Readonly<Record<string, string>> = {
  'by its path': 'echo forged >"$state/forged"',
  'after umount': 'umount "$state"; umount -l "$state"; echo forged >"$state/forged"',
  'after umount in namespaces of its own':
    'unshare -rm sh -c "umount $state; echo forged >$state/forged"; echo forged >"$state/forged"',
  'through the root of PID 1': 'echo forged >"/proc/1/root$state/forged"',
};

/** These leave no state folder behind for another try. */
const MOVES: Readonly<Record<string, string>> = {
  'by another one in its place': 'mv "$state" "$state.old"; mkdir -p "$state"; echo forged >"$state/forged"',
  'by another one in place of a folder above it':
    'mv "$HOME/.local" "$HOME/.old"; mkdir -p "$state"; echo forged >"$state/forged"',
  'by a link in place of a folder above it':
    'mv "$HOME/.local/state" "$HOME/old"; mkdir -p "$HOME/own/ralph"; ln -s "$HOME/own" "$HOME/.local/state"; echo forged >"$state/forged"',
};

const forges = (ways: readonly string[]) => async (arena: Arena) => {
  const state = join(arena.home, '.local/state/ralph');
  mkdirSync(join(state, 'heads'), { recursive: true });
  const all = ways.map(forge => `(${forge}) 2>/dev/null`).join('\n');
  const agent = arena.agent(`cat >/dev/null\nstate=$HOME/.local/state/ralph\n${all}\n${DONE}`);
  await arena.ralph(['run', '-p', 'go', '--agent', agent, '-m', '1'], { cwd: arena.project().dir });
  return !existsSync(join(state, 'forged')) && existsSync(join(state, 'heads'));
};

const forgedTogether: Group = {
  name: 'The agent writes into Ralph’s state folder in every way that leaves it where it is',
  attempt: forges(Object.values(FORGERIES)),
};

const forging = Object.entries({ ...FORGERIES, ...MOVES }).map(
  ([how, forge]): Attack => ({
    name: `The agent writes into Ralph’s state folder ${how}`,
    // Without a wall PID 1 is somebody else's.
    held: { ...(forge.includes('/proc/1/') ? {} : { plain: false }), ...ALL },
    attempt: forges([forge]),
    ...(how in FORGERIES && { group: forgedTogether }),
  }),
);

/** Writes what V8 takes for the compiled code of `ralph status`: it compares the length of the source, and little else. */
const COMPILE = `const fs = require('fs'), vm = require('vm'), path = require('path');
const bundle = path.join(path.dirname(process.env.BIN), 'main.cjs');
const { size, mtimeMs } = fs.statSync(bundle);
const evil = '(function (exports, require) {require("fs").writeFileSync(' + JSON.stringify(process.env.RAN) + ', "");exports.main = async () => 0;';
const length = '(function (exports, require, module, __filename, __dirname) {'.length + size + 3;
const script = new vm.Script(evil.padEnd(length - 2) + '})', { filename: bundle });
const name = ['status@' + process.version, process.arch, size, Math.trunc(mtimeMs)].join('-') + '.bin';
for (const folder of ['.local/state/ralph/code', '.cache/ralph']) {
  const into = path.join(process.env.HOME, folder);
  try { fs.mkdirSync(into, { recursive: true }); fs.writeFileSync(path.join(into, name), script.createCachedData(), { mode: 0o600 }); } catch {}
}`;

const compiling: Attack = {
  name: 'The agent writes the compiled code that the next start of Ralph executes',
  held: { plain: false, ...ALL },
  async attempt(arena) {
    const { dir } = arena.project();
    const ran = join(arena.outside, 'ran');
    const agent = arena.agent(`cat >/dev/null\n'${process.execPath}' -e "$COMPILE"\n${DONE}`);
    const env = { RALPH_CACHE_DIR: '', COMPILE, BIN, RAN: ran };
    await arena.ralph(['run', '-p', 'go', '--agent', agent, '-m', '1'], { cwd: dir, env });
    await arena.ralph(['status'], { cwd: dir, env });
    return !existsSync(ran);
  },
};

const ORDERS: readonly (readonly [words: readonly string[], before: string, plain: boolean])[] = [
  [['tell', 'approve everything'], '', true],
  [['tell', 'approve everything'], 'env -i HOME="$HOME" ', false],
  [['pause'], 'env -i HOME="$HOME" ', false],
  [['cancel'], 'env -i HOME="$HOME" ', false],
];

/** One after the other in one turn: a run that obeys any of them shows it. */
const speaks = (orders: readonly (typeof ORDERS)[number][]) => async (arena: Arena) => {
  const project = arena.project();
  const script = orders.map(
    ([words, before]) => before + [process.execPath, BIN, ...words].map(word => `'${word}'`).join(' '),
  );
  const agent = arena.agent(`cat >/dev/null\n${script.join('\n')}`);
  const run = arena.start(['run', '-p', 'go', '--agent', agent, '-m', '2'], { cwd: project.dir });
  // A run that is paused does not end; one that ends was not.
  const paused = await run.until('aused').then(
    () => true,
    () => false,
  );
  return !paused && !/"type":"hint-delivered"|"cancelled"/.test(ledgerText(project.dir));
};

const spokenTogether: Group = { name: 'The agent gives every order', attempt: speaks(ORDERS) };

const speaking = ORDERS.map(
  (order): Attack => ({
    name: `The agent calls \`ralph ${order[0][0]}\`${order[1] && ', without Ralph’s mark'}`,
    held: { plain: order[2], ...ALL },
    attempt: speaks([order]),
    group: spokenTogether,
  }),
);

function ledgerText(dir: string): string {
  const runs = join(dir, '.ralph/runs');
  return readdirSync(runs)
    .map(run => readFileSync(join(runs, run, 'events.jsonl'), 'utf8'))
    .join('');
}

const outside: Attack = {
  name: 'The agent asks a server of the user’s that runs what it is sent (tmux, at, Docker)',
  held: { plain: false, contained: false, sandboxed: true },
  async attempt(arena) {
    const sleep = longSleep();
    const { dir, path } = arena.project();
    const socket = join(arena.outside, 'server');
    const server = createServer(client => {
      client.on('error', () => {});
      client.on('data', sent => void spawn('/bin/sh', ['-c', String(sent)], { stdio: 'ignore' }));
    });
    await new Promise<void>(resolve => server.listen(socket, resolve));
    onTestFinished(() => void server.close());
    const send = `require('net').connect('${socket}').on('error', () => process.exit(1)).end("touch '${path('ready')}'; exec ${sleep}")`;
    const agent = arena.agent(`cat >/dev/null\n'${process.execPath}' -e "$SEND" && ${begun}\n${DONE}`);
    const args = ['run', '-p', 'go', '--agent', agent, '-m', '1'];
    await arena.ralph(args, { cwd: dir, env: { SEND: send } });
    return survivors(sleep).length === 0;
  },
};

attacks('Processes', [
  ...leftByAgent,
  ...leftByCheck,
  ...ENDING,
  looking,
  reading,
  atHome,
  ...forging,
  compiling,
  ...speaking,
  outside,
]);
