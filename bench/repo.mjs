// P7: what an iteration costs in a big repository.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, interleaved, measure, ms, node, script } from './measure.mjs';

export function repo(folder, quick) {
  const files = quick ? 10_000 : 100_000;
  const git = (...args) =>
    execFileSync(
      'git',
      ['-c', 'user.name=b', '-c', 'user.email=b@example.invalid', '-c', 'core.fsync=none', ...args],
      { cwd: folder, stdio: 'ignore' },
    );
  git('init', '--quiet');
  for (let at = 0; at < files; at++) {
    if (at % 100 === 0) mkdirSync(join(folder, `d${at / 100}`));
    writeFileSync(join(folder, `d${Math.floor(at / 100)}`, `f${at}.txt`), `${at}\n`);
  }
  git('add', '--all');
  git('commit', '--quiet', '--message', 'start');
  const agent = script(
    join(folder, 'agent'),
    '#!/bin/sh\ncat >/dev/null\ndate +%N >> d1/f100.txt\necho working\n',
  );
  const loopOf = n => () =>
    measure(
      [
        node,
        bin,
        'loop',
        'Change a file.',
        '--check',
        'true',
        '--agent',
        agent,
        '--max-iterations',
        String(n),
        '--quiet',
      ],
      { cwd: folder },
    );
  const result = interleaved(3, {
    status: () => measure(['git', 'status', '--porcelain'], { cwd: folder }),
    one: loopOf(1),
    six: loopOf(6),
  });
  const each = (result.six.wall - result.one.wall) / 5;
  return [
    {
      id: 'P7',
      what: `an iteration in ${files} files`,
      floor: `one git status ${ms(result.status.wall)}`,
      ours: ms(each),
      value: each / result.status.wall,
      limit: 1.2,
    },
  ];
}
