import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Command } from '../../src/platform/confinement.ts';
import { findContainment } from '../../src/platform/containment.ts';
import { pinFolder } from '../../src/platform/pinned-folder.ts';
import { type ProcessSpec, startConfined } from '../../src/platform/process.ts';
import { folder } from '../rig/repo.ts';

async function contained(argv: readonly [string, ...string[]], options: Partial<ProcessSpec> = {}) {
  const { dir, path } = folder();
  mkdirSync(path('state'));
  writeFileSync(path('state/secret'), '');
  const env = { PATH: process.env.PATH };
  const found = await findContainment({ tree: dir, env, hide: path('state') });
  if (!found.ok) throw new Error(found.why);
  let printed = '';
  let onPrint = () => {};
  const print = (chunk: Buffer) => {
    printed += chunk;
    onPrint();
  };
  const spec = { argv, cwd: dir, env, stdout: print, stderr: print, ...options };
  const child = await startConfined<'test'>(found.wall, spec);
  const until = (text: string) =>
    new Promise<void>(resolve => {
      onPrint = () => printed.includes(text) && resolve();
      onPrint();
    });
  return { ...child, dir, until, printed: () => printed };
}

const shell = (command: string, options: Partial<ProcessSpec> = {}) =>
  contained(['sh', '-c', command], options);

const works = await findContainment({ tree: '/tmp', env: process.env, hide: '/tmp' });

