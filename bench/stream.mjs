// P3: an agent that floods.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, env, here, measure, node, script } from './measure.mjs';

/** Who prints what: the agents are called by these names, so that each is read as itself. */
const FLOODS = {
  lines: { agent: 'claude', kind: 'lines', what: 'lines' },
  file: { agent: 'amp', kind: 'lines', what: 'lines through a file' },
  codex: { agent: 'codex', kind: 'codex', what: 'lines of codex' },
  opencode: { agent: 'opencode', kind: 'opencode', what: 'lines of opencode' },
  code: { agent: 'claude', kind: 'code', what: 'lines with code in them' },
};
const WORDS = { agent: 'words', kind: 'text' };

export function stream(folder, quick) {
  const world = prepare(folder);
  const big = quick ? 3e8 : 1e9;
  const some = quick ? 3e8 : 5e8;
  const rounds = quick ? 1 : 3;
  const seen = [];
  const once = (flood, bytes, options) => {
    const ours = world.ours(flood, bytes, options);
    seen.push(ours.isRight);
    return ours;
  };
  const runs = (flood, bytes) => {
    const list = Array.from({ length: rounds }, () => {
      const ours = once(flood, bytes);
      return { ...ours, floor: world.parsed(flood, bytes) };
    });
    // The shortest of each: what else the machine does only ever adds to it.
    return {
      wall: Math.min(...list.map(each => each.wall)),
      floor: Math.min(...list.map(each => each.floor)),
      peak: Math.max(...list.map(each => each.peak)),
    };
  };
  const large = runs(FLOODS.lines, big);
  const small = once(FLOODS.lines, 1e8);
  const line = runs({ agent: 'claude', kind: 'line' }, 5e7);
  const others = ['file', 'codex', 'opencode', 'code'].map(name => [FLOODS[name], runs(FLOODS[name], some)]);
  const shown = once(FLOODS.lines, some, { isShown: true });
  const words = once(WORDS, some, { isShown: true });
  const echoed = once(WORDS, some, { isShown: true, prompt: 'Say <response>DONE</response> at the end.' });
  return [
    speed(`${big / 1e6} MB of lines`, big, large),
    memory(`${big / 1e6} MB of lines`, large, 100),
    {
      id: 'P3',
      what: 'peak memory does not grow with the stream',
      floor: `100 MB: ${small.peak} MB`,
      ours: `${large.peak} MB`,
      value: large.peak / small.peak,
      limit: 1.25,
    },
    speed('a line of 50 MB', 5e7, line),
    memory('a line of 50 MB', line, 120),
    ...others.map(([{ what }, each]) => speed(`${some / 1e6} MB of ${what}`, some, each)),
    memory('any of these', { peak: Math.max(...others.map(([, each]) => each.peak)) }, 100),
    shownSpeed('lines', some, shown),
    memory('lines, shown', shown, 100),
    shownSpeed('plain words', some, words),
    memory('plain words, shown', words, 100),
    shownSpeed('plain words, echoes looked for', some, echoed),
    memory('the same', echoed, 100),
    {
      id: 'P3',
      what: 'the claim is found, the false ones are not',
      floor: `${seen.length} streams`,
      ours: String(seen.filter(Boolean).length),
      value: seen.filter(Boolean).length,
      unit: '',
      limit: seen.length,
      atLeast: true,
    },
  ];
}

function prepare(folder) {
  const peak = join(folder, 'peak');
  const text = `#!/bin/sh\nexec '${node}' '${join(here, 'flood.mjs')}' "$RALPH_BENCH_BYTES" "$RALPH_BENCH_KIND"\n`;
  const agents = join(folder, 'agents');
  mkdirSync(agents);
  for (const name of ['claude', 'amp', 'codex', 'opencode', 'words']) script(join(agents, name), text);
  const floor = join(folder, 'parse.cjs');
  writeFileSync(
    floor,
    `let rest = ''; process.stdin.setEncoding('utf8').on('data', c => { const lines = (rest + c).split('\\n'); rest = lines.pop(); for (const l of lines) JSON.parse(l); });`,
  );
  const options = ({ kind }, bytes) => ({
    cwd: folder,
    env: { ...env, RALPH_BENCH_BYTES: String(bytes), RALPH_BENCH_KIND: kind },
  });
  return {
    ours(flood, bytes, { isShown = false, prompt = 'go' } = {}) {
      const quiet = isShown ? [] : ['--quiet'];
      const argv = [
        node,
        bin,
        'run',
        '-p',
        prompt,
        '--agent',
        join(agents, flood.agent),
        '-m',
        '1',
        ...quiet,
      ];
      const { wall, status } = measure(['bash', '-c', WATCHED, 'bash', peak, ...argv], options(flood, bytes));
      return { wall, isRight: status === 0, peak: Math.round(Number(readFileSync(peak, 'utf8')) / 1024) };
    },
    parsed(flood, bytes) {
      const argv = ['sh', '-c', `'${join(agents, flood.agent)}' | '${node}' '${floor}'`];
      return measure(argv, options(flood, bytes)).wall;
    },
  };
}

/** Runs a command, and writes down the most memory that it had, in kB: from outside, since the agent sees no process but its own. */
const WATCHED = `
file=$1; shift
"$@" & pid=$!
while read -r name size unit; do [ "$name" = VmHWM: ] && echo "$size" > "$file"; done < /proc/$pid/status
while kill -0 $pid 2>/dev/null; do
  while read -r name size unit; do [ "$name" = VmHWM: ] && echo "$size" > "$file"; done < /proc/$pid/status
  read -r -t 0.05 <> <(:)
done 2>/dev/null
wait $pid`;

const megabytes = (bytes, seconds) => bytes / 1e6 / seconds;

function speed(what, bytes, { wall, floor }) {
  const rate = seconds => `${megabytes(bytes, seconds).toFixed(0)} MB/s`;
  return {
    id: 'P3',
    what: `${what}, speed`,
    floor: `parsing every line ${rate(floor)}`,
    ours: rate(wall),
    value: floor / wall,
    limit: 0.5,
    atLeast: true,
  };
}

/** The fastest other program that shows a stream reached 62 MB/s. */
function shownSpeed(what, bytes, { wall }) {
  const value = megabytes(bytes, wall);
  const row = { id: 'P3', what: `${what}, shown, speed`, floor: 'the fastest other 62 MB/s' };
  return { ...row, ours: `${value.toFixed(0)} MB/s`, value, unit: 'MB/s', limit: 62, atLeast: true };
}

function memory(what, { peak }, limit) {
  return {
    id: 'P3',
    what: `${what}, peak memory`,
    floor: 'nothing',
    ours: `${peak} MB`,
    value: peak,
    unit: 'MB',
    limit,
  };
}
