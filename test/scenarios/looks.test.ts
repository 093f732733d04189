/** How often all files of a work tree are looked at in an iteration. */
import { execFileSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ralph } from '../rig/ralph.ts';
import { folder, repo } from '../rig/repo.ts';

/** What git was asked for in each turn and after it, where each turn writes a file and the last one claims. */
async function asked(turns: number): Promise<readonly (readonly string[])[]> {
  const place = folder('ralph-spied-');
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  const log = place.path('asked');
  place.write('bin/git', `#!/bin/sh\necho "$1" >> '${log}'\nexec '${real}' "$@"\n`);
  const claim = `[ $(grep -c turn '${log}') -lt ${turns} ] || echo '<promise>COMPLETE</promise>'`;
  place.write('agent', `#!/bin/sh\necho turn >> '${log}'\ndate +%N >> made\n${claim}\n`);
  for (const name of ['bin/git', 'agent']) chmodSync(place.path(name), 0o755);
  const work = repo({ a: 'a\n', '.gitignore': '.ralph/\n' });
  const args = ['loop', 'Add', '--check', 'true', '--agent', place.path('agent')];
  const { code, stderr } = await ralph(args, { cwd: work.dir, path: [place.path('bin')] });
  expect(code, stderr).toBe(0);
  const rounds = place.read('asked').split('turn\n').slice(1);
  return rounds.map(round => round.trim().split('\n'));
}

test('once, where the agent does not say that it is done', async () => {
  const [, second] = await asked(3);
  expect(second).toEqual(['ls-files', 'update-index', 'write-tree', '-c']);
});