describe.skipIf(!works.ok)('a contained command', () => {
  test('keeps its exit code', async () => {
    expect(await (await shell('exit 3')).done).toEqual({ end: { kind: 'exited', code: 3 }, leftBehind: 0 });
  });

  test('that dies of a signal says so, and nothing is printed for it', async () => {
    const child = await shell('kill -9 $$');
    expect(await child.done).toEqual({ end: { kind: 'signalled', signal: 'SIGKILL' }, leftBehind: 0 });
    expect(child.printed()).toBe('');
  });

  test.each([
    ['/no/such/program', 'ENOENT'],
    ['no-such-program', 'ENOENT'],
    ['./not-executable', 'EACCES'],
  ])('%s is not started: %s', async (name, code) => {
    const { dir, path } = folder();
    writeFileSync(path('not-executable'), '');
    const child = await contained([name], { cwd: dir });
    expect(await child.done).toEqual({ end: { kind: 'not-started', code }, leftBehind: 0 });
  });

  test('has its input, and nothing of what is between Ralph and its init', async () => {
    const child = await shell('cat; [ -e /proc/$$/fd/3 ] || [ -e /proc/$$/fd/4 ] || echo and no more', {
      input: 'input ',
    });
    await child.done;
    expect(child.printed()).toBe('input and no more\n');
  });

  test('sees an empty folder and no process but its own', async () => {
    const child = await shell('ls -A state; echo /proc/[0-9]* | wc -w; echo $PPID');
    await child.done;
    expect(child.printed()).toMatch(/^[34]\n1\n$/);
  });

  test('sees no room of a proof but its own', async () => {
    const { dir, path } = folder();
    mkdirSync(path('state'));
    const env = { PATH: process.env.PATH };
    const found = await findContainment({ tree: dir, env, hide: path('state') });
    const [rooms = ''] = (found.ok && found.wall.rooms) || [];
    const [own, other] = [0, 1].map(() => mkdtempSync(join(rooms, 'test-'))) as [string, string];
    onTestFinished(() => [own, other].forEach(room => void rmSync(room, { recursive: true })));
    for (const room of [own, other]) writeFileSync(join(room, 'a'), 'x');
    const printedBy = async (room?: string) => {
      const look = `ls -A '${rooms}'; cat '${own}/a' '${other}/a'; echo y > '${other}/a'`;
      const child = await shell(`{ ${look}; } 2> /dev/null`, { cwd: '/', ...(room && { room }) });
      await child.done;
      return [child.printed(), readFileSync(join(other, 'a'), 'utf8')];
    };
    expect(await printedBy()).toEqual(['', 'x']);
    expect(await printedBy(own)).toEqual([`${basename(own)}\nx`, 'x']);
  });

  test.each(['in its folder', 'in a room'])('reaches no place of others beside its own: %s', async where => {
    const { dir, path } = folder();
    for (const name of ['state', 'places/run/own', 'places/run/other', 'places/else'])
      mkdirSync(path(name), { recursive: true });
    writeFileSync(path('places/run/own/a'), 'x');
    const env = { PATH: process.env.PATH };
    const found = await findContainment({ tree: dir, env, hide: path('state') });
    if (!found.ok) throw new Error(found.why);
    const { wall } = found;
    const [room, besides] = [0, 1].map(() => mkdtempSync(join(wall.rooms?.[0] ?? '', 'test-'))) as [
      string,
      string,
    ];
    onTestFinished(() => [room, besides].forEach(each => void rmSync(each, { recursive: true })));
    const among = { folder: path('places'), own: path('places/run/own'), view: path('state/view') };
    const isRoom = where === 'in a room';
    const write = `for at in .. '${path('places/run')}'; do echo y > "$at/other/b"; done; echo y > ../../else/b`;
    const argv = [
      'sh',
      '-c',
      `{ ${write}; cat a; echo z > c; ls -A .. '${path('places')}'; } 2>/dev/null`,
    ] as const;
    let printed = '';
    const print = (chunk: Buffer) => {
      printed += chunk;
    };
    const command = { argv, env, cwd: isRoom ? room : among.own, ...(isRoom && { room }) };
    const again = { ...wall, wrap: (given: Command) => wall.wrap({ ...given, among }) };
    await (await startConfined<'test'>(again, { ...command, stdout: print, stderr: print })).done;
    expect(printed).toBe(isRoom ? `..:\n${basename(room)}\n` : `x..:\nown\n\n${path('places')}:\nrun\n`);
    expect(readFileSync(join(isRoom ? room : among.own, 'c'), 'utf8')).toBe('z\n');
    expect([readdirSync(path('places/run/other')), readdirSync(path('places/else'))]).toEqual([[], []]);
  });

  test('runs where a folder goes that was to be shown as it was before', async () => {
    const { dir, path } = folder();
    mkdirSync(path('state'));
    const home = mkdtempSync('/var/ralph-test-');
    const [going, staying] = ['going', 'staying'].map(name => join(home, 'old', name)) as [string, string];
    for (const each of [going, staying]) mkdirSync(each, { recursive: true });
    const env = { PATH: process.env.PATH, HOME: home };
    const found = await findContainment({ tree: dir, env, hide: path('state') });
    if (!found.ok) throw new Error(found.why);
    const { wall } = found;
    const room = mkdtempSync(join(wall.rooms?.[0] ?? '', 'test-'));
    onTestFinished(() => [home, room].forEach(each => void rmSync(each, { recursive: true, force: true })));
    writeFileSync(join(staying, 'old'), '');
    const timeOf = (path: string) => statSync(path).ctimeMs;
    // Folders count by the time of their making. The clock of files stands still for some milliseconds.
    do writeFileSync(join(going, 'new'), '');
    while (timeOf(join(going, 'new')) === timeOf(join(staying, 'old')));
    const from = timeOf(join(going, 'new'));
    writeFileSync(join(staying, 'new'), '');
    const without = { from, to: Date.now() + 60_000 };
    const leaves = {
      ...wall,
      async wrap(given: Command) {
        const wrapped = await wall.wrap({ ...given, without });
        rmSync(going, { recursive: true });
        return wrapped;
      },
    };
    let printed = '';
    const print = (chunk: Buffer) => {
      printed += chunk;
    };
    const argv = ['sh', '-c', `ls -A '${join(home, 'old')}' '${staying}'`] as const;
    const child = await startConfined<'test'>(leaves, {
      argv,
      cwd: room,
      env,
      room,
      stdout: print,
      stderr: print,
    });
    expect([(await child.done).end, printed]).toEqual([
      { kind: 'exited', code: 0 },
      `${join(home, 'old')}:\nstaying\n\n${staying}:\nold\n`,
    ]);
  });

  // With more entries than are laid out it looks empty, but for the room.
  test.each([1, 700])(
    'finds itself in its room where the home is the folder for temporary files, of %i files',
    async files => {
      const { dir, path } = folder();
      for (const name of ['state', 'tmp']) mkdirSync(path(name));
      vi.stubEnv('TMPDIR', path('tmp'));
      onTestFinished(() => void vi.unstubAllEnvs());
      const file = (name: string) => {
        writeFileSync(path(`tmp/${name}`), '');
        return statSync(path(`tmp/${name}`)).ctimeMs;
      };
      const old = Array.from({ length: files }, (_, at) => file(`old-${at}`)).at(-1);
      let from = file('new');
      while (from === old) from = file('new');
      const env = { PATH: process.env.PATH, HOME: path('tmp') };
      const found = await findContainment({ tree: dir, env, hide: path('state') });
      const [rooms = ''] = (found.ok && found.wall.rooms) || [];
      expect(dirname(rooms)).toBe(path('tmp'));
      const [room] = [0, 1].map(() => mkdtempSync(join(rooms, 'test-'))) as [string];
      const child = await shell(`ls -A .. && ls -A .. '${path('tmp')}' | grep -c old; cd '${room}' && pwd`, {
        ...{ cwd: room, room, env, without: { from, to: Number.MAX_SAFE_INTEGER } },
      });
      expect(await child.done).toMatchObject({ end: { kind: 'exited', code: 0 } });
      expect(child.printed()).toBe(`${basename(room)}\n${files === 1 ? 1 : 0}\n${room}\n`);
    },
  );

  test('does without a file that has gone since somebody looked', async () => {
    const { dir, path } = folder();
    mkdirSync(path('state'));
    mkdirSync(path('named'));
    const file = (name: string) => {
      writeFileSync(path(name), name);
      return statSync(path(name)).ctimeMs;
    };
    const old = file('named/old');
    let from = file('named/new');
    while (from === old) from = file('named/new');
    const env = { PATH: process.env.PATH, NAMED: path('named') };
    const found = await findContainment({ tree: dir, env, hide: path('state') });
    if (!found.ok) throw new Error(found.why);
    const room = mkdtempSync(join(found.wall.rooms?.[0] ?? '', 'test-'));
    onTestFinished(() => rmSync(room, { recursive: true }));
    const look = async () => {
      let printed = '';
      const print = (chunk: Buffer) => {
        printed += chunk;
      };
      const argv = ['sh', '-c', 'cat "$NAMED"/*'] as const;
      const without = { from, to: Number.MAX_SAFE_INTEGER };
      const spec = { argv, cwd: '/', env, room, without, stdout: print, stderr: print };
      const child = await startConfined<'test'>(found.wall, spec);
      return [(await child.done).end, printed];
    };
    expect(await look()).toEqual([{ kind: 'exited', code: 0 }, 'named/old']);
    rmSync(path('named/old'));
    expect(await look()).toEqual([{ kind: 'exited', code: 0 }, '']);
  });

  test('alone has the variables that make a program load other code', async () => {
    const child = await shell(
      'echo $LD_LIBRARY_PATH $OTHER; tr "\\0" "\\n" </proc/1/environ | grep -c ^LD_',
      {
        env: { PATH: process.env.PATH, LD_LIBRARY_PATH: '/of the tree', OTHER: 'other' },
      },
    );
    await child.done;
    expect(child.printed()).toBe('/of the tree other\n0\n');
  });

  test('is asked to stop, past its wall: its handler runs and its exit code comes back', async () => {
    const child = await shell('trap "echo bye; exit 5" INT; echo up; while :; do sleep 0.01; done', {
      stopSignal: 'SIGINT',
    });
    await child.until('up');
    child.stop('test');
    expect(await child.done).toEqual({ end: { kind: 'exited', code: 5 }, endedBy: 'test', leftBehind: 0 });
    expect(child.printed()).toBe('up\nbye\n');
  });

  test('that does not listen is killed with all that it started', async () => {
    const child = await shell(
      'trap "" TERM; env -i setsid sleep 1000 & echo up; while :; do sleep 0.01; done',
      {
        grace: 50,
      },
    );
    await child.until('up');
    child.stop('test');
    expect(await child.done).toMatchObject({
      end: { kind: 'signalled', signal: 'SIGKILL' },
      endedBy: 'test',
    });
  });

  test('that is stopped before its wall is up is ended at once', async () => {
    const child = await shell('exec sleep 1000');
    child.stop('test');
    expect(await child.done).toMatchObject({ end: { kind: 'signalled' }, endedBy: 'test' });
  });

  test('has what it leaves counted, and asked before it is killed', async () => {
    const daemon = 'trap "echo asked >asked; exit" TERM; echo up >up; while :; do sleep 0.01; done';
    const child = await shell(`env -i setsid sh -c '${daemon}' <&- >&- 2>&- & until [ -e up ]; do :; done`);
    const { end, leftBehind } = await child.done;
    expect(end).toEqual({ kind: 'exited', code: 0 });
    // The daemon, and its sleep while it is in one.
    expect([1, 2]).toContain(leftBehind);
    expect(existsSync(`${child.dir}/asked`)).toBe(true);
  });
});

