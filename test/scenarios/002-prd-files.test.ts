/** `ralph prd init`, `plan`, `import`, `status`, `archive`: everything around the loop. */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { STATES, story, storyList } from '../domain/stories/stories.ts';
import { fakeAgent, type Handler } from '../rig/fake-agent.ts';
import { BIN, ralph, testEnv } from '../rig/ralph.ts';
import { folder, type Repo, repo } from '../rig/repo.ts';
import { prdRepo, tasks } from '../rig/stories.ts';

const prd = ({ dir }: Repo, ...args: string[]) => ralph(['prd', ...args], { cwd: dir });
const template = (name: string) => readFileSync(join(import.meta.dirname, '../../templates', name), 'utf8');

describe('init', () => {
  test('makes the four files, ignores the mark of a loop, and says what comes next', {
    tags: ['promise', 'P-prd-init'],
  }, async () => {
    const project = repo();
    const { code, stdout } = await prd(project, 'init', '--name', 'Saved searches (v2)');
    expect(code).toBe(0);
    expect(readdirSync(project.path('ralph')).sort()).toEqual([
      'prd.md',
      'progress.txt',
      'prompt.md',
      'tasks.json',
    ]);
    expect(tasks(project)).toMatchObject({
      project: 'Saved searches (v2)',
      branchName: 'ralph/saved-searches-v2',
      userStories: [{ id: 'US-001', passes: false, reviewStatus: null, reviewCount: 0, dependsOn: [] }],
    });
    expect(project.read('ralph/progress.txt')).toMatch(
      /^# Ralph Progress Log\nStarted: \d{4}-\d\d-\d\d\nPRD: Saved searches \(v2\)\n/,
    );
    expect(project.read('ralph/prompt.md')).toBe(template('prompt.md'));
    expect(project.read('.gitignore')).toBe('.ralph-active\n');
    expect(stdout).toContain('1. ralph prd plan');
  });

  test('without a name the branch is that of the template, and .gitignore keeps what is in it', async () => {
    const project = repo({ '.gitignore': 'node_modules' });
    await prd(project, 'init');
    expect(tasks(project).branchName).toBe('ralph/feature-name');
    expect(project.read('.gitignore')).toBe('node_modules\n.ralph-active\n');
    await prd(project, 'archive', '--force', '--label', 'x');
    await prd(project, 'init', '--ralph-dir', 'other');
    expect(project.read('.gitignore')).toBe('node_modules\n.ralph-active\n');
    expect(existsSync(project.path('other/tasks.json'))).toBe(true);
  });

  test('.gitignore keeps its bytes, UTF-8 or not', async () => {
    const project = repo();
    const before = Buffer.from('caf\xe9/\r\nbuild/\r\n', 'latin1');
    writeFileSync(project.path('.gitignore'), before);
    await prd(project, 'init');
    expect(readFileSync(project.path('.gitignore'))).toEqual(
      Buffer.concat([before, Buffer.from('.ralph-active\n')]),
    );
  });

  test('overwrites nothing, and writes nothing when one of the files is there', async () => {
    const project = repo({ 'ralph/prd.md': 'mine' });
    const { code, stderr } = await prd(project, 'init');
    expect([code, readdirSync(project.path('ralph'))]).toEqual([2, ['prd.md']]);
    expect(stderr).toContain('ralph/prd.md: is there already, and nothing is overwritten');
  });

  test('its list is not one to run: what is missing is said', async () => {
    const project = repo();
    await prd(project, 'init');
    const { code, stderr } = await prd(project, 'run', '--agent', 'true');
    expect(code).toBe(2);
    expect(stderr).toContain(
      'ralph/tasks.json: it is still the template (`ralph prd plan` fills it in with you)',
    );
  });
});

describe('status', () => {
  test('shows each story with its state, its reviews and its notes, and what is next', async () => {
    const project = prdRepo(
      story('US-001', { ...STATES.approved, notes: 'used the existing index' }),
      story('US-002', { ...STATES.rejected, reviewCount: 2, reviewFeedback: 'the empty list crashes' }),
      story('US-010', { dependsOn: ['US-002'], notes: '' }),
    );
    const { code, stdout } = await prd(project, 'status', '--no-color', '--no-emoji');
    expect(code).toBe(0);
    expect(stdout).toBe(`Demo | ralph/demo: 0 of 3 stories done

[x] US-001 Title of US-001
           claimed, not reviewed, 1 review
           Notes: used the existing index
[>] US-002 Title of US-002
           changes requested, 2 reviews
           Feedback: the empty list crashes
           Notes: done so
[ ] US-010 Title of US-010
           open, waits for US-002

Next: review-fix US-002; \`ralph prd run\`
Loop: not running
Branch: main; \`ralph prd run\` works on ralph/demo
`);
  });

  test('as JSON', async () => {
    const project = prdRepo(story('US-001', STATES.waiting));
    const { stdout } = await prd(project, 'status', '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      project: 'Demo',
      userStories: [{ id: 'US-001', reviewStatus: 'needs_review' }],
      next: { mode: 'review', story: 'US-001' },
      loop: null,
      problems: [],
    });
  });

  test('a list that is not in order: everything that is wrong', async () => {
    const { code, stderr } = await prd(prdRepo(story('A', { title: '' }), story('A')), 'status');
    expect(code).toBe(2);
    expect(stderr).toContain('2 problems');
  });
});

