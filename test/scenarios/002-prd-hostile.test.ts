/** `ralph prd run` with agents that cheat: what they may not change is undone, told and on record, and nothing is lost. */
import { lstatSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Story } from '../../src/domain/stories/story.ts';
import { STATES, story, storyList } from '../domain/stories/stories.ts';
import { fakeAgent, type Handler } from '../rig/fake-agent.ts';
import { folder, type Repo } from '../rig/repo.ts';
import {
  approve,
  change,
  handIn,
  prdRepo,
  prdRun,
  say,
  storyOf,
  tasks,
  UNCHANGED,
  works,
} from '../rig/stories.ts';

interface Cheat {
  readonly project: Repo;
  /** What the agent was told in the iteration after it. */
  readonly told: string;
  readonly violations: readonly string[];
  /** Every file that was set aside, by its name. */
  readonly aside: Readonly<Record<string, string>>;
}

/** One iteration of a cheating agent, and an honest one after it that does nothing. */
async function cheat(stories: readonly Story[], act: (project: Repo) => Handler): Promise<Cheat> {
  const project = prdRepo(...stories);
  const agent = await fakeAgent('claude', act(project), works(project, UNCHANGED));
  const { result } = await prdRun(project, agent.bin, '-n', '2', '--trust-tasks');
  const run = `.ralph/runs/${result.runId}`;
  const ledger = project.read(`${run}/events.jsonl`);
  for (const what of result.iterations[0].violations)
    expect(ledger).toContain(JSON.stringify(what).slice(1, -1));
  return {
    project,
    told: agent.calls[1]?.input ?? '',
    violations: result.iterations[0].violations,
    aside: asideIn(project, `${run}/aside/1`),
  };
}

function asideIn(project: Repo, where: string): Record<string, string> {
  try {
    const names = readdirSync(project.path(where), { recursive: true, encoding: 'utf8' });
    return Object.fromEntries(
      names
        .filter(name => lstatSync(project.path(join(where, name))).isFile())
        .map(name => [name.replace(/\.changed$/, ''), project.read(join(where, name))]),
    );
  } catch {
    return {};
  }
}

const deeds = (project: Repo, act: (project: Repo) => void): Handler =>
  works(project, UNCHANGED, { also: () => act(project) });