test.skipIf(!works.ok)(
  'what has worked is not tried again, until something of the machine is another',
  async () => {
    const { path } = folder();
    mkdirSync(path('state'));
    const kept = path('state/kept');
    // Another tree each time: within one process the answer for a tree is remembered.
    const find = async (name: string) => {
      const before = existsSync(kept) ? readFileSync(kept, 'utf8') : undefined;
      const found = await findContainment({
        tree: path(name),
        env: { PATH: process.env.PATH },
        hide: path('state'),
        kept,
      });
      return { ok: found.ok, wasKnown: readFileSync(kept, 'utf8') === before };
    };
    expect(await find('a')).toEqual({ ok: true, wasKnown: false });
    const { ino } = statSync(kept);
    expect(await find('b')).toEqual({ ok: true, wasKnown: true });
    expect(statSync(kept).ino).toBe(ino);
    writeFileSync(kept, 'another machine');
    expect(await find('c')).toEqual({ ok: true, wasKnown: false });
  },
);

test.skipIf(!works.ok)('the init of a wall starts nothing that the command has put on its path', async () => {
  const { dir, path, script } = folder();
  script('bin/sleep', `echo $PPID > '${path('ran')}'`);
  const env = { PATH: `${path('bin')}:${process.env.PATH}` };
  const child = await contained(['sh', '-c', 'sh -c "trap : TERM; while :; do :; done" & '], {
    cwd: dir,
    env,
  });
  expect(await child.done).toMatchObject({ leftBehind: 1 });
  expect(existsSync(path('ran'))).toBe(false);
});

