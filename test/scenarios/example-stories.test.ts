/** The example of `ralph prd` that the documentation links to runs as it stands. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testEnv } from '../rig/ralph.ts';
import { repo } from '../rig/repo.ts';

const EXAMPLE = join(import.meta.dirname, '../../examples/stories/run.mjs');

test('examples/stories: three stories, a rejected review, a question, and a report', async () => {
  const { dir } = repo();
  const child = spawn(process.execPath, [EXAMPLE, dir], { cwd: dir, env: testEnv({}) });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', chunk => {
      said += chunk;
    });
  const code = await new Promise(resolve => child.on('close', resolve));
  expect(code, said).toBe(0);
  const words = said.replace(/\s+/g, ' ');
  expect(words).toContain('US-001: changes requested (1 of 5): "-3.20" throws, and the criteria want -320');
  expect(words).toContain('US-002 asks: A comma or a point before the cents on a receipt?');
  expect(words).toContain('Answer to US-002: A comma');
  expect(words).toContain('Stories: 3 of 3 done, 4 reviews');
  expect(words).toContain('Proof: the checks passed in your folder; not tried in a clean checkout');
  expect(readFileSync(join(dir, 'report.html'), 'utf8')).toContain('US-002 asks: A comma or a point');
});
