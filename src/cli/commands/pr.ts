/** `ralph pr`: a run that is proven becomes a draft pull request, which is followed until it is ready, merged, or needs somebody. */
import type { Command } from 'commander';
import { redChecks } from '../../domain/checks/check.ts';
import type { ForgeEnding } from '../../domain/forge/forge-event.ts';
import { type ExitCode, endingOf } from '../../domain/run/stop-reason.ts';
import { parseDuration } from '../../domain/text/duration.ts';
import type { Problem } from '../../domain/text/problem.ts';
import { createRedactor } from '../../domain/text/secrets.ts';
import type { UnitReading } from '../../fleet/reading.ts';
import { withoutToken } from '../../forge/address.ts';
import { firstOf, reopenRun } from '../../forge/again.ts';
import type { FollowRequest, FollowResult } from '../../forge/follow.ts';
import type { MergeMethod } from '../../forge/forge.ts';
import type { PullRequestRequest, PullRequestResult } from '../../forge/pull-request.ts';
import { endingWords, forgeWords } from '../../report/forge-words.ts';
import { phrase } from '../../report/phrases.ts';
import { loadState } from '../../store/checkpoint.ts';
import { type ProjectPaths, projectAt, runPaths } from '../../store/paths.ts';
import { answer, type Call, type CliCommand, orThrow, Problems, refuseInside } from '../command.ts';
import { createOutput } from '../output.ts';
import { collect } from '../set-up.ts';
import { untilStopped } from '../signals.ts';
import { startLoop } from '../start.ts';
import { unitSource } from '../unit-source.ts';
import { RUN_ARGUMENT, RUN_DATABASE, withRun } from '../which-run.ts';

const METHODS: readonly MergeMethod[] = ['merge', 'squash', 'rebase'];

/** What `ralph watch` takes as well. */
export function declareFollowing(command: Command): void {
  command
    .option('--base <branch>', 'the branch that it goes into; default: that of the repository')
    .option('--remote <name>', 'the remote that it is pushed to', 'origin')
    .option('--remote-changed', 'its address was changed by you: push to what it is now')
    .option(
      '--repo <owner/name>',
      'the repository at the forge; default: GITHUB_REPOSITORY, or that of the remote',
    )
    .option('--poll <time>', 'how often to look; a number is seconds', '30')
    .option('--ready', 'with --follow: mark it as ready for review when its checks are green')
    .option('--merge', 'with --follow: merge it when it is green, and approved where that is required')
    .option(`--merge-method <${METHODS.join('|')}>`, 'how', 'merge')
    .option('--ci-rounds <n>', 'how often each red check, or a conflict, is worked on', '2')
    .option('--review-rounds <n>', 'how often the words of a review, or pushes of others, are worked on', '5')
    .option('--listen-to <bot>', 'a bot whose words count as a review; may be given again', collect);
}

export const pr: CliCommand = {
  declare(command) {
    command
      .argument(...RUN_ARGUMENT)
      .option('--follow', 'stay: fix red checks, answer reviews, merge the base, until it is ready')
      .option(...RUN_DATABASE);
    declareFollowing(command);
  },
  help: `
Examples:
  ralph pr
  ralph pr 20261115-1203 --base develop
  ralph pr --follow --ready
  ralph pr --follow --merge --merge-method squash
  ralph pr UNIT                       # a unit of a fleet

Pushes what a proven run left, never by force, and opens a draft pull request,
or updates the one that is open for the branch. Its body says what shows each
acceptance criterion, and how to verify the proof, which is pushed with it.
The token is GH_TOKEN, GITHUB_TOKEN or that of \`gh\`; no agent and no check
gets it.
Exit code 0: it is there; with --follow: it is ready, or merged. 1: a check is
red, it was closed, or it needs you. 2: something you can fix, such as a run
that is not proven. 130: interrupted; the same command continues.
`,
  async run(call) {
    refuseInside('pr', call);
    const project = projectAt(call.cwd, call.env);
    return withRun(call, async ({ id, unit }) => {
      const { code, result, lines } = await openPullRequest(call, project, id, unit);
      answer(call.output, result, () => lines.join('\n'));
      return code;
    });
  },
};

export interface PullRequestEnd {
  readonly code: ExitCode;
  readonly result: PullRequestResult | FollowResult | { readonly problems: readonly Problem[] };
  readonly lines: readonly string[];
}

function openPullRequest(
  call: Call,
  project: ProjectPaths,
  id: string,
  unit?: UnitReading,
): Promise<PullRequestEnd> {
  const flags = followFlags(call);
  return untilStopped(async stopping => {
    const given = followRequest(call, project);
    const lost = new AbortController();
    const abort = AbortSignal.any([stopping, lost.signal]);
    const source = unit && unitSource(unit, { abort, say: given.say, lost: () => lost.abort() });
    const request = { ...given, id, abort, unit: source };
    return call.options.follow === true
      ? follow({ ...request, ...flags, again: () => workAgain(call, project, id) })
      : once(request);
  });
}

