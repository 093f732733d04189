/** `ralph migrate` through the real bin. */
import { chmodSync, mkdirSync, renameSync, statSync, symlinkSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ralph } from '../rig/commands.ts';
import { folder, repo } from '../rig/repo.ts';

const OLD = '{\n  "maxIterations": 3,\n  "guardrails": []\n}\n';
const NEW = '{\n  "version": 1,\n  "maximumIterations": 3,\n  "guardrails": []\n}\n';

test('an old name is refused with the new one; the diff is what is written, and then it is accepted', {
  tags: ['promise', 'P-migrate'],
}, async () => {
  const work = repo();
  work.write('.ralph/settings.json', OLD);
  chmodSync(work.path('.ralph/settings.json'), 0o640);
  work.write('.ralph/settings.local.json', '{"version": 1}');
  const run = ['run', '-p', 'x', '--agent', 'cat', '--dry-run'];
  const before = await ralph(run, { cwd: work.dir });
  expect(before.code).toBe(2);
  expect(before.stderr).toContain(
    'maxIterations: unknown setting (it is maximumIterations; `ralph migrate` renames it)',
  );
  const dry = await ralph(['migrate', '--dry-run', '--json'], { cwd: work.dir });
  expect(dry).toMatchObject({ code: 0, stderr: '' });
  expect(work.read('.ralph/settings.json')).toBe(OLD);
  const { files, ...rest } = JSON.parse(dry.stdout);
  expect(rest).toEqual({ version: 1, written: false });
  const { code, stdout } = await ralph(['migrate', '--no-color'], { cwd: work.dir });
  expect([code, stdout]).toEqual([0, `${files[0].diff}\nWritten.\n`]);
  expect(work.read('.ralph/settings.json')).toBe(NEW);
  expect(statSync(work.path('.ralph/settings.json')).mode & 0o777).toBe(0o640);
  expect((await ralph(run, { cwd: work.dir })).code).toBe(0);
  // The diff is one that other programs understand.
  work.write('.ralph/settings.json', OLD);
  work.write('a.diff', files[0].diff);
  work.git('apply', '-p0', 'a.diff');
  expect(work.read('.ralph/settings.json')).toBe(NEW);
  const again = await ralph(['migrate'], { cwd: work.dir });
  expect([again.code, again.stdout]).toEqual([0, 'Nothing to change: the settings have version 1.\n']);
});

test('of two files both are changed, or none', async () => {
  const work = repo();
  work.write('.ralph/settings.json', OLD);
  work.write('.ralph/settings.local.json', '{ "nobodyKnowsThis": 1 }');
  const { code, stderr } = await ralph(['migrate'], { cwd: work.dir });
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining('settings.local.json: nobodyKnowsThis: unknown'),
  ]);
  expect(work.read('.ralph/settings.json')).toBe(OLD);
});

test('a link, and what is outside of the project, is left alone', async () => {
  const [work, other] = [repo(), folder()];
  other.write('settings.json', OLD);
  other.write('loop.yaml', 'ralph_loop:\n  maxIterations: 3\n');
  mkdirSync(work.path('.ralph'));
  symlinkSync(other.path('settings.json'), work.path('.ralph/settings.json'));
  const linked = await ralph(['migrate'], { cwd: work.dir });
  expect([linked.code, linked.stderr]).toEqual([2, expect.stringContaining('is not in the project')]);
  const outside = await ralph(['migrate', other.path('loop.yaml')], { cwd: work.dir });
  expect([outside.code, outside.stderr]).toEqual([2, expect.stringContaining('is not in the project')]);
  work.write('here.json', OLD);
  const inner = repo();
  inner.write('own.json', OLD);
  mkdirSync(inner.path('.ralph'));
  symlinkSync('../own.json', inner.path('.ralph/settings.json'));
  const own = await ralph(['migrate'], { cwd: inner.dir });
  expect([own.code, own.stderr]).toEqual([2, expect.stringContaining('is not a file')]);
  renameSync(work.path('.ralph'), work.path('gone'));
  symlinkSync(other.dir, work.path('.ralph'));
  expect((await ralph(['migrate'], { cwd: work.dir })).code).toBe(2);
  expect([other.read('settings.json'), inner.read('own.json')]).toEqual([OLD, OLD]);
});

test('the YAML of a loop keeps its comments', async () => {
  const work = repo();
  work.write('loop.yaml', '# mine\nralph_loop:\n  maxIterations: 3 # enough\n');
  expect((await ralph(['migrate', 'loop.yaml'], { cwd: work.dir })).code).toBe(0);
  expect(work.read('loop.yaml')).toBe('# mine\nralph_loop:\n  version: 1\n  max_iterations: 3 # enough\n');
  const { code, stderr } = await ralph(['migrate', 'no.yaml'], { cwd: work.dir });
  expect([code, stderr]).toEqual([2, 'ralph: no.yaml: there is no such file\n']);
});
