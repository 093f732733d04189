/** `ralph prd run`: what makes an approval count, and what is on record of it. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { STATES, story } from '../domain/stories/stories.ts';
import { result as ended, init, text } from '../rig/claude-stream.ts';
import { type FakeTurn, fakeAgent } from '../rig/fake-agent.ts';
import { createGate } from '../rig/gate.ts';
import { ralph, startRalph } from '../rig/ralph.ts';
import { folder, type Repo } from '../rig/repo.ts';
import {
  approve,
  handIn,
  modesOf,
  prdRepo,
  prdRun,
  reject,
  say,
  storyOf,
  tasks,
  UNCHANGED,
  verdict,
  works,
} from '../rig/stories.ts';

const write = (project: Repo, edit: (list: ReturnType<typeof tasks>) => unknown) =>
  project.write('ralph/tasks.json', JSON.stringify(edit(tasks(project)), null, 2));

/** As a user at one machine: every command with the same home. */
function atHome(project: Repo, bin: string) {
  const home = folder('ralph-home-').dir;
  const run = (...args: string[]) =>
    ralph(args, { cwd: project.dir, path: [bin], env: { HOME: home, IS_SANDBOX: '1' } });
  return { home, run };
}

describe('a verdict counts', () => {
  test('only when the reviewer says it too, where nothing keeps an earlier process from writing the list', async () => {
    const project = prdRepo(story('US-001', STATES.waiting));
    const silent = async (turn: FakeTurn) => {
      write(project, approve());
      await say(turn, 'I have looked at it.');
    };
    const agent = await fakeAgent('claude', silent, works(project, approve()));
    const { code, result } = await prdRun(project, agent.bin, '--containment', 'off');
    expect([code, modesOf(result)]).toEqual([0, ['review US-001', 'review US-001']]);
    expect(agent.calls[1]?.input).toContain(
      'The review of US-001 does not count: it did not say its verdict.',
    );
    expect(storyOf(project).reviewCount).toBe(1);
  });

  test('and not when the words and the list differ', { tags: ['promise', 'P-prd-words'] }, async () => {
    const project = prdRepo(story('US-001', STATES.waiting));
    const agent = await fakeAgent(
      'claude',
      async turn => {
        write(project, approve());
        await say(turn, verdict('US-001', 'changes_requested'));
      },
      works(project, UNCHANGED),
    );
    const { code } = await prdRun(project, agent.bin, '-n', '2');
    expect(code).toBe(1);
    expect(storyOf(project)).toMatchObject({ passes: false, reviewStatus: 'needs_review', reviewCount: 0 });
    expect(agent.calls[1]?.input).toContain('it said changes_requested, and the list says approved');
  });

  test('once, when its turn was tried again', async () => {
    const project = prdRepo(story('US-001', STATES.waiting));
    const overloaded = async (turn: FakeTurn) => {
      write(project, approve());
      const error = ended({ is_error: true, result: 'API Error: 529 {"type":"overloaded_error"}' });
      for (const record of [init, text('I begin'), error]) await turn.line(record);
      turn.exit(1);
    };
    const agent = await fakeAgent('claude', overloaded, works(project, approve()));
    const { code, result } = await prdRun(project, agent.bin);
    expect([code, result.iterations.length, agent.calls.length]).toEqual([0, 1, 2]);
    expect(storyOf(project)).toMatchObject({ reviewStatus: 'approved', reviewCount: 1 });
  });

  test('once, when Ralph was killed in it and is resumed; what it had changed is undone', async () => {
    const project = prdRepo(story('US-001', STATES.waiting));
    const { open: arrived, opened: left } = createGate();
    const first = await fakeAgent('claude', () => {
      write(project, approve());
      project.write('README.md', 'better\n');
      arrived();
    });
    const run = startRalph(['prd', 'run', '--agent', 'claude'], { cwd: project.dir, path: [first.bin] });
    await left;
    run.process.kill('SIGKILL');
    await run.finished;
    const agent = await fakeAgent('claude', works(project, approve()));
    const { code, stdout } = await ralph(['resume', '--json'], { cwd: project.dir, path: [agent.bin] });
    expect(project.read('README.md')).toBe('# test\n');
    expect([code, JSON.parse(stdout).stories.reviews]).toEqual([0, 1]);
    expect(agent.calls.length).toBe(1);
  });

  test('and not when the review changed files: they are as they were, and the next one is told', async () => {
    const project = prdRepo(story('US-001', STATES.waiting));
    const change = () => {
      project.write('README.md', 'better\n');
      project.write('new.txt', 'x\n');
    };
    const agent = await fakeAgent(
      'claude',
      works(project, approve(), { also: change }),
      works(project, approve()),
    );
    const { code, result } = await prdRun(project, agent.bin);
    expect([code, modesOf(result)]).toEqual([0, ['review US-001', 'review US-001']]);
    const violations = ['README.md was changed', 'README.md was changed in a commit', 'new.txt is new'];
    expect(result.iterations[0].violations).toEqual(violations);
    expect(project.read('README.md')).toBe('# test\n');
    expect(project.git('show', 'HEAD:README.md')).toBe('# test\n');
    expect(agent.calls[1]?.input).toContain(`it changed files: ${violations.join('; ')}.`);
  });

  test('the files that a verify command leaves behind in an ignored place are nobody’s change', async () => {
    const project = prdRepo(story('US-001', STATES.waiting));
    project.write('.gitignore', '.ralph-active\n.ralph/\ncoverage/\n');
    const agent = await fakeAgent(
      'claude',
      works(project, approve(), { also: () => project.write('coverage/report.txt', 'x') }),
    );
    expect((await prdRun(project, agent.bin)).code).toBe(0);
  });

  test('at the cap the cap decides, whichever of the two it said', async () => {
    const project = prdRepo(story('US-001', STATES.waiting));
    const agent = await fakeAgent('claude', works(project, reject('US-001', 'it leaks')));
    const { code } = await prdRun(project, agent.bin, '--review-cap', '1');
    expect([code, storyOf(project).reviewFeedback]).toEqual([0, '[AUTO-APPROVED AT CAP] it leaks']);
  });
});

