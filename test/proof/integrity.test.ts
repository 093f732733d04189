/** What the checks rest on must stay as it is while they run: who changed it is named, and the round is void. */
import { chmodSync, linkSync, renameSync, statSync, utimesSync } from 'node:fs';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Violation } from '../../src/domain/run/evidence.ts';
import { createIntegrityWatch } from '../../src/proof/integrity.ts';
import { inputsAmong, isSameInput, watchCheckInputs } from '../../src/workspace/check-inputs.ts';
import type { ProtectedCopy } from '../../src/workspace/protect.ts';
import { only } from '../rig/ledger.ts';
import { folder, type Repo } from '../rig/repo.ts';
import { recorder } from '../run/turns/world.ts';

const CHANGED: Violation = { what: 'test/a.test.ts was changed', restored: true };

/** Protected files where the checks run, of which the test says what becomes. */
function protectedFiles() {
  const now = { changed: [] as Violation[], touched: [] as string[], isFresh: false };
  const there: ProtectedCopy = {
    restore: async () => now.changed.splice(0),
    isFresh: () => now.isFresh,
    watch: () => () => now.touched.splice(0),
  };
  return { now, there };
}

function watching() {
  const place = folder();
  place.write('package.json', '{"scripts":{"test":"node --test"}}');
  const inputs = watchCheckInputs({ cwd: place.dir, env: { PATH: '/bin' }, commands: ['npm test'] });
  inputs.take();
  const { emit, events } = recorder();
  const { now, there } = protectedFiles();
  const watch = createIntegrityWatch({ inputs, emit });
  const blamed = () => only(events, 'violation').map(({ violation }) => violation);
  const copy = folder();
  copy.write('package.json', '{"scripts":{"test":"node --test"}}');
  const inCopy = watchCheckInputs({ cwd: copy.dir, env: { PATH: '/bin' }, commands: ['npm test'] });
  const round = watch.during(1, { protected: there, inputs: inCopy });
  return { place, copy, watch, round, now, blamed };
}

test.each([
  ['..check.sh', (path: string) => `sh ${path}`],
  ['my checks/run it.sh', () => "sh 'my checks/run it.sh'"],
  ['checks/$a*.sh', () => String.raw`sh checks/\$a\*.sh`],
  ['checks/deep/b.sh', () => 'for f in checks/*/*.sh; do sh "$f"; done'],
])('a script is watched, however it is named: %s', (name, command) => {
  const place = folder('ralph-whole-');
  place.write(name, 'exit 1\n');
  const commands = [command(place.path(name))];
  const inputs = watchCheckInputs({ cwd: place.dir, env: { PATH: '/bin' }, commands });
  inputs.take();
  place.write(name, 'exit 0\n');
  expect(inputs.changed()).toEqual([expect.stringContaining(name)]);
});

test('a program of the PATH is watched where the PATH leads into the project', () => {
  const place = folder();
  place.write('bin/sort', 'exit 0\n');
  const inputs = watchCheckInputs({
    cwd: place.dir,
    env: { PATH: 'bin:/usr/bin:/bin' },
    commands: ['sort a'],
  });
  inputs.take();
  expect(inputs.changed()).toEqual([]);
  chmodSync(place.path('bin/sort'), 0o755);
  expect(inputs.changed()).toEqual(['bin/sort', 'program sort']);
});

test.each(['bin/helper', 'tools/helper', 'tools/sh'])(
  'what a script could call is watched, too: %s',
  path => {
    const place = folder();
    place.script('check.sh', 'helper');
    const PATH = `bin:${place.path('tools')}:node_modules/.bin:/usr/bin:/bin`;
    const inputs = watchCheckInputs({ cwd: place.dir, env: { PATH }, commands: ['sh check.sh'] });
    inputs.take();
    place.script('node_modules/.bin/helper', 'exit 0');
    expect(inputs.changed()).toEqual([]);
    place.script(path, 'exit 0');
    expect(inputs.changed()).toContain(path);
  },
);

