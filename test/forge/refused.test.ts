/** A forge that refuses, at each kind of request that the commands make: what passes is waited for, what stays is said, and nothing is done twice. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { agentOf, loopEnded } from '../rig/ended-run.ts';
import { createForge, type Fake, type Fault, TOKEN, word } from '../rig/forge.ts';
import { recordOf, runsOf } from '../rig/ledger.ts';
import { type RalphOptions, ralph } from '../rig/ralph.ts';
import { filesIn, type Repo, repo } from '../rig/repo.ts';

const TIME = { timeout: 480_000 };
const FILES = { 'README.md': '# test\n', '.gitignore': '.ralph/\n' };

const AGENT = `
prompt=$(cat)
echo new > new.txt
case "$prompt" in
  *"are red"*) echo fixed > fixed.txt;;
  *"reviewers ask"*) echo answered > answered.txt;;
esac`;

/** Whoever is asked repeats what was in the question. */
const message = `its own words, for ${TOKEN}`;
const PASSING: readonly Fault[] = [
  { status: 429, headers: { 'retry-after': '1' }, message },
  { status: 502, message },
  { close: true },
  { close: true, after: true },
  { status: 403, headers: { 'retry-after': '1' }, message },
  { status: 503, message, after: true },
  { status: 200, body: '{"number":', after: true },
  { status: 200, body: '<!doctype html>' },
];
const STAYING = [401, 403, 404, 410, 422, 409, 451].map(status => ({ status, message }));

/** `GET /pulls/:id`; of GraphQL nobody looks into the question. */
function kindOf(what: string): string {
  return what
    .replace(/\?.*/, '')
    .replace('/repos/octo/demo', '')
    .replace(/\/(\d+|[0-9a-f]{40})(?=\/|$)/g, '/:id')
    .replace(/(collaborators|labels)\/[^/]+/, '$1/:id');
}

/** Each kind of request is refused once: each time that nothing was refused yet since `next` was called. */
function refuseEach(
  { state }: Fake,
  faults: readonly Fault[],
  first: number,
  most = Number.POSITIVE_INFINITY,
) {
  const seen = new Map<string, Fault>();
  let left = most;
  state.arrives = (count, what) => {
    const kind = kindOf(what);
    const fault = faults[(first + seen.size) % faults.length];
    if (seen.has(kind) || left === 0 || !fault) return;
    left--;
    seen.set(kind, fault);
    state.faults.set(count, fault);
  };
  return {
    seen,
    next: () => {
      left = most;
    },
  };
}

function tokenIn(work: Repo): readonly string[] {
  const kept = runsOf(work).map(id => recordOf(work, id).folder);
  return [...kept, work.path('.ralph')].flatMap(filesIn).filter(file => readFileSync(file).includes(TOKEN));
}

interface Scene {
  readonly work: Repo;
  readonly forge: Fake;
  readonly args: readonly string[];
  /** What must have been done once. */
  outcome(): unknown;
  readonly once: unknown;
}

async function followed(): Promise<Scene> {
  const work = repo(FILES);
  const forge = await createForge(work);
  await loopEnded(work, { script: AGENT });
  forge.redWithout('fixed.txt');
  forge.state.threads.push(word('alice', 'rename this', { path: 'new.txt', line: 1 }));
  const outcome = () => ({
    ...{ ...forge.once('ralph/login'), comments: forge.state.comments.length },
    ...{ isMerged: forge.state.pulls[0]?.merged, tokens: tokenIn(work) },
  });
  const once = { pulls: [false], replies: 1, isPushedOnce: true, comments: 1, isMerged: true, tokens: [] };
  return { work, forge, args: ['pr', '--follow', '--merge', '--poll', '0.05'], outcome, once };
}

async function watched(): Promise<Scene> {
  const work = repo(FILES);
  const forge = await createForge(work);
  forge.issue(12, 'Make a file');
  const agent = ['--agent', agentOf(AGENT), '--check', 'test -f new.txt', '--max-iterations', '2'];
  const outcome = () => ({
    ...{ pulls: forge.state.pulls.length, runs: runsOf(work).length, spoken: forge.spoken(12) },
    ...{ labels: forge.labels(12), tokens: tokenIn(work) },
  });
  const spoken = ['working on', 'the pull', 'done'];
  const once = { pulls: 1, runs: 1, spoken, labels: ['ralph', 'ralph:done'], tokens: [] };
  return { work, forge, args: ['watch', '--once', '--poll', '0.05', ...agent], outcome, once };
}

const SCENES = [['pr', followed, 15] as const, ['watch', watched, 15] as const];

test.each(SCENES.flatMap(scene => [0, 3, 6].map(first => [...scene, first] as const)))(
  '%s: what passes is waited for (%#)',
  TIME,
  async (_, scene, most, first) => {
    const { work, forge, args, outcome, once } = await scene();
    const { seen } = refuseEach(forge, PASSING, first);
    // The first answer of all has to be that of a forge.
    seen.set('GET ', {});
    const { code, stdout, stderr } = await ralph(args, { cwd: work.dir, env: forge.env });
    const screen = stdout + stderr;
    expect([code, outcome()], screen).toEqual([0, once]);
    expect(screen).toMatch(
      /The forge at \S+: it answers with 50[23]\. Ralph (tries until it answers|looks whether)/,
    );
    expect([screen.includes(TOKEN), seen.size > most], [...seen.keys()].join('\n')).toEqual([false, true]);
  },
);

/** What is answered by a refusal, or is not needed. */
const NOT_NEEDED = /^GET \/(user|actions|check-runs)/;

test('pr: what stays is said, and the same command continues', TIME, async () => {
  const { work, forge, args, outcome, once } = await followed();
  const refusing = refuseEach(forge, STAYING, 0, 1);
  const options: RalphOptions = { cwd: work.dir, env: forge.env };
  const silent: string[] = [];
  let ended = await ralph(args, options);
  for (let starts = 0; starts < 40; starts++) {
    const [kind = '', fault] = [...refusing.seen].at(-1) ?? [];
    const screen = ended.stdout + ended.stderr;
    expect(screen).not.toContain(TOKEN);
    const isSaid = screen.includes(`answers with ${fault?.status}: its own words, for [redacted]`);
    if (!isSaid && !NOT_NEEDED.test(kind)) silent.push(`${kind} ${fault?.status} (${ended.code})\n${screen}`);
    if (isSaid && ended.code === 0) silent.push(`${kind} ${fault?.status}: exit code 0\n${screen}`);
    const before = refusing.seen.size;
    refusing.next();
    ended = await ralph(args, options);
    if (refusing.seen.size === before) break;
  }
  expect(silent).toEqual([]);
  expect([ended.code, outcome()], ended.stdout + ended.stderr).toEqual([0, once]);
});
