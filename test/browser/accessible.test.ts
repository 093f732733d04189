/** The page for whoever has no mouse, hears it, magnifies it, or has colours of their own. */
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { type FakeTurn, fakeAgent } from '../rig/fake-agent.ts';
import { ralph, startRalph } from '../rig/ralph.ts';
import { folder, repo } from '../rig/repo.ts';
import { writeBoard } from '../rig/written-board.ts';
import { DIFF, type LedgerOptions, writeRun } from '../rig/written-run.ts';
import { accessibility, type OpenOptions, open, sideways } from './browser.ts';

const TOKEN = 'a-token-for-the-accessibility-tests';
const GOOD: LedgerOptions = { iterations: 9, ends: 'all_checks_passed', diff: () => DIFF };

async function dashboard(cwd: string, path: readonly string[] = []): Promise<string> {
  const running = startRalph(['dashboard'], { cwd, path, env: { RALPH_DASHBOARD_TOKEN: TOKEN } });
  let printed = '';
  running.process.stdout?.on('data', chunk => {
    printed += chunk;
  });
  await running.until(`?token=${TOKEN}`);
  return printed.trim();
}

/** A loop whose agent the test plays, in a dashboard. */
async function liveRun(options?: OpenOptions) {
  const project = repo();
  const waiting: ((turn: FakeTurn) => void)[] = [];
  const came: FakeTurn[] = [];
  const { bin } = await fakeAgent('worker', turn => {
    const taker = waiting.shift();
    if (taker) taker(turn);
    else came.push(turn);
  });
  const flags = ['--check', 'test -e done.txt', '--stuck-after', '0'];
  const loop = startRalph(['loop', 'Do it', '--agent', 'worker', ...flags], {
    cwd: project.dir,
    path: [bin],
  });
  const next = () =>
    new Promise<FakeTurn>(resolve => (came.length > 0 ? resolve(came.shift()!) : waiting.push(resolve)));
  const first = await next();
  const opened = await open(await dashboard(project.dir), options);
  await opened.page.getByRole('heading', { level: 1, name: 'Running: the agent is working.' }).waitFor();
  return { ...opened, loop, next, first };
}

async function reportOf(options: LedgerOptions, how?: OpenOptions) {
  const { dir, path } = folder();
  writeRun(dir, options);
  expect((await ralph(['report', '-o', 'run.html'], { cwd: dir })).code).toBe(0);
  return open(pathToFileURL(path('run.html')).href, how);
}

const focused = (page: Page) =>
  page.evaluate<string>(
    "document.activeElement === document.body ? 'nothing' : (document.activeElement.getAttribute('aria-label') ?? document.activeElement.innerText ?? '').split('\\n')[0] + (document.activeElement.id ? '#' + document.activeElement.id : '')",
  );

/** Presses Tab until what has the focus is called so. */
async function tabTo(page: Page, name: string | RegExp, back = false): Promise<void> {
  const seen: string[] = [];
  for (;;) {
    await page.keyboard.press(back ? 'Shift+Tab' : 'Tab');
    const now = await focused(page);
    if (typeof name === 'string' ? now === name : name.test(now)) return;
    seen.push(now);
    expect(seen.length, `${name} was not reached: ${seen.join(' | ')}`).toBeLessThan(60);
  }
}

describe('by keyboard alone', () => {
  test('a run is sent something, paused, continued and cancelled, and the focus is never lost', {
    tags: 'P-page-keyboard',
  }, async () => {
    const { page, next, first, loop } = await liveRun();
    await page.keyboard.press('Tab');
    expect(await focused(page)).toBe('Skip the list of runs');
    await page.keyboard.press('Enter');
    await tabTo(page, 'Pause');
    await page.keyboard.press('Enter');
    await page.getByText('will pause after this turn').waitFor();
    await tabTo(page, '#hint');
    await page.keyboard.type('Look at src/cart.js');
    await page.keyboard.press('Enter');
    await page.getByText('Queued for the next iteration').waitFor();
    expect(await focused(page)).toBe('#hint');
    first.exit();
    await page.getByRole('heading', { level: 1, name: 'Paused.' }).waitFor();
    await page.getByRole('button', { name: 'Continue' }).waitFor();
    await tabTo(page, 'Continue', true);
    await page.keyboard.press('Enter');
    await next();
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    await tabTo(page, 'Cancel…');
    await page.keyboard.press('Enter');
    await expect.poll(() => focused(page)).toBe('No');
    await page.keyboard.press('Enter');
    await expect.poll(() => focused(page)).toBe('Cancel…');
    await page.keyboard.press('Enter');
    await tabTo(page, 'Now', true);
    await page.keyboard.press('Enter');
    const end = 'Stopped: the run was cancelled.';
    await page.getByRole('heading', { level: 1, name: end }).waitFor();
    await expect.poll(() => focused(page)).toBe(end);
    expect((await loop.finished).code).toBe(1);
  });

  test('whatever has the focus shows it', async () => {
    const { page } = await reportOf(GOOD);
    for (let at = 0; at < 12; at++) {
      await page.keyboard.press('Tab');
      const outline = await page.evaluate<string>('getComputedStyle(document.activeElement).outlineStyle');
      expect([await focused(page), outline]).toEqual([expect.anything(), 'solid']);
    }
  });
});

