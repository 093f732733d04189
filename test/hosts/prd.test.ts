/** `ralph prd run` with the real Claude Code and Codex: the whole life of two stories, and what the stop hook does about a cheat. */
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Story, StoryList } from '../../src/domain/stories/story.ts';
import { story, storyList } from '../domain/stories/stories.ts';
import { hostCommand } from '../rig/hosts/host.ts';
import { runHost } from '../rig/hosts/run.ts';
import { hostSession } from '../rig/hosts/session.ts';
import type { Step } from '../rig/model-server/script.ts';
import { startRalph } from '../rig/ralph.ts';
import { repoAt } from '../rig/repo.ts';

const PLUGIN = join(import.meta.dirname, '../../plugins/claude');
const COMPLETE = '<promise>COMPLETE</promise>';
const verdict = (id: string, words: string) => `<review story="${id}">${words}</review>`;

/** Changes a story in tasks.json, with a command that any agent's shell can run. */
function edit(id: string, script: string, commit = true): Step {
  const program = `const f="ralph/tasks.json",l=JSON.parse(require("fs").readFileSync(f)),s=l.userStories.find(s=>s.id==="${id}");${script};require("fs").writeFileSync(f,JSON.stringify(l,null,2))`;
  const save = commit ? ` && echo '${id}' >> ralph/progress.txt && git add -A && git commit -qm '${id}'` : '';
  return { tools: [{ do: 'shell', command: `'${process.execPath}' -e '${program}'${save}` }] };
}
const handIn = (id: string) => edit(id, 's.reviewStatus="needs_review";s.reviewFeedback="";s.notes="built"');
const approve = (id: string) => edit(id, 's.reviewStatus="approved";s.passes=true;s.reviewCount++');
const reject = (id: string) =>
  edit(id, 's.reviewStatus="changes_requested";s.reviewFeedback="handle the empty list";s.reviewCount++');
const words = (text: string): Step => ({ text });

async function prd(
  name: 'claude' | 'codex',
  stories: readonly Story[],
  steps: readonly Step[],
  ...args: string[]
) {
  const session = await hostSession(name, { steps });
  onTestFinished(() => session.close());
  const { repo, env } = session.place;
  const { write } = repoAt(repo);
  write('.gitignore', '.ralph-active\n.ralph/\n');
  write('ralph/prd.md', '# Demo\n');
  write('ralph/progress.txt', '# Ralph Progress Log\n---\n');
  write('ralph/tasks.json', JSON.stringify(storyList(...stories), null, 2));
  write(
    '.ralph/settings.json',
    JSON.stringify({ agent: { command: hostCommand(name), adapter: name, flags: session.flags } }),
  );
  const git = (...args: string[]) => execFileSync('git', args, { cwd: repo, env });
  git('add', '-A');
  git('commit', '-qm', 'the plan');
  const run = startRalph(['prd', 'run', '--json', ...args], { cwd: repo, env: { ...env, ...session.env } });
  const { code, stdout, stderr } = await run.finished;
  const list: StoryList = JSON.parse(readFileSync(join(repo, 'ralph/tasks.json'), 'utf8'));
  const requests = session.server.requests.filter(request => request.kind === 'step');
  return { code, result: stdout.startsWith('{') ? JSON.parse(stdout) : stderr, list, requests, stderr };
}

