/** `branchName` of a story list: created and used, or the reason why not. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ralph } from '../rig/commands.ts';
import { fakeAgent } from '../rig/fake-agent.ts';
import { folder, gitEnv, type Repo } from '../rig/repo.ts';
import { approve, handIn, prdRepo, prdRun, UNCHANGED, works } from '../rig/stories.ts';

const branchOf = (project: Repo) => project.git('symbolic-ref', '--short', 'HEAD').trim();

test('it is created from the current one, used, and the end says how to take it over', {
  tags: 'promise',
}, async () => {
  const project = prdRepo();
  const agent = await fakeAgent('claude', works(project, handIn()), works(project, approve()));
  const run = await ralph(['prd', 'run', '--agent', 'claude'], { cwd: project.dir, path: [agent.bin] });
  expect([run.code, branchOf(project)]).toEqual([0, 'ralph/demo']);
  expect(run.stdout).toContain('Working on the branch ralph/demo, from main.');
  expect(run.stdout).toMatch(/\nTake it over: `ralph land`\n$/);
  expect(project.git('log', '--oneline', 'main').trim().split('\n')).toHaveLength(1);
  const status = await ralph(['prd', 'status'], { cwd: project.dir });
  expect(status.stdout).toContain('Branch: ralph/demo\n');
  const archive = await ralph(['prd', 'archive', '--json'], { cwd: project.dir });
  const { folder: where } = JSON.parse(archive.stdout);
  expect(project.read(`${where}/summary.md`)).toContain('- Branch: ralph/demo\n');
});

test('`ralph land` takes it to the branch that it was made from, returns there, and removes it', async () => {
  const project = prdRepo();
  const also = () => project.write('made.txt', 'made\n');
  const agent = await fakeAgent(
    'claude',
    works(project, handIn(), { also }),
    works(project, approve(), { commit: false }),
  );
  expect((await prdRun(project, agent.bin)).code).toBe(0);
  project.write('mine.txt', 'mine\n');
  expect(project.git('status', '--porcelain')).toContain(' M ralph/tasks.json\n');
  const { code, stdout, stderr } = await ralph(['land'], { cwd: project.dir });
  expect([code, stdout + stderr]).toEqual([0, expect.stringMatching(/^Landed on main: /)]);
  expect(stdout).toContain('Removed the branch ralph/demo.\n');
  expect([branchOf(project), project.git('status', '--porcelain')]).toEqual(['main', '?? mine.txt\n']);
  expect(project.git('show', 'main:made.txt') + project.read('made.txt')).toBe('made\nmade\n');
  expect(project.git('show', 'main:ralph/tasks.json')).toContain('"approved"');
  expect(project.git('branch', '--format=%(refname:short)')).toBe('main\n');
});

test('`ralph discard` refuses it while it is checked out, and says what to do; then it goes, and can be brought back', async () => {
  const project = prdRepo();
  const agent = await fakeAgent('claude', works(project, handIn()), works(project, approve()));
  expect((await prdRun(project, agent.bin)).code).toBe(0);
  const tip = project.git('rev-parse', 'ralph/demo');
  const refused = await ralph(['discard'], { cwd: project.dir });
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringContaining(
      'its commits are on ralph/demo, and that is checked out (`git switch main`, then',
    ),
  ]);
  expect([branchOf(project), project.git('rev-parse', 'HEAD')]).toEqual(['ralph/demo', tip]);
  project.git('switch', '--quiet', 'main');
  const { code, stdout } = await ralph(['discard'], { cwd: project.dir });
  const [first, second, back = ''] = stdout.split('\n');
  expect([code, first, second]).toEqual([0, 'Removed the branch ralph/demo.', 'Bring it back:']);
  expect(project.git('branch', '--format=%(refname:short)')).toBe('main\n');
  execFileSync('sh', ['-ec', back], { cwd: '/', env: gitEnv() });
  expect(project.git('rev-parse', 'ralph/demo')).toBe(tip);
});

test('one that is there and holds the current commit is continued, with the list that it has', async () => {
  const project = prdRepo();
  const agent = await fakeAgent('claude', works(project, handIn()), works(project, approve()));
  await prdRun(project, agent.bin, '-n', '1');
  project.git('switch', '--quiet', 'main');
  const { code, result } = await prdRun(project, agent.bin);
  expect([code, result.iterations[0].mode, result.branch]).toEqual([0, 'review', 'ralph/demo']);
});

test.each<[string, (project: Repo) => void, string]>([
  [
    'it has diverged',
    project => {
      project.git('switch', '--quiet', '--create', 'ralph/demo');
      project.git('commit', '--quiet', '--allow-empty', '--message', 'there');
      project.git('switch', '--quiet', 'main');
      project.git('commit', '--quiet', '--allow-empty', '--message', 'here');
    },
    'branchName ralph/demo: it exists, and does not hold the last commit of main (`git switch ralph/demo && git merge main`',
  ],
  ['HEAD is detached', project => project.git('switch', '--quiet', '--detach'), 'detached HEAD'],
  [
    'what is not committed is in the way',
    project => {
      project.git('switch', '--quiet', '--create', 'ralph/demo');
      project.write('README.md', 'there\n');
      project.git('commit', '--quiet', '--all', '--message', 'there');
      project.git('switch', '--quiet', 'main');
      project.write('README.md', 'here\n');
    },
    'git does not switch to it',
  ],
  [
    'git does not allow the name',
    project =>
      project.write('ralph/tasks.json', project.read('ralph/tasks.json').replace('ralph/demo', 'a..b')),
    'git does not allow this name for a branch',
  ],
])('%s: the run says so and does not begin', async (_, prepare, words) => {
  const project = prdRepo();
  prepare(project);
  const agent = await fakeAgent('claude', works(project, UNCHANGED));
  const { code, stderr } = await prdRun(project, agent.bin);
  expect([code, agent.calls.length, existsSync(project.path('.ralph-active'))]).toEqual([2, 0, false]);
  expect(stderr).toContain(words);
});

test('without a repository it says so and does not begin', async () => {
  const project = prdRepo();
  const bare = folder();
  for (const name of ['ralph/prd.md', 'ralph/tasks.json', 'ralph/progress.txt', 'ralph/prompt.md'])
    bare.write(name, project.read(name));
  const agent = await fakeAgent('claude', works(bare, UNCHANGED));
  const { code, stderr } = await prdRun(bare, agent.bin);
  expect([code, agent.calls.length]).toEqual([2, 0]);
  expect(stderr).toContain('this is not in a git repository');
});

test('--worktree: the work is there, under the name of the branch, and the project stays as it is', async () => {
  const project = prdRepo();
  const tree = { ...project, dir: project.path('.ralph/worktrees/demo') };
  const inTree: Repo = {
    ...tree,
    path: name => `${tree.dir}/${name}`,
    read: name => project.read(`.ralph/worktrees/demo/${name}`),
    write: (name, content) => project.write(`.ralph/worktrees/demo/${name}`, content),
  };
  const agent = await fakeAgent('claude', works(inTree, handIn()), works(inTree, approve()));
  const first = await prdRun(project, agent.bin, '--worktree', '-n', '1');
  expect([first.code, agent.calls[0]?.cwd]).toEqual([1, tree.dir]);
  const { code, stdout } = await ralph(['resume', '--max-iterations', '5', '--json'], {
    cwd: project.dir,
    path: [agent.bin],
  });
  const result = JSON.parse(stdout);
  expect([code, result.branch, result.worktreePath]).toEqual([0, 'ralph/demo', tree.dir]);
  expect([branchOf(project), agent.calls[1]?.cwd]).toEqual(['main', tree.dir]);
  expect(project.read('ralph/tasks.json')).toContain('"reviewStatus": null');
});

test('--worktree, and the list is not committed: the run says so and does not begin', async () => {
  const project = prdRepo();
  project.git('rm', '--quiet', '-r', '--cached', 'ralph');
  project.git('commit', '--quiet', '--message', 'without the list');
  const agent = await fakeAgent('claude', works(project, UNCHANGED));
  const { code, stderr } = await prdRun(project, agent.bin, '--worktree');
  expect([code, agent.calls.length]).toEqual([2, 0]);
  expect(stderr).toContain(
    'ralph/tasks.json is not in it, because it is not committed (`git add ralph && git commit`)',
  );
});
