/** `ralph prd run`: seed 002's life of a story, its cap, its limits, and the analytics at the end. */
import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { story } from '../domain/stories/stories.ts';
import { init, result, text } from '../rig/claude-stream.ts';
import { fakeAgent, type Handler } from '../rig/fake-agent.ts';
import { ralph } from '../rig/ralph.ts';
import { repo } from '../rig/repo.ts';
import {
  approve,
  COMPLETE,
  change,
  handIn,
  modesOf,
  prdRepo,
  prdRun,
  reject,
  say,
  storyOf,
  UNCHANGED,
  works,
} from '../rig/stories.ts';

describe('the life of a story', () => {
  test('implement, review, changes requested, fix, review again, approved', {
    tags: ['promise', 'P-prd-modes'],
  }, async () => {
    const project = prdRepo();
    const seen: unknown[] = [];
    const step = (edit: Parameters<typeof works>[1]) =>
      works(project, edit, {
        also: () => {
          const { passes, reviewStatus, reviewCount } = storyOf(project);
          seen.push([passes, reviewStatus, reviewCount]);
        },
      });
    const agent = await fakeAgent('claude', step(handIn()), step(reject()), step(handIn()), step(approve()));
    const { code, result: told } = await prdRun(project, agent.bin);
    expect([code, told.stopReason]).toEqual([0, 'all_stories_approved']);
    expect(modesOf(told)).toEqual([
      'implement US-001',
      'review US-001',
      'review-fix US-001',
      'review US-001',
    ]);
    expect(seen).toEqual([
      [false, 'needs_review', 0],
      [false, 'changes_requested', 1],
      [false, 'needs_review', 1],
      [true, 'approved', 2],
    ]);
    expect(storyOf(project)).toMatchObject({ passes: true, reviewStatus: 'approved', reviewCount: 2 });
    expect(existsSync(project.path('.ralph-active'))).toBe(false);
    expect(told.stories).toEqual({
      total: 1,
      done: 1,
      reviews: 2,
      capHits: 0,
      stories: [
        {
          id: 'US-001',
          title: 'Title of US-001',
          done: true,
          reviewStatus: 'approved',
          reviews: 2,
          reachedCap: false,
          autoApproved: false,
          iterations: 4,
          cost: 0.04,
        },
      ],
    });
  });

  test('each prompt says the mode, the story, and which review it is', async () => {
    const project = prdRepo();
    const agent = await fakeAgent(
      'claude',
      works(project, handIn()),
      works(project, reject()),
      works(project, handIn()),
      works(project, approve()),
    );
    await prdRun(project, agent.bin, '--review-cap', '2');
    const [first, second, third, fourth] = agent.calls.map(call => call.input);
    expect(first).toMatch(
      /^Iteration 1 of 15 in ralph\.\n\n## This iteration\n- Iteration: 1 of 15\n- Mode: implement\n- Story: US-001 \(Title of US-001\)\n- If only the user can decide something .*\n$/,
    );
    expect(second).toContain(
      '- Mode: review\n- Story: US-001 (Title of US-001)\n- Review: number 1, of at most 2\n',
    );
    expect(third).toContain('- Mode: review-fix\n');
    expect(fourth).toContain('- Review: number 2, the last that this story may have.');
    expect(fourth).toContain('[AUTO-APPROVED AT CAP]');
  });

  test('two stories, in the order of their dependencies, each reviewed; costs are told for each', async () => {
    const project = prdRepo(
      story('US-001', { dependsOn: ['US-002'], notes: '' }),
      story('US-002', { priority: 9, notes: '' }),
    );
    const agent = await fakeAgent(
      'claude',
      works(project, handIn('US-002'), { cost: 0.5 }),
      works(project, approve('US-002')),
      works(project, handIn('US-001')),
      works(project, reject('US-001')),
      works(project, handIn('US-001')),
      works(project, approve('US-001'), { words: COMPLETE }),
    );
    const { code, result: told } = await prdRun(project, agent.bin);
    expect([code, told.stopReason]).toEqual([0, 'all_stories_approved']);
    expect(modesOf(told)).toEqual([
      'implement US-002',
      'review US-002',
      'implement US-001',
      'review US-001',
      'review-fix US-001',
      'review US-001',
    ]);
    expect(
      told.stories.stories.map((each: { id: string; reviews: number; cost: number }) => [
        each.id,
        each.reviews,
        Math.round(each.cost * 100),
      ]),
    ).toEqual([
      ['US-001', 2, 4],
      ['US-002', 1, 51],
    ]);
  });
});

