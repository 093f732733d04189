/** Terminals of several widths: nothing is broken by the terminal itself, and pictures for people to look at. */
import { mkdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { folder } from '../rig/repo.ts';
import { open } from './browser.ts';
import { demoIn } from './demo-in.ts';
import { terminalSvg } from './terminal-svg.ts';

test('the demo fits into 60, 80 and 120 columns', async () => {
  const { dir, path } = folder('demo-');
  mkdirSync(path('t'));
  const { page, picture } = await open('about:blank');
  for (const columns of [60, 80, 120]) {
    const { painted, lines, printed } = await demoIn(columns, { cwd: dir, tmp: path('t') });
    // Only a command is longer than the screen: it is there to be pasted.
    const broken = printed.filter(line => !lines.includes(line));
    expect(broken.filter(line => !line.includes('ralph-demo-'))).toEqual([]);
    await page.setContent(terminalSvg(painted, `ralph demo in ${columns} columns`));
    await picture(`terminal-${columns}`);
  }
});
