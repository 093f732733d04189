/** What conflicts with what has landed is decided, or it does not land: every kind, in stories and in tasks. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import {
  beginConflicts,
  beginWithSubmodule,
  DECIDED,
  expectBoth,
  FILE_KINDS,
  KINDS,
  LANDED,
  OWN,
} from '../rig/conflicts.ts';
import { type LaneRig, laneRig, plain, resultIn, rigFor, runParallel } from '../rig/lanes.ts';
import { ralph } from '../rig/ralph.ts';
import { type Repo, repo } from '../rig/repo.ts';

const CHECK = ['--check', 'test -f README.md'];
/** The second is done when the first has landed. */
const WAIT = (subject: string, refs = '') =>
  `until git for-each-ref --format='%(contents:subject)' ${refs} | grep -q '^${subject}'; do sleep 0.05; done`;
/** The first time nothing is decided. */
const FIX = `if test -e $LANE_AGENT/again; then ${DECIDED}\nelse touch $LANE_AGENT/again; fi`;

function eventsOf({ project }: LaneRig, run: string) {
  const lines = readFileSync(project.path(`.ralph/runs/${run}/events.jsonl`), 'utf8')
    .trim()
    .split('\n');
  return lines.map(line => JSON.parse(line));
}

async function runTasks(rig: LaneRig) {
  const flags = ['--agent', 'claude', '--json', '--tasks', 'tasks.md', '--parallel', '2', ...CHECK];
  const finished = await ralph(['loop', ...flags], rig.options);
  return { ...finished, result: resultIn(finished.stdout) };
}

/** Undecided it was sent back, with all that is to be decided; decided it has landed. */
function expectDecided(rig: LaneRig, run: string, branch: string, kinds: readonly string[] = KINDS) {
  expectBoth(rig.project, branch);
  const back = eventsOf(rig, run).filter(({ type }) => type === 'sent-back');
  const open = back.at(-1)?.conflicts.map(({ kind }: { kind: string }) => kind);
  expect(open.sort()).toEqual(kinds);
}

it('a story lands when every conflict is decided, and not before', { tags: 'promise' }, async () => {
  const rig = laneRig(['US-001', 'US-002', 'US-003'].map(id => plain(id)));
  beginWithSubmodule(rig.project);
  rig.does('US-001', 'implement', LANDED);
  rig.does('US-002', 'implement', `${WAIT('US-001:')}\n${OWN}`);
  rig.does('US-002', 'merge-fix', FIX);
  // It adds all that is in its files, and takes nothing back that the others did.
  rig.does(
    'US-003',
    'implement',
    `${WAIT('US-002:', 'refs/heads/ralph/*/_int')}\nmkdir work; touch work/US-003`,
  );
  const { result, stderr } = await runParallel(rig, '--parallel', '3', ...CHECK);
  expect(result.stopReason, stderr).toBe('all_stories_approved');
  expectDecided(rig, result.runId, 'ralph/demo');
});

it.each([
  ['', beginWithSubmodule, KINDS],
  [', among 20,000 files', (project: Repo) => beginConflicts(project, 20_000), FILE_KINDS],
] as const)(
  'a task of a list lands when every conflict is decided, and not before%s',
  async (_, begin, kinds) => {
    const rig = rigFor(repo({ 'README.md': '# test\n', 'tasks.md': '- [ ] Add one\n- [ ] Add two\n' }));
    begin(rig.project);
    rig.does('T1', 'task', LANDED);
    rig.does('T2', 'task', `if test -e one.txt; then ${FIX}\nelse\n${WAIT('Add one')}\n${OWN}\nfi`);
    const { result, stderr } = await runTasks(rig);
    expect(result.stopReason, stderr).toBe('all_checks_passed');
    if (kinds === KINDS) {
      // Where the branch is checked out, the submodule is the user's to move.
      expect(stderr).toContain('the submodule sub, and Ralph cannot move that');
      rig.project.git('merge', '--quiet', `ralph/${result.runId}/_int`);
    }
    expectDecided(rig, result.runId, 'main', kinds);
  },
);