test('no program of the wall comes from the work tree', async () => {
  const { dir, path, script } = folder();
  mkdirSync(path('state'));
  for (const name of ['bwrap', 'unshare', 'setpriv', 'mount', 'sh', 'sleep'])
    script(`bin/${name}`, `touch '${path('ran')}'`);
  const env = { PATH: `${path('bin')}:${process.env.PATH}` };
  await findContainment({ tree: dir, env, hide: path('state') });
  expect(existsSync(path('ran'))).toBe(false);
});

describe('a pinned folder', () => {
  test('that was deleted is lost, and nothing is put in its place', () => {
    const { path } = folder();
    mkdirSync(path('state'));
    const pin = pinFolder(path('state'));
    rmdirSync(path('state'));
    expect([pin.putBack(), existsSync(path('state'))]).toEqual(['lost', false]);
    pin.close();
  });

  function pinned() {
    const { path } = folder();
    mkdirSync(path('a/b/state'), { recursive: true });
    writeFileSync(path('a/b/state/mine'), '');
    const pin = pinFolder(path('a/b/state'));
    return { path, pin, look: () => readdirSync(path('a/b/state')) };
  }

  test('that was not touched is left alone', () => {
    const { pin, look } = pinned();
    expect([pin.putBack(), look()]).toEqual(['untouched', ['mine']]);
    pin.close();
  });

  test.each<[string, (path: (name: string) => string) => void]>([
    ['gone', path => renameSync(path('a/b/state'), path('elsewhere'))],
    [
      'replaced by another one',
      path => {
        renameSync(path('a'), path('old'));
        mkdirSync(path('a/b/state'), { recursive: true });
        writeFileSync(path('a/b/state/forged'), '');
      },
    ],
    [
      'hidden by a link above it',
      path => {
        renameSync(path('a/b'), path('old'));
        mkdirSync(path('other/state'), { recursive: true });
        symlinkSync(path('other'), path('a/b'));
      },
    ],
    [
      'replaced by a file above it',
      path => {
        renameSync(path('a'), path('old'));
        writeFileSync(path('a'), '');
      },
    ],
  ])('that is %s is put back', (_, move) => {
    const { path, pin, look } = pinned();
    move(path);
    expect([pin.putBack(), look(), pin.putBack()]).toEqual(['moved', ['mine'], 'untouched']);
    pin.close();
  });
});
