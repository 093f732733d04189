/** `ralph pr`: a proven run becomes one draft pull request, which carries its proof. */

import type { CheckResult } from '../domain/checks/check.ts';
import { shownCriteria } from '../domain/forge/criteria.ts';
import type { ForgeEvent } from '../domain/forge/forge-event.ts';
import { issueTextIn } from '../domain/forge/prompt.ts';
import { readList, type StoryList } from '../domain/stories/story.ts';
import { listSome } from '../domain/text/feedback.ts';
import { formatProblem, isProblem, type Problem } from '../domain/text/problem.ts';
import { hideTokens } from '../domain/text/secret-formats.ts';
import { createRedactor, type Redact } from '../domain/text/secrets.ts';
import { type EndedRun, readEnded } from '../opening/leavings.ts';
import type { CheckWatch } from '../opening/merged-checks.ts';
import { readTask } from '../opening/reopen.ts';
import { patientRemote } from '../parallel/patient-remote.ts';
import { tryTo } from '../platform/files.ts';
import type { Env } from '../platform/git.ts';
import { joinWords } from '../platform/shell.ts';
import { pullRequestBody } from '../report/pull-request.ts';
import type { Message } from '../store/inbox.ts';
import { readStories } from '../store/kept.ts';
import type { ProjectPaths } from '../store/paths.ts';
import type { RunCopy } from '../store/run-store.ts';
import { withLock } from '../workspace/lock.ts';
import { readSettings } from '../workspace/own-folder.ts';
import { type OwnGit, openOwnGit } from '../workspace/own-git.ts';
import { type ForwardRemote, openRemote } from '../workspace/remote.ts';
import { type ForgePlace, findPlace, findToken, isBranchName, withoutToken } from './address.ts';
import type { Forge, Pull } from './forge.ts';
import { createGitHub } from './github.ts';
import { createHttp, createMemory, type ForgeMemory, type HttpOptions, LONGEST_AWAY } from './http.ts';
import { type ForgeLedger, openForgeLedger } from './ledger.ts';
import {
  changedFiles,
  type ForeignWork,
  type MarkedWork,
  openOrUpdate,
  type Publishing,
  proofRef,
  pushBranch,
  pushProof,
} from './publish.ts';
import { findUnitWork, findWork, type ProvenWork, standOnPushed, whyNotProven } from './work.ts';

export interface PullRequestOptions {
  readonly remote: string;
  readonly repo?: string | undefined;
  readonly base?: string | undefined;
  /** The user says that the address which the remote has now is meant, whatever is on record. */
  readonly remoteChanged?: boolean | undefined;
}

/** What the last worker of a unit has put at the remote: commits, and the names that they have beside its branch. */
export interface UnitWork {
  readonly head: string | null;
  readonly ref: string;
  /** What its next worker begins with. */
  readonly carry: string | null;
  readonly carryRef: string;
  /** The name for another one. */
  readonly nextRef: string;
}

/** A unit that is over, as it was copied to this machine. */
export interface UnitSource {
  /** Where the copy is. */
  readonly project: ProjectPaths;
  /** The branch that it has at the remote. */
  readonly branch: string;
  /** A worker can work on it again. */
  readonly isContinued: boolean;
  work(): UnitWork;
  /** Where its next lines go as well. */
  copy(): RunCopy;
  /** Waits until nobody works on it, and reads what was done; false: stopped before. */
  untilOver(): Promise<boolean>;
  /** Lets it be worked on again with this. Returns why not. */
  reopen(messages: readonly Message[]): Promise<Problem | undefined>;
}

export interface PullRequestRequest extends CheckWatch {
  readonly project: ProjectPaths;
  readonly env: Env;
  readonly id: string;
  readonly options: PullRequestOptions;
  /** Where it is a unit of a fleet. */
  readonly unit?: UnitSource | undefined;
  /** That of whoever watches, and follows this as well. */
  readonly memory?: ForgeMemory;
  say(text: string): void;
  /** Sees what is done at the forge, once it is on the ledger. */
  saw(event: ForgeEvent): void;
}

/** How `ralph pr` came out. */
export type PullRequestResult = { readonly runId: string } & (
  | (Published & { readonly outcome: 'opened' | 'updated' | 'unchanged' })
  | { readonly outcome: 'red'; readonly checks: readonly CheckResult[] }
  | { readonly outcome: 'interrupted' }
);