describe('archive', () => {
  const finished = () => {
    const project = prdRepo(story('US-001', { ...STATES.approved, reviewCount: 3, notes: 'built | well' }));
    project.write('ralph/progress.txt', '# Ralph Progress Log\nStarted: 2026-01-02\n---\nall of it\n');
    project.git('add', '--all');
    project.git('commit', '--quiet', '--message', 'work');
    return project;
  };
  const only = (project: Repo) => readdirSync(project.path('ralph-archive'));

  test('moves the files, sums them up, makes new ones, and commits that and nothing else', {
    tags: ['promise', 'P-prd-archive'],
  }, async () => {
    const project = finished();
    project.write('mine.txt', 'staged');
    project.git('add', 'mine.txt');
    const { code } = await prd(project, 'archive');
    expect(code).toBe(0);
    const [name = ''] = only(project);
    expect(name).toMatch(/^\d{4}-\d\d-\d\d-demo$/);
    expect(readdirSync(project.path(`ralph-archive/${name}`)).sort()).toEqual([
      'prd.md',
      'progress.txt',
      'prompt.md',
      'summary.md',
      'tasks.json',
    ]);
    const summary = project.read(`ralph-archive/${name}/summary.md`);
    expect(summary).toContain('- Stories: 0 of 1 completed\n- Dates: 2026-01-02 to 20');
    expect(summary).toContain('| US-001 | Title of US-001 | claimed, not reviewed | 3 | built \\| well |');
    expect(project.read('ralph/prompt.md')).toContain('Iteration $RALPH_ITERATION');
    expect(tasks(project).userStories[0]).toMatchObject({ title: '', passes: false });
    expect(project.git('status', '--porcelain')).toBe('A  mine.txt\n');
    expect(project.git('log', '-1', '--format=%s')).toBe(`chore: archive ralph-archive/${name}\n`);
  });

  test('a label, twice on the same day: two archives', async () => {
    const project = finished();
    await prd(project, 'archive', '--label', 'First Try');
    project.write('ralph/tasks.json', JSON.stringify(storyList(story('US-001', STATES.approved))));
    await prd(project, 'archive', '--label', 'First Try');
    expect(
      only(project)
        .map(name => name.slice(11))
        .sort(),
    ).toEqual(['first-try', 'first-try-2']);
  });

  test('a list that is not finished, or not in order, only with --force', async () => {
    const project = prdRepo(story('US-001'), story('US-002', STATES.approved));
    const refused = await prd(project, 'archive');
    expect([refused.code, existsSync(project.path('ralph-archive'))]).toEqual([2, false]);
    expect(refused.stderr).toContain('story US-001 is not done (--force archives it all the same)');
    project.write('ralph/tasks.json', 'half');
    expect((await prd(project, 'archive')).code).toBe(2);
    expect((await prd(project, 'archive', '--force')).code).toBe(0);
    expect(project.read(`ralph-archive/${only(project)[0]}/tasks.json`)).toBe('half');
  });

  test('outside a repository it is said that nothing was committed', async () => {
    const project = folder();
    project.write('ralph/tasks.json', JSON.stringify(storyList(story('US-001', STATES.approved))));
    const { code, stdout } = await prd(project, 'archive');
    expect(code).toBe(0);
    expect(stdout).toContain('and not committed: this is not in a git repository');
  });
});