describe('on record', () => {
  test('what a review approved stays approved in the next run; what only the list says is reviewed', async () => {
    const project = prdRepo(story('US-001'), story('US-002'));
    const agent = await fakeAgent(
      'claude',
      works(project, handIn()),
      works(project, approve()),
      works(project, UNCHANGED),
    );
    const { run } = atHome(project, agent.bin);
    await run('prd', 'run', '--agent', 'claude', '-n', '2');
    expect(storyOf(project).passes).toBe(true);
    write(project, list => ({
      ...list,
      userStories: list.userStories.map(each => ({ ...each, ...STATES.approved })),
    }));
    const status = JSON.parse((await run('prd', 'status', '--json')).stdout);
    expect(status.claimed).toEqual(['US-002']);
    const { code, stdout } = await run('prd', 'run', '--agent', 'claude', '-n', '1', '--json');
    expect([code, modesOf(JSON.parse(stdout))]).toEqual([1, ['review US-002']]);
    expect(storyOf(project).passes).toBe(true);
  });

  test('a story that asks for something else now was never reviewed', async () => {
    const project = prdRepo(story('US-001', STATES.waiting));
    const agent = await fakeAgent('claude', works(project, approve()), works(project, UNCHANGED));
    const { run } = atHome(project, agent.bin);
    expect((await run('prd', 'run', '--agent', 'claude')).code).toBe(0);
    expect((await run('prd', 'run', '--agent', 'claude')).code).toBe(0);
    write(project, list => ({
      ...list,
      userStories: list.userStories.map(each => ({ ...each, acceptanceCriteria: ['much more'] })),
    }));
    expect((await run('prd', 'run', '--agent', 'claude', '-n', '1')).code).toBe(1);
  });

  test('a state folder that cannot be written is said, and nothing is believed from it later', async () => {
    const project = prdRepo(story('US-001', STATES.waiting));
    const agent = await fakeAgent('claude', works(project, approve()));
    const { home, run } = atHome(project, agent.bin);
    mkdirSync(`${home}/.local/state/ralph`, { recursive: true });
    writeFileSync(`${home}/.local/state/ralph/approvals`, 'in the way');
    const { stdout } = await run('prd', 'run', '--agent', 'claude');
    expect(stdout.replace(/\s+/g, ' ')).toContain('Approvals cannot be recorded in');
  });
});

describe('who does what', () => {
  test('the reviewer is another agent, and the report says what each has cost', async () => {
    const project = prdRepo();
    const builder = await fakeAgent('claude', works(project, handIn(), { cost: 0.5 }));
    const judge = await fakeAgent('claude', works(project, approve(), { cost: 0.25 }));
    const settings = { agents: { judge: { command: `${judge.bin}/claude`, adapter: 'claude' } } };
    project.settings(settings);
    const { code, result, stderr } = await prdRun(project, builder.bin, '--reviewer', 'judge:opus');
    expect([code, builder.calls.length, judge.calls.length]).toEqual([0, 1, 1]);
    expect(judge.calls[0]?.argv).toEqual(expect.arrayContaining(['--model', 'opus']));
    expect(result.stories.roles).toEqual([
      { role: 'implementer', agent: 'claude', iterations: 1, cost: 0.5 },
      { role: 'reviewer', agent: 'judge:opus', iterations: 1, cost: 0.25 },
    ]);
    expect(stderr).toContain('reviewer judge:opus: 1 iteration, $0.25');
    const ledger = project.read(`.ralph/runs/${result.runId}/events.jsonl`);
    expect(ledger).toContain('"role":"reviewer","agent":"judge:opus"');
  });

  test('one that does not exist is named before the first turn', async () => {
    const project = prdRepo();
    const agent = await fakeAgent('claude', works(project, UNCHANGED));
    const { code, stderr } = await prdRun(
      project,
      agent.bin,
      '--reviewer',
      'nobody',
      '--implementer',
      'noone:x',
    );
    expect([code, agent.calls.length]).toEqual([2, 0]);
    expect(stderr).toContain('--reviewer nobody: there is no such command');
    expect(stderr).toContain('--implementer noone:x: there is no such command');
  });
});

test('every line says the story and why it is where it is', async () => {
  const project = prdRepo();
  const agent = await fakeAgent(
    'claude',
    works(project, handIn()),
    works(project, reject('US-001', 'it leaks')),
  );
  const { stderr } = await prdRun(project, agent.bin, '-n', '2');
  expect(stderr).toContain('US-001: changes requested (1 of 5): it leaks');
  expect(stderr).toContain('US-001 Title of US-001: changes requested');
  const [id = ''] = readdirSync(project.path('.ralph/runs'));
  const report = await ralph(['report', id, '--markdown'], { cwd: project.dir });
  expect(report.stdout + report.stderr).not.toContain('there are stories left');
});