describe('completion', () => {
  test('the tag alone never completes; the stories do, tag or not', {
    tags: ['promise', 'P-prd-done'],
  }, async () => {
    const project = prdRepo();
    const agent = await fakeAgent(
      'claude',
      works(project, handIn(), { words: COMPLETE }),
      works(project, approve(), { words: 'I forgot the tag.' }),
    );
    const { code, result: told } = await prdRun(project, agent.bin);
    expect([code, told.iterations.length]).toEqual([0, 2]);
    expect(agent.calls[1]?.input).toContain(
      'You said that everything is complete, but these stories are not done: US-001. That claim was not accepted.',
    );
  });

  test('on the last allowed iteration counts', async () => {
    const project = prdRepo(story('US-001', { reviewStatus: 'needs_review' }));
    const agent = await fakeAgent('claude', works(project, approve()));
    const { code } = await prdRun(project, agent.bin, '-n', '1');
    expect(code).toBe(0);
  });

  test('too few iterations stop it, with exit code 1, and the estimate said so before', async () => {
    const project = prdRepo();
    const agent = await fakeAgent('claude', works(project, handIn()));
    const { code, result: told, stderr } = await prdRun(project, agent.bin, '-n', '1');
    expect([code, told.stopReason]).toEqual([1, 'max_iterations']);
    expect(stderr).toContain('1 story to go, about 3 iterations for a whole one: about 3 needed.');
    expect(stderr).toContain('raise it with -n');
  });

  test('a list in which all is done is done without an agent', async () => {
    const project = prdRepo(story('US-001', { passes: true, reviewStatus: 'approved', reviewCount: 1 }));
    const agent = await fakeAgent('claude', works(project, UNCHANGED));
    const { code, result: told } = await prdRun(project, agent.bin, '--trust-tasks');
    expect([code, told.stopReason, agent.calls.length]).toEqual([0, 'all_stories_approved', 0]);
  });

  test('what was not committed is told to the next iteration', async () => {
    const project = prdRepo();
    const agent = await fakeAgent(
      'claude',
      works(project, handIn(), { commit: false, also: () => project.write('new.txt', 'x') }),
      works(project, approve()),
    );
    await prdRun(project, agent.bin);
    expect(agent.calls[1]?.input).toContain(
      'The last iteration left uncommitted changes: ralph/tasks.json, new.txt.',
    );
  });

  test('an agent that is blocked says so', async () => {
    const project = prdRepo();
    const agent = await fakeAgent('claude', turn => say(turn, '<blocked>no database here</blocked>'));
    const { result: told } = await prdRun(project, agent.bin);
    expect([told.stopReason, told.detail]).toEqual(['blocked', 'no database here']);
  });
});

describe('trouble', () => {
  /** It ends well and has neither said nor done anything. */
  const silent: Handler = async turn => {
    for (const record of [init, result()]) await turn.line(record);
    turn.exit();
  };

  test('an empty reply is tried again in the same iteration, and is not counted', async () => {
    const project = prdRepo();
    const agent = await fakeAgent(
      'claude',
      silent,
      silent,
      works(project, handIn()),
      works(project, approve()),
    );
    const { code, result: told } = await prdRun(project, agent.bin, '-n', '2');
    expect([code, modesOf(told), agent.calls.length]).toEqual([0, ['implement US-001', 'review US-001'], 4]);
  });

  test('but not for ever', async () => {
    const project = prdRepo();
    const agent = await fakeAgent('claude', silent);
    const { code, result: told } = await prdRun(project, agent.bin);
    expect([code, told.stopReason]).toEqual([1, 'agent_failed']);
    expect(agent.calls.length).toBe(18);
  });

  test('a review that breaks off is not told that it left no verdict', async () => {
    const project = prdRepo(story('US-001', { reviewStatus: 'needs_review' }));
    const agent = await fakeAgent(
      'claude',
      async turn => {
        for (const record of [init, text('I begin'), result({ is_error: true, result: 'boom' })])
          await turn.line(record);
        turn.exit(1);
      },
      works(project, approve()),
    );
    const { code } = await prdRun(project, agent.bin);
    expect(code).toBe(0);
    expect(agent.calls[1]?.input).toContain('Your last turn broke off');
    expect(agent.calls[1]?.input).not.toContain('must increment reviewCount');
  });
});

describe('the review cap', () => {
  test('approve: the first review asks for changes at a cap of 1, and the story is let through', {
    tags: ['promise', 'P-prd-cap'],
  }, async () => {
    const project = prdRepo();
    const agent = await fakeAgent(
      'claude',
      works(project, handIn()),
      works(project, reject('US-001', 'it leaks')),
    );
    const { code, result: told, stderr } = await prdRun(project, agent.bin, '--review-cap', '1');
    expect([code, told.stopReason]).toEqual([0, 'all_stories_approved']);
    expect(storyOf(project)).toMatchObject({
      passes: true,
      reviewStatus: 'approved',
      reviewCount: 1,
      reviewFeedback: '[AUTO-APPROVED AT CAP] it leaks',
    });
    expect(told.stories).toMatchObject({ capHits: 1, stories: [{ autoApproved: true, reachedCap: true }] });
    const explained = await ralph(['explain', '--json'], { cwd: project.dir });
    expect(JSON.parse(explained.stdout).outcome).toContain(
      'Let through at the review cap, and not approved: US-001.',
    );
    expect(told.iterations[1].violations).toEqual([]);
    expect(stderr).toContain('was let through');
  });

  test('stop: the run ends with review_cap and what the review says', {
    tags: ['promise', 'P-prd-cap'],
  }, async () => {
    const project = prdRepo();
    const agent = await fakeAgent(
      'claude',
      works(project, handIn()),
      works(project, reject('US-001', 'it leaks')),
    );
    const { code, result: told } = await prdRun(project, agent.bin, '--review-cap', '1', '--at-cap', 'stop');
    expect([code, told.stopReason]).toEqual([1, 'review_cap']);
    expect(told.detail).toContain('US-001 was reviewed 1 times: it leaks');
    expect(storyOf(project)).toMatchObject({ passes: false, reviewStatus: 'changes_requested' });
    expect(agent.calls[1]?.input).toContain('a person decides');
  });
});