export interface Published {
  readonly number: number;
  readonly address: string;
  readonly state: Pull['state'];
  readonly draft: boolean;
  readonly branch: string;
  readonly base: string;
  readonly commit: string;
  /** The ref that holds the bundle; null: there is none. */
  readonly proof: string | null;
}

export async function pullRequest(request: PullRequestRequest): Promise<PullRequestResult | Problem> {
  const { id: runId } = request;
  const run = readProven(request);
  if (isProblem(run)) return run;
  const access = await openAccess(request);
  if (request.abort.aborted) return { runId, outcome: 'interrupted' };
  if (isProblem(access)) return access;
  const ledger = await openLedger(request, access);
  if (isProblem(ledger)) return ledger;
  try {
    const done = await publish(request, access, run, ledger);
    if (request.abort.aborted) return { runId, outcome: 'interrupted' };
    if (isProblem(done)) return done;
    if ('red' in done) return { runId, outcome: 'red', checks: done.red };
    if ('marks' in done) return { where: runId, what: marksWords(done) };
    if ('foreign' in done) return foreignProblem(done);
    return { runId, outcome: done.outcome, ...done.published };
  } finally {
    await ledger.close();
  }
}

export function marksWords({ marks }: MarkedWork): string {
  return `Conflict marks are still in ${listSome(marks)}.`;
}

function foreignProblem({ foreign, branch }: ForeignWork & { readonly branch: string }): Problem {
  const what = `somebody else has pushed ${foreign.slice(0, 12)} to it, and Ralph never pushes by force`;
  return { where: branch, what, fix: '`ralph pr --follow` takes it in' };
}

function readProven(request: PullRequestRequest): EndedRun | Problem {
  const run = readRun(request);
  if (isProblem(run)) return run;
  return whyNotProven(request.id, run.past.result) ?? run;
}

/** As agents and checks may see it: the token is not theirs. */
export function readRun({ project, env, id, unit }: PullRequestRequest): EndedRun | Problem {
  const run = readEnded({ project: unit?.project ?? project, env: withoutToken(env), id });
  if (isProblem(run)) return run;
  const isOfSession = run.file.command === 'session' && !run.past.prepared?.start;
  return isOfSession ? ofSession(id) : { ...run, project };
}

/** Its host has driven it from the start: Ralph has not seen the files before. */
function ofSession(id: string): Problem {
  const what =
    'it was the loop of a session, and gets no pull request: which files are its work is not on record';
  return { where: id, what, fix: 'commit the work and push it yourself' };
}

/** The way to the forge and to its repository. */
export interface Access {
  readonly forge: Forge;
  readonly place: ForgePlace;
  /** Of the project. */
  readonly own: OwnGit;
  readonly remote: ForwardRemote;
  /** Its address. */
  readonly url: string;
  readonly base: string;
  readonly waits: HttpOptions & { readonly memory: ForgeMemory };
  /** With the token, for whatever must not show it. */
  readonly secrets: Env;
  /** For whatever is written there. */
  readonly redact: Redact;
}

export async function openAccess({
  project,
  env,
  options,
  abort,
  say,
  memory = createMemory(),
}: Pick<PullRequestRequest, 'project' | 'env' | 'options' | 'abort' | 'say' | 'memory'>): Promise<
  Access | Problem
> {
  const { remote: name, repo } = options;
  const wrong = wrongNames(options);
  if (wrong) return wrong;
  const own = await openOwnGit({ cwd: project.root, env: withoutToken(env) });
  if (isProblem(own)) return own;
  const url = await addressOf(own, options);
  if (isProblem(url)) return url;
  if (options.remoteChanged) say(`The remote ${name} is ${shownAddress(url)} now.`);
  const place = findPlace(repo, url, name, env);
  if (isProblem(place)) return place;
  const token = await findToken(place.host, project.root, env);
  if (isProblem(token)) return token;
  const waits = { base: place.base, token, stopping: abort, say, memory };
  const forge = createGitHub(place, createHttp(waits));
  const base = options.base ?? (await forge.defaultBranch());
  if (isProblem(base)) return base;
  if (!isBranchName(base)) return { where: 'the base', what: 'is no name of a branch', fix: '--base BRANCH' };
  const reached = await openRemote(own, env, url, abort, { host: place.host, token });
  const remote = patientRemote(reached, {
    stopping: abort,
    longest: LONGEST_AWAY,
    fix: `look at its address (\`git remote get-url ${name}\`), and at whether the token, or your key, may read and write there`,
    waits: problem => say(`The remote: ${formatProblem(problem)}. Ralph tries until it answers.`),
  });
  const secrets = { ...env, GH_TOKEN: token };
  return { forge, place, own, remote, url, base, waits, secrets, redact: createRedactor(secrets) };
}

