// The guard: its score on the corpus, and what it costs a tool call.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { loadSource } from './hook-server.mjs';
import { env, here, interleaved, many, median, ms, node } from './measure.mjs';

const bin = join(here, '../plugins/claude/bin');
const HOME = '/home/you';
const WORLD = {
  root: `${HOME}/app`,
  cwd: `${HOME}/app`,
  home: HOME,
  env: { HOME, USER: 'dev' },
  protect: ['test/**'],
  allow: [],
  deny: [],
  readScript: () => undefined,
};

export async function guard(folder, quick) {
  const { GUARDED: agents } = await loadSource(folder, 'src/agents/registry.ts');
  const { judgeCommand } = createRequire(import.meta.url)(join(bin, 'ralph-guard.cjs'));
  const corpus = readCorpus();
  const judge = ({ command }) => judgeCommand(command, { ...WORLD, agents })[0]?.tier ?? 'ok';
  const bad = corpus.filter(({ expected }) => expected !== 'ok');
  const innocent = corpus.filter(({ expected }) => expected === 'ok');
  const caught = bad.filter(sample => judge(sample) === sample.expected);
  const alarms = innocent.filter(sample => judge(sample) !== 'ok');
  const score = `${caught.length} of ${bad.length}`;
  return [
    row('G1', 'corpus: refused or warned of', (caught.length / bad.length) * 100, 100, score, '%', true),
    row('G1', 'corpus: false alarms', alarms.length, 0, `${alarms.length} of ${innocent.length}`, '', false),
    inProcess(corpus, judge),
    ...cold(folder, quick),
  ];
}

function row(id, what, value, limit, ours, unit, atLeast) {
  return { id, what, value, limit, ours, unit, atLeast, floor: 'what is written beside each' };
}

function readCorpus() {
  const lines = readFileSync(join(here, '../test/guard/corpus.txt'), 'utf8').split('\n');
  return lines.flatMap(line => {
    const [, expected, command] = /^(block|warn|ok) (.*)$/.exec(line) ?? [];
    return expected === undefined ? [] : [{ expected, command: command.replaceAll('⏎', '\n') }];
  });
}

function inProcess(corpus, judge) {
  const times = corpus.map(sample => {
    const began = performance.now();
    judge(sample);
    return performance.now() - began;
  });
  const value = median(times);
  const ours = `${value.toFixed(3)} ms`;
  return {
    id: 'G2',
    what: 'a command, in a process that runs',
    floor: 'one millisecond',
    ours,
    value,
    unit: 'ms',
    limit: 1,
  };
}

/** As the hosts call it: a new process each time. */
function cold(folder, quick) {
  const input = join(folder, 'input.json');
  const orders = { run: folder, root: folder, given: true, guard: { allow: [], deny: [], protect: [] } };
  const tool = { tool_name: 'Bash', tool_input: { command: 'npm test && git status' } };
  writeFileSync(input, JSON.stringify({ session_id: 's', cwd: folder, ...tool }));
  const call =
    (command, more = {}) =>
    () =>
      many(quick ? 10 : 20, ['sh', '-c', `${command} < '${input}'`], {
        env: { ...env, CLAUDE_PROJECT_DIR: folder, ...more },
        cwd: folder,
      });
  const hook = join(bin, 'ralph-hook.cjs');
  const inRun = { RALPH_HOOKS: JSON.stringify(orders) };
  const result = interleaved(quick ? 3 : 7, {
    shell: call('sh -c :'),
    empty: call(`'${node}' -e 0`),
    idle: call(`sh '${join(bin, 'gate.sh')}' auto PreToolUse`),
    other: call(`'${node}' '${hook}' claude SessionStart run`, inRun),
    guard: call(`'${node}' '${hook}' claude PreToolUse run`, inRun),
  });
  // CPU, which a busy machine does not change; the outer shell of the measurement is not the hook's.
  const own = ({ cpu }) => cpu - result.shell.cpu / 2;
  const floor = `an empty node ${ms(own(result.empty))}`;
  const against = each => own(each) / own(result.empty);
  const idle = result.idle.wall - result.shell.wall / 2;
  return [
    {
      id: 'G2',
      what: 'a call, in a new process',
      floor,
      ours: ms(own(result.guard)),
      value: against(result.guard),
      limit: 2.5,
    },
    {
      id: 'G2',
      what: 'a hook that does not guard',
      floor,
      ours: ms(own(result.other)),
      value: against(result.other),
      limit: 1.5,
    },
    {
      id: 'G2',
      what: 'the plugin, no loop',
      floor: 'one millisecond',
      ours: ms(idle),
      value: idle * 1000,
      unit: 'ms',
      limit: 1,
    },
  ];
}
