/** What is disturbed: loops of several iterations in the ways that Ralph can run them, each with an agent that costs nothing. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StoryList } from '../../src/domain/stories/story.ts';
import { story, storyList } from '../domain/stories/stories.ts';
import { folder, type Repo, repo, writeScript } from '../rig/repo.ts';
import { approve, handIn, prdRepo, tasks } from '../rig/stories.ts';

export interface Shape {
  /** A fresh project. */
  make(): Repo;
  /** The command that starts the loop. */
  readonly args: readonly string[];
  /** The story list as the agent leaves it in each iteration. */
  readonly lists?: readonly StoryList[];
  /** What is left in the end, apart from Ralph's own folder: must not depend on how often it was disturbed. */
  remains(project: Repo): unknown;
}

/**
 * A shell script that speaks Claude Code's format. What it does depends on the number of the iteration alone, and it
 * does it in more than one step. In the second iteration it changes a protected file, deletes another and makes a new one.
 */
const AGENT = `#!/bin/sh
case " $* " in *" text "*) cat >/dev/null; echo "Keep the work"; exit;; esac
n=$(sed -n 's/.*teration \\([0-9]*\\) of.*/\\1/p' | head -1)
say() { echo "{\\"type\\":\\"assistant\\",\\"message\\":{\\"id\\":\\"$1\\",\\"role\\":\\"assistant\\",\\"content\\":[$2]},\\"parent_tool_use_id\\":null}"; }
echo '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
say m1 '{"type":"tool_use","id":"t","name":"Write","input":{"file_path":"x"}}'
if [ -d "$(dirname "$0")/lists" ]; then
  printf '{ "half' > ralph/tasks.json
  cp "$(dirname "$0")/lists/$n.json" ralph/tasks.json
  git add ralph && git commit -qm "Step $n"
  [ "$n" = 2 ] && judged=US-001
  [ "$n" = 4 ] && judged=US-002
fi
if [ -z "$judged" ]; then
  printf half > work-$n.txt
  printf 'work of %s\\n' $n > work-$n.txt
fi
if [ "$n" = 2 ] && [ -z "$judged" ]; then echo changed > test/a.txt; rm -f test/b.txt; echo new > test/new.txt; fi
echo '{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok","is_error":false}]},"parent_tool_use_id":null}'
words=worked; [ "$n" = 4 ] && words='<promise>COMPLETE</promise> <response>DONE</response>'
[ -n "$judged" ] && words="<review story='$judged'>approved</review>"
say m2 "{\\"type\\":\\"text\\",\\"text\\":\\"$words\\"}"
echo '{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"","total_cost_usd":0.01,"usage":{"input_tokens":100,"output_tokens":20},"modelUsage":{}}'
`;

/** A folder for the PATH with the agent in it, and the story lists that it writes, if it does. */
export function agentFolder(lists: readonly StoryList[] = []): string {
  const bin = folder('ralph-chaos-').dir;
  writeScript(join(bin, 'claude'), AGENT);
  if (lists.length > 0) mkdirSync(join(bin, 'lists'));
  for (const [index, list] of lists.entries())
    writeFileSync(join(bin, 'lists', `${index + 1}.json`), `${JSON.stringify(list, null, 2)}\n`);
  return bin;
}

const FILES = { 'README.md': '# test\n', 'test/a.txt': 'a\n', 'test/b.txt': 'b\n' };

/** Every commit by its content and its message, and what the files are. */
function history(project: Repo, ref = 'HEAD'): unknown {
  return project.git('log', '--format=%T %s', ref).trim().split('\n');
}

/** What git would commit next must not depend on it either: an index that was left behind would undo work. */
function staged(project: Repo, folder = '.'): unknown {
  return project.git('-C', folder, 'diff', '--cached', '--name-status').trim().split('\n');
}

/** Locks and files of ours: with them git works no more, or worse. */
function litter(project: Repo): unknown {
  const all = readdirSync(project.path('.git'), { recursive: true, encoding: 'utf8' });
  return all.filter(name => /\.lock$|ralph/.test(name));
}