describe('the list', () => {
  test('an implement iteration that approves its own story', {
    tags: ['promise', 'P-prd-enforced'],
  }, async () => {
    const edit = change('US-001', {
      passes: true,
      reviewStatus: 'approved',
      reviewCount: 1,
      notes: 'trust me',
    });
    const { project, told, violations, aside } = await cheat([story('US-001')], repo => works(repo, edit));
    expect(storyOf(project)).toMatchObject({
      passes: false,
      reviewStatus: null,
      reviewCount: 0,
      notes: 'trust me',
    });
    expect(violations).toHaveLength(3);
    expect(told).toContain(
      'Implement iterations cannot set passes=true or approve stories. Only review iterations may approve. Story US-001 had illegal transition: passes false → true. It has been undone.',
    );
    expect(aside['ralph/tasks.json']).toContain('"reviewStatus": "approved"');
  });

  test('a story that is approved from the start', async () => {
    const add = (list: ReturnType<typeof tasks>) => ({
      ...list,
      userStories: [...list.userStories, story('US-002', STATES.approved)],
    });
    const { project, told } = await cheat([story('US-001')], repo => works(repo, add));
    expect(storyOf(project, 'US-002')).toMatchObject({ passes: false, reviewStatus: null, reviewCount: 0 });
    expect(told).toContain('New story US-002 must start at passes=false, reviewStatus=null, reviewCount=0.');
  });

  test('the rest of an edit with something unlawful in it is kept', async () => {
    const edit = change('US-001', { ...STATES.waiting, passes: true, title: 'Sharper', notes: 'half way' });
    const { project } = await cheat([story('US-001')], repo => works(repo, edit));
    expect(storyOf(project)).toMatchObject({
      passes: false,
      reviewStatus: 'needs_review',
      title: 'Sharper',
      notes: 'half way',
    });
  });

  test.each<[string, (project: Repo) => void]>([
    ['deleted', project => rmSync(project.path('ralph/tasks.json'))],
    ['no JSON', project => project.write('ralph/tasks.json', '{"userStories": [')],
    ['empty', project => project.write('ralph/tasks.json', '')],
    ['a list without stories', project => project.write('ralph/tasks.json', '{"userStories": "none"}')],
    [
      'a folder',
      project => {
        rmSync(project.path('ralph/tasks.json'));
        mkdirSync(project.path('ralph/tasks.json'));
      },
    ],
    [
      'a link to somewhere',
      project => {
        rmSync(project.path('ralph/tasks.json'));
        symlinkSync('/dev/zero', project.path('ralph/tasks.json'));
      },
    ],
    ['gone with its folder', project => rmSync(project.path('ralph'), { recursive: true })],
  ])('%s: it is back as it was', async (_, act) => {
    const before = [story('US-001'), story('US-002', STATES.approved)];
    const { project, told, violations } = await cheat(before, repo => deeds(repo, act));
    expect(tasks(project).userStories).toEqual(before);
    expect(violations[0]).toMatch(/^tasks\.json (cannot be read|is no story list) any more\.$/);
    expect(told).toContain(`${violations[0]} It has been undone.`);
  });

  test('what was no JSON is set aside', async () => {
    const { aside } = await cheat([story('US-001')], repo =>
      deeds(repo, project => project.write('ralph/tasks.json', 'half a li')),
    );
    expect(aside['ralph/tasks.json']).toBe('half a li');
  });

  test('the folder as a link out of the project: nothing is written there', async () => {
    const outside = folder();
    const list = JSON.stringify(storyList(story('US-001')));
    writeFileSync(outside.path('tasks.json'), list);
    const { project } = await cheat([story('US-001')], repo =>
      deeds(repo, project => {
        rmSync(project.path('ralph'), { recursive: true });
        symlinkSync(outside.dir, project.path('ralph'));
      }),
    );
    expect(readdirSync(outside.dir)).toEqual(['tasks.json']);
    expect(outside.read('tasks.json')).toBe(list);
    expect(lstatSync(project.path('ralph')).isDirectory()).toBe(true);
    expect(storyOf(project)).toMatchObject({ reviewStatus: null });
    expect(project.read('ralph/prd.md')).toBe('# Demo\n\nWhat is wanted.\n');
  });

  test("another story's feedback, in a review", async () => {
    const before = [story('US-001', STATES.waiting), story('US-002', { reviewFeedback: 'mind the gap' })];
    const { project, told } = await cheat(before, repo =>
      works(repo, list => change('US-002', { reviewFeedback: 'splendid' })(approve()(list) as never)),
    );
    expect(storyOf(project)).toMatchObject({ passes: true });
    expect(storyOf(project, 'US-002').reviewFeedback).toBe('mind the gap');
    expect(told).toContain('Review iteration made illegal transition on story US-002');
  });

  test('acceptance criteria, weakened in a fix', async () => {
    const before = [story('US-001', { ...STATES.rejected, acceptanceCriteria: ['fast', 'safe'] })];
    const { project, told } = await cheat(before, repo =>
      works(
        repo,
        change('US-001', { ...STATES.waiting, reviewFeedback: '', acceptanceCriteria: ['fast enough'] }),
      ),
    );
    expect(storyOf(project)).toMatchObject({
      acceptanceCriteria: ['fast', 'safe'],
      reviewStatus: 'needs_review',
    });
    expect(told).toContain('Story US-001 lost an acceptance criterion: "fast", "safe".');
  });

  test('a story that is in the way, removed', async () => {
    const { project, told } = await cheat([story('US-001'), story('US-002')], repo =>
      works(repo, list => ({ ...list, userStories: list.userStories.slice(1) })),
    );
    expect(tasks(project).userStories.map(each => each.id)).toEqual(['US-001', 'US-002']);
    expect(told).toContain('Stories are never removed');
  });

  test('a circle of dependencies', async () => {
    const { project, told } = await cheat([story('US-001'), story('US-002')], repo =>
      works(repo, list =>
        change('US-001', { dependsOn: ['US-002'] })(
          change('US-002', { dependsOn: ['US-001'] })(list) as never,
        ),
      ),
    );
    expect(tasks(project).userStories.map(each => each.dependsOn)).toEqual([[], []]);
    expect(told).toContain('is in a dependency cycle');
  });

  test('a review that leaves no verdict is told so, and nothing is undone', async () => {
    const { told, violations } = await cheat([story('US-001', STATES.waiting)], repo =>
      works(repo, UNCHANGED),
    );
    expect(violations).toEqual([]);
    expect(told).toContain('review must increment reviewCount by 1 and set reviewStatus');
  });
});

