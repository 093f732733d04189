/** Puts work into the fleet: where it comes from, what it needs, and that nothing secret travels with it. */
import { randomBytes } from 'node:crypto';
import { defined } from '../domain/text/fields.ts';
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { hideTokens } from '../domain/text/secret-formats.ts';
import { createRedactor, redactDeep } from '../domain/text/secrets.ts';
import type { Env } from '../platform/git.ts';
import { sha256 } from '../platform/hash.ts';
import { reachingGit } from '../workspace/remote.ts';
import type { Database } from './database.ts';
import { openQueues } from './lease.ts';
import { FLEET_VERSION } from './migrations.ts';
import { isAddress, queueOf, type Unit, type UnitConfig, type UnitState } from './unit.ts';
import { addUnit, findLike, type NewUnit, unitOf } from './units.ts';

export interface Submission extends Omit<NewUnit, 'id' | 'parent' | 'minVersion' | 'likeness'> {
  /** The same list once more, beside the one that is there. */
  readonly again: boolean;
  /** The only one that it may have; else it gets a new one. */
  readonly id?: string;
}

export interface Submitted {
  readonly unit: string;
  /** What the same list stands at that was submitted before; absent: it is a new one. */
  readonly before?: UnitState;
}

/** A list that is there already, or was done, is not there twice: each of its stories would be paid for twice. */
export async function submitUnit(
  database: Database,
  { again, id: own, ...submission }: Submission,
  now: Date,
): Promise<Submitted | Problem> {
  const { budget, depends } = submission;
  if (budget !== null) {
    const { rowCount } = await database.query('select 1 from ralph.budget where id = $1', [budget]);
    if (rowCount === 0)
      return {
        where: `--budget ${budget}`,
        what: 'there is no such budget',
        fix: `\`ralph fleet budget ${budget} 50\` makes one of 50 dollars`,
      };
  }
  for (const other of depends) {
    const { rowCount } = await database.query('select 1 from ralph.unit where id = $1', [other]);
    if (rowCount === 0)
      return {
        where: `--after ${other}`,
        what: 'there is no such unit',
        fix: '`ralph fleet status` lists them',
      };
  }
  const { kind, repoUrl, base, config } = submission;
  const likeness = kind === 'prd' && !again ? sha256(JSON.stringify([repoUrl, base, config])) : undefined;
  const unit = { ...submission, ...defined({ likeness }), minVersion: FLEET_VERSION };
  if (queueOf(unit).length > 200) return { where: '--need', what: 'these are too many words' };
  await openQueues(database, unit);
  for (;;) {
    const stamp = now.toISOString().replace(/[-:]/g, '').replace('T', '-').slice(0, 15);
    const id = own ?? `${stamp}-${randomBytes(3).toString('hex').slice(0, 5)}`;
    const isAdded = await database.transaction(tx => addUnit(tx, { ...unit, id, parent: null }));
    if (isAdded) return { unit: id };
    const like = own === undefined ? await findLike(database, likeness) : await unitOf(database, own);
    if (like) return { unit: like.id, before: like.state };
  }
}

/** F5: what is in the database is read by everybody in the fleet. */
export function checkRepoUrl(url: string, where = '--repo'): Problem | undefined {
  if (!isAddress(url))
    return {
      where,
      what: 'it is no address that a worker may be given',
      fix: 'name the repository itself, without ..',
    };
  const isPlain = !/^[a-z][\w+.-]*:\/\/[^/@]*:[^/@]*@/i.test(url) && hideTokens(url) === url;
  if (isPlain) return undefined;
  const what = 'there is a password in it, and everybody in the fleet reads it';
  return { where, what, fix: 'leave it out: each worker has its own way to reach the repository' };
}

/** What is in the database is read by everybody in the fleet, and by every worker. */
export function secretIn(config: UnitConfig, env: Env): Problem | undefined {
  if (JSON.stringify(redactDeep(config, createRedactor(env))) === JSON.stringify(config)) return undefined;
  const what = 'there is a secret of your environment in it, and units hold none';
  return {
    where: 'the task or a flag',
    what,
    fix: 'let the command read it from the environment of the worker',
  };
}

export type Source = Pick<Unit, 'repoUrl' | 'base'>;

/** The remote of the project and the commit to start from, which must be there. */
export async function sourceOf(
  root: string,
  env: Env,
  wanted: { repo?: string; base?: string },
): Promise<Source | Problem> {
  const git = reachingGit(root, env);
  const below = (await git.run(['rev-parse', '--show-prefix'])).stdout.trim();
  if (below !== '') {
    const what = `the project is the folder ${below} of its repository, and workers work at the top of a repository`;
    return {
      where: root,
      what,
      fix: 'have .ralph/ and the story list at the top, or submit a repository of its own',
    };
  }
  const origin = await git.run(['config', '--get', 'remote.origin.url']);
  const repoUrl = wanted.repo ?? (origin.code === 0 ? origin.stdout.trim() : '');
  if (repoUrl === '') {
    const what = 'the project has no remote called origin, and work travels by git';
    return { where: root, what, fix: '--repo URL names a repository that all workers can reach' };
  }
  const secret = checkRepoUrl(repoUrl);
  if (secret) return secret;
  const head = await git.run(['rev-parse', '--verify', '--quiet', `${wanted.base ?? 'HEAD'}^{commit}`]);
  if (head.code !== 0) return { where: wanted.base ?? 'HEAD', what: 'there is no such commit here' };
  const base = head.stdout.trim();
  const missing = await notThere(git, repoUrl, base);
  return isProblem(missing) ? missing : { repoUrl, base };
}

/** A file as the commit has it, which is what travels: a link in it leads nowhere. */
export async function textAt(
  git: { run(args: readonly string[]): Promise<{ code: number; stdout: string }> },
  commit: string,
  path: string,
): Promise<string | Problem> {
  const { code, stdout } = await git.run(['cat-file', 'blob', `${commit}:${path}`]);
  if (code === 0) return stdout;
  const what = `the commit ${commit.slice(0, 10)} has no such file`;
  return { where: path, what, fix: '`git add`, `git commit` and `git push` it first' };
}

async function notThere(
  git: ReturnType<typeof reachingGit>,
  url: string,
  base: string,
): Promise<Problem | undefined> {
  const { code, stdout, output } = await git.run(['ls-remote', '--quiet', '--', url, 'refs/heads/*']);
  if (code !== 0) return { where: url, what: `it cannot be reached: ${output.trim().split('\n').at(-1)}` };
  const tips = stdout
    .split('\n')
    .map(line => line.split('\t')[0] ?? '')
    .filter(Boolean);
  for (const tip of tips) {
    if (tip === base) return undefined;
    if ((await git.run(['merge-base', '--is-ancestor', base, tip])).code === 0) return undefined;
  }
  return {
    where: base.slice(0, 10),
    what: `the commit is not in ${url} yet, so no worker could start from it`,
    fix: '`git push` first',
  };
}
