/** Pushes the work of a run and its proof, and opens or updates its one pull request. What is there is asked, never remembered. */
import { defuseTitle } from '../domain/forge/defuse.ts';
import { backOff } from '../domain/forge/pause.ts';
import { isRefusal, type RemoteProblem } from '../domain/run/remote-answer.ts';
import { isCommit } from '../domain/text/commit.ts';
import type { FileSum } from '../domain/text/diffstat.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import type { EndedRun } from '../opening/leavings.ts';
import { unsolved, WITH_CONFLICTS } from '../parallel/merging.ts';
import { complaint } from '../platform/git.ts';
import { VERSION } from '../platform/version.ts';
import { writeBundle } from '../proof/bundle/write.ts';
import { hiddenMark, PROOF_FILE } from '../report/pull-request.ts';
import { pause } from '../run/wait.ts';
import { createIntegration } from '../workspace/integration.ts';
import type { ForwardRemote } from '../workspace/remote.ts';
import { withTrailers } from '../workspace/scm.ts';
import type { Forge, Pull } from './forge.ts';
import type { ForgeProblem, HttpOptions } from './http.ts';
import type { ForgeLedger } from './ledger.ts';
import type { ProvenWork } from './work.ts';

export interface Publishing {
  readonly run: EndedRun;
  readonly forge: Forge;
  readonly remote: ForwardRemote;
  /** Its name, for whoever fetches. */
  readonly remoteName: string;
  readonly base: string;
  readonly ledger: ForgeLedger;
  readonly waits: HttpOptions;
  redact(text: string): string;
}

/** There is something on the branch that neither this run nor its work has put there. */
export interface ForeignWork {
  readonly foreign: string;
}

/** Files in which the marks of a conflict are left: nobody has solved it. */
export interface MarkedWork {
  readonly marks: readonly string[];
}

/** Moves the branch at the remote forward. Returns the commit that it stands on. */
export async function pushBranch(
  publishing: Publishing,
  work: ProvenWork,
): Promise<string | ForeignWork | MarkedWork | Problem> {
  const { remote, ledger } = publishing;
  const ref = `refs/heads/${work.branch}`;
  for (let attempt = 0; ; attempt++) {
    const tip = await remote.tip(ref);
    if (isProblem(tip)) return tip;
    noteArrived(ledger, work.branch, tip);
    const solved = await withoutMarks(publishing, work, tip);
    const clean = typeof solved === 'string' ? await withoutLaneMarks(publishing, work, solved) : solved;
    if (typeof clean !== 'string') return clean;
    const commit = await commitFor(publishing, { ...work, commit: clean }, tip);
    if (typeof commit !== 'string') return commit;
    const telling = await tellingCommit(publishing, work, commit, tip);
    if (telling) return telling;
    if (commit === tip) {
      if (ledger.state().pushed.at(-1) !== tip) notePushed(ledger, work.branch, tip);
      return tip;
    }
    const pushed = await ledger.act(
      { act: 'push', what: work.branch, commit },
      () => advance(remote, ref, commit),
      () => ({ commit }),
    );
    if (!isProblem(pushed)) return commit;
    if (!isMoved(pushed) || attempt >= MOST_RACES) return { ...pushed, fix: MAY_PUSH };
  }
}

/** The agent may have committed itself: what it says there would be public, and stay. */
async function tellingCommit(
  { redact, base }: Publishing,
  { own, branch }: ProvenWork,
  commit: string,
  tip: string | undefined,
): Promise<Problem | undefined> {
  const known = [`refs/heads/${base}`, ...(tip === undefined ? [] : [tip])];
  const range = [commit, '--not', ...known];
  const { code, stdout, output } = await own.objects.run(['log', '-z', '--format=%H%n%B', ...range]);
  if (code !== 0)
    return { where: branch, what: `its messages cannot be looked at: ${complaint(output, code)}` };
  const found = stdout.split('\0').find(each => redact(each) !== each);
  if (found === undefined) return undefined;
  const what = `the message of commit ${found.slice(0, 12)} holds a secret, so nothing is pushed`;
  return { where: branch, what, fix: `reword it on ${branch}, then the same command continues` };
}

