import { closeSync, existsSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type ProcessSpec, startProcess } from '../../src/platform/process.ts';
import { descendants, identify, isAlive } from '../../src/platform/process-table.ts';
import { folder } from '../rig/repo.ts';

function start(command: string, options: Partial<ProcessSpec> = {}) {
  const chunks: Buffer[] = [];
  const { dir } = folder();
  const stderr = openSync(`${dir}/stderr`, 'w');
  const child = startProcess<'test'>({
    argv: ['sh', '-c', command],
    cwd: dir,
    env: { PATH: process.env.PATH },
    stdout: chunk => chunks.push(Buffer.from(chunk)), // it may be lent
    stderr,
    ...options,
  });
  const done = child.done.finally(() => closeSync(stderr));
  return { ...child, done, dir, printed: () => Buffer.concat(chunks).toString() };
}

/** The number that a command prints first, once it has. */
function firstNumber(child: { printed(): string }): Promise<number> {
  return new Promise(resolve => {
    const look = () => {
      const found = /^(\d+)\n/m.exec(child.printed());
      if (found) resolve(Number(found[1]));
      else setImmediate(look);
    };
    look();
  });
}

const isThere = (pid: number) => {
  const found = identify(pid);
  return found !== undefined && isAlive(found);
};

describe('a process that ends by itself', () => {
  test('tells its exit code', async () => {
    expect(await start('exit 3').done).toEqual({ end: { kind: 'exited', code: 3 }, leftBehind: 0 });
  });

  test('tells a signal apart from an exit code', async () => {
    expect(await start('kill -9 $$').done).toEqual({
      end: { kind: 'signalled', signal: 'SIGKILL' },
      leftBehind: 0,
    });
  });

  test('that does not exist is an outcome, not an exception', async () => {
    const child = start('', { argv: ['/no/such/program'] });
    expect(await child.done).toEqual({ end: { kind: 'not-started', code: 'ENOENT' }, leftBehind: 0 });
  });

  test('whose arguments are too long is an outcome too', async () => {
    const child = start('', { argv: ['true', 'x'.repeat(200_000)] });
    expect(await child.done).toEqual({ end: { kind: 'not-started', code: 'E2BIG' }, leftBehind: 0 });
  });

  test('has all its output read, also what is printed last', async () => {
    const child = start('head -c 3000000 /dev/zero; printf end');
    await child.done;
    expect(child.printed().length).toBe(3_000_003);
  });
});

describe('output through a file', () => {
  const hasty = `process.stdout.write('x'.repeat(2_000_000)); process.stdout.write('end'); process.exit(0)`;

  test('keeps the last words of a program that exits while it writes', async () => {
    const { path } = folder();
    const child = start('', { argv: [process.execPath, '-e', hasty], throughFile: path('out') });
    expect(await child.done).toEqual({ end: { kind: 'exited', code: 0 }, leftBehind: 0 });
    expect(child.printed() === `${'x'.repeat(2_000_000)}end`).toBe(true);
    expect(statSync(path('out')).size).toBe(2_000_003);
  });

  test('comes while it is written, not only at the end', async () => {
    const { path } = folder();
    const child = start('echo 42; until [ -e go-on ]; do :; done', { throughFile: path('out') });
    expect(await firstNumber(child)).toBe(42);
    writeFileSync(`${child.dir}/go-on`, '');
    expect(await child.done).toMatchObject({ end: { code: 0 } });
  });
});

describe('input', () => {
  test('of 5 MB goes through a process that prints as much meanwhile', async () => {
    const input = 'prompt '.repeat(750_000);
    const child = start('tee /dev/null', { input });
    await child.done;
    expect(child.printed() === input).toBe(true);
  });

  test('that nobody reads is no error', async () => {
    expect(await start('exit 0', { input: 'x'.repeat(5_000_000) }).done).toMatchObject({ end: { code: 0 } });
  });

  test('is empty and closed when none is given', async () => {
    const child = start('cat; echo over');
    await child.done;
    expect(child.printed()).toBe('over\n');
  });
});