/** An agent can write the address of a remote: one that differs from what is on record is pushed to when the user says so. */
async function addressOf(
  own: OwnGit,
  { remote: name, remoteChanged }: PullRequestOptions,
): Promise<string | Problem> {
  const { repository } = own;
  const settings = (await readSettings(repository)).map(({ key, value }) => [key, value] as const);
  const addressIn = (all: readonly (readonly [string, string])[]) => {
    const found = new Map(all);
    return found.get(`remote.${name}.pushurl`) ?? found.get(`remote.${name}.url`);
  };
  const now = addressIn(settings);
  const known = addressIn(repository.remotes);
  const url = remoteChanged ? now : known;
  if (url !== undefined && (url === now || remoteChanged)) return url;
  if (now === undefined && known === undefined)
    return {
      where: '--remote',
      what: `there is no remote ${name}`,
      fix: `\`git remote add ${name} ADDRESS\`, then the same command with --remote-changed`,
    };
  if (now === undefined && known !== undefined)
    return {
      where: '--remote',
      what: `there is no remote ${name} any more; it was ${shownAddress(known)} when the last run in this folder itself began`,
      fix: `if it was you: --remote NAME --remote-changed with the name of another one; \`${joinWords(['git', 'remote', 'add', name, shownAddress(known)])}\` goes back`,
    };
  const [was, is] = [known, now].map(each => (each === undefined ? 'not there' : shownAddress(each)));
  const push = settings.some(([key]) => key === `remote.${name}.pushurl`) ? ['--push'] : [];
  const back = `; \`${joinWords(['git', 'remote', 'set-url', ...push, name, was ?? ''])}\` goes back`;
  return {
    where: `remote ${name}`,
    what: `it is ${is} now, and was ${was} when the last run in this folder itself began. An agent could have changed it, so nothing is pushed`,
    fix: `if it was you, the same command with --remote-changed pushes to what it is now${known === undefined ? '' : back}`,
  };
}

/** Without who may go there. */
function shownAddress(url: string): string {
  return hideTokens(url.replace(/^([a-z][\w+.-]*:\/\/)[^/]*@/i, '$1'));
}

function wrongNames({ remote, base }: PullRequestOptions): Problem | undefined {
  const what = 'is no name of a branch';
  if (base !== undefined && !isBranchName(base)) return { where: `--base ${base}`, what };
  if (/^[A-Za-z0-9][\w./-]{0,99}$/.test(remote)) return undefined;
  return { where: `--remote ${remote}`, what: 'is no name of a remote', fix: '`git remote` lists them' };
}

/** Of two that try at the same time one gets it. */
export function openLedger(
  request: PullRequestRequest,
  { secrets }: Pick<Access, 'secrets'>,
): Promise<ForgeLedger | Problem> {
  const { id, saw, unit } = request;
  const project = unit?.project ?? request.project;
  const run = readRun(request);
  if (isProblem(run)) return Promise.resolve(run);
  return withLock(run.paths.state.lock, async () => {
    const now = readRun(request);
    return isProblem(now)
      ? now
      : openForgeLedger({ project, id, env: secrets, past: now.past, copy: unit?.copy() }, saw);
  });
}

export interface Done {
  readonly outcome: 'opened' | 'updated' | 'unchanged';
  readonly published: Published;
  readonly work: ProvenWork;
}

export async function publish(
  request: PullRequestRequest,
  access: Access,
  run: EndedRun,
  ledger: ForgeLedger,
): Promise<
  | Done
  | { readonly red: readonly CheckResult[] }
  | MarkedWork
  | (ForeignWork & { readonly branch: string; readonly work: ProvenWork })
  | Problem