describe('import', () => {
  const foreign = {
    project: 'Other',
    branchName: 'ralph/other',
    description: 'From another loop',
    userStories: [
      {
        id: 'US-001',
        title: 'One',
        description: 'As a user',
        acceptanceCriteria: ['Typecheck passes'],
        priority: 1,
        passes: true,
        notes: 'done before',
      },
      { id: 2, title: 'Two', acceptanceCriteria: ['x'], passes: false, extra: { kept: 1 } },
    ],
  };

  test('takes the stories; what passes there waits for a review here', async () => {
    const project = repo({ 'my prd.json': JSON.stringify(foreign) });
    const { code, stdout } = await prd(project, 'import', 'my prd.json');
    expect(code).toBe(0);
    expect(stdout).toContain('2 stories are in ralph/tasks.json; 1 of them are built and wait for a review.');
    expect(tasks(project)).toMatchObject({
      project: 'Other',
      userStories: [
        { id: 'US-001', passes: false, reviewStatus: 'needs_review', reviewCount: 0, notes: 'done before' },
        { id: '2', passes: false, reviewStatus: null, priority: 2, extra: { kept: 1 } },
      ],
    });
    expect(existsSync(project.path('ralph/prd.md'))).toBe(true);
    expect((await prd(project, 'status')).code).toBe(0);
  });

  test('replaces the list that init made, and no other', async () => {
    const project = repo({ 'prd.json': JSON.stringify(foreign) });
    await prd(project, 'init');
    expect((await prd(project, 'import', 'prd.json')).code).toBe(0);
    const { code, stderr } = await prd(project, 'import', 'prd.json');
    expect(code).toBe(2);
    expect(stderr).toContain('ralph/tasks.json: is there already');
  });

  test.each([
    ['not there', undefined, 'prd.json: cannot be read: it does not exist'],
    ['not JSON', '{', 'prd.json: cannot be read'],
    ['no stories', '{}', 'userStories is missing'],
    [
      'a story without a title',
      '{"userStories":[{"id":"A","acceptanceCriteria":["x"]}]}',
      'story A: title is missing',
    ],
  ])('%s', async (_, content, words) => {
    const project = repo(content === undefined ? { x: '' } : { 'prd.json': content });
    const { code, stderr } = await prd(project, 'import', 'prd.json');
    expect([code, existsSync(project.path('ralph'))]).toEqual([2, false]);
    expect(stderr).toContain(words);
  });
});

describe('plan', () => {
  /** On a real pseudo-terminal, which script(1) provides. */
  async function plan(project: Repo, ...handlers: readonly Handler[]) {
    const agent = await fakeAgent('claude', ...handlers);
    const command = `'${process.execPath}' '${BIN}' prd plan --agent claude -m opus`;
    const child = spawn('script', ['-qefc', command, '/dev/null'], {
      cwd: project.dir,
      env: testEnv({ env: { TERM: 'xterm', FAKE_AGENT_SKIPS_STDIN: '1' }, path: [agent.bin] }),
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    let screen = '';
    child.stdout.setEncoding('utf8').on('data', chunk => {
      screen += chunk;
    });
    const code = await new Promise(resolve => child.on('close', resolve));
    return { code, screen, agent };
  }
  const good = JSON.stringify(storyList(story('US-001', { notes: '' })));

  test('an empty PRD: full planning, in the terminal, ends with a list that is in order', async () => {
    const project = repo();
    await prd(project, 'init');
    const { code, screen, agent } = await plan(project, async turn => {
      await turn.print(`I read from ${await turn.shell('readlink /proc/$PPID/fd/0')}`);
      project.write('ralph/prd.md', '# Demo\n\nWhat is wanted.\n');
      project.write('ralph/tasks.json', good);
      turn.exit();
    });
    expect(code).toBe(0);
    expect(screen).toContain('I read from /dev/pts/');
    expect(screen).toContain('ralph/tasks.json is valid: 1 story. Next: ralph prd run');
    const [model, name, prompt = ''] = agent.calls[0]?.argv ?? [];
    expect([model, name]).toEqual(['--model', 'opus']);
    expect(prompt).toContain('# Plan a feature for Ralph');
    expect(prompt).toContain('`ralph/prd.md` is still the template: do full planning.');
  });

  test('a PRD that somebody has written: only the stories; what is missing at the end is said', async () => {
    const project = repo();
    await prd(project, 'init');
    project.write('ralph/prd.md', '# Search\n\n## 1. Summary\nUsers find what they saved.\n');
    const { code, screen, agent } = await plan(project, turn => turn.exit());
    expect(code).toBe(2);
    expect(screen).toContain('ralph/tasks.json: it is still the template');
    expect(agent.calls[0]?.argv.at(-1)).toContain('has been written already: do task derivation.');
  });

  test('without a folder or a terminal nothing is begun, and both are said', async () => {
    const { code, stderr } = await prd(repo(), 'plan', '--agent', 'true');
    expect(code).toBe(2);
    expect(stderr).toContain('ralph/: there is no such folder (`ralph prd init` creates it)');
    expect(stderr).toContain('needs a terminal');
  });
});

test('the group: help, and a slip of the finger', async () => {
  const project = folder();
  const help = await prd(project);
  expect([help.code, help.stdout]).toEqual([0, expect.stringContaining('Actions:\n  init')]);
  expect(await prd(project, '--help')).toMatchObject({ code: 0, stdout: help.stdout });
  const slip = await prd(project, 'statsu');
  expect([slip.code, slip.stderr]).toEqual([2, expect.stringContaining('Did you mean status?')]);
  const flag = await prd(project, 'init', '--nmae', 'x');
  expect([flag.code, flag.stderr]).toEqual([2, expect.stringContaining('--name')]);
});
