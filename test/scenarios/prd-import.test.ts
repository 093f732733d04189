/** `ralph prd import` of Markdown task lists, and of GitHub issues through `gh`. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Story } from '../../src/domain/stories/story.ts';
import { STATES } from '../domain/stories/stories.ts';
import { ralph } from '../rig/commands.ts';
import { fakeAgent } from '../rig/fake-agent.ts';
import { folder, type Repo, repo } from '../rig/repo.ts';
import { approve, change, modesOf, prdRun, storyOf, tasks, works } from '../rig/stories.ts';

const importing = (made: Repo, args: readonly string[], path: readonly string[] = []) =>
  ralph(['prd', 'import', ...args], { cwd: made.dir, path });

const edit = (made: Repo, id: string, fields: Partial<Story>) =>
  made.write('ralph/tasks.json', JSON.stringify(change(id, fields)(tasks(made))));

const TODO = `# Saved searches 🔎

Some words, and an example:
\`\`\`
- [ ] not a task
\`\`\`
<!-- - [ ] neither -->

## Storage
- [ ] Store a search
  As a user I want to find it again.
  - [ ] A search has a name
  - it is kept over a restart
* [x] Delete a search
- no task

### Sharing
1. [ ] SH-7: Share <b>it</b> 🎉
`;

const NPM = { 'package.json': '{"scripts":{"test":"true","lint":"no-such-program"}}' };

describe('a new list', () => {
  test.each([
    ['TODO.md', TODO, 'ralph/saved-searches'],
    [
      'prd.json',
      '{"project":"Carts","userStories":[{"id":"1","title":"Add","acceptanceCriteria":["x"]}]}',
      'ralph/carts',
    ],
  ])('from %s has a branch, and the checks that the project has', async (file, text, branchName) => {
    const made = repo({ [file]: text, ...NPM });
    const { code, stdout, stderr } = await importing(made, [file]);
    expect(code, stderr).toBe(0);
    expect(tasks(made)).toMatchObject({ branchName, verifyCommands: ['npm run lint', 'npm test'] });
    expect(stdout).toContain(`Branch: ${branchName}\nChecks: npm run lint, npm test (verifyCommands`);
    // Whoever takes them out again is not asked twice.
    made.write('ralph/tasks.json', JSON.stringify({ ...tasks(made), branchName: '', verifyCommands: [] }));
    if (file === 'TODO.md') await importing(made, [file]);
    expect(tasks(made)).toMatchObject({ branchName: '', verifyCommands: [] });
  });

  test('keeps the branch and the checks that another one brings', async () => {
    const stories = '[{"id":"1","title":"Add","acceptanceCriteria":["x"]}]';
    const text = `{"project":"Carts","branchName":"cart","verifyCommands":["make"],"userStories":${stories}}`;
    const made = repo({ 'prd.json': text, ...NPM });
    await importing(made, ['prd.json']);
    expect(tasks(made)).toMatchObject({ branchName: 'cart', verifyCommands: ['make'] });
  });

  test('of ralph prd init has the checks that the project has', async () => {
    const made = repo(NPM);
    const { stdout } = await ralph(['prd', 'init'], { cwd: made.dir });
    expect(tasks(made)).toMatchObject({ verifyCommands: ['npm run lint', 'npm test'] });
    expect(stdout).toContain('Checks: npm run lint, npm test (verifyCommands');
  });
});

describe('a Markdown task list', () => {
  test('keeps the name that `ralph prd init` was given', async () => {
    const made = repo({ 'TODO.md': TODO });
    await ralph(['prd', 'init', '--name', 'Saved searches'], { cwd: made.dir });
    await importing(made, ['TODO.md']);
    expect(tasks(made)).toMatchObject({ project: 'Saved searches', branchName: 'ralph/saved-searches' });
  });

  test('becomes stories: nested items are criteria, headings groups, what is ticked waits for a review', {
    tags: 'promise',
  }, async () => {
    const made = repo({ 'TODO.md': TODO });
    const { code, stdout } = await importing(made, ['TODO.md']);
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining('3 stories were added to ralph/tasks.json, 0 updated, 0 left alone'),
    ]);
    expect(tasks(made)).toMatchObject({
      project: 'Saved searches 🔎',
      userStories: [
        {
          id: 'US-001',
          title: 'Store a search',
          description: 'Part of: Storage\nAs a user I want to find it again.',
          acceptanceCriteria: ['A search has a name', 'it is kept over a restart'],
          priority: 1,
          reviewStatus: null,
        },
        { title: 'Delete a search', passes: false, reviewStatus: 'needs_review', priority: 2 },
        { id: 'SH-7', title: 'Share <b>it</b> 🎉', acceptanceCriteria: ['Share <b>it</b> 🎉'] },
      ],
    });
    expect((await ralph(['prd', 'status'], { cwd: made.dir })).code).toBe(0);
  });

  test('imported again: what is open is updated, what is under way or done is left, what is new is added', async () => {
    const made = repo({ 'TODO.md': '- [ ] A-1: One\n- [ ] A-2: Two\n- [ ] Three\n' });
    await importing(made, ['TODO.md']);
    edit(made, 'A-2', { ...STATES.waiting, notes: 'built' });
    made.write(
      'TODO.md',
      '- [ ] New\n- [ ] Three\n  - more\n- [ ] A-1: One, better\n- [ ] A-2: Two, better\n',
    );
    const { code, stdout } = await importing(made, ['TODO.md', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ stories: 4, kept: ['A-2'] });
    expect(JSON.parse(stdout).updated).toHaveLength(2);
    const titles = tasks(made).userStories.map(({ title }) => title);
    expect(titles).toEqual(['One, better', 'Two', 'Three', 'New']);
    expect(tasks(made).userStories[2]?.acceptanceCriteria).toEqual(['more']);
  });

  test('--trust: what is ticked is approved, and no run reviews it', async () => {
    const made = repo({ 'TODO.md': '- [x] A-1: One\n- [ ] A-2: Two\n', '.gitignore': '.ralph/\n' });
    expect((await importing(made, ['TODO.md', '--trust'])).code).toBe(0);
    expect(storyOf(made, 'A-1')).toMatchObject({ passes: true, reviewStatus: 'approved' });
    made.git('add', '--all');
    made.git('commit', '--quiet', '--message', 'the list');
    const built = change('A-2', { reviewStatus: 'needs_review', notes: 'built' });
    const agent = await fakeAgent('claude', works(made, built), works(made, approve('A-2')));
    const { code, result } = await prdRun(made, agent.bin);
    expect([code, modesOf(result)]).toEqual([0, ['implement A-2', 'review A-2']]);
  });

  test.each([
    ['an id twice', '- [ ] A-1: One\n- [ ] A-1: Two\n', 'A-1 is there more than once'],
    ['no task', '# Nothing\n- one\n', 'there is no task'],
  ])('%s: exit code 2, and nothing is written', async (_, source, words) => {
    const made = repo({ 'TODO.md': source });
    const { code, stderr } = await importing(made, ['TODO.md']);
    expect([code, existsSync(made.path('ralph'))]).toEqual([2, false]);
    expect(stderr).toContain(words);
  });
});

/** A `gh` on the PATH that answers this. */
function fakeGh(answer: {
  readonly issues?: unknown;
  readonly exit?: number;
  readonly says?: string;
}): string {
  const { dir: bin, write, script } = folder();
  write('answer.json', JSON.stringify(answer.issues ?? []));
  const says = `echo '${answer.says ?? ''}' >&2`;
  script('gh', `echo "$@" > '${bin}/asked'\n${says}\ncat '${bin}/answer.json'\nexit ${answer.exit ?? 0}`);
  return bin;
}

