/** A project with a story list, and agents that work on it: honest steps, and whatever else a test wants to do. */
import type { Story, StoryList } from '../../src/domain/stories/story.ts';
import { story, storyList } from '../domain/stories/stories.ts';
import { init, isTextMode, result, text, toolResult, toolUse } from './claude-stream.ts';
import { ralph } from './commands.ts';
import type { FakeTurn, Handler } from './fake-agent.ts';
import { type Repo, repo } from './repo.ts';

export const COMPLETE = '<promise>COMPLETE</promise>';

export function prdRepo(...stories: readonly Story[]): Repo {
  const list = storyList(...(stories.length > 0 ? stories : [story('US-001', { notes: '' })]));
  return repo({
    'README.md': '# test\n',
    '.gitignore': '.ralph-active\n.ralph/\n',
    'ralph/prd.md': '# Demo\n\nWhat is wanted.\n',
    'ralph/tasks.json': `${JSON.stringify(list, null, 2)}\n`,
    'ralph/progress.txt': '# Ralph Progress Log\n\n## Codebase Patterns\n- none\n\n---\n',
    'ralph/prompt.md': 'Iteration $RALPH_ITERATION of $RALPH_MAX_ITERATIONS in $RALPH_DIR.\n',
  });
}

export function tasks(project: Repo): StoryList {
  return JSON.parse(project.read('ralph/tasks.json'));
}

export function storyOf(project: Repo, id = 'US-001'): Story {
  const found = tasks(project).userStories.find(each => each.id === id);
  if (!found) throw new Error(`there is no story ${id}`);
  return found;
}

export type Edit = (list: StoryList) => unknown;

/** Changes one story. */
export function change(id: string, fields: Partial<Story> | ((was: Story) => Partial<Story>)): Edit {
  return list => ({
    ...list,
    userStories: list.userStories.map(each =>
      each.id === id ? { ...each, ...(typeof fields === 'function' ? fields(each) : fields) } : each,
    ),
  });
}

export const handIn = (id = 'US-001') =>
  change(id, { reviewStatus: 'needs_review', reviewFeedback: '', notes: `${id} was built` });
export const approve = (id = 'US-001') =>
  change(id, was => ({ reviewStatus: 'approved', passes: true, reviewCount: was.reviewCount + 1 }));
export const reject = (id = 'US-001', reviewFeedback = 'handle the empty list') =>
  change(id, was => ({
    reviewStatus: 'changes_requested',
    reviewFeedback,
    reviewCount: was.reviewCount + 1,
  }));

/** One turn of the agent: edits the list, does what else it is told, commits, speaks. */
export function works(
  project: Repo,
  edit: Edit,
  {
    words = 'I have done my step.',
    also,
    commit = true,
    cost = 0.01,
  }: {
    readonly words?: string;
    readonly also?: (turn: FakeTurn) => unknown;
    readonly commit?: boolean;
    readonly cost?: number;
  } = {},
): Handler {
  return async turn => {
    const before = tasks(project);
    const after = edit(before);
    project.write('ralph/tasks.json', `${JSON.stringify(after, null, 2)}\n`);
    await also?.(turn);
    if (commit) await turn.shell('git add -A && git commit --quiet --allow-empty -m step');
    await say(turn, [words, ...verdicts(before, after)].join('\n'), cost);
  };
}

/** What an honest reviewer says of a story that it has judged, as the prompt asks for it. */
function verdicts(before: StoryList, after: unknown): readonly string[] {
  const { userStories = [] } = (after ?? {}) as Partial<StoryList>;
  return userStories
    .filter(({ id, reviewCount }) => {
      const was = before.userStories.find(each => each.id === id);
      return was !== undefined && reviewCount > was.reviewCount;
    })
    .map(({ id, reviewStatus }) => verdict(id, reviewStatus ?? ''));
}

export const verdict = (id: string, words: string) => `<review story="${id}">${words}</review>`;

export async function say(turn: FakeTurn, words: string, cost = 0.01): Promise<void> {
  if (isTextMode(turn)) await turn.print(words);
  else {
    const records = [
      init,
      toolUse('t', 'Bash', { command: 'git commit' }),
      toolResult('t', 'ok'),
      text(words),
    ];
    for (const record of [...records, result({ total_cost_usd: cost })]) await turn.line(record);
  }
  turn.exit();
}

export const UNCHANGED: Edit = list => list;

export async function prdRun(project: Repo, bin: string, ...args: string[]) {
  const finished = await ralph(['prd', 'run', '--agent', 'claude', '--json', ...args], {
    cwd: project.dir,
    path: [bin],
    env: { IS_SANDBOX: '1' },
  });
  const told = finished.stdout.startsWith('{') ? JSON.parse(finished.stdout) : undefined;
  return { ...finished, result: told };
}

export function modesOf(told: { iterations: { mode: string; story?: string }[] }): readonly string[] {
  return told.iterations.map(each => `${each.mode} ${each.story}`);
}
