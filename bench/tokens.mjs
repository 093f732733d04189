// P11: how much the harness adds to the prompt. A token is taken as four characters.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, freshRepo, measure, node, script } from './measure.mjs';

export function tokens(folder) {
  freshRepo(folder);
  const agent = script(
    join(folder, 'agent'),
    '#!/bin/sh\ncat >/dev/null\nseq 5000 > "big-$$.txt"\necho working\n',
  );
  const task = 'Change a file.';
  measure(
    [
      node,
      bin,
      'loop',
      task,
      '--check',
      'seq 5000; false',
      '--agent',
      agent,
      '--max-iterations',
      '8',
      '--stuck-after',
      '0',
      '--quiet',
    ],
    { cwd: folder },
  );
  const prompt = n => readFileSync(join(folder, `.ralph/prompt_00${n}.txt`), 'utf8');
  const own = (prompt(1).length - task.length) / 4;
  const state = (prompt(8).length - prompt(1).length) / 4;
  const shared = common(prompt(7), prompt(8)) / prompt(7).length;
  return [
    {
      id: 'P11',
      what: 'tokens of the harness in a prompt',
      floor: 'the task',
      ours: own.toFixed(0),
      value: own,
      unit: '',
      limit: 200,
    },
    {
      id: 'P11',
      what: 'tokens of state: diff, failures, progress',
      floor: 'the first prompt',
      ours: state.toFixed(0),
      value: state,
      unit: '',
      limit: 2000,
    },
    {
      id: 'P11',
      what: 'beginning that two prompts share, the task first',
      floor: 'the whole prompt',
      ours: `${(shared * 100).toFixed(0)} %`,
      value: common(prompt(7), prompt(8)) / task.length,
      limit: 1,
      atLeast: true,
    },
  ];
}

function common(a, b) {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return at;
}