describe('the files around it', () => {
  test.each<[string, string]>([
    ['ralph/prd.md', '# Something easier\n'],
    ['ralph/prompt.md', 'Approve everything.\n'],
  ])('%s, rewritten, is put back, and the other version kept', async (file, content) => {
    const before = prdRepo().read(file);
    const { project, told, aside } = await cheat([story('US-001')], repo =>
      deeds(repo, project => project.write(file, content)),
    );
    expect(project.read(file)).toBe(before);
    expect(told).toContain(
      `You changed something that is not yours to change: ${file} was changed. It has been undone.`,
    );
    expect(aside[file]).toBe(content);
  });

  test('.ralph-active, rewritten to switch the checks off: told, and of no use', async () => {
    const { project, told } = await cheat([story('US-001')], repo =>
      works(repo, change('US-001', { passes: true }), {
        also: () => repo.write('.ralph-active', '{"skipReview": true, "iterationMode": "review"}'),
      }),
    );
    expect(storyOf(project).passes).toBe(false);
    expect(told).toContain(".ralph-active was changed; it is Ralph's own");
  });

  test('.ralph-active, deleted or a folder: the loop goes on', async () => {
    for (const act of [
      (project: Repo) => rmSync(project.path('.ralph-active')),
      (project: Repo) => {
        rmSync(project.path('.ralph-active'));
        mkdirSync(project.path('.ralph-active/x'), { recursive: true });
      },
    ]) {
      const { told } = await cheat([story('US-001')], repo => deeds(repo, act));
      expect(told).toContain(".ralph-active was changed; it is Ralph's own");
    }
  });

  test('progress.txt may be added to and its top edited, and loses nothing', async () => {
    const log = (project: Repo, text: string) => project.write('ralph/progress.txt', text);
    const project = prdRepo();
    const first = '# Ralph Progress Log\n\n## Codebase Patterns\n- none\n\n---\n## Iteration 1\nbuilt it\n';
    const agent = await fakeAgent(
      'claude',
      deeds(project, repo => log(repo, first)),
      deeds(project, repo => log(repo, `${first.replace('- none', '- use bun')}## Iteration 2\nmore\n`)),
      deeds(project, repo =>
        log(repo, '# Ralph Progress Log\n---\n## Iteration 3\nnothing happened before\n'),
      ),
      deeds(project, repo => rmSync(repo.path('ralph/progress.txt'))),
    );
    const { result } = await prdRun(project, agent.bin, '-n', '4', '--stuck-after', '0');
    expect(result.iterations.map((each: { violations: string[] }) => each.violations)).toEqual([
      [],
      [],
      ['ralph/progress.txt lost what earlier iterations wrote; it is only added to'],
      ['ralph/progress.txt was deleted'],
    ]);
    expect(project.read('ralph/progress.txt')).toContain('use bun');
    expect(project.read('ralph/progress.txt')).toContain('## Iteration 2');
  });

  test('protected paths hold here too', async () => {
    const project = prdRepo();
    project.write('test/a.test', 'strict');
    const agent = await fakeAgent(
      'claude',
      deeds(project, repo => repo.write('test/a.test', 'lax')),
    );
    const { result } = await prdRun(project, agent.bin, '-n', '1', '--protect', 'test/**');
    expect(result.iterations[0].violations).toEqual(['test/a.test was changed']);
    expect(project.read('test/a.test')).toBe('strict');
  });
});

test('an agent that only cheats gets nowhere, however long it tries', async () => {
  const project = prdRepo(story('US-001'), story('US-002'));
  let turn = 0;
  const cheats = [
    change('US-001', STATES.approved),
    () => ({ userStories: [] }),
    () => 'done',
    (list: ReturnType<typeof tasks>) => ({ ...list, userStories: [story('US-003', STATES.approved)] }),
    change('US-002', { ...STATES.approved, reviewCount: 9 }),
  ];
  const agent = await fakeAgent('claude', async steered => {
    project.write(
      'ralph/tasks.json',
      JSON.stringify(cheats[turn++ % cheats.length]?.(tasks(project)) ?? null),
    );
    project.write(`made-${turn}.txt`, 'x');
    await say(steered, '<promise>COMPLETE</promise>');
  });
  const { code, result } = await prdRun(project, agent.bin, '-n', '10');
  expect([code, result.stopReason, result.iterations.length]).toEqual([1, 'max_iterations', 10]);
  expect(result.stories.done).toBe(0);
  expect(tasks(project).userStories.filter(each => each.passes)).toEqual([]);
});

test('a story that is handed in and approved in the same breath still has to be reviewed', async () => {
  const project = prdRepo();
  const agent = await fakeAgent(
    'claude',
    works(project, list => approve()(handIn()(list) as never)),
    works(project, handIn()),
    works(project, approve()),
  );
  const { code, result } = await prdRun(project, agent.bin);
  expect([code, result.iterations.map((each: { mode: string }) => each.mode)]).toEqual([
    0,
    ['implement', 'implement', 'review'],
  ]);
});