/** What both following a pull request and watching issues take from a call. `about`: what each line begins with. */
export function followRequest(
  call: Call,
  project: ProjectPaths,
  about = '',
): Omit<PullRequestRequest, 'abort' | 'id'> {
  const { env, options, output } = call;
  const text = (name: string) => (typeof options[name] === 'string' ? (options[name] as string) : undefined);
  const redact = createRedactor(env);
  const say = (line: string) => {
    if (!output.quiet) output.error(`${about}${redact(line)}\n`);
  };
  return {
    ...{ project, env, say },
    options: {
      ...{ remote: text('remote') ?? 'origin', repo: text('repo'), base: text('base') },
      remoteChanged: options.remoteChanged === true,
    },
    begins: command => say(`Checking what would be pushed: \`${command}\` …`),
    saw(event) {
      if (event.type === 'forge-started' || event.type === 'forge-ended' || event.type === 'forge-said')
        return;
      // What failed is said by whoever ends with it.
      const isNews = event.type !== 'forge' || (event.outcome === 'done' && event.act !== 'comment');
      if (isNews) say(`${forgeWords(event)[1]}.`);
    },
  };
}

async function once(request: PullRequestRequest): Promise<PullRequestEnd> {
  const { pullRequest } = await import('../../forge/pull-request.ts');
  const result = orThrow(await pullRequest(request));
  return { code: exitOf(result), result, lines: resultLines(result) };
}

function exitOf(result: PullRequestResult): ExitCode {
  if (result.outcome === 'interrupted') return 130;
  return result.outcome === 'red' || result.state === 'closed' ? 1 : 0;
}

function resultLines(result: PullRequestResult): readonly string[] {
  switch (result.outcome) {
    case 'interrupted':
      return ['Interrupted. The same command continues.'];
    case 'red':
      return [
        'Not pushed: these checks fail on what would be pushed.',
        ...redChecks(result.checks).map(({ command }) => `  \`${phrase(command)}\``),
      ];
    default: {
      const { address, state } = result;
      if (state !== 'open') return [`${phrase(address)} was ${state} already.`];
      return [phrase(address)];
    }
  }
}

const EXIT: Readonly<Record<ForgeEnding, ExitCode>> = {
  pull_request_ready: 0,
  merged: 0,
  pull_request_closed: 1,
  needs_you: 1,
};

async function follow(request: FollowRequest): Promise<PullRequestEnd> {
  const { followPullRequest } = await import('../../forge/follow.ts');
  const result = orThrow(await followPullRequest(request));
  const code = result.outcome === 'interrupted' ? 130 : EXIT[result.outcome];
  return { code, result, lines: followLines(result) };
}

function followLines(result: FollowResult): readonly string[] {
  if (result.outcome === 'interrupted') return ['Interrupted. The same command continues.'];
  const { outcome: reason, detail, address } = result;
  return [...(address === undefined ? [] : [phrase(address)]), endingWords({ reason, detail })];
}

/** Everything that is wrong with them at once. */
export function followFlags({ options }: Pick<Call, 'options'>) {
  const problems: Problem[] = [];
  const count = (flag: string, given: unknown) => {
    if (/^\d{1,3}$/.test(String(given))) return Number(given);
    problems.push({ where: `--${flag} ${String(given)}`, what: 'must be a whole number' });
    return 0;
  };
  const method = METHODS.find(each => each === (options.mergeMethod ?? 'merge'));
  if (!method)
    problems.push({
      where: `--merge-method ${String(options.mergeMethod)}`,
      what: `must be one of ${METHODS.join(', ')}`,
    });
  const seconds = parseDuration(String(options.poll ?? '30'));
  if (seconds === undefined || seconds <= 0)
    problems.push({ where: `--poll ${String(options.poll)}`, what: 'must be a time such as 30 or 2m' });
  for (const flag of ['ready', 'merge'])
    if (options[flag] === true && options.follow !== true)
      problems.push({ where: `--${flag}`, what: 'needs --follow: only then somebody sees its checks' });
  const terms = {
    ciRounds: count('ci-rounds', options.ciRounds ?? '2'),
    reviewRounds: count('review-rounds', options.reviewRounds ?? '5'),
    ready: options.ready === true,
    merge: options.merge === true,
    method: method ?? 'merge',
  };
  if (problems.length > 0) throw new Problems(problems);
  const listenTo = Array.isArray(options.listenTo) ? (options.listenTo as readonly string[]) : [];
  return { terms, listenTo, poll: (seconds ?? 30) * 1_000 };
}

/** The run continues with as many iterations as it was given at first; neither its agent nor its checks get the token. */
async function workAgain(
  call: Call,
  project: ProjectPaths,
  id: string,
): Promise<'proven' | 'stopped' | 'interrupted' | Problem> {
  const env = withoutToken(call.env);
  const opened = await reopenRun({ project, env, id });
  if (!('job' in opened)) return firstOf(opened, id);
  const { job, ready, resumed } = opened;
  const { root } = project;
  // The result of a round is no answer of this command.
  const output = call.output.json ? { ...createOutput(call.options, env), json: false } : call.output;
  const code = await startLoop(job, { ...call, env, output, cwd: root, root }, ready, { resumed });
  if (code === 130) return 'interrupted';
  return code === 0 ||
    endingOf(loadState(runPaths(project, id)).state.result?.stopReason ?? '').exitCode === 0
    ? 'proven'
    : 'stopped';
}

/** The flag of every loop. */
export const PR_FLAG = [
  '--pr',
  'when the run is proven, open a draft pull request for it: `ralph pr`',
] as const;

/** What follows a run with that flag, and the same call for its agent and its checks, which do not get the token. */
export function withPullRequest(call: Call) {
  if (call.options.pr !== true) return { call };
  const open = (project: ProjectPaths, id: string) => openPullRequest({ ...call, options: {} }, project, id);
  return { call: { ...call, env: withoutToken(call.env) }, proven: open };
}