describe('for whoever hears it', () => {
  test('a run says when it pauses, continues and ends, and nothing while it works', {
    tags: 'P-page-calm',
  }, async () => {
    const { page, first, next } = await liveRun();
    await page.evaluate(LISTEN);
    const said = (where: 'news' | 'answers' | 'elsewhere') =>
      page.evaluate<readonly string[]>(`window.said.${where}`);
    for (let line = 0; line < 40; line++) await first.print(`word ${line}\n`);
    await page.getByText('word 39').waitFor();
    await page.evaluate(TICKS);
    first.exit();
    const second = await next();
    await page.getByRole('heading', { name: 'Iteration 2' }).waitFor();
    expect([await said('news'), await said('answers')]).toEqual([[], []]);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('will pause after this turn').waitFor();
    second.exit();
    await page.getByRole('heading', { level: 1, name: 'Paused.' }).waitFor();
    await page.getByRole('button', { name: 'Continue' }).click();
    const third = await next();
    await page.getByRole('heading', { name: 'Iteration 3' }).waitFor();
    await third.write('done.txt', '');
    await third.print('<promise>COMPLETE</promise>\n');
    third.exit();
    await page.getByRole('heading', { level: 1, name: /^Done: / }).waitFor();
    await expect.poll(async () => (await said('news')).at(-1)).toMatch(/^Done: /);
    // What was asked for can have happened before its answer is here, so each place has its own order.
    const news = ['Paused.', 'Running.', expect.stringMatching(/^Done: /)];
    await expect.poll(() => said('news')).toEqual(news);
    const answers = [expect.stringContaining('will pause'), expect.stringMatching(/continue/i)];
    await expect.poll(() => said('answers')).toEqual(answers);
    expect(await said('elsewhere')).toEqual([]);
    expect(await accessibility(page)).toEqual([]);
  });
});

/** Every word that a screen reader would speak by itself, by its place on the page. */
const LISTEN = `
  window.said = { news: [], answers: [], elsewhere: [] };
  const placeOf = region => (region.matches('.hidden') ? 'news' : region.matches('.said') ? 'answers' : 'elsewhere');
  const regions = '[role=status],[role=alert],[role=log],[aria-live=polite],[aria-live=assertive],output';
  const isLive = region => region && region.getAttribute('aria-live') !== 'off';
  new MutationObserver(changes => {
    for (const { target } of changes) {
      const region = (target.nodeType === 1 ? target : target.parentElement)?.closest(regions);
      const text = region?.textContent ?? '';
      if (!isLive(region) || text === '') continue;
      const said = window.said[placeOf(region)];
      if (said.at(-1) !== text) said.push(text);
    }
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
`;

/** Until the clock of the page has ticked three times. */
const TICKS = `new Promise(done => {
  let ticks = 0;
  new MutationObserver(() => ++ticks === 3 && done()).observe(document.querySelector('.figures'), { subtree: true, characterData: true });
})`;

test('nothing moves where that is not wanted', { tags: 'P-page-motion' }, async () => {
  const moving = (page: Page) => page.evaluate<number>('document.getAnimations().length');
  const usual = await liveRun();
  expect(await moving(usual.page)).toBeGreaterThan(0);
  const calm = await liveRun({ reducedMotion: true });
  expect(await moving(calm.page)).toBe(0);
});

