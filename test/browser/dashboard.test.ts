import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { namesIn } from '../../src/platform/files.ts';
import { type FakeTurn, fakeAgent } from '../rig/fake-agent.ts';
import { createGate } from '../rig/gate.ts';
import { type Running, ralph, startRalph } from '../rig/ralph.ts';
import { folder, type Repo, repo } from '../rig/repo.ts';
import { approve, handIn, prdRepo, UNCHANGED, works } from '../rig/stories.ts';
import { DIFF, writeRun } from '../rig/written-run.ts';
import { accessibility, type OpenOptions, open } from './browser.ts';

const TOKEN = 'a-token-for-the-browser-tests';

/** The real command; answers where it is. */
async function dashboard(
  cwd: string,
  ...args: string[]
): Promise<{ readonly url: string; readonly running: Running }> {
  return dashboardWith([], cwd, ...args);
}

/** Its runs find these agents. */
async function dashboardWith(path: readonly string[], cwd: string, ...args: string[]) {
  const running = startRalph(['dashboard', ...args], { cwd, path, env: { RALPH_DASHBOARD_TOKEN: TOKEN } });
  let printed = '';
  running.process.stdout?.on('data', chunk => {
    printed += chunk;
  });
  await running.until(`?token=${TOKEN}`);
  return { url: printed.trim(), running };
}

interface Turns {
  /** The next call of the agent, as soon as it comes. */
  next(): Promise<FakeTurn>;
}

/** An agent that a test plays. */
async function player(): Promise<Turns & { readonly bin: string }> {
  const waiting: ((turn: FakeTurn) => void)[] = [];
  const came: FakeTurn[] = [];
  const { bin } = await fakeAgent('worker', turn => {
    const taker = waiting.shift();
    if (taker) taker(turn);
    else came.push(turn);
  });
  return {
    bin,
    next: () => new Promise(resolve => (came.length > 0 ? resolve(came.shift()!) : waiting.push(resolve))),
  };
}

/** A real loop with it. */
async function startLoop(project: Repo): Promise<Turns & { readonly loop: Running }> {
  const { bin, next } = await player();
  const loop = startRalph(
    ['loop', 'Do it', '--agent', 'worker', '--check', 'test -e done.txt', '--stuck-after', '0'],
    { cwd: project.dir, path: [bin] },
  );
  return { loop, next };
}

