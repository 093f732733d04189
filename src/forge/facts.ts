/** What the forge and its repository say of a pull request now. */
import type { ForgeState } from '../domain/forge/forge-state.ts';
import type { BranchStand, ForgeFacts } from '../domain/forge/next.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { LAST_MARK } from '../report/pull-request.ts';
import { createIntegration } from '../workspace/integration.ts';
import type { OwnGit } from '../workspace/own-git.ts';
import type { ForwardRemote } from '../workspace/remote.ts';
import type { Author, CheckRun, Forge, Pull, Word } from './forge.ts';
import type { ForgeProblem } from './http.ts';

export interface Look {
  readonly forge: Forge;
  readonly remote: ForwardRemote;
  readonly own: OwnGit;
  readonly runId: string;
  readonly branch: string;
  readonly number: number;
  /** Bots whose words count. */
  readonly listenTo: readonly string[];
  state(): ForgeState;
  /** Whether this head was looked at before. */
  isKnown(head: string): boolean;
}

export interface Seen {
  readonly pull: Pull;
  readonly facts: ForgeFacts;
  readonly checks: readonly CheckRun[];
  readonly words: readonly Word[];
  /** Of those, what no round was made for. */
  readonly requests: readonly Word[];
  /** Words of people and bots that are not listened to. */
  readonly unheard: number;
  /** The name that Ralph has at the forge. */
  readonly me: string;
  readonly tip: string | undefined;
}

export async function lookAtPull(look: Look): Promise<Seen | Problem> {
  const { forge, number } = look;
  const pull = await forge.pull(number);
  if (isProblem(pull)) return pull;
  const tip = await look.remote.tip(`refs/heads/${look.branch}`);
  if (isProblem(tip)) return tip;
  const branch = pull.state === 'open' ? await standOf(look, pull, tip) : 'ours';
  if (isProblem(branch)) return branch;
  const checks = await forge.checks(pull.head);
  if (isProblem(checks)) return checks;
  const redOnBase = await redNames(forge, pull, checks);
  if (isProblem(redOnBase)) return redOnBase;
  const words = await forge.words(number);
  if (isProblem(words)) return words;
  const me = (await forge.me()) ?? pull.author;
  if (isProblem(me)) return me;
  const heard = await sortWords(look, words, me, pull.head);
  if (isProblem(heard)) return heard;
  const facts: ForgeFacts = {
    ...{ state: pull.state, isDraft: pull.isDraft, branch, isMergeable: pull.isMergeable },
    checks: checks.map(({ name, state }) => ({ name, state, redOnBase: redOnBase.has(name) })),
    isFresh: checks.length === 0 && !look.isKnown(pull.head),
    requests: heard.requests.map(({ id, author }) => ({ id, author })),
    ...{ isApproved: heard.isApproved, contestedBy: heard.contestedBy, isClear: pull.isClear },
  };
  return { pull, facts, checks, words, ...heard, me, tip };
}

async function standOf(
  { own, remote, runId, branch, state }: Look,
  { head }: Pull,
  tip: string | undefined,
): Promise<BranchStand | Problem> {
  const last = state().pushed.at(-1);
  if (tip === undefined || last === undefined) return 'rewritten';
  if (tip === last) return head === tip ? 'ours' : 'late';
  const missing = await remote.bring([`refs/heads/${branch}`]);
  if (missing) return missing;
  return (await createIntegration(own, runId).isAncestor(last, tip)) ? 'ahead' : 'rewritten';
}

/** Those of the base, where a check is red at all. */
async function redNames(
  forge: Forge,
  { baseCommit }: Pull,
  checks: readonly CheckRun[],
): Promise<ReadonlySet<string> | ForgeProblem> {
  if (baseCommit === '' || checks.every(({ state }) => state !== 'red')) return new Set();
  const there = await forge.checks(baseCommit);
  if (isProblem(there)) return there;
  return new Set(there.filter(({ state }) => state === 'red').map(({ name }) => name));
}

/** Ralph's own words have its name, and end with its mark: what is quoted in between may hold any. undefined: they are none. */
export function markOf({ text, author }: Word, me: string): string | undefined {
  return author === me ? LAST_MARK.exec(text)?.[1] : undefined;
}

export function isOwn(word: Word, me: string): boolean {
  return markOf(word, me) !== undefined;
}

async function sortWords(
  { forge, listenTo, state }: Look,
  words: readonly Word[],
  me: string,
  head: string,
): Promise<
  (Pick<Seen, 'requests' | 'unheard'> & Pick<ForgeFacts, 'isApproved' | 'contestedBy'>) | ForgeProblem
> {
  const { heard } = state();
  const requests: Word[] = [];
  const verdicts = new Map<string, Word['verdict']>();
  let unheard = 0;
  for (const word of words) {
    if (isOwn(word, me)) continue;
    const counts = await isHeard(forge, word, listenTo);
    if (isProblem(counts)) return counts;
    if (!counts) unheard++;
    else {
      // What was pushed after an approval nobody has approved.
      const isOld = word.verdict === 'approved' && word.commit !== head;
      if (word.verdict !== undefined && word.verdict !== 'other')
        verdicts.set(word.author, isOld ? 'other' : word.verdict);
      if (asksFor(word) && !heard.includes(word.id)) requests.push(word);
    }
  }
  const contestedBy = [...verdicts].filter(([, each]) => each === 'changes_requested').map(([who]) => who);
  return { requests, unheard, isApproved: [...verdicts.values()].includes('approved'), contestedBy };
}

/** People with write permission, and the bots that were named. */
export async function isHeard(
  forge: Pick<Forge, 'canWrite'>,
  by: Author,
  listenTo: readonly string[],
): Promise<boolean | ForgeProblem> {
  if (by.isBot) return isListenedTo(by, listenTo);
  return by.author === '' ? false : forge.canWrite(by.author);
}

function isListenedTo({ author }: Author, names: readonly string[]): boolean {
  const bare = author.replace(/\[bot\]$/, '');
  return names.some(name => name === author || name === bare);
}

/** An approval asks for nothing, whatever it says; a review without words is there for its threads. */
function asksFor({ verdict, text }: Word): boolean {
  if (verdict === 'approved') return false;
  return verdict === 'changes_requested' || text.trim() !== '';
}
