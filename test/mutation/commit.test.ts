/** Faults in what one commit changes against another, whatever is in the work tree. */
import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { isProblem } from '../../src/domain/text/problem.ts';
import { mutate } from '../../src/proof/faults/mutate.ts';
import { folder, repo, stateEnv } from '../rig/repo.ts';

const SHIP = 'ship() {\n  if [ "$1" -ge 100 ]; then\n    echo 0\n  else\n    echo 5\n  fi\n}\n';

test('only the lines of the commit count, and neither the work tree nor a later commit', {
  tags: 'promise',
}, async () => {
  const work = repo({
    'ship.sh': 'ship() { :; }\n',
    'old.sh': 'old() { [ 1 -lt 2 ]; }\n',
    '.gitignore': 'kept.txt\n',
  });
  const base = work.git('rev-parse', 'HEAD').trim();
  work.write('ship.sh', SHIP);
  work.write('kept.txt', 'ignored, and known to git\n');
  work.write(
    'test/t.sh',
    'set -e\n. ./ship.sh\ntest -e kept.txt\n[ "$(ship 200)" = 0 ]\n[ "$(ship 1)" = 5 ]\n',
  );
  work.git('add', '--all', '--force');
  work.git('commit', '--quiet', '--message', 'candidate');
  const commit = work.git('rev-parse', 'HEAD').trim();
  work.write('ship.sh', 'broken(\n');
  work.git('commit', '--quiet', '--all', '--message', 'later');
  work.write('ship.sh', 'still broken(\n');
  const temporary = folder();
  const env = { ...stateEnv(), TMPDIR: temporary.dir };
  const limits = { max: 60, time: 60_000 };
  const report = await mutate({
    cwd: work.dir,
    env,
    base,
    commit,
    checks: ['sh test/t.sh'],
    ...limits,
  });
  expect(report).toMatchObject({
    base,
    files: 1,
    survivors: [{ file: 'ship.sh', line: 2, change: expect.stringContaining('-gt 100') }],
  });
  expect(work.read('ship.sh')).toBe('still broken(\n');
  const none = await mutate({
    cwd: work.dir,
    env,
    base,
    commit: '0'.repeat(40),
    checks: ['true'],
    ...limits,
  });
  expect(isProblem(none)).toBe(true);
  expect(readdirSync(temporary.dir)).toEqual([]);
});