function files(project: Repo, folder = '.'): unknown {
  const names = project.git('-C', folder, 'ls-files', '-co', '--exclude-standard').trim().split('\n');
  return names
    .filter(name => !name.startsWith('.ralph'))
    .map(name => {
      const path = join(project.dir, folder, name);
      return [name, existsSync(path) ? readFileSync(path, 'utf8') : 'gone'];
    });
}

/** `run` with guardrails, commits and pushes to a bare remote that counts what it gets. */
const runWithPush: Shape = {
  args: ['run', '-p', 'Work.', '--agent', 'claude'],
  make() {
    const project = repo(FILES);
    project.git('init', '--quiet', '--bare', '.git/remote');
    project.git('-C', '.git/remote', 'config', 'core.logAllRefUpdates', 'true');
    project.git('remote', 'add', 'origin', project.path('.git/remote'));
    project.git('push', '--quiet', '--set-upstream', 'origin', 'main');
    project.settings({
      includeIterationCountInPrompt: true,
      guardrails: [{ command: 'test -e work-2.txt' }, { command: 'cat work-1.txt' }],
      scm: { command: 'git', tasks: ['commit', 'push'] },
    });
    return project;
  },
  remains: project => ({
    commits: history(project),
    remote: history(project, 'origin/main'),
    pushes: project.read('.git/remote/logs/refs/heads/main').trim().split('\n').length,
    files: files(project),
    staged: staged(project),
    litter: litter(project),
  }),
};

/** `loop` in a worktree, with a baseline, and protected files that the agent changes, deletes and adds to. */
const loopInWorktree: Shape = {
  args: ['loop', 'Work.', '--agent', 'claude', '--worktree=w', '--baseline', '--baseline-ungated']
    .concat('--check', 'test -e work-2.txt', '--check', 'test -e never', '--check', 'cat test/a.txt')
    .concat('--protect', 'test/**', '--protect-new'),
  make: () => repo(FILES),
  remains: project => ({
    commits: history(project, 'ralph/w'),
    own: files(project),
    files: files(project, '.ralph/worktrees/w'),
  }),
};

/** `loop` in the project itself, checks side by side, with commits. */
const loopWithCommits: Shape = {
  args: ['loop', 'Work.', '--agent', 'claude', '--check-parallel', '--max-cost', '5'].concat(
    '--check',
    'test -e work-2.txt',
    '--check',
    'ls work-*',
  ),
  make() {
    const project = repo(FILES);
    project.settings({ scm: { command: 'git', tasks: ['commit'] } });
    return project;
  },
  remains: project => ({ commits: history(project), files: files(project), staged: staged(project) }),
};

const CHECKED = { notes: '', verifyCommands: ['test -f work-1.txt'] };
const FIRST = storyList(story('US-001', CHECKED), story('US-002', CHECKED));
const LISTS: StoryList[] = [];
for (const edit of [handIn('US-001'), approve('US-001'), handIn('US-002'), approve('US-002')])
  LISTS.push(edit(LISTS.at(-1) ?? FIRST) as StoryList);

/** `prd run` with two stories, each built, checked, handed in, reviewed and approved; the agent commits. */
const stories: Shape = {
  args: ['prd', 'run', '--agent', 'claude'],
  lists: LISTS,
  make: () => prdRepo(...FIRST.userStories),
  remains: project => ({ commits: history(project), tasks: tasks(project), files: files(project) }),
};

/** `loop` whose second and third iteration end worse than the first: it goes back to that one, beside what the user has not committed. */
const loopGoingBack: Shape = {
  args: ['loop', 'Work.', '--agent', 'claude', '--check', 'test ! -e work-2.txt'],
  make() {
    const project = repo(FILES);
    project.write('README.md', 'not committed\n');
    project.write('own.txt', 'mine\n');
    return project;
  },
  remains: project => ({ commits: history(project), files: files(project), staged: staged(project) }),
};

export const SHAPES = {
  runWithPush,
  loopInWorktree,
  loopWithCommits,
  loopGoingBack,
  stories,
} satisfies Record<string, Shape>;
export type ShapeName = keyof typeof SHAPES;