describe('nothing is left behind', () => {
  test('when a process leaves a child in its group', async () => {
    const child = start('sleep 1000 >/dev/null 2>&1 & echo $!');
    const pid = await firstNumber(child);
    expect(await child.done).toMatchObject({ end: { code: 0 }, leftBehind: 1 });
    expect(isThere(pid)).toBe(false);
  });

  test('when the child has fled into a session of its own', async () => {
    const child = start(
      'setsid sh -c "echo \\$\\$; : > ready; exec sleep 1000" & until [ -e ready ]; do :; done',
    );
    const pid = await firstNumber(child);
    expect(await child.done).toMatchObject({ leftBehind: 1 });
    expect(isThere(pid)).toBe(false);
  });

  test('when it fled twice, is nobody’s child any more and ignores SIGTERM', async () => {
    const daemon = 'trap "" TERM; echo $$; touch ready; while :; do sleep 1000; done';
    const child = start(`(setsid setsid sh -c '${daemon}' &) ; until [ -e ready ]; do :; done`);
    const pid = await firstNumber(child);
    await child.done;
    expect(isThere(pid)).toBe(false);
  });

  test('when it holds the pipe open after the process has ended', async () => {
    const child = start('sleep 1000 & echo $!');
    const pid = await firstNumber(child);
    expect(await child.done).toMatchObject({ end: { code: 0 } });
    expect(isThere(pid)).toBe(false);
  });

  test('when the tree is ended from outside, deep and in several sessions', async () => {
    const child = start('sh -c "setsid sh -c \\"sleep 1000\\" & sleep 1000" & echo $$; wait');
    const pid = await firstNumber(child);
    while (descendants(pid).length < 3) await new Promise(setImmediate);
    const tree = descendants(pid);
    child.stop('test');
    expect(await child.done).toMatchObject({ endedBy: 'test' });
    expect(tree.filter(isAlive)).toEqual([]);
  });

  test('and a process of somebody else with the same command is left alone', async () => {
    const other = start('echo $$; exec sleep 1000');
    const pid = await firstNumber(other);
    const child = start('setsid sleep 1000 & exit 0');
    await child.done;
    expect(isThere(pid)).toBe(true);
    other.stop('test', 'at-once');
    await other.done;
  });
});

describe('ending it', () => {
  test('asks first, so that it can clean up', async () => {
    const child = start('trap "touch cleaned; exit 0" TERM; echo $$; while :; do sleep 0.01; done');
    await firstNumber(child);
    child.stop('test');
    expect(await child.done).toEqual({ end: { kind: 'exited', code: 0 }, endedBy: 'test', leftBehind: 0 });
    expect(existsSync(`${child.dir}/cleaned`)).toBe(true);
  });

  test('kills it when it does not listen', async () => {
    const child = start('trap "" TERM; echo $$; while :; do sleep 0.01; done', { grace: 50 });
    await firstNumber(child);
    child.stop('test');
    expect(await child.done).toMatchObject({ end: { signal: 'SIGKILL' }, endedBy: 'test' });
  });

  test('reaches a process that has been stopped', async () => {
    const child = start('echo $$; kill -STOP $$; sleep 1000', { grace: 50 });
    const pid = await firstNumber(child);
    while (!readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') T ')) await new Promise(setImmediate);
    child.stop('test');
    expect(await child.done).toMatchObject({ endedBy: 'test' });
  });

  test('names the first reason when there are two', async () => {
    const child = start('trap "" TERM; echo $$; while :; do sleep 0.01; done', { grace: 50, timeout: 20 });
    await firstNumber(child);
    expect(await child.done).toMatchObject({ endedBy: 'timeout' });
  });

  test('happens by itself after silence, but not while it prints', async () => {
    const untilTwiceTheTimeout =
      'end=$(($(date +%s%N) + 600000000)); while [ $(date +%s%N) -lt $end ]; do echo busy; done';
    const child = start(`${untilTwiceTheTimeout}; echo silent; exec sleep 1000`, { idleTimeout: 300 });
    expect(await child.done).toMatchObject({ endedBy: 'idle-timeout' });
    expect(child.printed()).toMatch(/silent\n$/);
  });
});