const MOST_RACES = 3;
const MAY_PUSH =
  'look at what the repository allows for branches of this name, and whether the token may write contents';

function notePushed(ledger: ForgeLedger, branch: string, commit: string): void {
  ledger.note({ type: 'forge', act: 'push', outcome: 'nothing-to-do', detail: branch, commit });
}

/** Who pushed it was killed, or cut off, before it was heard. */
function noteArrived(ledger: ForgeLedger, branch: string, tip: string | undefined): void {
  const { begun = [], pushed } = ledger.state();
  if (tip !== undefined && begun.includes(tip) && !pushed.includes(tip)) notePushed(ledger, branch, tip);
}

async function advance(remote: ForwardRemote, ref: string, commit: string): Promise<true | RemoteProblem> {
  const pushed = await remote.advance(ref, commit);
  if (pushed === 'moved') return { where: ref, what: 'somebody else has just moved it', answer: 'rebuild' };
  return isProblem(pushed) ? pushed : true;
}

function isMoved(problem: Problem): boolean {
  return isRefusal(problem) && problem.answer === 'rebuild';
}

/**
 * The work without the merge that left marks of conflicts, and without what was committed since: one commit with the files as they are now,
 * on what was pushed and on the base that was merged.
 */
async function withoutMarks(
  { run, ledger }: Publishing,
  { own, commit }: ProvenWork,
  tip: string | undefined,
): Promise<string | MarkedWork | Problem> {
  const { marked = [], pushed } = ledger.state();
  const integration = createIntegration(own, run.id);
  const [merge] = await filtered(marked, each => integration.isAncestor(each, commit));
  const last = tip ?? pushed.at(-1);
  if (merge === undefined || last === undefined) return commit;
  const { stdout } = await own.objects.run(['rev-parse', `${merge}^1`, `${merge}^2`]);
  const [ours = '', theirs = ''] = stdout.trim().split('\n');
  const left = await unsolved(integration, ours, commit);
  if (isProblem(left)) return left;
  const marks = left.length === 0 ? [] : await unsolved(integration, theirs, commit);
  if (isProblem(marks)) return marks;
  const both = left.filter(path => marks.includes(path));
  if (both.length > 0) return { marks: both };
  const tree = await own.treeOf(commit);
  if (isProblem(tree)) return tree;
  const parents = (await integration.isAncestor(theirs, last)) ? [last] : [last, theirs];
  // All of it is there already.
  if (parents.length === 1 && (await own.treeOf(last)) === tree) return last;
  const message = withTrailers(run.title.slice(0, 72), { runId: run.id, title: run.title });
  return own.commit({ tree, parents, message, date: run.past.time.latest });
}

/**
 * What has landed, without the lanes in whose history a merge has left marks: of each that commit alone which has landed, with the same files,
 * on the one before it and on what else was merged there.
 */
async function withoutLaneMarks(
  { run }: Publishing,
  { own }: ProvenWork,
  commit: string,
): Promise<string | Problem> {
  const { board } = run.past;
  // Of a unit all of it is from a database that others write: what is no commit is no word for git.
  if (!board || !isCommit(board.base)) return commit;
  const ask = async (...args: readonly string[]) => {
    const { stdout } = await own.objects.run(args);
    return stdout.trim().split('\n').filter(Boolean);
  };
  const isMarked = async (from: string) => {
    const found = ['rev-list', '--max-count=1', '--fixed-strings', `--grep=${WITH_CONFLICTS}`];
    return (await ask(...found, from, `^${board.base}`)).length > 0;
  };
  if (!(await isMarked(commit))) return commit;
  /** What a round has merged into its lane, where the lane is left out. */
  const broughtBy = async (landed: string) => {
    const story = board.landed.find(each => each.commit === landed)?.story;
    const { merges } = board.lanes.find(({ id }) => id === story) ?? {};
    if (!isCommit(merges)) return [];
    return (await isMarked(merges)) ? ask('rev-parse', `${merges}^2`) : [merges];
  };
  let made = board.base;
  for (const each of await ask('rev-list', '--first-parent', '--reverse', commit, `^${board.base}`)) {
    const [first, second] = await ask('rev-parse', `${each}^@`);
    const isLeftOut = second !== undefined && (await isMarked(second));
    const others = isLeftOut ? await broughtBy(each) : second === undefined ? [] : [second];
    const again = first === made && !isLeftOut ? each : await commitAgain(own, each, [made, ...others]);
    if (isProblem(again)) return again;
    made = again;
  }
  return made;
}