describe('a run that goes on', () => {
  test('is seen as it goes, and can be paused, told something, let on and ended', async () => {
    const project = repo();
    const { next, loop } = await startLoop(project);
    const first = await next();
    await first.print('I begin with <b>the cart</b>.\n');
    const { url } = await dashboard(project.dir);
    const { page, errors, picture } = await open(url);
    await page.getByRole('heading', { level: 1, name: 'Running: the agent is working.' }).waitFor();
    await page.getByText('I begin with <b>the cart</b>.').waitFor();

    await first.print('And now the receipt.\n');
    await page.getByText('And now the receipt.').waitFor();
    expect(await accessibility(page)).toEqual([]);
    await picture('dashboard-live');

    await page.getByRole('textbox', { name: 'Hint for the agent' }).fill('Look at src/cart.js');
    await page.keyboard.press('Enter');
    await page.getByText('Queued for the next iteration').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('will pause after this turn').waitFor();
    first.exit();
    await page.getByRole('heading', { level: 1, name: 'Paused.' }).waitFor();
    await picture('dashboard-paused');
    await page.getByRole('button', { name: 'Continue' }).click();

    const second = await next();
    expect(second.input).toContain('Look at src/cart.js');
    await page.locator('.row', { hasText: 'failed with exit code 1' }).waitFor();
    await page.getByRole('heading', { name: 'Iteration 2' }).waitFor();

    await page.getByRole('button', { name: 'Cancel…' }).click();
    await page.getByRole('button', { name: 'Now' }).click();
    await page.getByRole('heading', { level: 1, name: 'Stopped: the run was cancelled.' }).waitFor();
    expect((await loop.finished).code).toBe(1);
    expect(await page.getByRole('button', { name: 'Pause' }).count()).toBe(0);
    await picture('dashboard-cancelled');
    expect(errors).toEqual([]);
  });

  test('that waits for an answer gets it from the page', async () => {
    const project = prdRepo();
    const words = 'I stop here. <question>Which date format?</question>';
    const agent = await fakeAgent(
      'claude',
      works(project, UNCHANGED, { words }),
      works(project, handIn()),
      works(project, approve()),
    );
    const run = startRalph(['prd', 'run', '--agent', 'claude'], { cwd: project.dir, path: [agent.bin] });
    await run.until('US-001 asks');
    const { url } = await dashboard(project.dir);
    const { page, errors, picture } = await open(url);
    const field = page.getByRole('textbox', { name: 'US-001 asks: Which date format?' });
    expect(await page.locator('.asked').textContent()).toBe('US-001 asks: Which date format?');
    await page.getByRole('link', { name: 'asks you' }).waitFor();
    await field.fill('ISO 8601');
    expect(await accessibility(page)).toEqual([]);
    await picture('dashboard-question');
    await page.keyboard.press('Enter');
    await page.getByText('in the next prompt of that story').waitFor();
    expect((await run.finished).code).toBe(0);
    expect(agent.calls[1]?.input).toContain('Answer: ISO 8601');
    expect(await field.count()).toBe(0);
    expect(errors).toEqual([]);
  });

  test('is whole again after the dashboard was gone, and no event is missing', async () => {
    const project = repo();
    const { next } = await startLoop(project);
    const turn = await next();
    await turn.print('word 1\n');
    const served = await dashboard(project.dir);
    const { port } = new URL(served.url);
    const { page } = await open(served.url);
    await page.getByText('word 1').waitFor();
    served.running.process.kill('SIGKILL');
    await served.running.finished;
    await page.getByText('reconnecting…').first().waitFor();
    for (let word = 2; word <= 9; word++) await turn.print(`word ${word}\n`);
    await dashboard(project.dir, '--port', port);
    await page.getByText('word 9').waitFor();
    const words = await page.locator('.passage.is-words').allInnerTexts();
    expect(words.join('\n').match(/word \d/g)).toEqual(
      [1, 2, 3, 4, 5, 6, 7, 8, 9].map(word => `word ${word}`),
    );
    await turn.write('done.txt', '');
    await turn.print('<promise>COMPLETE</promise>\n');
    turn.exit();
    await page.getByRole('heading', { level: 1, name: /^Done: every check passes/ }).waitFor();
    const [id = ''] = (
      await ralph(['status', '--json'], { cwd: project.dir }).then(({ stdout }) => JSON.parse(stdout).runs)
    ).map((run: { id: string }) => run.id);
    const ledger = readFileSync(project.path(`.ralph/runs/${id}/events.jsonl`), 'utf8')
      .trimEnd()
      .split('\n');
    expect(ledger.at(-1)).toContain('"run-ended"');
  });

  test('shows what a turn changed, though the page asks before that is written', async () => {
    const project = repo();
    const { bin, next } = await player();
    const release = folder().path('release');
    const check = `until test -e '${release}'; do sleep 0.05; done; false`;
    const args = ['--agent', 'worker', '--check', check, '--max-iterations', '1'];
    startRalph(['loop', 'Do it', ...args], { cwd: project.dir, path: [bin] });
    const turn = await next();
    const { url } = await dashboard(project.dir);
    const { page } = await open(url);
    const answered = createGate();
    let isWritten = false;
    await page.route(/\/iterations\/1$/, async route => {
      const response = await route.fetch();
      await route.fulfill({
        response,
        ...(!isWritten && { json: { ...(await response.json()), diff: null } }),
      });
      answered.open();
    });
    await turn.write('cart.js', 'const sum = 0;\n');
    turn.exit();
    await answered.opened;
    isWritten = true;
    writeFileSync(release, '');
    await page.locator('.line.is-plus', { hasText: 'const sum = 0;' }).waitFor();
  });

  test('that is killed is seen to be cut off', async () => {
    const project = repo();
    const { next, loop } = await startLoop(project);
    await next();
    const { url } = await dashboard(project.dir);
    const { page } = await open(url);
    await page.getByRole('heading', { level: 1, name: 'Running: the agent is working.' }).waitFor();
    loop.process.kill('SIGKILL');
    await page
      .getByRole('heading', { level: 1, name: 'Cut off: the process ended without a result.' })
      .waitFor();
  });
});

