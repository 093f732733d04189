/** What a run did to the tests is said without any flag, the same by every reader. */
import { expect, test } from 'vitest';
import { story } from '../domain/stories/stories.ts';
import { speaks, toolResult, toolUse } from '../rig/claude-stream.ts';
import { ralph } from '../rig/commands.ts';
import { fakeAgent, type Handler } from '../rig/fake-agent.ts';
import { laneRig, runParallel } from '../rig/lanes.ts';
import { type Repo, repo } from '../rig/repo.ts';
import { approve, handIn, prdRepo, prdRun, works } from '../rig/stories.ts';

const SUM = "test('adds', () => {});\ntest('subtracts', () => {});\n";
const FILES = { 'test/sum.test.js': SUM, 'test/old.test.js': 'old\n', 'test/mine.test.js': 'mine\n' };
/** Fails first, so that there is a count to compare with. */
const CHECK = 'n=$(grep -c "^test(" test/sum.test.js); echo "# pass $n"; test -e done';
const WEAKENED = SUM.replace("test('adds'", "test.skip('adds'");
const CHANGED = [
  'test/old.test.js (removed)',
  'test/sum.test.js',
  "test/sum.test.js:1 turns tests off: test.skip('adds', () => {});",
];

/** A step of an agent that wants green checks, whatever they are worth. */
const weakens: Handler = async turn => {
  await turn.shell('rm test/old.test.js && touch done');
  await turn.write('test/sum.test.js', WEAKENED);
  await turn.line(toolUse('t', 'Write', { file_path: 'test/sum.test.js' }));
  await turn.line(toolResult('t', 'written'));
  return speaks('<promise>COMPLETE</promise> <response>DONE</response>')(turn);
};

const read = async (project: Repo, ...args: readonly string[]) =>
  (await ralph(args, { cwd: project.dir })).stdout.replace(/\s+/g, ' ');

test.each([
  ['loop', ['loop', 'Make it pass']],
  ['run', ['run', '-p', 'Make it pass']],
])('of ralph %s', { tags: ['promise', 'P-tests-changed'] }, async (_, args) => {
  const project = repo(FILES);
  // The user's own change is not the run's.
  project.write('test/mine.test.js', 'mine, changed\n');
  const agent = await fakeAgent('claude', speaks('Not yet.'), weakens);
  const flags = ['--agent', 'claude', '--check', CHECK, '--json'];
  const finished = await ralph([...args, ...flags], { cwd: project.dir, path: [agent.bin] });
  expect(finished.code, finished.stderr).toBe(0);
  const { runId, testsChanged } = JSON.parse(finished.stdout);
  const fewer = `${CHECK} ran 1 of the 2 tests that it ran before`;
  expect(testsChanged).toEqual([...CHANGED, fewer]);
  const readers = [
    finished.stderr.replace(/\s+/g, ' '),
    await read(project, 'explain', runId),
    await read(project, 'report', runId, '--format', 'md'),
    await read(project, 'report', runId, '--format', 'html'),
  ];
  for (const told of readers) {
    expect(told).toContain('test/old.test.js');
    expect(told).toContain('turns tests off');
    expect(told).toContain('ran 1 of the 2 tests');
    expect(told).not.toContain('Tests changed: test/mine');
  }
});

test('of ralph prd run', async () => {
  const project = prdRepo();
  for (const [name, text] of Object.entries(FILES)) project.write(name, text);
  project.git('add', '--all');
  project.git('commit', '--quiet', '--message', 'tests');
  const also = () => {
    project.git('rm', '--quiet', 'test/old.test.js');
    project.write('test/sum.test.js', WEAKENED);
  };
  const agent = await fakeAgent('claude', works(project, handIn(), { also }), works(project, approve()));
  const { result } = await prdRun(project, agent.bin);
  expect(result).toMatchObject({ success: true, testsChanged: CHANGED });
});

test('of lanes side by side', async () => {
  const rig = laneRig([story('US-001', { notes: '' }), story('US-002', { notes: '' })]);
  rig.project.write('test/sum.test.js', SUM);
  rig.project.git('add', '--all');
  rig.project.git('commit', '--quiet', '--message', 'tests');
  rig.does('US-001', 'implement', 'sed -i "1s/test(/test.skip(/" test/sum.test.js; echo x > a');
  const { result, stderr } = await runParallel(rig, '--parallel', '2', '--check', 'true');
  expect(result, stderr).toMatchObject({ success: true, testsChanged: CHANGED.slice(1) });
  expect(stderr).toContain('turns tests off');
});

test('a run that leaves the tests alone, or adds some, says nothing of them', async () => {
  const project = repo(FILES);
  const adds: Handler = async turn => {
    await turn.write('test/new.test.js', SUM);
    await turn.write('done', '');
    return speaks('<promise>COMPLETE</promise>')(turn);
  };
  const agent = await fakeAgent('claude', adds);
  const flags = ['--agent', 'claude', '--check', CHECK, '--json'];
  const finished = await ralph(['loop', 'Make it pass', ...flags], { cwd: project.dir, path: [agent.bin] });
  expect(finished.stdout, finished.stderr).toMatch(/^{/);
  expect(JSON.parse(finished.stdout)).toMatchObject({ success: true, testsChanged: [] });
  expect(finished.stderr).not.toContain('Tests changed');
});

test.each([
  ['run', ['run', '-p', 'Make it']],
  ['loop', ['loop', 'Make it', '--check', 'true']],
  ['prd run', ['prd', 'run']],
])('the first prompt of ralph %s names what is protected', async (_, args) => {
  const project = prdRepo();
  const agent = await fakeAgent('claude', speaks('x'));
  const { stdout } = await ralph([...args, '--protect', 'test/**', '--dry-run', '--agent', 'claude'], {
    cwd: project.dir,
    path: [agent.bin],
  });
  expect(stdout).toContain('Protected files: `test/**`. What you change');
});