test.each(['a check input', 'one by another name', 'one that comes back'])(
  '%s that is changed and put back within a check is named',
  how => {
    const place = folder();
    place.write('check.sh', 'exit 1\n');
    const inputs = watchCheckInputs({ cwd: place.dir, env: {}, commands: ['sh check.sh && sh dist/a.sh'] });
    inputs.take();
    const written = inputs.watch();
    expect(written()).toEqual([]);
    const [at, aside] = [place.path('check.sh'), place.path('aside')];
    if (how.includes('another')) linkSync(at, aside);
    if (how.includes('back')) renameSync(at, aside);
    else place.write(how.includes('another') ? 'aside' : 'check.sh', 'exit 0\n');
    if (how.includes('back')) renameSync(aside, at);
    else place.write('check.sh', 'exit 1\n');
    expect(inputs.changed()).toEqual([]);
    expect(written()).toEqual(['check.sh']);
  },
);

test('a script that is new counts where a pattern is run', () => {
  const place = folder();
  place.write('checks/b.sh', 'exit 1\n');
  const commands = ['for f in checks/*.sh; do sh "$f" && break; done'];
  const inputs = watchCheckInputs({ cwd: place.dir, env: { PATH: '/bin' }, commands });
  inputs.take();
  place.write('checks/a.sh', 'exit 0\n');
  expect(inputs.changed()).toEqual(['checks/a.sh']);
});

test('of files that are new those are named that a check rests on', () => {
  const place = folder();
  place.write('package.json', '{"scripts":{"test":"vitest run"}}');
  const paths = [
    '.npmrc',
    'src/a.ts',
    'vitest.setup.ts',
    'lib/vitest.config.ts',
    'checks/a.sh',
    'package.json',
  ];
  const commands = ['npm test', 'for f in checks/*; do sh "$f"; done'];
  expect(inputsAmong(paths, { cwd: place.dir, commands })).toEqual(paths.filter(path => path !== 'src/a.ts'));
});

test.each([
  ['one more dependency', '"dependencies":{"a":"1","b":"1"}', true],
  ['another version of one', '"dependencies":{"a":"2"}', false],
  ['another script for the checks', '"dependencies":{"a":"1"},"scripts":{"test":"true"}', false],
])('of two texts of package.json, %s: the same is %s', (_, fields, isSame) => {
  const place = folder();
  const before = '{"dependencies":{"a":"1"},"scripts":{"test":"vitest run"}}';
  place.write('package.json', before);
  const after = `{"scripts":{"test":"vitest run"},${fields}}`;
  const options = { cwd: place.dir, commands: ['npm test'] };
  expect(isSameInput('package.json', [before, after], options)).toBe(isSame);
  expect(isSameInput('package.json', [before, undefined], options)).toBe(false);
});

describe('a program that a check starts', () => {
  /** Looked at twice before anything happens, when it has long been as it is: what was read of it may be remembered. */
  function watched() {
    const place = folder('ralph-program-');
    place.write('bin/my-tests', 'exit 1\n');
    place.write('first/other', '');
    const PATH = `${place.path('first')}:${place.path('bin')}`;
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
    onTestFinished(() => void vi.useRealTimers());
    const inputs = watchCheckInputs({ cwd: folder().dir, env: { PATH }, commands: ['my-tests'] });
    inputs.take();
    expect([inputs.changed(), inputs.changed()]).toEqual([[], []]);
    return { place, path: place.path('bin/my-tests'), inputs };
  }

  test.each<readonly [string, (place: Repo, path: string) => void]>([
    ['is written over', place => place.write('bin/my-tests', 'exit 0\n')],
    [
      'is written over and given its old time',
      (place, path) => {
        const { atime, mtime } = statSync(path);
        place.write('bin/my-tests', 'exit 0\n');
        utimesSync(path, atime, mtime);
      },
    ],
    [
      'is replaced by another',
      (place, path) => {
        place.write('new', 'exit 0\n');
        renameSync(place.path('new'), path);
      },
    ],
    ['is found earlier on the PATH', place => place.write('first/my-tests', 'exit 1\n')],
    ['is gone', (place, path) => renameSync(path, place.path('gone'))],
  ])('and that %s is another', (_, change) => {
    const { place, path, inputs } = watched();
    change(place, path);
    expect(inputs.changed()).toEqual(['program my-tests']);
  });

  test('and that is written anew as it was is the same', () => {
    const { place, inputs } = watched();
    place.write('bin/my-tests', 'exit 0\n');
    expect(inputs.changed()).toEqual(['program my-tests']);
    place.write('bin/my-tests', 'exit 1\n');
    expect(inputs.changed()).toEqual([]);
  });
});

