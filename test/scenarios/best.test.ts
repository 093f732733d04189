/** A run never continues from a worse state, and leaves the best it had, through the real bin. */
import { execSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { story } from '../domain/stories/stories.ts';
import { init, result, text, toolResult, toolUse } from '../rig/claude-stream.ts';
import { ralph } from '../rig/commands.ts';
import { type FakeTurn, fakeAgent, type Handler } from '../rig/fake-agent.ts';
import { landedFiles, resultIn, rigFor } from '../rig/lanes.ts';
import { ledgerOf, only } from '../rig/ledger.ts';
import { folder, type Repo, repo } from '../rig/repo.ts';
import { approve, handIn, prdRepo, prdRun, storyOf, UNCHANGED, works } from '../rig/stories.ts';

/** As node:test ends: a runner that is known. */
const CHECK = "cat score; grep -q '^# fail 0$' score";

const scored = (passing: number, failing: number) => `# pass ${passing}\n# fail ${failing}\n`;

async function speak(turn: FakeTurn, words: string): Promise<void> {
  for (const record of [init, toolUse('t', 'Write', {}), toolResult('t', 'ok'), text(words), result({})])
    await turn.line(record);
  turn.exit();
}

/** An iteration that ends with so many failing tests of 41, and leaves a file of its own. */
const leaves =
  (failing: number, more?: (turn: FakeTurn) => Promise<unknown>): Handler =>
  async turn => {
    await turn.write('score', scored(41 - failing, failing));
    await turn.write(`notes-${failing}.txt`, `${failing} failing\n`);
    await more?.(turn);
    await speak(turn, failing === 0 ? '<promise>COMPLETE</promise>' : 'tried');
  };

interface Loop {
  readonly flags?: readonly string[];
  readonly settings?: Readonly<Record<string, unknown>>;
}

async function loop(project: Repo, handlers: readonly Handler[], { flags = [], settings }: Loop = {}) {
  project.settings({ agent: 'claude', maximumIterations: 10, ...settings });
  const agent = await fakeAgent('claude', ...handlers);
  const where = { cwd: project.dir, path: [agent.bin] };
  const { code, stdout } = await ralph(['loop', 'x', '--check', CHECK, '--json', ...flags], where);
  const told = JSON.parse(stdout);
  const restored = only(ledgerOf(project, told.runId), 'restored');
  return { code, told, restored, prompts: agent.calls.map(call => call.input), where };
}

const project = () => repo({ 'README.md': '# test\n', score: scored(0, 41), 'mine.txt': 'committed\n' });

describe('an agent that makes things worse again', () => {
  test('continues from the best iteration, and hears what was undone', { tags: 'P-best' }, async () => {
    const here = project();
    here.write('mine.txt', 'not committed\n');
    here.write('own/new.txt', 'mine\n');
    const { code, told, restored, prompts } = await loop(here, [
      ...[leaves(8), leaves(2), leaves(8), leaves(30)],
      leaves(0),
    ]);
    expect([code, told.stopReason, told.iterations.length]).toEqual([0, 'all_checks_passed', 5]);
    expect(restored).toMatchObject([
      {
        ...{ from: 4, to: 2, why: 'worse' },
        undone: [
          { iteration: 3, broke: [`\`${CHECK}\`: 8 failures instead of 2`] },
          { iteration: 4, broke: [`\`${CHECK}\`: 30 failures instead of 2`] },
        ],
      },
    ]);
    expect(told.best).toEqual({ iteration: 5, checksGreen: 1, failures: 0 });
    const last = prompts[4] ?? '';
    expect(last).toContain('The files are those of iteration 2 again');
    expect(last).toContain('- iteration 3 changed score (+2 -2). It made this worse');
    expect(last).toContain('- iteration 4 changed notes-30.txt (+1 -0), score (+2 -2).');
    expect(last, 'what failed in the files as they are').toContain('# fail 2');
    expect(last).not.toContain('# fail 30\n```');
    expect(existsSync(here.path('notes-30.txt')), 'what was tried is gone').toBe(false);
    expect([here.read('notes-8.txt'), here.read('notes-2.txt')]).toEqual(['8 failing\n', '2 failing\n']);
    expect([here.read('mine.txt'), here.read('own/new.txt')]).toEqual(['not committed\n', 'mine\n']);
  });

  test('is left alone with --keep last', async () => {
    const here = project();
    const { restored, told } = await loop(here, [leaves(2), leaves(8), leaves(9), leaves(10)], {
      flags: ['--keep', 'last', '--max-iterations', '4'],
    });
    expect([restored, told.restored, here.read('score')]).toEqual([[], undefined, scored(31, 10)]);
    expect(told.best).toEqual({ iteration: 1, checksGreen: 0, failures: 2 });
  });

  test('is stuck when it was brought back twice to the same iteration', async () => {
    const here = project();
    const { told, restored } = await loop(here, [
      leaves(2),
      ...[3, 4, 5, 6, 7, 8, 9].map(each => leaves(each)),
    ]);
    expect([told.stopReason, told.iterations.length]).toEqual(['stuck', 7]);
    expect(told.detail).toBe(
      'Iteration 1 is the best: the run went back to it twice, and each time the next 2 iterations ended worse.',
    );
    expect(restored.map(({ to, why }) => [to, why])).toEqual([
      [1, 'worse'],
      [1, 'worse'],
      [1, 'end'],
    ]);
    expect(here.read('score')).toBe(scored(39, 2));
  });
});

test('a refactoring that is red for one iteration is not undone', async () => {
  const here = project();
  const { told, restored } = await loop(here, [leaves(2), leaves(30), leaves(0)]);
  expect([told.stopReason, told.iterations.length, restored]).toEqual(['all_checks_passed', 3, []]);
  expect(existsSync(here.path('notes-30.txt'))).toBe(true);
});

test('a runner that nobody knows never makes a run go back', async () => {
  const here = project();
  const noise: Handler = async turn => {
    await turn.write('score', `attempt ${turn.input.length}`);
    await speak(turn, 'tried');
  };
  const { told, restored } = await loop(here, [noise], { flags: ['--max-iterations', '6'] });
  expect([told.iterations.length, restored]).toEqual([6, []]);
  expect(told.best).toEqual({ iteration: 6, checksGreen: 0, failures: null });
});

describe('a run that ends unfinished', () => {
  test('leaves the best files, and what was put aside can be brought back', async () => {
    const here = project();
    const removes = leaves(9, turn => turn.shell('rm README.md'));
    const { told, where } = await loop(here, [leaves(8), leaves(2), removes], {
      flags: ['--max-iterations', '3'],
    });
    expect([told.stopReason, told.best]).toEqual([
      'max_iterations',
      { iteration: 2, checksGreen: 0, failures: 2 },
    ]);
    expect([here.read('score'), here.read('README.md')]).toEqual([scored(39, 2), '# test\n']);
    expect(existsSync(here.path('notes-9.txt'))).toBe(false);
    expect(told.restored).toMatchObject({ from: 3, to: 2, aside: `refs/ralph/kept/${told.runId}/_aside` });
    const { stdout: explained } = await ralph(['explain', told.runId], where);
    expect(explained.replace(/\s+/g, ' ')).toContain(
      'The best was iteration 2: 0 of 1 check passed, 2 failing tests. The files are as it left them; what came after it is put aside.',
    );
    expect(explained.replace(/\s+/g, ' ')).toContain('What is said here of checks is of iteration 3.');
    execSync(told.restored.bringBack, { cwd: here.dir });
    expect([here.read('score'), here.read('notes-9.txt')]).toEqual([scored(32, 9), '9 failing\n']);
  });

  test('and is resumed from there, unless the user has changed something', async () => {
    const here = project();
    const first = await loop(here, [leaves(2), leaves(8)], { flags: ['--max-iterations', '2'] });
    const agent = await fakeAgent('claude', leaves(9), leaves(10), leaves(0));
    const { stdout } = await ralph(['resume', first.told.runId, '--max-iterations', '5', '--json'], {
      ...{ cwd: here.dir, path: [agent.bin] },
    });
    expect(agent.calls[0]?.input).toContain('The files are those of iteration 1 again');
    expect(agent.calls[2]?.input).toContain('- iteration 4 changed');
    expect(JSON.parse(stdout)).toMatchObject({ stopReason: 'all_checks_passed' });
  });

  test('counts anew when the user has changed files before it is resumed', async () => {
    const here = project();
    const first = await loop(here, [leaves(2), leaves(8)], { flags: ['--max-iterations', '2'] });
    here.write('mine.txt', 'changed in between\n');
    const agent = await fakeAgent('claude', leaves(9), leaves(10), leaves(11));
    await ralph(['resume', first.told.runId, '--max-iterations', '5', '--json'], {
      ...{ cwd: here.dir, path: [agent.bin] },
    });
    expect(here.read('mine.txt')).toBe('changed in between\n');
    expect(here.read('score'), 'the best since then').toBe(scored(32, 9));
  });
});

test('the index of the user stays as it was: going back is a matter of files', async () => {
  const here = project();
  const { dir } = folder();
  here.write('mine.txt', 'staged\n');
  here.write('new.txt', 'staged and new\n');
  here.git('add', 'mine.txt', 'new.txt');
  here.write('mine.txt', 'staged, and changed since\n');
  const looks = (turn: FakeTurn) => turn.shell(`git add notes-9.txt; git ls-files --stage > '${dir}/index'`);
  const { told } = await loop(here, [leaves(2), leaves(8), leaves(9, looks)], {
    flags: ['--max-iterations', '3'],
  });
  expect([told.restored?.to, here.read('score')]).toEqual([1, scored(39, 2)]);
  expect(here.git('ls-files', '--stage')).toBe(readFileSync(`${dir}/index`, 'utf8'));
  expect(here.git('show', ':mine.txt')).toBe('staged\n');
  expect([here.read('mine.txt'), here.read('new.txt')]).toEqual([
    'staged, and changed since\n',
    'staged and new\n',
  ]);
});

test('where Ralph commits, the way back is a commit', async () => {
  const here = project();
  const commits = leaves(9, turn => turn.shell('git add --all && git commit --quiet --message worse'));
  const goesOn: Handler = async turn => {
    await turn.write('score', scored(41, 0));
    await speak(turn, 'green, and more to do');
  };
  const { told } = await loop(here, [goesOn, commits], {
    flags: ['--max-iterations', '2'],
    settings: { scm: { command: 'git', tasks: ['commit'] } },
  });
  expect(told.restored).toMatchObject({ from: 2, to: 1 });
  expect(here.git('log', '--format=%s', '-2').split('\n').slice(0, 2)).toEqual([
    'Go back to the files of iteration 1',
    'worse',
  ]);
  expect([here.git('show', 'HEAD:score'), here.git('status', '--porcelain')]).toEqual([scored(41, 0), '']);
});

test('in a story list each story has a best of its own, and its list is left alone', async () => {
  const here = prdRepo(story('US-001', { notes: '' }), story('US-002', { notes: '' }));
  here.write('score', scored(0, 41));
  const writes = (failing: number) => ({ also: () => here.write('score', scored(41 - failing, failing)) });
  const agent = await fakeAgent(
    'claude',
    works(here, handIn('US-001'), writes(0)),
    works(here, approve('US-001')),
    works(here, UNCHANGED, writes(3)),
    works(here, UNCHANGED, writes(9)),
    works(here, UNCHANGED, writes(12)),
    works(here, handIn('US-002'), { also: () => here.write('score', scored(41, 0)) }),
    works(here, approve('US-002')),
  );
  const { code, result: told } = await prdRun(here, agent.bin, '--check', CHECK);
  expect([code, told.stories.done]).toEqual([0, 2]);
  const restored = only(ledgerOf(here, told.runId), 'restored');
  expect(restored.map(({ from, to }) => [from, to])).toEqual([[5, 3]]);
  expect(agent.calls[5]?.input).toContain('The files are those of iteration 3 again');
  expect(storyOf(here, 'US-001')).toMatchObject({ passes: true });
});

test('in parallel each lane goes back by itself', async () => {
  const files = { '.gitignore': '.ralph/\n', 'tasks.md': '- [ ] One\n- [ ] Two\n', score: scored(41, 0) };
  const rig = rigFor(repo(files));
  rig.does(
    'T1',
    'task',
    `n=$(($(cat "$LANE_AGENT/n" 2>/dev/null || echo 0) + 1)); echo $n > "$LANE_AGENT/n"
    case $n in 1) f=2;; 2) f=8;; 3) f=9;; *) cp score seen.txt; f=0;; esac
    printf '# pass %s\\n# fail %s\\n' $((41 - f)) $f > score`,
  );
  const args = [
    'loop',
    '--agent',
    'claude',
    '--json',
    '--tasks',
    'tasks.md',
    '--parallel',
    '2',
    '--check',
    CHECK,
  ];
  const { stdout, stderr } = await ralph(args, rig.options);
  const told = resultIn(stdout);
  expect(told.success, stderr).toBe(true);
  const restored = (lane: string) => only(ledgerOf(rig.project, `${told.runId}.${lane}`), 'restored');
  expect([restored('T1').map(({ from, to }) => [from, to]), restored('T2')]).toEqual([[[3, 1]], []]);
  expect(landedFiles(rig, 'main')['seen.txt']).toBe(scored(39, 2));
});

describe('by hand', () => {
  const ended = async (here: Repo) =>
    loop(here, [leaves(8), leaves(2), leaves(9)], { flags: ['--max-iterations', '3'] });

  test('an iteration is shown as it left the files', async () => {
    const here = project();
    const { told, where } = await ended(here);
    const { stdout: third } = await ralph(['show', told.runId, '--iteration', '3'], where);
    expect(third).toContain('Iteration 3, as it left the files');
    expect(third).toContain('It ended worse than iteration 2, and was undone.');
    expect(third).toContain('+9 failing');
    const { stdout: whole } = await ralph(['show', told.runId], where);
    expect([whole.includes('+2 failing'), whole.includes('+9 failing')]).toEqual([true, false]);
    const { code, stderr } = await ralph(['show', told.runId, '--iteration', '4'], where);
    expect([code, stderr]).toEqual([2, expect.stringContaining('it has no iteration 4')]);
  });

  test('a run is forked at one of its iterations, and names it', { tags: 'P-fork' }, async () => {
    const here = project();
    here.write('mine.txt', 'not committed\n');
    const { told } = await ended(here);
    const agent = await fakeAgent('claude', async turn => {
      await turn.shell('cp score seen; cp notes-9.txt seen-too');
      await leaves(0)(turn);
    });
    const where = { cwd: here.dir, path: [agent.bin] };
    const { code, stdout } = await ralph(
      ['fork', told.runId, '--at', '3', '--max-iterations', '2', '--json'],
      where,
    );
    const forked = JSON.parse(stdout);
    expect([code, forked.stopReason, forked.branch]).toEqual([0, 'all_checks_passed', expect.any(String)]);
    const at = (name: string) => here.read(`.ralph/worktrees/${forked.branch.replace('ralph/', '')}/${name}`);
    expect([at('seen'), at('seen-too'), at('mine.txt')]).toEqual([
      scored(32, 9),
      '9 failing\n',
      'not committed\n',
    ]);
    expect(here.read('score'), 'the files of the user').toBe(scored(39, 2));
    expect(only(ledgerOf(here, forked.runId), 'run-started')).toMatchObject([
      { forkOf: { run: told.runId, iteration: 3 }, checks: [CHECK], maxIterations: 2 },
    ]);
    const { stdout: report } = await ralph(['report', forked.runId, '--format', 'md'], where);
    expect(report).toContain(`Fork of: ${told.runId}, iteration 3`);
  });

  test('a run of another kind is not forked, and it is said what it is', async () => {
    const files = { '.gitignore': '.ralph/\n', 'tasks.md': '- [ ] One\n- [ ] Two\n' };
    const rig = rigFor(repo(files));
    const list = ['--tasks', 'tasks.md', '--parallel', '2', '--agent', 'claude', '--json', '--check', 'true'];
    const { runId } = resultIn((await ralph(['loop', ...list], rig.options)).stdout);
    const stories = prdRepo(story('US-001', { notes: '' }));
    const agent = await fakeAgent(
      'claude',
      works(stories, handIn('US-001')),
      works(stories, approve('US-001')),
    );
    const { result: told } = await prdRun(stories, agent.bin, '--check', 'true');
    const run = repo();
    const speaker = await fakeAgent('claude', turn => speak(turn, '<promise>COMPLETE</promise>'));
    const world = { cwd: run.dir, path: [speaker.bin] };
    const prompt = ['-p', 'Say <promise>COMPLETE</promise>', '--agent', 'claude', '--json'];
    const { runId: prompted } = JSON.parse((await ralph(['run', ...prompt], world)).stdout);
    const refused = async (dir: string, id: string, what: string) => {
      const { code, stderr } = await ralph(['fork', id, '--at', '1'], { cwd: dir });
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining(`only a run of \`ralph loop\` with one task can be forked, and ${what}`),
      ]);
    };
    await refused(rig.project.dir, runId, 'this is a parallel run');
    await refused(rig.project.dir, `${runId}.T1`, 'this one belongs to a parallel run');
    await refused(stories.dir, told.runId, 'this is a run of stories');
    await refused(run.dir, prompted, 'this is a run of `ralph run`');
  });

  test.each([
    [['--at', 'x'], 'is the number of an iteration, from 1'],
    [['--at', '7'], 'it has no iteration 7 that was checked'],
  ])('a fork that cannot be is refused: %s', async (flags, why) => {
    const here = project();
    const { told, where } = await ended(here);
    const { code, stderr } = await ralph(['fork', told.runId, ...flags], where);
    expect([code, stderr]).toEqual([2, expect.stringContaining(why)]);
  });
});