/** A screen of 1280 by 1024, four times as large. */
const ZOOMED = { width: 320, height: 256 };

describe('four times as large', () => {
  test.each(['report', 'stories', 'board', 'all', 'dashboard', 'new'])(
    'nothing is beyond the edge: %s',
    { tags: 'P-page-zoom' },
    async name => {
      const { page, errors, picture } = await pageOf(name, ZOOMED);
      expect([await sideways(page), await beyond(page)]).toEqual([0, []]);
      expect(await accessibility(page)).toEqual([]);
      await picture(`zoomed-${name}`);
      expect(errors).toEqual([]);
    },
  );

  test('and every control of a live run is there', async () => {
    const { page, picture } = await liveRun(ZOOMED);
    await page.getByRole('button', { name: 'Cancel…' }).click();
    expect([await sideways(page), await beyond(page)]).toEqual([0, []]);
    await picture('zoomed-live');
  });
});

/** What can be used and stands out of the page's own column, but for what scrolls by itself. */
function beyond(page: Page): Promise<readonly string[]> {
  return page.evaluate(`(() => {
    const main = document.querySelector('main');
    const { paddingLeft, paddingRight } = getComputedStyle(main);
    const [left, right] = [parseFloat(paddingLeft), innerWidth - parseFloat(paddingRight)];
    return [...document.querySelectorAll('main :is(a, button, input, select, textarea, summary, h1, h2)')]
      .filter(each => !each.closest('.scroll, pre, .hidden, .skip, .run-list'))
      .map(each => [each.getBoundingClientRect(), each.outerHTML.slice(0, 100)])
      .filter(([box]) => box.width > 0 && (box.right > right + 1 || box.left < left - 1))
      .map(([box, text]) => [Math.round(box.left), Math.round(box.right), text].join(' '));
  })()`);
}

async function pageOf(name: string, options: OpenOptions) {
  if (name === 'report') {
    const opened = await reportOf(GOOD, options);
    await opened.page.getByRole('button', { name: /^4/ }).click();
    await opened.page.getByText('Changes since the start of the run').click();
    return opened;
  }
  if (name === 'stories') return reportOf({ ...GOOD, command: 'prd', ends: 'max_iterations' }, options);
  const { dir, path } = folder('shop-');
  if (name === 'board') writeBoard(dir, { start: Date.now() - 20 * 60_000, minutes: 19 });
  else writeRun(dir, GOOD);
  if (name === 'all') {
    expect((await ralph(['report', '--all', '-o', 'all.html'], { cwd: dir })).code).toBe(0);
    return open(pathToFileURL(path('all.html')).href, options);
  }
  const opened = await open(await dashboard(dir), options);
  await opened.page.getByRole('heading', { level: 1 }).waitFor();
  if (name === 'new') await opened.page.getByRole('link', { name: '+ Start a run' }).click();
  return opened;
}

test('with colours of the user’s own nothing that a colour says is gone', {
  tags: 'P-page-colours',
}, async () => {
  const { page, picture } = await pageOf('report', { forcedColors: true });
  const look = (selector: string) =>
    page.evaluate<string>(
      `(({ backgroundColor, borderColor, outline }) => [backgroundColor, borderColor, outline].join())(getComputedStyle(document.querySelector(${JSON.stringify(selector)})))`,
    );
  const colour = (selector: string) =>
    page.evaluate<string>(
      `getComputedStyle(document.querySelector(${JSON.stringify(selector)})).backgroundColor`,
    );
  const canvas = await colour('.card');
  for (const mark of ['.lamp', '.dot', '.row-bar i'])
    expect([mark, await colour(mark)]).not.toEqual([mark, canvas]);
  expect(await look('.filters button[aria-pressed=true]')).not.toBe(
    await look('.filters button[aria-pressed=false]'),
  );
  await picture('forced-report');
  const board = await pageOf('dashboard', { forcedColors: true });
  const [current, other] = await board.page.evaluate<readonly [string, string]>(
    "['.run-list a[aria-current]', '.run-list a:not([aria-current])'].map(each => { const { backgroundColor, outlineStyle } = getComputedStyle(document.querySelector(each)); return backgroundColor + outlineStyle; })",
  );
  expect(current).not.toBe(other);
  await board.picture('forced-dashboard');
});