> {
  const { base } = access;
  const work = request.unit
    ? await findUnitWork(run, request.unit, access)
    : await findWork(run, { base, remote: request.options.remote }, request);
  if (isProblem(work) || 'red' in work) return work;
  const { branch } = work;
  const wrong = wrongBranch(branch, base);
  if (wrong) return wrong;
  const publishing: Publishing = { ...access, run, ledger, remoteName: request.options.remote };
  const over = await overAlready(publishing, work);
  if (over) return over;
  const missing = await access.remote.bring([`refs/heads/${base}`]);
  if (missing) return missing;
  const nowhere = await missingBase(access, request.options.remote);
  if (nowhere) return nowhere;
  const commit = await pushBranch(publishing, work);
  if (typeof commit !== 'string')
    return isProblem(commit) || 'marks' in commit ? commit : { ...commit, branch, work };
  const unmoved = commit === work.commit ? undefined : await standOnPushed(run, work, commit);
  if (unmoved) return unmoved;
  const proof = await pushProof(publishing, work, commit);
  if (isProblem(proof)) return proof;
  const files = await changedFiles(publishing, work, commit);
  if (isProblem(files)) return files;
  const text = textOf(publishing, { commit, proof, files });
  const opened = await openOrUpdate(publishing, branch, commit, text);
  if (isProblem(opened)) return opened;
  const { pull, outcome } = opened;
  const ref = 'ref' in proof ? proof.ref : null;
  return { outcome, work, published: { ...shownPull(pull), branch, base, commit, proof: ref } };
}

async function missingBase({ own, base }: Access, remote: string): Promise<Problem | undefined> {
  const ref = `refs/heads/${base}`;
  if ((await own.objects.run(['rev-parse', '--verify', '--quiet', ref])).code === 0) return undefined;
  return {
    where: `the base ${base}`,
    what: 'the remote has no such branch',
    fix: `another one: --base BRANCH; this one: \`${joinWords(['git', 'push', remote, base])}\``,
  };
}

function shownPull({ number, address, state, isDraft: draft }: Pull) {
  return { number, address, state, draft };
}

/** It was merged or closed, perhaps with its branch: what is in it is not pushed again. */
async function overAlready(
  { forge, ledger, base, run }: Publishing,
  work: ProvenWork,
): Promise<Done | Problem | undefined> {
  const { number, pushed } = ledger.state();
  const last = pushed.at(-1);
  if (number === undefined || last === undefined) return undefined;
  const pull = await forge.pull(number);
  if (isProblem(pull)) return pull;
  if (pull.state === 'open') return undefined;
  const [ours, there] = [await work.own.treeOf(work.commit), await work.own.treeOf(last)];
  if (last !== work.commit && ours !== there) return undefined;
  const { branch } = work;
  const published = { ...shownPull(pull), branch, base, commit: last, proof: proofRef(run.id) };
  return { outcome: 'unchanged', work, published };
}

function wrongBranch(branch: string, base: string): Problem | undefined {
  if (!isBranchName(branch)) return { where: branch, what: 'is no name for a branch at a forge' };
  if (branch !== base) return undefined;
  return { where: branch, what: 'is the branch that it would go into', fix: '--base ANOTHER' };
}

function textOf(
  { run, remoteName: remote, redact }: Publishing,
  { commit, proof, files }: Pick<Parameters<typeof pullRequestBody>[0], 'commit' | 'proof' | 'files'>,
) {
  const { past, paths, title, file } = run;
  const { result, head } = past;
  if (!result) throw new Error('a run without a result gets no pull request');
  const list = listOf(run);
  const read = list ? undefined : readTask(paths);
  const asked = typeof read === 'string' ? read : undefined;
  const task = asked !== undefined && file.given?.issue ? issueTextIn(asked) : asked;
  const reviewer =
    result.stories?.roles?.find(({ role }) => role === 'reviewer')?.agent ?? head?.agent ?? 'an agent';
  const criteria = shownCriteria({ task, list, reviewer }, result);
  const body = pullRequestBody({ result, head, task, criteria, files, commit, remote, proof });
  return { title: redact(title), body: redact(body) };
}

/** As Ralph has it. */
function listOf({ past, paths }: EndedRun): StoryList | undefined {
  const text = past.stories && readStories(paths, past.stories.hash);
  const list = text === undefined ? undefined : readList(tryTo(() => JSON.parse(text) as unknown));
  return list && 'userStories' in list ? list : undefined;
}
