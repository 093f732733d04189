/** `npm run pictures`: what the README and docs/how-to show. Written into docs/pictures, looked at by people, compared by nobody. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, test } from 'vitest';
import { toolOutput } from '../../src/domain/turn/agent-event.ts';
import { ralph, startRalph, testEnv } from '../rig/ralph.ts';
import { folder } from '../rig/repo.ts';
import { writeBoard } from '../rig/written-board.ts';
import { DIFF, type LedgerOptions, writeRun } from '../rig/written-run.ts';
import { open } from './browser.ts';
import { demoIn } from './demo-in.ts';
import { terminalSvg } from './terminal-svg.ts';

const PICTURES = join(import.meta.dirname, '../../docs/pictures');
const EXAMPLE = join(import.meta.dirname, '../../examples/stories/run.mjs');
const SIZE = { width: 1100, height: 1000 };

/** A run that comes to something: first the linter, then the types, then the tests. */
const STORY: LedgerOptions = {
  iterations: 14,
  ends: 'all_checks_passed',
  cwd: '/home/ada/shop',
  branch: 'ralph/cart',
  checks: ['npm test', 'npm run types', 'npm run lint'],
  isGreen: (iteration, check) => iteration > [11, 6, 2][check]! && iteration !== 9,
  diff: () => DIFF,
  violations: iteration => (iteration === 5 ? ['test/cart.test.js was changed'] : []),
};

describe.runIf(process.env.RALPH_PICTURES)('the pictures of the README', () => {
  test('the demo in a terminal', async () => {
    mkdirSync(PICTURES, { recursive: true });
    const { dir, path } = folder();
    mkdirSync(path('tmp'));
    const screen = (await demoIn(80, { cwd: dir, tmp: path('tmp') })).painted
      .replaceAll(path('tmp'), '/tmp')
      .replaceAll(/ralph-demo-\w+/g, 'ralph-demo');
    writeFileSync(join(PICTURES, 'demo.svg'), terminalSvg(screen, 'ralph demo in a terminal'));
  });

  test.each(['light', 'dark'] as const)('the report, %s', async scheme => {
    const { dir, path } = folder();
    writeRun(dir, STORY);
    await ralph(['report', '-o', 'run.html'], { cwd: dir });
    const { page } = await open(pathToFileURL(path('run.html')).href, { ...SIZE, dark: scheme === 'dark' });
    await page.screenshot({ path: join(PICTURES, `report-${scheme}.png`) });
  });

  test('the report of the stories in examples/', async () => {
    const { dir, path } = folder();
    execFileSync(process.execPath, [EXAMPLE, dir], { cwd: dir, env: testEnv({}), stdio: 'ignore' });
    const { page } = await open(pathToFileURL(path('report.html')).href, SIZE);
    await page.screenshot({ path: join(PICTURES, 'stories.png'), fullPage: true });
  });

  test.each(['light', 'dark'] as const)('the lanes of a parallel run, %s', async scheme => {
    const { dir, path } = folder('shop-');
    writeBoard(dir, { start: Date.parse('2026-03-01T10:15:00Z') });
    await ralph(['report', '-o', 'run.html'], { cwd: dir });
    const { page } = await open(pathToFileURL(path('run.html')).href, { ...SIZE, dark: scheme === 'dark' });
    await page.screenshot({ path: join(PICTURES, `lanes-${scheme}.png`), fullPage: true });
  });

  test.each(['light', 'dark'] as const)('the board of a parallel run, %s', async scheme => {
    const { dir } = folder('shop-');
    writeBoard(dir, { start: Date.now() - 19.5 * 60_000, minutes: 19 });
    const running = startRalph(['dashboard'], {
      cwd: dir,
      env: { RALPH_DASHBOARD_TOKEN: 'for-the-picture' },
    });
    let url = '';
    running.process.stdout?.on('data', chunk => {
      url += chunk;
    });
    await running.until('?token=for-the-picture');
    const { page } = await open(url.trim(), { width: 1280, height: 900, dark: scheme === 'dark' });
    await page.getByRole('region', { name: 'Needs you' }).waitFor();
    await page.screenshot({ path: join(PICTURES, `board-${scheme}.png`), fullPage: true });
  });

  test('the dashboard', async () => {
    const { dir } = folder('shop-');
    writeRun(dir, { ...STORY, start: Date.parse('2026-02-27T09:00:00Z') });
    writeRun(dir, { ...STORY, iterations: 4, ends: 'stuck', start: Date.parse('2026-02-28T09:00:00Z') });
    const { ends: _, ...unfinished } = STORY;
    const { journal } = writeRun(dir, { ...unfinished, iterations: 8, start: Date.now() - 900_000 });
    journal.append({ type: 'iteration-started', iteration: 9 });
    journal.append({
      type: 'agent-started',
      purpose: 'work',
      command: 'claude',
      promptChars: 1,
      promptHead: '',
    });
    const text =
      'Two tests still fail: the discount is rounded once for the whole cart. I round each line instead.';
    journal.append({ type: 'agent', event: { kind: 'text', text } });
    for (const [id, name, summary] of [
      ['1', 'Read', 'src/cart.js'],
      ['2', 'Edit', 'src/cart.js'],
      ['3', 'Bash', 'npm test'],
    ] as const) {
      journal.append({ type: 'agent', event: { kind: 'tool-start', id, name, summary } });
      if (id !== '3')
        journal.append({ type: 'agent', event: { kind: 'tool-end', id, ok: true, output: toolOutput('') } });
    }
    const running = startRalph(['dashboard'], {
      cwd: dir,
      env: { RALPH_DASHBOARD_TOKEN: 'for-the-picture' },
    });
    let url = '';
    running.process.stdout?.on('data', chunk => {
      url += chunk;
    });
    await running.until('?token=for-the-picture');
    const { page } = await open(url.trim(), { width: 1280, height: 900 });
    await page.getByText('Two tests still fail').waitFor();
    await page.screenshot({ path: join(PICTURES, 'dashboard.png') });
  });
});
