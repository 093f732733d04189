/** The tutorial "From issue to merge", followed step by step: its commands as they stand there, GitHub and the people at it by the rig. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agentOf } from '../rig/ended-run.ts';
import { createForge, word } from '../rig/forge.ts';
import { BIN, ralph, testEnv } from '../rig/ralph.ts';
import { folder, repoAt } from '../rig/repo.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/tutorial-issue.md'), 'utf8');
const BLOCKS = [...PAGE.matchAll(/^```\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);
const blockWith = (text: string) => BLOCKS.find(block => block.includes(text)) ?? '';

const AGENT = `
case "$(cat)" in
  *"reviewers ask"*) printf 'const FREE = 50;\\nexports.shipping = total => (total >= FREE ? 0 : 5);\\n' > cart.js;;
  *) printf 'exports.shipping = total => (total >= 50 ? 0 : 5);\\n' > cart.js;;
esac`;

test('from issue to merge', { timeout: 240_000 }, async () => {
  const home = folder('ralph-tutorial-');
  const bin = folder('ralph-bin-');
  bin.script('ralph', `exec "${process.execPath}" "${BIN}" "$@"`);
  const sh = (block: string, cwd: string) =>
    execFileSync('sh', ['-e', '-c', block], { cwd, encoding: 'utf8', env: testEnv({ path: [bin.dir] }) });
  sh(blockWith('mkdir cart'), home.dir);
  const work = repoAt(home.path('cart'));
  expect(() => work.git('status')).not.toThrow();
  work.settings({ agent: agentOf(AGENT) });
  const forge = await createForge(work);
  const created = blockWith('gh issue create');
  const title = /--title "([^"]*)"/.exec(created)?.[1] ?? '';
  const body = /--body "([\s\S]*)"\n$/.exec(created)?.[1]?.replaceAll('\\`', '`') ?? '';
  forge.issue(1, body, { title, author: 'alice' });
  const command = blockWith('ralph watch --once').trim();
  const args = command.match(/"[^"]*"|\S+/g)?.map(each => each.replaceAll('"', '')) ?? [];
  const run = () => ralph([...args.slice(1), '--poll', '0.1'], { cwd: work.dir, env: forge.env });
  const { code, stdout, stderr } = await run();
  expect(code, stdout + stderr).toBe(0);
  const known = (text: string) =>
    text
      .replace(/\d{8}-\d{6}-\w+/g, 'RUN')
      .replace(/https?:\S+\/pull\/\d+/g, 'PULL')
      .replace(/ready: #\d+|issue-1 \w+/g, '')
      .trim()
      .split('\n')
      .sort();
  // Two streams: only on a screen they have an order.
  expect(known(stdout + stderr)).toEqual(known(blockWith('#1 Free shipping')));
  expect(forge.labels(1)).toEqual(['ralph', 'ralph:done']);
  const [pull] = forge.state.pulls;
  expect([pull?.draft, pull?.body]).toEqual([false, expect.stringContaining('`npm test` passed')]);
  expect(BLOCKS.filter(block => block.includes('ralph watch --once'))).toHaveLength(2);
  const asked = /\*([^*]+\.)\* Then/.exec(PAGE)?.[1] ?? '';
  forge.state.threads.push(word('alice', asked, { path: 'cart.js', line: 1 }));
  const again = await run();
  expect(again.code, again.stdout + again.stderr).toBe(0);
  expect(forge.bare.git('show', 'ralph/issue-1:cart.js')).toContain('const FREE = 50;');
  expect(forge.state.threads.at(-1)?.body).toContain('Worked on in');
});