async function commitAgain(
  own: ProvenWork['own'],
  commit: string,
  parents: readonly string[],
): Promise<string | Problem> {
  const tree = await own.treeOf(commit);
  if (isProblem(tree)) return tree;
  const { stdout } = await own.objects.run(['show', '--no-patch', '--format=%ct%n%B', commit]);
  const [seconds = '', ...message] = stdout.split('\n');
  const date = Number(seconds) * 1_000;
  return own.commit({ tree, parents, message: `${message.join('\n').trimEnd()}\n`, date });
}

async function filtered(
  all: readonly string[],
  holds: (each: string) => Promise<boolean>,
): Promise<readonly string[]> {
  const held = await Promise.all(all.map(holds));
  return all.filter((_, at) => held[at]);
}

/** The work, on top of what is there. */
async function commitFor(
  { run, remote, ledger }: Publishing,
  { own, commit, branch }: ProvenWork,
  tip: string | undefined,
): Promise<string | ForeignWork | Problem> {
  if (tip === undefined || tip === commit) return commit;
  const missing = await remote.bring([`refs/heads/${branch}`]);
  if (missing) return missing;
  const integration = createIntegration(own, run.id);
  const { pushed } = ledger.state();
  // Somebody has taken back what was pushed: to push it again would undo that.
  const last = pushed.at(-1);
  if (last !== undefined && last !== tip && (await integration.isAncestor(tip, last)))
    return { foreign: tip };
  if (await integration.isAncestor(tip, commit)) return commit;
  const [there, ours] = [await own.treeOf(tip), await own.treeOf(commit)];
  if (isProblem(there)) return there;
  if (isProblem(ours)) return ours;
  if (pushed.includes(tip)) {
    if (there === ours) return tip;
    const { id: runId, title, past } = run;
    const message = withTrailers(title.slice(0, 72), { runId, title });
    return own.commit({ tree: ours, parents: [tip], message, date: past.time.latest });
  }
  if (pushed.length > 0 || (await integration.isAncestor(commit, tip))) return { foreign: tip };
  return {
    where: branch,
    what: 'the remote has this branch already, with other work on it, and Ralph never pushes by force',
    fix: 'look at it there; rename or delete it if it is not needed',
  };
}

/** Of a forge that does not say what came of it. */
const MOST_TRIES = 35;

/** The ref that holds the bundle of a run. */
export function proofRef(id: string): string {
  return `refs/ralph/proofs/${id}`;
}

/** Where the bundle is; or why there is none. */
export async function pushProof(
  publishing: Publishing,
  { own, isRechecked }: ProvenWork,
  commit: string,
): Promise<{ readonly ref: string } | { readonly missing: string } | Problem> {
  const { run, remote, ledger } = publishing;
  const { id, paths, env, project, past } = run;
  if (isRechecked)
    return { missing: 'the run had checked other files with it; what is pushed was checked again' };
  const ref = proofRef(id);
  const tip = await remote.tip(ref);
  if (isProblem(tip)) return tip;
  const missing = tip === undefined ? undefined : await remote.bring([ref]);
  if (missing) return missing;
  const { stdout } = tip === undefined ? NOTHING : await own.objects.run(['log', '-1', '--format=%B', tip]);
  if (stdout.includes(`Proof-Of: ${commit}\n`)) return { ref };
  const world = { cwd: project.root, env };
  const bundle = writeBundle({ id, paths, version: VERSION, key: undefined, world });
  if (isProblem(bundle)) return { missing: bundle.what };
  const after = { mode: '100644', oid: own.writeBlob(Buffer.from(bundle.text)) };
  const tree = await own.treeWith(undefined, [{ bytes: PROOF_FILE, after }]);
  if (isProblem(tree)) return tree;
  const message = `Proof of ${id}\n\nProof-Of: ${commit}\n`;
  const parents = tip === undefined ? [] : [tip];
  const made = await own.commit({ tree, parents, message, date: past.time.latest });
  if (isProblem(made)) return made;
  const pushed = await ledger.act(
    { act: 'proof', what: ref },
    () => advance(remote, ref, made),
    () => ({}),
  );
  return isProblem(pushed) ? pushed : { ref };
}

