import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { Story } from '../../src/domain/stories/story.ts';
import { ralph } from '../rig/ralph.ts';
import { folder } from '../rig/repo.ts';
import { DIFF, type LedgerOptions, writeRun } from '../rig/written-run.ts';
import { accessibility, type OpenOptions, open, sideways } from './browser.ts';

const GOOD: LedgerOptions = {
  iterations: 9,
  ends: 'all_checks_passed',
  branch: 'ralph/cart',
  diff: () => DIFF,
  violations: iteration => (iteration === 4 ? ['test/cart.test.js was changed'] : []),
  also: iteration =>
    iteration === 9
      ? [{ type: 'scm', task: 'commit', outcome: 'done', detail: 'Round each line of the cart' }]
      : [],
};

async function reportOf(options: LedgerOptions): Promise<string> {
  const { dir, path } = folder();
  writeRun(dir, options);
  expect(await ralph(['report', '-o', 'run.html'], { cwd: dir })).toMatchObject({ code: 0, stderr: '' });
  return path('run.html');
}

const openFile = (file: string, options?: OpenOptions) => open(pathToFileURL(file).href, options);

describe('the pull request of a run', () => {
  const withPull = (address: string): LedgerOptions => ({
    ...GOOD,
    also: iteration =>
      iteration === 9
        ? [
            { type: 'forge', act: 'open', outcome: 'done', detail: '', number: 7, address },
            { type: 'forge-ended', reason: 'pull_request_ready', detail: '' },
          ]
        : [],
  });

  test('is linked, with how it stands', async () => {
    const { page, picture } = await openFile(
      await reportOf(withPull('https://example.org/octo/demo/pull/7')),
    );
    const link = page.getByRole('link', { name: 'pull request #7' });
    expect(await link.getAttribute('href')).toBe('https://example.org/octo/demo/pull/7');
    await page.getByText('(pull request ready)').waitFor();
    await picture('report-pull-request', false);
  });

  test('is no link where its address is no page', async () => {
    const { page } = await openFile(await reportOf(withPull('javascript:alert(1)')));
    await page.getByText('pull request #7 (pull request ready)').waitFor();
    expect(await page.getByRole('link', { name: 'pull request #7' }).count()).toBe(0);
  });
});

describe('the report of a run', () => {
  test.each([
    ['light', {}],
    ['dark', { dark: true }],
    ['phone', { width: 360, height: 740 }],
    ['phone-dark', { width: 360, height: 740, dark: true }],
  ] as const)('is readable and accessible: %s', async (name, options) => {
    const { page, errors, requests, picture } = await openFile(await reportOf(GOOD), options);
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(
      'Done: every check passes and the agent says it is complete.',
    );
    expect(
      await page.getByRole('list', { name: 'Evidence' }).getByRole('listitem').allInnerTexts(),
    ).toHaveLength(6);
    await page.getByRole('button', { name: /^4/ }).click();
    await page.getByText('Changes since the start of the run').click();
    await page.getByText('export const isEmpty').last().waitFor();
    expect(await accessibility(page)).toEqual([]);
    expect(await sideways(page)).toBe(0);
    await picture(`report-${name}`);
    expect(errors).toEqual([]);
    expect(requests.filter(url => !url.startsWith('file:') && !url.startsWith('data:'))).toEqual([]);
  });

  test('shows what is left of the changes when the run went back at its end', async () => {
    const at = (iteration: number) => DIFF.replaceAll('isEmpty', `isEmpty${iteration}`);
    const back = { type: 'restored', from: 9, to: 4, why: 'end', undone: [] } as const;
    const also = (iteration: number) => (iteration === 9 ? [back] : []);
    const { page, errors } = await openFile(await reportOf({ ...GOOD, diff: at, also }));
    await page.getByText('export const isEmpty4').first().waitFor();
    expect([await page.getByText('export const isEmpty9').count(), errors]).toEqual([0, []]);
  });

  test('can be read without JavaScript', async () => {
    const { page, picture } = await openFile(await reportOf(GOOD), { javaScript: false });
    expect(await page.locator('h1').textContent()).toContain('Done: every check passes');
    expect(await page.locator('tbody tr').count()).toBe(9);
    await picture('report-plain');
  });

  test('is all there by keyboard alone', async () => {
    const { page } = await openFile(await reportOf(GOOD));
    const focused = () => page.evaluate('document.activeElement.textContent');
    for (let presses = 0; !String(await focused()).startsWith('red'); presses++) {
      expect(presses).toBeLessThan(30);
      await page.keyboard.press('Tab');
    }
    await page.keyboard.press('Enter');
    const red = await page.locator('.row').count();
    expect(red).toBeGreaterThan(0);
    expect(red).toBeLessThan(9);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.locator('.row[aria-expanded=true]').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    await page.getByText('Mend the cart.').waitFor();
  });

  test('a bar of the timeline leads to its iteration', async () => {
    const { page } = await openFile(await reportOf(GOOD));
    const box = await page.locator('.bars').boundingBox();
    if (!box) throw new Error('there is no timeline');
    await page.mouse.click(box.x + box.width * (6.5 / 9), box.y + 50);
    await page.locator('.row[aria-expanded=true]').waitFor();
    expect(await page.locator('.row[aria-expanded=true] .row-number').textContent()).toBe('7');
  });
});