describe('protected files', () => {
  test('that nobody touches void nothing', async () => {
    const { round, blamed } = watching();
    expect([await round.before(), await round.after('npm test')]).toEqual([[], []]);
    expect(blamed()).toEqual([]);
  });

  test('that a check changes are put back, and the check is named', async () => {
    const { round, now, blamed } = watching();
    await round.before();
    now.changed.push(CHANGED);
    expect(await round.after('npm test')).toEqual([CHANGED.what]);
    expect(blamed()).toEqual([{ ...CHANGED, by: 'npm test' }]);
    expect(await round.before()).toEqual([]);
  });

  test('that change while no check runs are nobody’s', async () => {
    const { round, now, blamed } = watching();
    now.changed.push(CHANGED);
    expect(await round.before()).toEqual([CHANGED.what]);
    expect(blamed()).toEqual([CHANGED]);
  });

  test('that were just looked at are not looked at again before a check; what changed since is seen after it', async () => {
    const { round, now, blamed } = watching();
    now.isFresh = true;
    now.changed.push(CHANGED);
    expect(await round.before()).toEqual([]);
    expect(await round.after('npm test')).toEqual([CHANGED.what]);
    expect(blamed()).toEqual([{ ...CHANGED, by: 'npm test' }]);
  });

  test('that a check changes and puts back itself are seen all the same', async () => {
    const { round, now, blamed } = watching();
    await round.before();
    now.touched.push('test/a.test.ts was written');
    expect(await round.after('npm test')).toEqual(['test/a.test.ts was written']);
    expect(blamed()).toEqual([{ what: 'test/a.test.ts was written', restored: true, by: 'npm test' }]);
  });

  test('that are changed and written are told once', async () => {
    const { round, now, blamed } = watching();
    await round.before();
    now.changed.push(CHANGED);
    now.touched.push('test/a.test.ts was written');
    await round.after('npm test');
    expect(blamed()).toHaveLength(1);
  });
});

describe('check inputs', () => {
  const weaker = '{"scripts":{"test":"true"}}';
  const asBefore = '{"scripts":{"test":"node --test"}}';

  test('that are different are told, since it was last asked', () => {
    const { watch: all, place } = watching();
    expect(all.takeChanged()).toEqual([]);
    place.write('package.json', weaker);
    expect(all.takeChanged()).toEqual(['package.json']);
    place.write('package.json', asBefore);
    expect(all.takeChanged()).toEqual([]);
  });

  test('that were different only while a check ran are told, too', async () => {
    const { watch: all, round, place } = watching();
    await round.before();
    place.write('package.json', weaker);
    await round.after('npm test');
    place.write('package.json', asBefore);
    expect(all.takeChanged()).toEqual(['package.json']);
  });
});

describe('check inputs in a copy, where nobody works', () => {
  const weaker = '{"scripts":{"test":"true"}}';

  test('that a check changes void it', async () => {
    const { round, copy } = watching();
    await round.before();
    copy.write('package.json', weaker);
    expect(await round.after('npm run build')).toEqual(['package.json, which the checks rest on']);
  });

  test('that `setup` adds are its work; that it changes void it, too', async () => {
    const { round, copy } = watching();
    await round.before();
    copy.write('.npmrc', 'registry=http://localhost\n');
    copy.write('node_modules/.bin/node', '');
    expect(await round.after('npm ci', true)).toEqual([]);
    await round.before();
    copy.write('package.json', weaker);
    expect(await round.after('npm ci', true)).toEqual(['package.json, which the checks rest on']);
  });

  test('that a check adds void it, but for what is installed', async () => {
    const { round, copy } = watching();
    await round.before();
    copy.write('node_modules/.bin/node', '');
    expect(await round.after('npm ci && npm test')).toEqual([]);
    await round.before();
    copy.write('.npmrc', 'script-shell=/bin/true\n');
    expect(await round.after('npm test')).toEqual(['.npmrc, which the checks rest on']);
  });
});
