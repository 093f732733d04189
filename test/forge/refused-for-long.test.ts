/** `ralph watch` at a forge that refuses for long, and then does not: it says so once, ends only where it must, and loses and repeats nothing. */
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { describe, expect, test, vi } from 'vitest';
import { agentOf } from '../rig/ended-run.ts';
import { createForge, type Fault, word } from '../rig/forge.ts';
import { runsOf } from '../rig/ledger.ts';
import { startRalph } from '../rig/ralph.ts';
import { folder, repo } from '../rig/repo.ts';

const TIME = { timeout: 240_000 };
const PATIENCE = { timeout: 120_000, interval: 50 };
const NEW = 'case "$(cat)" in *"reviewers ask"*) echo answered > answered.txt;; esac; echo new > new.txt';

async function watched(script = NEW) {
  const work = repo({ 'README.md': '# test\n', '.gitignore': '.ralph/\n' });
  const forge = await createForge(work);
  forge.issue(12, 'Make a file');
  const own = ['--poll', '0.05', '--check', 'test -f new.txt', '--max-iterations', '2'];
  const start = () =>
    startRalph(['watch', ...own, '--agent', agentOf(script)], { cwd: work.dir, env: forge.env });
  let hits = 0;
  return {
    ...{ work, forge, start },
    /** From now on, until it is healed. */
    refuse(kind: RegExp, fault: Fault) {
      hits = 0;
      forge.state.arrives = (count, what) => {
        if (!kind.test(what)) return;
        hits++;
        forge.state.faults.set(count, { message: 'its own words', ...fault });
      };
    },
    heal() {
      forge.state.arrives = () => undefined;
    },
    untilRefused: (count: number) => vi.waitFor(() => expect(hits).toBeGreaterThanOrEqual(count), PATIENCE),
    untilSaid: (...words: readonly string[]) =>
      vi.waitFor(() => expect(forge.spoken(12)).toEqual(words), PATIENCE),
    outcome: () => ({ pulls: forge.state.pulls.length, runs: runsOf(work).length, labels: forge.labels(12) }),
  };
}

type Watched = Awaited<ReturnType<typeof watched>>;
type Running = ReturnType<Watched['start']>;

const ONCE = { pulls: 1, runs: 1, labels: ['ralph', 'ralph:done'] };

async function stopped(running: Running) {
  running.process.kill('SIGINT');
  const { code, stdout, stderr } = await running.finished;
  return { code, screen: stdout + stderr };
}

/** How often it says that it was refused. */
const saysSo = (screen: string) => screen.split('its own words').length - 1;

test.each([
  ['its labels', 403, /\/labels/, 1],
  ['its events', 401, /\/12\/events/, 1],
  ['its comments', 422, /\/12\/comments/, 1],
  ['saying something', 403, /POST .*\/12\/comments/, 1],
  ['who may write', 451, /\/permission/, 1],
])('%s: it stays, says so once, and does it later', TIME, async (_, status, kind, most) => {
  const scene = await watched();
  scene.refuse(kind, { status });
  const running = scene.start();
  await scene.untilRefused(20);
  scene.heal();
  await scene.untilSaid('working on', 'the pull', 'done');
  await vi.waitFor(() => expect(scene.outcome()).toEqual(ONCE), PATIENCE);
  const { code, screen } = await stopped(running);
  expect([code, saysSo(screen) > 0, saysSo(screen) <= most], screen).toEqual([130, true, true]);
});

test('two labels that cannot be changed are said once each', TIME, async () => {
  const scene = await watched();
  scene.forge.state.done = (_, what) => {
    if (/POST .*\/pulls$/.test(what)) scene.refuse(/\/labels/, { status: 403 });
  };
  const running = scene.start();
  await scene.untilSaid('working on', 'the pull', 'done');
  await scene.untilRefused(30);
  scene.heal();
  await vi.waitFor(() => expect(scene.outcome()).toEqual(ONCE), PATIENCE);
  const { code, screen } = await stopped(running);
  expect([code, saysSo(screen)], screen).toEqual([130, 2]);
});

