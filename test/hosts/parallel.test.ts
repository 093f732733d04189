/** `ralph prd run --parallel 2` with the real Claude Code building and the real Codex reviewing, in two worktrees at once, and a limit in the middle. */
import { execFileSync } from 'node:child_process';
import { expect, onTestFinished, test } from 'vitest';
import { story, storyList } from '../domain/stories/stories.ts';
import { hostCommand } from '../rig/hosts/host.ts';
import { hostSession } from '../rig/hosts/session.ts';
import { HOSTS } from '../rig/hosts/table.ts';
import { resultIn } from '../rig/lanes.ts';
import type { SideRule } from '../rig/model-server/answer.ts';
import type { Step } from '../rig/model-server/script.ts';
import { startRalph } from '../rig/ralph.ts';
import { repoAt } from '../rig/repo.ts';

const IDS = ['US-001', 'US-002', 'US-003'];
const DONE = 'lane-step-is-done';

/** What the model says is chosen by what it is asked: several agents ask at the same time. */
function rulesFor(id: string, mode: string, script: string, words: string): readonly SideRule[] {
  const program = `const f="ralph/tasks.json",l=JSON.parse(require("fs").readFileSync(f)),s=l.userStories.find(s=>s.id==="${id}");${script};require("fs").writeFileSync(f,JSON.stringify(l,null,2))`;
  const work = mode === 'implement' ? `mkdir -p work && echo ${id} > work/${id}.txt && ` : '';
  const command = `${work}'${process.execPath}' -e '${program}' && git add -A && git commit -q --allow-empty -m '${id} ${mode}' && echo ${DONE.replace('is', 'i""s')}`;
  const isAbout = ({ body }: { readonly body: string }) => body.includes(`- Mode: ${mode}\\n- Story: ${id} `);
  return [
    { match: request => isAbout(request) && request.body.includes(DONE), step: { text: words } },
    { match: isAbout, step: { tools: [{ do: 'shell', command }] } },
  ];
}

/** A limit of the account, from the second story's first request on, for so many seconds. */
function limit(seconds: number): { readonly rule: SideRule; readonly met: () => number } {
  let until = 0;
  let met = 0;
  const at = Math.ceil(Date.now() / 1000) + 3600;
  const step: Step = HOSTS.claude.limit?.().step ?? {};
  const headers: Record<string, string> = {
    ...step.headers,
    'anthropic-ratelimit-unified-reset': String(at),
  };
  const limited: Step = { ...step, headers };
  return {
    met: () => met,
    rule: {
      match({ body }) {
        if (until === 0 && body.includes('- Story: US-002 ')) {
          until = Math.ceil(Date.now() / 1000) * 1000 + seconds * 1000;
          headers['anthropic-ratelimit-unified-reset'] = String(until / 1000);
        }
        const isLimited = Date.now() < until;
        if (isLimited) met++;
        return isLimited;
      },
      step: limited,
    },
  };
}

test('three stories: Claude Code builds, Codex reviews, both lanes wait for one limit', {
  timeout: 420_000,
}, async () => {
  const { rule, met } = limit(8);
  const build = IDS.flatMap(id =>
    rulesFor(id, 'implement', 's.reviewStatus="needs_review";s.notes="built"', 'Built.'),
  );
  const review = IDS.flatMap(id =>
    rulesFor(
      id,
      'review',
      's.reviewStatus="approved";s.passes=true;s.reviewCount++',
      `Good. <review story="${id}">approved</review>`,
    ),
  );
  const claude = await hostSession('claude', { steps: [], sides: [rule, ...build] });
  onTestFinished(() => claude.close());
  const codex = await hostSession('codex', { steps: [], sides: review });
  onTestFinished(() => codex.close());
  const { repo, env } = claude.place;
  const { write } = repoAt(repo);
  write('.gitignore', '.ralph-active\n.ralph/\n');
  write('ralph/prd.md', '# Demo\n');
  write('ralph/progress.txt', '# Ralph Progress Log\n---\n');
  write('ralph/tasks.json', JSON.stringify(storyList(...IDS.map(id => story(id, { notes: '' }))), null, 2));
  const agents = {
    builder: { command: hostCommand('claude'), adapter: 'claude', flags: claude.flags },
    judge: { command: hostCommand('codex'), adapter: 'codex', flags: codex.flags },
  };
  write('.ralph/settings.json', JSON.stringify({ agents }));
  const git = (...args: string[]) => execFileSync('git', args, { cwd: repo, env, encoding: 'utf8' });
  git('add', '-A');
  git('commit', '-qm', 'the plan');
  const roles = ['--implementer', 'builder', '--reviewer', 'judge'];
  const run = startRalph(
    [
      'prd',
      'run',
      '--json',
      '--parallel',
      '2',
      '--check',
      'test -f .gitignore',
      ...roles,
      '--max-wait',
      '60',
    ],
    { cwd: repo, env: { ...codex.place.env, ...codex.env, ...env, ...claude.env } },
  );
  const { code, stdout, stderr } = await run.finished;
  expect(code, stderr).toBe(0);
  const result = resultIn(stdout);
  expect(result.lanes.map(({ id, state }) => `${id} ${state}`)).toEqual(IDS.map(id => `${id} landed`));
  expect(git('ls-tree', '-r', '--name-only', 'ralph/demo').split('\n')).toEqual(
    expect.arrayContaining(IDS.map(id => `work/${id}.txt`)),
  );
  expect(met()).toBeGreaterThan(0);
  expect(stderr.replace(/\s+/g, ' ')).toContain('builder is limited until');
  expect(codex.server.requests.length).toBeGreaterThanOrEqual(6);
});