describe('without reviews', () => {
  test('an implement iteration sets passes itself, and nothing else of the story changes', async () => {
    const project = prdRepo();
    const agent = await fakeAgent(
      'claude',
      works(project, change('US-001', { passes: true, notes: 'built' })),
    );
    const { code, result: told } = await prdRun(project, agent.bin, '--skip-review');
    expect([code, told.stopReason, told.iterations.length]).toEqual([0, 'all_stories_approved', 1]);
    expect(storyOf(project)).toMatchObject({ passes: true, reviewStatus: null, reviewCount: 0 });
    expect(agent.calls[0]?.input).toContain('There are no reviews in this run.');
  });

  test('a run with reviews does not take such a list for done', async () => {
    const project = prdRepo(story('US-001', { passes: true }));
    const { code, stderr } = await prdRun(project, '/nonexistent');
    expect(code).toBe(2);
    expect(stderr).toContain("Story US-001 has passes=true but reviewStatus is 'null', not 'approved'.");
  });
});

describe('bad input', () => {
  test('everything that is wrong is told at once, and nothing is begun', async () => {
    const project = prdRepo(
      story('US-001', { dependsOn: ['US-002', 'X'] }),
      story('US-002', { dependsOn: ['US-001'], title: '' }),
    );
    const agent = await fakeAgent('claude', works(project, UNCHANGED));
    const { code, stderr } = await prdRun(project, agent.bin, '--review-cap', '0', '--at-cap', 'aprove');
    expect(code).toBe(2);
    for (const words of [
      '--review-cap: must be a whole number of at least 1',
      'did you mean approve?',
      'story US-001 depends on X, and there is no such story',
      'story US-001 is in a dependency cycle: US-001 → US-002 → US-001',
      'story US-002: title must be text that is not empty',
    ])
      expect(stderr).toContain(words);
    expect([agent.calls.length, existsSync(project.path('.ralph-active'))]).toEqual([0, false]);
  });

  test.each([
    ['no folder', {}, 'ralph/tasks.json: there is none (`ralph prd init` makes one)'],
    ['not JSON', { 'ralph/tasks.json': '{' }, 'ralph/tasks.json: is not valid JSON'],
    [
      'no stories',
      { 'ralph/tasks.json': '{"project":"","branchName":"","description":"","userStories":[]}' },
      'there are no stories in it (`ralph prd plan` makes them with you)',
    ],
  ])('%s', async (_, files, words) => {
    const project = repo({ 'README.md': 'x', ...files });
    const { code, stderr } = await prdRun(project, '/nonexistent');
    expect(code).toBe(2);
    expect(stderr).toContain(words);
  });

  test('--dry-run shows the first prompt and begins nothing', async () => {
    const project = prdRepo();
    const agent = await fakeAgent('claude', works(project, UNCHANGED));
    const { code, stdout } = await ralph(['prd', 'run', '--agent', 'claude', '--dry-run'], {
      cwd: project.dir,
      path: [agent.bin],
    });
    expect(code).toBe(0);
    expect(stdout).toContain('- Mode: implement\n- Story: US-001');
    expect([agent.calls.length, existsSync(project.path('.ralph-active'))]).toEqual([0, false]);
  });
});

test('-d and --ralph-dir: another project, another folder', async () => {
  const project = prdRepo();
  project.git('mv', 'ralph', 'plan of mine');
  project.git('commit', '--quiet', '--message', 'moved');
  const elsewhere = repo();
  const agent = await fakeAgent('claude', async turn => {
    await turn.shell(
      `sed -i 's/"reviewStatus": null/"reviewStatus": "needs_review"/' 'plan of mine/tasks.json'`,
    );
    await say(turn, 'x');
  });
  const { result: told } = await prdRun(
    elsewhere,
    agent.bin,
    '-d',
    project.dir,
    '--ralph-dir',
    'plan of mine',
    '-n',
    '1',
  );
  expect(told.iterations[0]).toMatchObject({ mode: 'implement', story: 'US-001', violations: [] });
  expect(agent.calls[0]).toMatchObject({ cwd: project.dir });
  expect(agent.calls[0]?.input).toContain('in plan of mine.');
  expect(existsSync(elsewhere.path('.ralph-active'))).toBe(false);
});

test('the model goes to the agent, and permissions are skipped', async () => {
  const project = prdRepo();
  const agent = await fakeAgent('claude', works(project, handIn()));
  await prdRun(project, agent.bin, '-n', '1', '-m', 'opus');
  expect(agent.calls[0]?.argv).toEqual(
    expect.arrayContaining(['--model', 'opus', '--dangerously-skip-permissions']),
  );
});
