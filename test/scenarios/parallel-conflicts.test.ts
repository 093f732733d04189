/** What conflicts with what has landed is decided, or it does not land: every kind, in stories and in tasks. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { beginConflicts, DECIDED, KINDS, LANDED, LANDED_FILES, listFiles, OWN } from '../rig/conflicts.ts';
import { type LaneRig, laneRig, plain, resultIn, rigFor, runParallel } from '../rig/lanes.ts';
import { ralph } from '../rig/ralph.ts';
import { repo } from '../rig/repo.ts';

const CHECK = ['--check', 'test -f README.md'];
/** The second is done when the first has landed. */
const WAIT = (subject: string) =>
  `until git for-each-ref --format='%(contents:subject)' | grep -q '^${subject}'; do sleep 0.05; done`;
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
function expectDecided(rig: LaneRig, run: string, branch: string) {
  const back = eventsOf(rig, run).filter(({ type }) => type === 'sent-back');
  const kinds = back.at(-1)?.conflicts.map(({ kind }: { kind: string }) => kind);
  expect(kinds.sort()).toEqual(KINDS);
  expect(listFiles(rig.project, branch)).toEqual(LANDED_FILES);
}

it('a story lands when every conflict is decided, and not before', { tags: 'promise' }, async () => {
  const rig = laneRig([plain('US-001'), plain('US-002')]);
  beginConflicts(rig.project);
  rig.does('US-001', 'implement', LANDED);
  rig.does('US-002', 'implement', `${WAIT('US-001:')}\n${OWN}`);
  rig.does('US-002', 'merge-fix', FIX);
  const { result, stderr } = await runParallel(rig, '--parallel', '2', ...CHECK);
  expect(result.stopReason, stderr).toBe('all_stories_approved');
  expectDecided(rig, result.runId, 'ralph/demo');
});

it.each([
  ['', 0],
  [', among 20,000 files', 20_000],
])('a task of a list lands when every conflict is decided, and not before%s', async (_, others) => {
  const rig = rigFor(repo({ 'README.md': '# test\n', 'tasks.md': '- [ ] Add one\n- [ ] Add two\n' }));
  beginConflicts(rig.project, others);
  rig.does('T1', 'task', LANDED);
  rig.does('T2', 'task', `if test -e one.txt; then ${FIX}\nelse\n${WAIT('Add one')}\n${OWN}\nfi`);
  const { result, stderr } = await runTasks(rig);
  expect(result.stopReason, stderr).toBe('all_checks_passed');
  expectDecided(rig, result.runId, 'main');
  expect(rig.project.git('ls-files', 'others').split('\n')).toHaveLength(others + 1);
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
