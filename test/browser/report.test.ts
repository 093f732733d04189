import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { DIFF, writeRun } from '../rig/written-run.ts';
import { ralph } from '../rig/ralph.ts';
import { folder } from '../rig/repo.ts';
import { open } from './browser.ts';

test('a first look', async () => {
  const { dir, path } = folder();
  writeRun(dir, {
    iterations: 9,
    ends: 'all_checks_passed',
    branch: 'ralph/cart',
    diff: () => DIFF,
    violations: i => (i === 4 ? ['test/cart.test.js was changed'] : []),
    also: i =>
      i === 9
        ? [{ type: 'scm', task: 'commit', outcome: 'done', detail: 'Round each line of the cart' }]
        : [],
  });
  expect(await ralph(['report', '-o', 'run.html'], { cwd: dir })).toMatchObject({ code: 0, stderr: '' });
  for (const [name, options] of [
    ['light', {}],
    ['dark', { dark: true }],
    ['phone', { width: 360, height: 740 }],
  ] as const) {
    const { page, errors, picture } = await open(pathToFileURL(path('run.html')).href, options);
    await page.getByRole('button', { name: /^9/ }).click();
    await page.waitForSelector('.passages');
    await picture(`report-${name}`);
    expect(errors).toEqual([]);
  }
});