describe('the report of a run with stories', () => {
  const story = (id: string, title: string, over: Partial<Story> = {}): Story => ({
    id,
    title,
    acceptanceCriteria: ['it works'],
    priority: 1,
    passes: false,
    reviewStatus: null,
    reviewCount: 0,
    reviewFeedback: '',
    ...over,
  });
  const login = 'US-1';
  /** Implemented, sent back, fixed, approved; then the next one is implemented. */
  const states: readonly Partial<Story>[] = [
    { reviewStatus: 'needs_review' },
    {
      reviewStatus: 'changes_requested',
      reviewCount: 1,
      reviewFeedback: 'The session never ends. <b>Mend it.</b>',
    },
    { reviewStatus: 'needs_review', reviewCount: 1 },
    { reviewStatus: 'approved', passes: true, reviewCount: 2, notes: 'done' },
  ];
  const prd: LedgerOptions = {
    command: 'prd',
    iterations: 5,
    ends: 'max_iterations',
    stories: iteration => ({
      mode: iteration % 2 === 1 ? 'implement' : 'review',
      story: iteration < 5 ? login : 'US-2',
      list: [
        story(login, 'A customer can log in', states[Math.min(iteration, 4) - 1]),
        story('US-2', 'A customer can log out', iteration === 5 ? { reviewStatus: 'needs_review' } : {}),
        story('US-3', 'A receipt by mail'),
      ],
    }),
  };

  test.each([
    ['wide', {}],
    ['phone', { width: 360, height: 740 }],
  ] as const)('has a board, and each story its history: %s', async (name, options) => {
    const { page, errors, picture } = await openFile(await reportOf(prd), options);
    const lane = (title: string) =>
      page.getByRole('region', { name: title }).locator('.story').allTextContents();
    expect(await lane('Approved')).toHaveLength(1);
    expect(await lane('In review')).toHaveLength(1);
    expect(await lane('Open')).toHaveLength(1);
    await page.getByText('A customer can log in').click();
    expect(await page.locator('.story[open] .history li').allTextContents()).toEqual([
      'Iteration 1 implement: in review',
      'Iteration 2 review: sent backThe session never ends. <b>Mend it.</b>',
      'Iteration 3 implement: in review',
      'Iteration 4 review: approved',
    ]);
    expect(await accessibility(page)).toEqual([]);
    expect(await sideways(page)).toBe(0);
    await picture(`stories-${name}`);
    await page.getByRole('button', { name: 'Iteration 2' }).click();
    await page.locator('.row[aria-expanded=true]').waitFor();
    expect(errors).toEqual([]);
  });
});

const EVIL =
  '<img src=x onerror="window.evil=1"><script>window.evil=1</script></script><svg onload=window.evil=1>';

