/** A parallel run in a browser: its board while it runs, a story that was sent back, the report with lanes. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { laneRig, plain } from '../rig/lanes.ts';
import { ralph, startRalph } from '../rig/ralph.ts';
import { folder } from '../rig/repo.ts';
import { writeBoard } from '../rig/written-board.ts';
import { accessibility, type OpenOptions, open } from './browser.ts';

const TOKEN = 'a-token-for-the-board-tests';
const START = Date.parse('2026-03-01T10:15:00Z');

const SIZES: readonly (readonly [string, OpenOptions])[] = [
  ['390-light', { width: 390, height: 844 }],
  ['768-dark', { width: 768, height: 1024, dark: true }],
  ['1440-light', { width: 1440, height: 1000 }],
  ['1440-dark', { width: 1440, height: 1000, dark: true }],
];

async function dashboard(cwd: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const running = startRalph(['dashboard'], { cwd, env: { ...env, RALPH_DASHBOARD_TOKEN: TOKEN } });
  let printed = '';
  running.process.stdout?.on('data', chunk => {
    printed += chunk;
  });
  await running.until(`?token=${TOKEN}`);
  return printed.trim();
}

describe('the board while it runs', () => {
  test('follows the run, leads to the run of a lane and back, and one story can be steered', async () => {
    const rig = laneRig([plain('US-001', { title: 'The cart' }), plain('US-002', { dependsOn: ['US-001'] })]);
    const gate = join(rig.orders, 'gate');
    execFileSync('mkfifo', [gate]);
    rig.does('US-001', 'implement', `cat "${gate}"`);
    const run = startRalph(
      ['prd', 'run', '--agent', 'claude', '--parallel', '2', '--check', 'test -f README.md'],
      rig.options,
    );
    onTestFinished(() => void run.process.kill('SIGKILL'));
    await run.until('US-001 The cart: iteration 1, implement');
    const { page, errors, picture } = await open(await dashboard(rig.project.dir));
    const building = page.getByRole('region', { name: 'Building' });
    await building.getByText('The cart').waitFor();
    await building.getByText('iteration 1, implement').waitFor();
    await page.getByRole('region', { name: 'Waiting' }).getByText('waits for US-001').waitFor();
    expect(await page.getByText('0 of 2 landed').count()).toBeGreaterThan(0);
    expect(await accessibility(page)).toEqual([]);
    await picture('board-live');

    await building.getByRole('link', { name: 'US-001' }).click();
    await page.getByRole('heading', { name: 'Iteration 1' }).waitFor();
    await page.getByRole('textbox', { name: 'Hint for the agent' }).fill('Dates are in UTC');
    await page.keyboard.press('Enter');
    await page.getByText(/Queued for the next iteration of \S+\.US-001\./).waitFor();
    await page.getByRole('link', { name: '← all lanes' }).click();
    await building.getByText('The cart').waitFor();
    await page
      .getByRole('list', { name: 'Lanes' })
      .getByRole('link', { name: /US-001/ })
      .click();

    await page.getByRole('button', { name: 'Cancel…' }).click();
    await page.getByRole('button', { name: 'Now' }).click();
    await page.getByRole('heading', { level: 1, name: 'Stopped: the run was cancelled.' }).waitFor();
    await page.getByRole('link', { name: '← all lanes' }).click();
    const needs = page.getByRole('region', { name: 'Needs you' });
    await needs.getByText('The cart').waitFor();
    expect((await run.finished).code).toBe(1);
    expect(errors).toEqual([]);
  });

  test.each(SIZES)('fits, and shows money and what is waited for: %s', async (name, options) => {
    const { dir } = folder('shop-');
    writeBoard(dir, { start: Date.now() - 20 * 60_000, minutes: 19 });
    const { page, errors, picture } = await open(await dashboard(dir), options);
    await page.getByRole('region', { name: 'Needs you' }).getByText('US-004').waitFor();
    await page.getByText(/spent, \$0\.62 reserved/).waitFor();
    await page.getByText(/The queue: the checks of candidate 3 \(US-003\)/).waitFor();
    const building = page.getByRole('region', { name: 'Building' });
    await building.getByText(/sent back because merged with what has landed its checks fail/).waitFor();
    await building.getByText('History').first().click();
    await building.getByText('the discount was taken off twice').waitFor();
    expect(await accessibility(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    await picture(`board-${name}`);
    expect(errors).toEqual([]);
  });
});

describe('the report of a parallel run', () => {
  test.each(SIZES)(
    'has the board, a lane for each story, and every run of them: %s',
    async (name, options) => {
      const { dir, path } = folder('shop-');
      const id = writeBoard(dir, { start: START });
      expect((await ralph(['report', '-o', 'run.html'], { cwd: dir })).code).toBe(0);
      const { page, errors, requests, picture } = await open(pathToFileURL(path('run.html')).href, options);
      const landed = page.getByRole('region', { name: 'Landed' });
      expect(await landed.getByRole('article').count()).toBe(5);
      await page.getByText('ralph/shop is at').first().waitFor();
      const lane = page.getByRole('img', { name: 'US-002: 4 iterations, sent back 1 time, landed' });
      expect(await lane.locator('rect').count()).toBeGreaterThan(6);
      expect(await accessibility(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
      await picture(`lanes-${name}`);

      await landed.getByRole('article').filter({ hasText: 'US-002' }).getByText('History').click();
      await page.getByRole('link', { name: 'Run 2' }).first().waitFor();
      await landed.getByRole('link', { name: 'US-002' }).click();
      expect(page.url()).toContain(`#${id}.US-002.2`);
      await page.locator('.row').first().click();
      await page.getByText('What the agent said and did').waitFor();
      expect(await accessibility(page)).toEqual([]);
      await page.getByRole('link', { name: '← all lanes' }).click();
      await landed.waitFor();
      expect(errors).toEqual([]);
      expect(requests.filter(each => !each.startsWith('file:') && !each.startsWith('data:'))).toEqual([]);
    },
  );

  test('without JavaScript has a table of the lanes', async () => {
    const { dir, path } = folder('shop-');
    writeBoard(dir, { start: START });
    await ralph(['report', '-o', 'run.html'], { cwd: dir });
    const { page } = await open(pathToFileURL(path('run.html')).href, { javaScript: false });
    await page.getByText('5 of 6 landed in').waitFor();
    expect(await page.locator('tbody tr').count()).toBe(6);
  });
});
