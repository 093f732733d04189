// P15: stories side by side. 24 scripted stories whose turns take real seconds, one at a time against several, with checks of an eighth of a
// story's time and with checks that take none; and the memory of 64 stories at a time.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, env, here, node, script } from './measure.mjs';

export async function lanes(folder, quick) {
  const stories = quick ? 8 : 24;
  const turn = quick ? 2 : 4;
  const agent = agentIn(folder);
  const rows = [];
  // A story is built and reviewed: two turns.
  for (const [name, check] of [
    ['checks of 1/8 of a story', `sleep ${(2 * turn) / 8}`],
    ['checks that take no time', 'true'],
  ]) {
    const one = await run(folder, { agent, stories, turn, check, lanes: 1 });
    for (const count of [4, 8]) {
      const many = await run(folder, { agent, stories, turn, check, lanes: count });
      rows.push({
        id: 'P15',
        what: `${stories} stories, ${count} at a time, ${name}`,
        floor: `one at a time ${one.seconds.toFixed(0)} s`,
        ours: `${many.seconds.toFixed(0)} s`,
        value: one.seconds / many.seconds,
        limit: count === 4 ? (quick ? 1.8 : 2.8) : quick ? 1.8 : 3,
        atLeast: true,
      });
    }
  }
  const most = quick ? 16 : 64;
  const { peak } = await run(folder, { agent, stories: most, turn: most / 4, check: 'true', lanes: most });
  rows.push({
    id: 'P15',
    what: `memory of ${most} stories at a time`,
    floor: 'nothing',
    ours: `${peak.toFixed(0)} MB at its peak`,
    value: peak,
    unit: 'MB',
    limit: 200,
  });
  return rows;
}

/** Dollars. */
const TURN = 0.4;
const CAP = 1;

/** What several stories at a time spend under one cap: at most one turn more. The price of a turn is not known before one has ended. */
export async function spend(folder, quick) {
  const agent = agentIn(folder);
  const rows = [];
  for (const lanes of [2, 4, 8]) {
    const given = { agent, stories: 2 * lanes, turn: quick ? 0.2 : 1, check: 'true', lanes };
    const { cost } = await run(folder, {
      ...given,
      flags: ['--max-cost', String(CAP), '--json'],
      price: TURN,
    });
    rows.push({
      id: 'P15',
      what: `spent under a cap of $${CAP.toFixed(2)}, ${lanes} at a time, turns of $${TURN.toFixed(2)}`,
      floor: `the cap and one turn $${(CAP + TURN).toFixed(2)}`,
      ours: `$${cost.toFixed(2)}`,
      value: cost / CAP,
      limit: (CAP + TURN) / CAP,
    });
  }
  return rows;
}

function agentIn(folder) {
  const agent = join(folder, 'bin');
  mkdirSync(agent);
  script(
    join(agent, 'claude'),
    `#!/bin/sh\nexec "${node}" "${join(here, '../test/rig/lane-agent.mjs')}" "$@"\n`,
  );
  return agent;
}

let count = 0;

/** `price`: of a turn, in dollars; with one the run ends when its cap is spent. */
async function run(folder, { agent, stories, turn, check, lanes, flags: more = ['--quiet'], price }) {
  const place = join(folder, `lanes-${++count}`);
  const project = join(place, 'project');
  mkdirSync(join(project, 'ralph'), { recursive: true });
  mkdirSync(join(place, 'orders'));
  const story = at => ({
    id: `US-${String(at + 1).padStart(3, '0')}`,
    title: `Story ${at + 1}`,
    acceptanceCriteria: ['it is there'],
    priority: 1,
    passes: false,
    reviewStatus: null,
    reviewCount: 0,
    reviewFeedback: '',
    notes: '',
  });
  const userStories = Array.from({ length: stories }, (_, at) => story(at));
  const list = { project: 'bench', branchName: 'ralph/bench', description: 'A list', userStories };
  writeFileSync(join(project, 'ralph/tasks.json'), JSON.stringify(list, null, 2));
  writeFileSync(join(project, 'ralph/prd.md'), '# Bench\n');
  writeFileSync(join(project, 'ralph/progress.txt'), '# Log\n\n---\n');
  writeFileSync(join(project, '.gitignore'), '.ralph/\n.ralph-active\n');
  const who = ['-c', 'user.name=B', '-c', 'user.email=b@example.invalid'];
  for (const args of [
    ['init', '-q'],
    ['add', '-A'],
    [...who, 'commit', '-qm', 'start'],
  ])
    execFileSync('git', args, { cwd: project });
  const began = process.hrtime.bigint();
  const flags = ['--agent', 'claude', '--check', check, '--parallel', String(lanes), '-n', '1000', ...more];
  const child = spawn(node, [bin, 'prd', 'run', ...flags], {
    cwd: project,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: {
      ...env,
      PATH: `${agent}:${env.PATH}`,
      HOME: place,
      IS_SANDBOX: '1',
      LANE_AGENT: join(place, 'orders'),
      LANE_SECONDS: String(turn),
      ...(price !== undefined && { LANE_COST: String(price) }),
      GIT_AUTHOR_NAME: 'B',
      GIT_AUTHOR_EMAIL: 'b@example.invalid',
      GIT_COMMITTER_NAME: 'B',
      GIT_COMMITTER_EMAIL: 'b@example.invalid',
    },
  });
  let printed = '';
  child.stdout.on('data', chunk => {
    printed += chunk;
  });
  let peak = 0;
  const sample = () => {
    try {
      const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
      peak = Math.max(peak, Number(kilobytes ?? 0) / 1024);
    } catch {} // it has ended
  };
  const timer = setInterval(sample, 200);
  const code = await new Promise(resolve => child.once('close', resolve));
  clearInterval(timer);
  if (code !== (price === undefined ? 0 : 1))
    throw new Error(`${stories} stories, ${lanes} at a time, ended with ${code}`);
  const result = printed.split('\n').find(line => line.startsWith('{"runId"'));
  const cost = result === undefined ? undefined : JSON.parse(result).totalCost;
  return { seconds: Number(process.hrtime.bigint() - began) / 1e9, peak, cost };
}