/** What agents like to write, and what a bad one would. */
const MARKDOWN = [
  '## Plan',
  '',
  'The bug is in `cart.js`, **not** in the tests:',
  '- the sum starts at 1',
  '  - see [the docs](https://docs.example/sum)',
  '',
  '```js',
  'const sum = 0;',
  '```',
  '[click](javascript:window.evil=1) ![pixel](http://evil.example/pixel.png) <img src=x onerror="window.evil=1">',
].join('\n');

test('a run is started, watched, read and resumed from the page', async () => {
  const project = repo();
  project.settings({ agent: 'worker', checks: ['test -e done'], maximumIterations: 1 });
  const { bin, next } = await player();
  const { url } = await dashboardWith([bin], project.dir);
  const { page, errors, requests, picture } = await open(url);
  await page.getByRole('link', { name: 'Start a run' }).click();
  await page.getByRole('textbox', { name: 'Task' }).fill('Make it <b>work</b>');
  expect(await accessibility(page)).toEqual([]);
  await picture('dashboard-start');
  await page.getByRole('button', { name: 'Start' }).click();
  const first = await next();
  await page.getByRole('heading', { level: 1, name: 'Running: the agent is working.' }).waitFor();
  await page.locator('rect.bar.is-agent').waitFor(); // it grows while the turn runs
  await first.print(`${MARKDOWN}\n`);
  await page.locator('.rendered li', { hasText: 'the sum starts at 1' }).waitFor();
  expect(await page.locator('.rendered pre').textContent()).toContain('const sum = 0;');
  const links = await page
    .locator('.rendered a')
    .evaluateAll(all => all.map(each => each.getAttribute('href')));
  expect(links).toEqual(['https://docs.example/sum', 'http://evil.example/pixel.png']);
  for (const width of [390, 768, 1440])
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      expect(await accessibility(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
      await picture(`page-${width}-${colorScheme}`);
    }
  await first.write('cart.js', 'const sum = 0;\n');
  first.exit();
  const resume = page.getByRole('button', { name: 'Resume with --max-iterations 2' });
  await resume.waitFor();
  await page.locator('.line.is-plus', { hasText: 'const sum = 0;' }).waitFor();
  expect(await accessibility(page)).toEqual([]);
  await picture('dashboard-stopped');
  await resume.click();
  const second = await next();
  await second.write('done', '');
  await second.print('<promise>COMPLETE</promise>\n');
  second.exit();
  await page.getByRole('heading', { level: 1, name: /^Done: every check passes/ }).waitFor();
  expect(first.input).toContain('Make it <b>work</b>');
  expect(await page.evaluate('window.evil')).toBeUndefined();
  const origin = new URL(url).origin;
  expect(requests.filter(each => !each.startsWith(origin) && !each.startsWith('data:'))).toEqual([]);
  expect(errors).toEqual([]);
});

test('a run that has ended is forked at one of its iterations from the page, and the new run names it', async () => {
  const project = repo();
  project.settings({ agent: 'worker', checks: ['test -e done'], maximumIterations: 2, stuckAfter: 0 });
  const { bin, next } = await player();
  const { url } = await dashboardWith([bin], project.dir);
  const { page, errors, picture } = await open(url);
  await page.getByRole('link', { name: 'Start a run' }).click();
  await page.getByRole('textbox', { name: 'Task' }).fill('Make it');
  await page.getByRole('button', { name: 'Start' }).click();
  for (const name of ['first.txt', 'second.txt']) {
    const turn = await next();
    await turn.write(name, name);
    turn.exit();
  }
  const at = page.getByRole('spinbutton', { name: 'Iteration whose files the new run begins with' });
  await at.fill('1');
  expect(await accessibility(page)).toEqual([]);
  await picture('dashboard-fork');
  await page.getByRole('button', { name: 'Fork at iteration' }).click();
  const forked = await next();
  await forked.shell('ls > seen; touch done');
  await forked.print('<promise>COMPLETE</promise>\n');
  forked.exit();
  await page.getByRole('heading', { level: 1, name: /^Done: every check passes/ }).waitFor();
  await page.getByText(/^Fork of .*, iteration 1$/).waitFor();
  const [worktree = ''] = namesIn(project.path('.ralph/worktrees')).filter(name => !name.startsWith('.'));
  const seen = project.read(`.ralph/worktrees/${worktree}/seen`).split('\n');
  expect(seen.filter(name => /first|second/.test(name))).toEqual(['first.txt']);
  expect(errors).toEqual([]);
});

describe('the runs of several projects', () => {
  test.each<[string, OpenOptions]>([
    ['wide', {}],
    ['dark', { dark: true }],
    ['phone', { width: 360, height: 740 }],
  ])('are listed and can be gone to: %s', async (name, options) => {
    const [one, two] = [folder('shop-'), folder('blog-')];
    const start = Date.parse('2026-03-01T10:00:00Z');
    for (const [at, ends] of (['stuck', 'all_checks_passed', 'max_iterations'] as const).entries())
      writeRun(one.dir, { iterations: 3 + at, ends, diff: () => DIFF, start: start + at * 86_400_000 });
    const other = writeRun(two.dir, {
      iterations: 6,
      ends: 'all_checks_passed',
      start: start + 5 * 86_400_000,
    });
    const { url } = await dashboard(one.dir, one.dir, two.dir);
    const { page, errors, requests, picture } = await open(url, options);
    await page.getByText(other.id).first().waitFor();
    await page.getByRole('link', { name: /stuck/ }).click();
    await page.getByRole('heading', { level: 1, name: /^Stopped: the same failure/ }).waitFor();
    // By key: on a slow machine something may appear above it while the mouse is on its way.
    await page.locator('.row').last().press('Enter');
    await page.getByText('What the agent said and did').waitFor();
    expect(await accessibility(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    await picture(`dashboard-${name}`);
    expect(errors).toEqual([]);
    const origin = new URL(url).origin;
    expect(requests.filter(each => !each.startsWith(origin) && !each.startsWith('data:'))).toEqual([]);
  });

  test('a run that begins later appears by itself', async () => {
    const project = folder();
    const { url } = await dashboard(project.dir);
    const { page, picture } = await open(url);
    await page.getByText('No runs here yet.').waitFor();
    await picture('dashboard-empty', false);
    writeRun(project.dir, { iterations: 1, ends: 'all_checks_passed' });
    await page.getByRole('heading', { level: 1, name: /^Done/ }).waitFor();
  });
});

describe('strangers', () => {
  test('what an agent wrote does nothing but stand there, also while it comes', async () => {
    const project = repo();
    const evil = '<img src=x onerror="window.evil=1"><script>window.evil=1</script>';
    const { next } = await startLoop(project);
    const turn = await next();
    const { url } = await dashboard(project.dir);
    const { page, errors } = await open(url);
    await turn.print(`${evil}\n`);
    await page.getByText('<img src=x').first().waitFor();
    expect(await page.evaluate('window.evil')).toBeUndefined();
    expect(await page.locator('#app img, #app script').count()).toBe(0);
    expect(errors).toEqual([]);
  });

  test('an address without its token says what to do', async () => {
    const project = folder();
    const { url } = await dashboard(project.dir);
    const { page } = await open(new URL('/', url).href);
    expect(await page.locator('body').textContent()).toContain(
      'use the address that `ralph dashboard` printed',
    );
  });
});

test('Ctrl-C ends it at once, also with pages open', async () => {
  const project = folder();
  const { url, running } = await dashboard(project.dir);
  const { page } = await open(url);
  await page.getByText('No runs here yet.').waitFor();
  running.process.kill('SIGINT');
  expect((await running.finished).code).toBe(0);
});
