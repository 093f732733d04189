/** `ralph watch` at a forge that refuses for long, and then does not: it says so once, ends only where it must, and loses and repeats nothing. */
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { describe, expect, test, vi } from 'vitest';
import { agentOf, loopEnded } from '../rig/ended-run.ts';
import { check, createForge, type Fake, type Fault, word } from '../rig/forge.ts';
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
  return {
    ...{ work, forge, start, ...refusing(forge) },
    untilSaid: (...words: readonly string[]) =>
      vi.waitFor(() => expect(forge.spoken(12)).toEqual(words), PATIENCE),
    outcome: () => ({ pulls: forge.state.pulls.length, runs: runsOf(work).length, labels: forge.labels(12) }),
  };
}

function refusing({ state }: Fake) {
  let hits = 0;
  return {
    /** From the first request that `begins` it on, until it is healed. */
    refuse(kind: RegExp, fault: Fault, begins = (_what: string) => true) {
      hits = 0;
      let hasBegun = false;
      state.arrives = (count, what) => {
        hasBegun ||= begins(what);
        if (!hasBegun || !kind.test(what)) return;
        hits++;
        state.faults.set(count, { message: 'its own words', ...fault });
      };
    },
    heal() {
      state.arrives = () => undefined;
    },
    untilRefused: (count: number) => vi.waitFor(() => expect(hits).toBeGreaterThanOrEqual(count), PATIENCE),
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

const PAGES: Fault = { status: 200, body: '<!doctype html><p>Log in</p>' };

/** How often it says so. */
const times = (screen: string, words: RegExp) => screen.match(new RegExp(words, 'g'))?.length;

test(
  'a limit that states no end, then pages, for whoever asks: waited for, said once, and Ctrl-C is heard',
  TIME,
  async () => {
    const scene = await watched();
    const { state } = scene.forge;
    state.checks = () => [check('test', null)];
    const first = scene.start();
    await first.until('Waiting: checks are running');
    // Who looks at the issues and who follows a pull request ask for themselves.
    scene.refuse(/./, { status: 429 });
    await scene.untilRefused(2);
    await first.until('Retrying in 60 s');
    const limited = await stopped(first);
    expect([limited.code, times(limited.screen, /its rate limit is reached/)], limited.screen).toEqual([
      130, 1,
    ]);
    let begun = 0;
    scene.refuse(/./, PAGES, what => what === 'GET /repos/octo/demo' && ++begun === 2);
    const again = scene.start();
    await scene.untilRefused(4);
    state.checks = () => [check('test', 'success')];
    scene.heal();
    await scene.untilSaid('working on', 'the pull', 'done');
    await vi.waitFor(() => expect(scene.outcome()).toEqual(ONCE), PATIENCE);
    const { code, screen } = await stopped(again);
    expect([code, times(screen, /its answer is no JSON\. Ralph tries until it answers\./)], screen).toEqual([
      130, 1,
    ]);
  },
);

test(
  '`ralph pr --follow`: a limit until later, then pages: waited for, said once, and Ctrl-C is heard',
  TIME,
  async () => {
    const work = repo({ 'README.md': '# test\n', '.gitignore': '.ralph/\n' });
    const forge = await createForge(work);
    await loopEnded(work);
    const { refuse, heal, untilRefused } = refusing(forge);
    const looks = (what: string) => what.includes('/check-runs');
    const start = () => startRalph(['pr', '--follow', '--poll', '0.05'], { cwd: work.dir, env: forge.env });
    const reset = String(Math.ceil(Date.now() / 1_000) + 1_800);
    const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset };
    refuse(/./, { status: 403, headers }, looks);
    const first = start();
    await first.until(/its rate limit is reached\. Retrying in 1[78]\d\d s\./);
    const limited = await stopped(first);
    expect([limited.code, times(limited.screen, /rate limit/)], limited.screen).toEqual([130, 1]);
    expect(limited.screen).toContain('Interrupted. The same command continues.');
    refuse(/./, PAGES, looks);
    const again = start();
    await untilRefused(3);
    heal();
    const { code, stdout, stderr } = await again.finished;
    expect([code, times(stderr, /its answer is no JSON/)], stdout + stderr).toEqual([0, 1]);
    expect([forge.state.pulls.length, forge.state.comments.length]).toEqual([1, 1]);
  },
);
