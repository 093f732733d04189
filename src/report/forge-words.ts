/** What was done at the forge, in words: the one place for them. */
import type {
  ForgeAct,
  ForgeEnding,
  ForgeEvent,
  IssueWord,
  RoundReason,
} from '../domain/forge/forge-event.ts';
import type { ForgeState, IssueSaid, PullRequestState } from '../domain/forge/forge-state.ts';
import { listSome } from '../domain/text/feedback.ts';
import { commitPhrase, phrase, reasonPhrase } from './phrases.ts';
import type { Mark } from './style.ts';

type ShownEvent = Exclude<ForgeEvent, { readonly type: 'forge-started' }>;

export function forgeWords(event: ShownEvent): readonly [Mark, string] {
  switch (event.type) {
    case 'forge':
      return actWords(event);
    case 'forge-round':
      return ['retry', `${ROUNDS[event.why] ?? phrase(event.why)}${named(event.names)}: working on it again`];
    case 'forge-noted':
      return ['note', `Nothing of ours, ${phrase(event.what)}${named(event.names)}`];
    case 'forge-said':
      return ['note', `Said at issue #${event.issue}: ${saidWords(event)}`];
    case 'forge-ended':
      return [event.reason === 'needs_you' ? 'attention' : 'note', endingWords(event)];
    default:
      return event satisfies never;
  }
}

function named(names: readonly string[]): string {
  return names.length === 0 ? '' : `: ${phrase(listSome(names))}`;
}

const ROUNDS: Readonly<Record<RoundReason, string>> = {
  checks: 'Checks of the pull request are red',
  review: 'The review asks for changes',
  conflict: 'The pull request conflicts with its base',
  foreign: 'Somebody else has pushed to the branch',
};

const SAID: Readonly<Record<IssueWord, string>> = {
  started: 'that it is worked on',
  question: 'the question',
  link: 'where the pull request is',
  end: 'how it ended',
};

function saidWords({ what }: Pick<IssueSaid, 'what'>): string {
  return Object.hasOwn(SAID, what) ? SAID[what] : phrase(what);
}

/** What was said at its issue, each once, in one line; undefined: nothing. */
export function issueWords(said: readonly IssueSaid[]): string | undefined {
  const [first] = said;
  const words = [...new Set(said.map(saidWords))];
  return first && `Said at issue #${first.issue}: ${words.join(', ')}`;
}

const ACTS: Readonly<Record<ForgeAct, string>> = {
  push: 'Pushed the branch',
  proof: 'Pushed the proof',
  open: 'Opened a pull request',
  update: 'Updated the pull request',
  comment: 'Wrote the status comment',
  reply: 'Replied in the review',
  ready: 'Marked the pull request as ready',
  merge: 'Merged the pull request',
};

function actWords(event: ForgeEvent & { type: 'forge' }): readonly [Mark, string] {
  const { act, outcome, detail, address, commit } = event;
  const what = Object.hasOwn(ACTS, act) ? ACTS[act] : phrase(act);
  if (outcome === 'failed') return ['warning', `At the forge, ${phrase(act)} failed: ${phrase(detail)}`];
  if (outcome === 'nothing-to-do') return ['note', `${what}: nothing to do`];
  // That of a reply is a name of ours.
  const name = act === 'reply' ? '' : detail.replace(/^(?=\d+$)/, '#');
  const where = address ?? (commit === undefined ? name : `${name} ${commitPhrase(commit)}`);
  return ['note', where === '' ? what : `${what}: ${phrase(where)}`];
}

const ENDINGS: Readonly<Record<ForgeEnding, string>> = {
  pull_request_ready: 'The pull request is ready: its checks are green, and nobody asks for anything.',
  merged: 'The pull request is merged.',
  pull_request_closed: 'The pull request was closed.',
  needs_you: 'The pull request needs you.',
};

/** Ready, and not all green: what is red is so without it. */
const READY_BUT = 'The pull request is ready: nothing is red because of it, and nobody asks for anything.';

/** Without the detail. */
export function endingSentence({ reason, detail }: NonNullable<ForgeState['ended']>): string {
  if (reason === 'pull_request_ready' && detail !== '') return READY_BUT;
  return Object.hasOwn(ENDINGS, reason) ? ENDINGS[reason] : phrase(reason);
}

export function endingWords(ended: NonNullable<ForgeState['ended']>): string {
  const { detail } = ended;
  const sentence = endingSentence(ended);
  return detail === '' ? sentence : `${sentence} ${reasonPhrase(detail)}`;
}

/** Where it is and how it stands, in one line. */
export function pullRequestWords({ address, outcome }: PullRequestState): string {
  return `Pull request: ${phrase(address)}${outcome === null ? '' : ` (${phrase(outcome.replaceAll('_', ' '))})`}`;
}
