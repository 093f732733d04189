// P7: long lists, long ledgers, long prompts.
import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { bin, env, freshRepo, interleaved, measure, ms, node, script } from './measure.mjs';

export function scale(folder, quick) {
  const agent = script(join(folder, 'agent'), '#!/bin/sh\nwc -c > "$RALPH_BENCH_OUT"\necho working\n');
  const place = name => {
    const project = join(folder, name);
    mkdirSync(project);
    freshRepo(project);
    return { cwd: project, env: { ...env, RALPH_BENCH_OUT: join(folder, 'bytes') } };
  };
  return [
    stories(agent, place('stories'), quick),
    ledger(agent, place('ledger'), quick),
    prompt(agent, place('prompt'), folder),
  ];
}

function stories(agent, options, quick) {
  const count = 10_000;
  const ralph = (...args) => [node, bin, 'prd', ...args];
  execFileSync(node, ralph('init').slice(1), { ...options, stdio: 'ignore' });
  const tasks = join(options.cwd, 'ralph/tasks.json');
  writeFileSync(tasks, JSON.stringify(listOf(count), null, 2));
  execFileSync('git', ['add', '--all'], { cwd: options.cwd });
  const parse = times => () =>
    measure(
      [
        node,
        '-e',
        `const text = require('fs').readFileSync(${JSON.stringify(tasks)}, 'utf8'); for (let i = 0; i < ${times}; i++) JSON.parse(text);`,
      ],
      options,
    );
  const run = n => () =>
    measure(
      ralph('run', '-n', String(n), '--agent', agent, '--quiet', '--stuck-after', '0', '--max-wait', '0'),
      options,
    );
  const most = quick ? 6 : 11;
  const result = interleaved(3, { none: parse(0), ten: parse(10), one: run(1), many: run(most) });
  const floor = (result.ten.cpu - result.none.cpu) / 10;
  const each = (result.many.cpu - result.one.cpu) / (most - 1);
  return {
    id: 'P7',
    what: `an iteration with ${count} stories, CPU`,
    floor: `JSON.parse of the list ${ms(floor)}`,
    ours: ms(each),
    value: each / floor,
    limit: 1.5,
  };
}

function listOf(count) {
  const userStories = Array.from({ length: count }, (_, at) => ({
    id: `US-${at + 1}`,
    title: `Story number ${at + 1}`,
    description: `As a user I want thing number ${at + 1} so that I can do what I want.`,
    acceptanceCriteria: ['It is there', 'It works', 'Typecheck passes'],
    priority: at + 1,
    passes: false,
    reviewStatus: null,
    reviewCount: 0,
    reviewFeedback: '',
    notes: '',
    dependsOn: at > 0 && at % 3 === 0 ? [`US-${at}`] : [],
  }));
  return { project: 'bench', branchName: '', description: '', verifyCommands: ['true'], userStories };
}

function ledger(agent, options, quick) {
  const events = quick ? 100_000 : 1_000_000;
  const loop = more => measure([node, bin, ...more, '--quiet'], options);
  loop(['loop', 'Continue.', '--check', 'false', '--agent', agent, '--max-iterations', '2']);
  const resume = n => loop(['resume', '--max-iterations', String(n)]).wall;
  const best = (...limits) => Math.min(...limits.map(resume));
  const short = best(3, 4, 5);
  const [run] = readdirSync(join(options.cwd, '.ralph/runs'));
  lengthen(join(options.cwd, '.ralph/runs', run, 'events.jsonl'), events);
  // The first one reads all of it, as nobody wrote a checkpoint of what was put in; it leaves one.
  resume(6);
  const long = best(7, 8, 9);
  return {
    id: 'P7',
    what: `resume after ${events} events`,
    floor: `after a few ${ms(short)}`,
    ours: ms(long),
    value: (long - short) * 1000,
    unit: 'ms more',
    limit: 20,
  };
}

/** More words of the agent in the first turn, the chain as it must be. */
function lengthen(file, events) {
  const lines = readFileSync(file, 'utf8').trim().split('\n').map(JSON.parse);
  const fd = openSync(file, 'w');
  let [seq, prev, text] = [0, '0'.repeat(32), ''];
  const put = ({ seq: _, at, prev: __, ...event }) => {
    const line = JSON.stringify({ seq: ++seq, at, prev, ...event });
    prev = hash('sha256', line, 'hex').slice(0, 32);
    text += `${line}\n`;
    if (text.length < 1e6) return;
    writeSync(fd, text);
    text = '';
  };
  let missing = events - lines.length;
  for (const entry of lines) {
    put(entry);
    if (entry.type !== 'agent-started') continue;
    for (; missing > 0; missing--)
      put({
        at: entry.at,
        type: 'agent',
        event: { kind: 'text', text: `Working, line ${missing} of many.` },
      });
  }
  writeSync(fd, text);
  closeSync(fd);
}

function prompt(agent, options, folder) {
  const file = join(folder, 'prompt.md');
  writeFileSync(file, 'a word '.repeat(150_000));
  measure([node, bin, 'run', '-f', file, '--agent', agent, '-m', '1', '--quiet'], options);
  const bytes = Number(readFileSync(options.env.RALPH_BENCH_OUT, 'utf8'));
  return {
    id: 'P7',
    what: 'a prompt of a megabyte arrives',
    floor: '1050000 bytes',
    ours: `${bytes} bytes`,
    value: bytes / 1_050_000,
    limit: 1,
    atLeast: true,
  };
}