const GITHUB = ['github:me/my.repo', '--label', 'ralph'];

describe('issues of a GitHub repository', () => {
  test('become stories, oldest first: checkboxes are criteria', async () => {
    const made = repo();
    const body = 'Why 🎉 <details>x</details>\r\n<!-- template -->\r\n- [ ] it works\r\n- [x] it is fast\r\n';
    const issues = [
      { number: 12, title: 'Log <b>in</b>\u0007 🎉', body, url: 'https://github.com/me/my.repo/issues/12' },
      { number: 3, title: 'First', body: null, url: '' },
      { number: 12, title: 'Log <b>in</b>\u0007 🎉', body, url: 'https://github.com/me/my.repo/issues/12' },
    ];
    const bin = fakeGh({ issues });
    const { code, stderr } = await importing(made, GITHUB, [bin]);
    expect(code, stderr).toBe(0);
    expect(readFileSync(join(bin, 'asked'), 'utf8')).toMatch(
      /^issue list --repo me\/my.repo --state open --limit \d+ --label ralph --json /,
    );
    expect(tasks(made).userStories).toMatchObject([
      { id: 'GH-3', title: 'First', acceptanceCriteria: ['First'], priority: 1 },
      {
        id: 'GH-12',
        title: 'Log <b>in</b> 🎉',
        description: 'Why 🎉 <details>x</details>\n\nhttps://github.com/me/my.repo/issues/12',
        acceptanceCriteria: ['it works', 'it is fast'],
      },
    ]);
  });

  test('imported again: never touches what is under way', async () => {
    const made = repo();
    const issue = (number: number, title: string) => ({ number, title, body: '', url: '' });
    await importing(made, GITHUB, [fakeGh({ issues: [issue(1, 'One'), issue(2, 'Two')] })]);
    edit(made, 'GH-1', { ...STATES.rejected, notes: 'built' });
    const bin = fakeGh({ issues: [issue(1, 'Other'), issue(2, 'Other'), issue(3, 'Three')] });
    expect((await importing(made, GITHUB, [bin])).code).toBe(0);
    expect(tasks(made).userStories.map(({ title }) => title)).toEqual(['One', 'Other', 'Three']);
  });

  test('2,000 of them, with long bodies', async () => {
    const made = repo();
    const issues = Array.from({ length: 2_000 }, (_, at) => ({
      number: at + 1,
      title: `Issue ${at}`,
      body: `${'🎉'.repeat(3_000)}\n- [ ] one\n`,
      url: '',
    }));
    const { code, stderr } = await importing(made, GITHUB, [fakeGh({ issues })]);
    expect(code, stderr).toBe(0);
    expect(tasks(made).userStories).toHaveLength(2_000);
    expect((await ralph(['prd', 'status'], { cwd: made.dir })).code).toBe(0);
  });

  test.each([
    [
      'not logged in',
      { exit: 4, says: 'To get started with GitHub CLI, please run: gh auth login' },
      'gh auth login',
    ],
    [
      'no such repository',
      { exit: 1, says: 'Could not resolve to a Repository' },
      'gh issue list --repo me/my.repo',
    ],
    ['an answer that is none', { issues: 'x' }, 'its answer is no list of issues'],
    ['no issue', { issues: [] }, 'there is no open issue'],
  ])('%s: exit code 2, and what to do', async (_, answer, words) => {
    const made = repo();
    const { code, stderr } = await importing(made, GITHUB, [fakeGh(answer)]);
    expect([code, existsSync(made.path('ralph'))]).toEqual([2, false]);
    expect(stderr.replace(/\s+/g, ' ')).toContain(words);
  });

  test('a gh in the project is not run, and a missing one is named', async () => {
    const made = repo();
    made.script('bin/gh', 'touch ran');
    const { code, stderr } = await importing(made, GITHUB, [made.path('bin')]);
    expect([code, existsSync(made.path('ran'))]).toEqual([2, false]);
    expect(stderr).toContain('gh auth login');
  });

  test.each([
    [['github:me'], 'it names no repository'],
    [['TODO.md', '--label', 'x'], 'only issues have labels'],
  ])('%j', async (args, words) => {
    const { code, stderr } = await importing(repo(), args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(words)]);
  });
});