describe.each(['claude', 'codex'] as const)('%s', name => {
  test('two stories: built, reviewed, sent back, fixed, reviewed again, approved', async () => {
    const steps = [
      ...[handIn('US-001'), words('Built.')],
      ...[reject('US-001'), words(`Not yet. ${verdict('US-001', 'changes_requested')}`)],
      ...[handIn('US-001'), words('Mended.')],
      ...[approve('US-001'), words(`Good. ${verdict('US-001', 'approved')}`)],
      ...[handIn('US-002'), words(`Built. ${COMPLETE}`)],
      ...[approve('US-002'), words(`Good. ${verdict('US-002', 'approved')} ${COMPLETE}`)],
    ];
    const stories = [story('US-001', { notes: '' }), story('US-002', { dependsOn: ['US-001'], notes: '' })];
    const { code, result, list, requests } = await prd(name, stories, steps);
    expect([code, result.stopReason]).toEqual([0, 'all_stories_approved']);
    expect(
      result.iterations.map((each: { mode: string; story: string }) => `${each.mode} ${each.story}`),
    ).toEqual([
      'implement US-001',
      'review US-001',
      'review-fix US-001',
      'review US-001',
      'implement US-002',
      'review US-002',
    ]);
    expect(list.userStories.map(each => [each.id, each.passes, each.reviewStatus, each.reviewCount])).toEqual(
      [
        ['US-001', true, 'approved', 2],
        ['US-002', true, 'approved', 1],
      ],
    );
    expect(result.stories).toMatchObject({ done: 2, reviews: 3, capHits: 0 });
    expect(result.iterations.flatMap((each: { violations: string[] }) => each.violations)).toEqual([]);
    // A fresh context each time: what one iteration says is not in the next one's conversation.
    expect(requests[2]?.body).not.toContain('"Built."');
    expect(requests[2]?.userTexts.join('\n')).toContain('- Mode: review\n- Story: US-001');
  });

  test('that approves its own work is told before it may stop, and fixes it', async () => {
    const steps = [
      edit('US-001', 's.reviewStatus="approved";s.passes=true;s.notes="built"'),
      words('All done.'),
      edit('US-001', 's.reviewStatus="needs_review";s.passes=false'),
      words('Handed in.'),
    ];
    const { result, list, requests } = await prd(name, [story('US-001', { notes: '' })], steps, '-n', '1');
    expect(result.iterations).toMatchObject([{ mode: 'implement', violations: [] }]);
    expect(list.userStories[0]).toMatchObject({ passes: false, reviewStatus: 'needs_review' });
    const told = requests.at(-2)?.body ?? '';
    expect(told).toContain('Implement iterations cannot set passes=true or approve stories.');
  });

  test('that stops with uncommitted changes is sent back to commit them', async () => {
    const steps = [
      edit('US-001', 's.reviewStatus="needs_review";s.notes="built"', false),
      words('Built.'),
      { tools: [{ do: 'shell', command: 'git add -A && git commit -qm work' }] } as const,
      words('Committed.'),
    ];
    const { result, requests } = await prd(name, [story('US-001', { notes: '' })], steps, '-n', '1');
    expect([result.iterations[0].violations, requests.length]).toEqual([[], 4]);
    expect(requests.at(-2)?.body).toContain('There are uncommitted changes: ralph/tasks.json.');
  });

  test('that insists is let go, and the loop undoes it', async () => {
    const cheat = edit('US-001', 's.reviewStatus="approved";s.passes=true;s.notes="built"');
    const steps = [cheat, { text: 'I am done.', repeat: 'forever' } as const];
    const { code, result, list } = await prd(name, [story('US-001', { notes: '' })], steps, '-n', '1');
    expect([code, result.stopReason]).toEqual([1, 'max_iterations']);
    expect(result.iterations[0].violations.join('\n')).toContain('cannot set passes=true');
    expect(list.userStories[0]).toMatchObject({ passes: false, reviewStatus: null });
  });
});

test('the plugin has /ralph:ralph-plan: the text of ralph prd plan, and both files come of it', async () => {
  const session = await hostSession('claude', ({ repo }) => ({
    steps: [
      { tools: [{ do: 'write', path: join(repo, 'ralph/prd.md'), content: '# Demo\n\nWhat is wanted.\n' }] },
      {
        tools: [
          {
            do: 'write',
            path: join(repo, 'ralph/tasks.json'),
            content: JSON.stringify(storyList(story('US-001', { notes: '' }))),
          },
        ],
      },
      { text: 'Both files are written.' },
    ],
  }));
  onTestFinished(() => session.close());
  const { repo, env } = session.place;
  const ralph = (...args: string[]) => startRalph(args, { cwd: repo, env: { ...env } }).finished;
  expect((await ralph('prd', 'init')).code).toBe(0);
  // The agent writes over a file only after it has read it.
  for (const name of ['prd.md', 'tasks.json']) rmSync(join(repo, 'ralph', name));
  const argv = session.host.argv(session.place, [...session.flags, '--plugin-dir', PLUGIN]);
  await runHost(argv, { place: session.place, env: session.env, stdin: '/ralph:ralph-plan a search' });
  const [first] = session.server.requests.filter(request => request.kind === 'step');
  expect(first?.userTexts.join('\n')).toContain('# Plan a feature for Ralph');
  expect(first?.userTexts.join('\n')).toContain('do **full planning**');
  const { code, stdout } = await ralph('prd', 'status', '--json');
  expect([code, JSON.parse(stdout).next]).toEqual([0, { mode: 'implement', story: 'US-001' }]);
});