/** The same where the agent decides nothing, however often it is asked. */
it.each([
  ['story', (rig: LaneRig) => runParallel(rig, '--parallel', '2', ...CHECK), () => 'ralph/demo'],
  ['task', runTasks, (run: string) => `ralph/${run}/_int`],
] as const)('a %s of which nothing is ever decided does not land', async (what, run, branchOf) => {
  const isTask = what === 'task';
  const rig = isTask
    ? rigFor(repo({ 'README.md': '# test\n', 'tasks.md': '- [ ] Add one\n- [ ] Add two\n' }))
    : laneRig(['US-001', 'US-002'].map(id => plain(id)));
  const [first, second] = isTask ? ['T1', 'T2'] : ['US-001', 'US-002'];
  const subject = isTask ? 'Add one' : 'US-001:';
  beginWithSubmodule(rig.project);
  rig.does(first, isTask ? 'task' : 'implement', LANDED);
  const own = `${WAIT(subject)}\n${OWN}`;
  rig.does(second, isTask ? 'task' : 'implement', isTask ? `test -e one.txt || { ${own}\n}` : own);
  rig.does(second, 'merge-fix', 'true');
  const { code, result, stderr } = await run(rig);
  expect([code, result.stopReason], stderr).toEqual([1, 'needs_you']);
  expect(result.lanes).toMatchObject([
    { id: first, state: 'landed' },
    { id: second, state: 'needs_you' },
  ]);
  const back = eventsOf(rig, result.runId).findLast(({ type }) => type === 'sent-back');
  expect(back?.conflicts.map(({ kind }: { kind: string }) => kind).sort()).toEqual(KINDS);
  const branch = branchOf(result.runId);
  const files = rig.project.git('ls-tree', '-r', '--name-only', branch).split('\n');
  expect(files.filter(name => /~|^f\/|two\.txt|own-renamed|landed-renames/.test(name))).toEqual([]);
  expect(rig.project.git('show', `${branch}:binary.bin`)).toBe('a\0one');
  expect(rig.project.git('rev-parse', `${branch}:sub`)).toBe(rig.project.git('show', `${branch}:sub.landed`));
});

/** What a turn on it leaves of the marks, in a file with this name. */
it.each([
  ['the beginning of one', 'g', '/^>>>>>>> /d; /^=======$/d'],
  ['the end of one', 'g', '/^<<<<<<< /d'],
  ['all, in a file that had some before', 'g', '$s/$/ and more/', '<<<<<<< x\\n=======\\n>>>>>>> y\\n'],
  ['all, in a file with a name that is not UTF-8', "$(printf 'caf\\351')", '$s/$/ and more/'],
])('a conflict of which marks are left does not land: %s', async (_, file, edit, had = '') => {
  const tasks = '- [ ] Add one\n- [ ] Add two\n';
  const rig = rigFor(repo({ 'README.md': '# test\n', 'tasks.md': tasks }));
  const write = (word: string) => `printf '${had}${word}\\n' > "${file}"`;
  rig.does('T1', 'task', `until test -e $LANE_AGENT/begun; do sleep 0.05; done\n${write('one')}`);
  rig.does(
    'T2',
    'task',
    `touch $LANE_AGENT/begun\nif grep -q one "${file}"; then sed -i '${edit}' "${file}"\nelse ${WAIT('Add one')}\n${write('two')}\nfi`,
  );
  const { code, result } = await runTasks(rig);
  expect([code, result.stopReason]).toEqual([1, 'needs_you']);
  expect(rig.project.git('log', '--format=%s', 'main')).not.toContain('Add two');
});

/** Two tasks that write a binary file, of which the second does this with the conflict. */
it.each([
  ['commits on another base', 'git reset -q --soft main && git commit -qm squashed'],
  ['puts the merge away', 'git reset -q --hard HEAD~1'],
  [
    'says what it keeps only in quotation',
    `echo 'I could say \`<keep>binary.bin</keep>\`.' > $LANE_AGENT/T2.says`,
  ],
])('a conflict stays open where the agent %s', async (_, script) => {
  const tasks = '- [ ] Add one\n- [ ] Add two\n';
  const rig = rigFor(repo({ 'README.md': '# test\n', 'tasks.md': tasks, 'binary.bin': 'a\0b' }));
  const write = (word: string) => `printf 'a\\0${word}' > binary.bin`;
  // Both begin with the same commit.
  rig.does('T1', 'task', `until test -e $LANE_AGENT/begun; do sleep 0.05; done\n${write('one')}`);
  rig.does(
    'T2',
    'task',
    `touch $LANE_AGENT/begun\nif grep -q one binary.bin; then ${script}\nelse ${WAIT('Add one')}\n${write('two')}\nfi`,
  );
  const { code, result } = await runTasks(rig);
  expect([code, result.stopReason]).toEqual([1, 'needs_you']);
  expect(rig.project.git('show', 'main:binary.bin')).toBe('a\0one');
});