describe('the issues themselves:', () => {
  test.each([
    ['401', { status: 401 }],
    ['403', { status: 403 }],
    ['404', { status: 404 }],
    ['422', { status: 422 }],
    ['another host', { status: 301, headers: { location: 'http://127.0.0.1:9/' } }],
  ])('%s: it ends, says why, and the same command continues', TIME, async (_, fault) => {
    const scene = await watched();
    scene.forge.state.done = (_, what) => {
      if (/POST .*\/comments/.test(what)) scene.refuse(/\/issues\?/, fault);
    };
    const { code, stderr } = await scene.start().finished;
    expect([code, stderr], stderr).toEqual([2, expect.stringMatching(/^ralph: .*its own words/m)]);
    scene.forge.state.done = () => undefined;
    scene.heal();
    const again = scene.start();
    await scene.untilSaid('working on', 'the pull', 'done');
    await vi.waitFor(() => expect(scene.outcome()).toEqual(ONCE), PATIENCE);
    expect((await stopped(again)).code).toBe(130);
  });

  test('while an agent works, it says at once what it waits for', TIME, async () => {
    const seen = folder('ralph-seen-');
    execFileSync('mkfifo', [seen.path('pipe')]);
    const scene = await watched(`touch ${seen.path('begun')}; cat ${seen.path('pipe')}; ${NEW}`);
    const running = scene.start();
    await vi.waitFor(() => expect(existsSync(seen.path('begun'))).toBe(true), PATIENCE);
    scene.refuse(/\/issues\?/, { status: 401 });
    await running.until('its own words');
    await running.until('Ending after this step');
    writeFileSync(seen.path('pipe'), '');
    expect((await running.finished).code).toBe(2);
  });
});

test.each([
  ['opening it', 403, /POST .*\/pulls$/],
  ['looking at it', 404, /GET .*\/pulls\/1$/],
  ['its checks', 451, /\/check-runs/],
])(
  'its pull request, %s: it needs somebody, and the same command started anew finishes it',
  TIME,
  async (_, status, kind) => {
    const scene = await watched();
    scene.refuse(kind, { status });
    const running = scene.start();
    await vi.waitFor(() => expect(scene.forge.spoken(12)).toContain('needs you'), PATIENCE);
    await vi.waitFor(() => expect(scene.forge.labels(12)).toEqual(['ralph', 'ralph:needs-you']), PATIENCE);
    const { screen } = await stopped(running);
    expect(screen).toContain(`answers with ${status}: its own words`);
    scene.heal();
    const again = scene.start();
    // Who has read that it needs them reads as well that it is done.
    await vi.waitFor(() => expect(scene.forge.spoken(12).at(-1)).toBe('done'), PATIENCE);
    await vi.waitFor(() => expect(scene.outcome()).toEqual(ONCE), PATIENCE);
    expect([(await stopped(again)).code, [...scene.forge.spoken(12)].sort()]).toEqual([
      130,
      ['done', 'needs you', 'the pull', 'working on'],
    ]);
  },
);

test(
  'a pull request that was ready and cannot be looked at is said once, and heard later',
  TIME,
  async () => {
    const scene = await watched();
    const running = scene.start();
    await scene.untilSaid('working on', 'the pull', 'done');
    scene.refuse(/GET .*\/pulls\/1\/reviews/, { status: 403 });
    scene.forge.state.threads.push(word('alice', 'answer this', { path: 'new.txt', line: 1 }));
    await scene.untilRefused(10);
    await running.until('its own words');
    scene.heal();
    await vi.waitFor(
      () => expect(scene.forge.state.threads.at(-1)?.body).toContain('Worked on in'),
      PATIENCE,
    );
    const { code, screen } = await stopped(running);
    expect([code, saysSo(screen)], screen).toEqual([130, 1]);
  },
);

test('Ctrl-C while it waits for a forge is no fault of the issue', TIME, async () => {
  const scene = await watched();
  scene.refuse(/\/12\/events/, { status: 503 });
  const running = scene.start();
  await running.until('Ralph tries until it answers');
  const { code, screen } = await stopped(running);
  expect([code, screen.includes('interrupted')], screen).toEqual([130, false]);
});