const NOTHING = { stdout: '' };

export interface PullText {
  readonly title: string;
  readonly body: string;
}

export interface Opened {
  readonly pull: Pull;
  readonly outcome: 'opened' | 'updated' | 'unchanged';
}

/** The one that is open for this branch, or a new draft. */
export async function openOrUpdate(
  { forge, ledger, base, waits }: Publishing,
  branch: string,
  commit: string,
  { title, body }: PullText,
): Promise<Opened | ForgeProblem> {
  for (let attempt = 0; ; attempt++) {
    const there = await forge.findPull(branch);
    if (isProblem(there)) return there;
    if (there?.state === 'open') return update(forge, ledger, there, body);
    if (there && there.head === commit) return { pull: there, outcome: 'unchanged' };
    const pull = await ledger.act(
      { act: 'open', what: branch },
      () => forge.openPull({ title: defuseTitle(title), body, head: branch, base }),
      ({ number, address }) => ({ number, address }),
    );
    if (!isProblem(pull)) return { pull, outcome: 'opened' };
    if (!isWorthAsking(pull) || attempt >= MOST_TRIES) return pull;
    await pause(backOff(attempt), waits.stopping);
  }
}

/** It may be there all the same: ask before it is opened again. */
function isWorthAsking({ isUnsure, isStopped, status, what }: ForgeProblem): boolean {
  return !isStopped && (isUnsure === true || (status === 422 && /already exists/i.test(what)));
}

/** Where somebody has put other words, those stay. */
async function update(
  forge: Forge,
  ledger: ForgeLedger,
  there: Pull,
  body: string,
): Promise<Opened | ForgeProblem> {
  const { number, address } = there;
  const known = ledger.state();
  const isKnown = known.number === number && known.address === address;
  const note = () =>
    ledger.note({ type: 'forge', act: 'update', outcome: 'nothing-to-do', detail: '', number, address });
  const isOurs = there.body.replaceAll('\r\n', '\n').includes(markIn(body));
  if (!isOurs || same(there.body, body)) {
    if (!isKnown) note();
    return { pull: there, outcome: 'unchanged' };
  }
  const pull = await ledger.act(
    { act: 'update', what: String(number) },
    () => forge.updateBody(number, body),
    () => ({ number, address }),
  );
  return isProblem(pull) ? pull : { pull: { ...there, body }, outcome: 'updated' };
}

function markIn(body: string): string {
  return /<!-- ralph: [\w.-]+ -->/.exec(body)?.[0] ?? hiddenMark('none');
}

function same(one: string, other: string): boolean {
  const plain = (text: string) => text.replaceAll('\r\n', '\n').trim();
  return plain(one) === plain(other);
}

/** What a reviewer sees of it. */
export async function changedFiles(
  { run, base }: Publishing,
  { own }: ProvenWork,
  commit: string,
): Promise<readonly FileSum[] | Problem> {
  const ref = `refs/heads/${base}`;
  const from = await createIntegration(own, run.id).baseOf(ref, commit);
  if (isProblem(from))
    return {
      where: base,
      what: 'the remote has no such branch, or it has nothing in common with the work',
      fix: '--base BRANCH',
    };
  const { records } = await own.objects.list([
    'diff-tree',
    '-r',
    '-z',
    '--numstat',
    '--no-renames',
    from,
    commit,
  ]);
  return records.flatMap(line => {
    const [, added = '', removed = '', name = ''] = /^(\d+|-)\t(\d+|-)\t([\s\S]+)$/.exec(line) ?? [];
    return name === '' ? [] : [{ name, added: Number(added) || 0, removed: Number(removed) || 0 }];
  });
}