describe('a hostile run', () => {
  test('cannot do anything but be read', async () => {
    const file = await reportOf({
      iterations: 3,
      ends: 'max_iterations',
      agent: EVIL,
      model: EVIL,
      branch: EVIL,
      checks: [EVIL, '"><b>bold'],
      words: () => EVIL,
      tools: () => [[EVIL, EVIL, EVIL]],
      prompt: EVIL,
      diff: () => `diff --git a/x b/${EVIL}\n@@ -1 +1 @@\n+${EVIL}\n`,
      violations: () => [EVIL],
      also: () => [
        { type: 'notice', level: 'warning', text: EVIL },
        { type: 'scm', task: EVIL, outcome: 'done', detail: EVIL },
        { type: EVIL, html: EVIL } as never,
      ],
      isGreen: () => false,
    });
    const { page, errors, requests, picture } = await openFile(file);
    await page.locator('.row').first().click();
    await page.locator('.passage').first().waitFor();
    const closed = page.locator('details:not([open]) > summary');
    while ((await closed.count()) > 0) await closed.first().click();
    expect(await page.evaluate('window.evil')).toBeUndefined();
    expect(await page.locator('#app img, #app script, #app b b').count()).toBe(0);
    expect(await page.locator('.passage').first().textContent()).toBe(EVIL);
    expect(requests.filter(url => !url.startsWith('file:') && !url.startsWith('data:'))).toEqual([]);
    expect(errors).toEqual([]);
    await picture('hostile');
  });

  test('what is written from right to left stays where it belongs', async () => {
    const { page, picture } = await openFile(
      await reportOf({
        iterations: 2,
        ends: 'max_iterations',
        words: () => 'מחקתי את הבדיקה כי היא נכשלה. \u202eEVIL\u202c npm test',
        checks: ['npm run בדיקה', 'safe\u202etxt.exe'],
        violations: () => ['בדיקות/סל.js was changed'],
        isGreen: () => false,
      }),
    );
    await page.locator('.row').first().click();
    const words = page.locator('.passage.is-words p').first();
    expect(await page.evaluate("getComputedStyle(document.querySelector('.is-words p')).direction")).toBe(
      'rtl',
    );
    expect(await words.textContent()).not.toContain('\u202e');
    expect(await page.locator('.proof').allInnerTexts()).toContainEqual(
      expect.stringContaining('safetxt.exe'),
    );
    await picture('right-to-left');
  });

  test('of ten thousand iterations and a diff of 5 MB is there at once and scrolls', async () => {
    const big = `diff --git a/big.txt b/big.txt\n@@ -0,0 +1 @@\n${'+a line of the diff that is long\n'.repeat(160_000)}`;
    const file = await reportOf({
      iterations: 10_000,
      ends: 'max_iterations',
      filesFrom: 9_990,
      diff: iteration => (iteration === 10_000 ? big : ''),
    });
    const { page, errors, picture } = await openFile(file);
    const painted = await page.evaluate(
      "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? performance.now()",
    );
    expect(painted).toBeLessThan(5_000);
    expect(await page.locator('.row').count()).toBeLessThan(80);
    await page.evaluate('scrollTo(0, document.body.scrollHeight)');
    const last = page.locator('.row', { has: page.locator('.row-number', { hasText: /^10000$/ }) });
    await last.waitFor();
    await last.click();
    await page.getByText('Changes since the start of the run').click();
    expect(await page.locator('.left').first().textContent()).toMatch(
      /5(\.\d)?M bytes more in .*changes\.diff/,
    );
    expect(await page.locator('.row').count()).toBeLessThan(80);
    await picture('ten-thousand', false);
    await page.evaluate('scrollTo(0, 0)');
    await picture('ten-thousand-top', false);
    expect(errors).toEqual([]);
  });

  test('with a ledger that was changed says so first', async () => {
    const { dir, path } = folder();
    const { paths } = writeRun(dir, { iterations: 2, ends: 'all_checks_passed' });
    writeFileSync(paths.events, readFileSync(paths.events, 'utf8').replace('"cost":', '"cost" :'));
    await ralph(['report', '-o', 'run.html'], { cwd: dir });
    const { page, picture } = await openFile(path('run.html'));
    expect(await page.locator('.proof').first().textContent()).toContain('The ledger has been changed: ');
    expect(await page.locator('h1').textContent()).toMatch(/^Not verified: its ledger has been changed\./);
    await picture('changed-ledger', false);
  });
});

describe('the report of all runs', () => {
  test.each([
    ['wide', {}],
    ['phone', { width: 360, height: 740, dark: true }],
  ] as const)('is readable and accessible: %s', async (name, options) => {
    const { dir, path } = folder();
    for (const [at, ends] of (
      ['all_checks_passed', 'stuck', 'all_checks_passed', 'max_iterations'] as const
    ).entries())
      writeRun(dir, {
        iterations: 3 + at,
        ends,
        start: Date.parse('2026-03-01T10:00:00Z') + at * 86_400_000,
      });
    await ralph(['report', '--all', '-o', 'runs.html'], { cwd: dir });
    const { page, errors, picture } = await openFile(path('runs.html'), options);
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('2 of 4 runs done');
    expect(await page.locator('tbody tr').count()).toBe(4);
    expect(await accessibility(page)).toEqual([]);
    expect(await sideways(page)).toBe(0);
    await picture(`all-runs-${name}`);
    await page.getByRole('table').getByRole('link').first().click();
    await page.getByRole('heading', { level: 1, name: /^(Done|Stopped)/ }).waitFor();
    await page.getByRole('link', { name: 'all runs' }).click();
    await page.getByRole('heading', { level: 1, name: / runs done$/ }).waitFor();
    expect(errors).toEqual([]);
  });
});
