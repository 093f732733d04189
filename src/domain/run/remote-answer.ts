/** What is done when a remote repository refuses: the one place that reads git's words about it. */
import { isProblem, type Problem } from '../text/problem.ts';
import { hideTokens } from '../text/secret-formats.ts';
import { visible } from '../text/visible.ts';

export type RemoteAnswer =
  /** It is away, busy or full: the same may work later. */
  | 'wait'
  /** Somebody else has moved what was to be moved. */
  | 'rebuild'
  /** It does not want this, and will not a moment later. */
  | 'stop';

export interface RemoteProblem extends Problem {
  readonly answer: RemoteAnswer;
}

/** `mute`: what to say where git said nothing. */
export function remoteProblem(where: string, output: string, mute: string): RemoteProblem {
  return { where, what: remoteWords(output) || mute, answer: answerTo(output) };
}

/** Of a problem in which no remote has a part it is false. */
export function isRefusal(value: unknown): value is RemoteProblem {
  return isProblem(value) && 'answer' in value;
}

/** A push that arrived, and what became of it: ` ! [remote rejected] HEAD -> main (hook declined)`. */
const REJECTED = /^ ! \[(remote )?(?:rejected|failure|no match)\].*\((.*)\)$/m;

/** The reasons that git itself gives come before what a server prints, which may be anything. */
export function answerTo(output: string): RemoteAnswer {
  const [, isRemote, reason = ''] = REJECTED.exec(output) ?? [];
  if (reason === '') return find(REACHED, output) ?? 'wait';
  if (MOVED.test(reason)) return 'rebuild';
  if (isRemote && /failed to update ref|unpacker error/.test(reason)) return find(WRITTEN, output) ?? 'wait';
  return 'stop';
}

const MOVED =
  /fetch first|non-fast-forward|stale info|needs force|incorrect old value|already exists|^remote ref updated/;

type Rows = readonly (readonly [RegExp, RemoteAnswer])[];

/** The remote took the objects and could not write them, or not move the name. */
const WRITTEN: Rows = [
  [/is at [0-9a-f]+ but expected|reference already exists/, 'rebuild'],
  [/no space left|quota exceeded|\.lock': File exists/i, 'wait'],
  [/maximum allowed size|exists; cannot create|permission denied|insufficient permission/i, 'stop'],
];

/** It was not spoken to at all, or only until it knew who asked. */
const REACHED: Rows = [
  [/no space left|quota exceeded/i, 'wait'],
  [/returned error: (429|5\d\d)|HTTP (429|5\d\d)/, 'wait'],
  [/authentication failed|could not read (username|password)|terminal prompts disabled/i, 'stop'],
  [/permission denied|permission to \S+ denied|access denied|returned error: 4\d\d|HTTP 4\d\d/i, 'stop'],
  [/repository not found|repository '.*' not found|project you were looking for could not be found/i, 'stop'],
  [/couldn't find remote ref|not our ref|no such ref/i, 'stop'],
  [/host key verification failed|dubious ownership|certificate (problem|has expired|verif)/i, 'stop'],
  [/shallow update not allowed|source repository is shallow/i, 'stop'],
];

function find(rows: Rows, output: string): RemoteAnswer | undefined {
  return rows.find(([sign]) => sign.test(output))?.[1];
}

const LONGEST = 600;

/** The remote's own words first, then what git makes of them; without advice for whoever sits at a terminal. */
function remoteWords(output: string): string {
  const lines = visible(output)
    .split('\n')
    .map(line => line.trim());
  const said = lines.flatMap(line => /^remote:\s*(\S.*)$/.exec(line)?.[1] ?? []);
  const rest = lines.filter(
    line => /^! \[|^(fatal|error):/.test(line) && !/failed to push some refs/.test(line),
  );
  return hideTokens([...new Set([...said, ...rest])].join('; ')).slice(0, LONGEST);
}
