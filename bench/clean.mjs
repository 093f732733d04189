// What clean proof costs beside proof in place, and sealed proof beside clean proof, in a project with 10,000 files.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bin, env, interleaved, measure, ms, node, script } from './measure.mjs';

const FILES = 10_000;

export function clean(folder, quick) {
  const project = join(folder, 'project');
  mkdirSync(project);
  const git = (...args) =>
    execFileSync('git', ['-c', 'user.name=b', '-c', 'user.email=b@example.invalid', ...args], {
      cwd: project,
      stdio: 'ignore',
    });
  git('init', '--quiet');
  for (let at = 0; at < FILES; at++) {
    if (at % 100 === 0) mkdirSync(join(project, `d${at / 100}`));
    writeFileSync(join(project, `d${Math.floor(at / 100)}`, `f${at}.txt`), `${at}\n`.repeat(200));
  }
  git('add', '--all');
  git('commit', '--quiet', '--message', 'start');
  const agent = script(
    join(folder, 'agent'),
    "#!/bin/sh\ncat >/dev/null\ndate +%N >> d1/f100.txt\necho '<promise>COMPLETE</promise>'\n",
  );
  const options = { cwd: project, env: { ...env, HOME: folder } };
  const check = ['sh', '-c', 'cat d5/*.txt > /dev/null'];
  const words = [node, bin, 'loop', 'x', '--check', 'cat d5/*.txt > /dev/null', '--agent', agent, '--quiet'];
  const loop =
    (proof, ...flags) =>
    () =>
      measure([...words, '--proof', proof, ...flags], options);
  const hasSandbox = loop('clean', '--sandbox=srt')().status !== 2;
  if (!hasSandbox) console.log('       P7 srt does not work here: ralph doctor says why');
  const result = interleaved(quick ? 3 : 7, {
    worktree: () => addWorktree(options),
    check: () => measure(check, options),
    place: loop('place'),
    clean: loop('clean'),
    ...(hasSandbox && {
      boxed: loop('clean', '--sandbox=srt'),
      sealed: loop('sealed', '--sandbox=srt', '--only', 'd1/**'),
    }),
  });
  const floor = result.worktree.wall + result.check.wall;
  const more = result.clean.wall - result.place.wall;
  return [
    {
      id: 'P7',
      what: `clean proof in ${FILES} files, beside proof in place`,
      floor: `one git worktree add and the check ${ms(floor)}`,
      ours: ms(more),
      value: more / floor,
      limit: 1.5,
    },
    ...(hasSandbox ? [sealedRow(result)] : []),
  ];
}

function sealedRow({ clean: contained, boxed, sealed }) {
  return {
    id: 'P7',
    what: `a run with sealed proof in ${FILES} files, beside one with clean proof in the same sandbox`,
    floor: `clean ${ms(boxed.wall)} (contained, without a sandbox: ${ms(contained.wall)})`,
    ours: ms(sealed.wall),
    value: sealed.wall / boxed.wall,
    limit: 1.2,
  };
}

function addWorktree(options) {
  const place = mkdtempSync(join(tmpdir(), 'ralph-bench-worktree-'));
  const result = measure(['git', 'worktree', 'add', '--detach', join(place, 'tree')], options);
  rmSync(place, { recursive: true, force: true });
  execFileSync('git', ['worktree', 'prune'], { ...options, stdio: 'ignore' });
  return result;
}
