/** A fleet for a test: a remote repository, whoever submits, and workers that are processes of their own with homes of their own. */
import { execFileSync } from 'node:child_process';
import { constants, existsSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { onTestFinished, vi } from 'vitest';
import { ralph } from './commands.ts';
import type { LaneRig } from './lanes.ts';
import { type RalphOptions, type Running, startRalph } from './ralph.ts';
import { folder, type Repo, repo } from './repo.ts';
import { scriptedClaude } from './scripted-claude.ts';

/** Where a worker runs: here, unless it says otherwise. */
export interface Machine {
  readonly prefix?: readonly string[];
  readonly bin?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Writes what belongs into the home of its user, and answers what the environment has to say of it. */
  readonly furnish?: (home: string) => Readonly<Record<string, string>>;
}

export interface Gate {
  readonly path: string;
  /** Whoever waits reads this. */
  open(text?: string): void;
}

interface FleetTurn {
  readonly cwd: string;
  readonly pid: number;
}

export interface FleetRig {
  readonly remote: Repo;
  readonly project: Repo;
  /** What the agent does in its n-th turn at all, as a shell script; later ones do what the last does. */
  does(...scripts: readonly string[]): void;
  /** Turns so far, by the folder of the worker. */
  turns(): readonly FleetTurn[];
  submit(...args: readonly string[]): Promise<string>;
  worker(name: string, ...args: readonly string[]): Running;
  workerOn(machine: Machine, name: string, ...args: readonly string[]): Running;
  fleet(...args: readonly string[]): Promise<string>;
  units(): Promise<readonly Record<string, unknown>[]>;
  sql(text: string, ...params: readonly unknown[]): Promise<readonly Record<string, unknown>[]>;
  /** Resolves when it holds. */
  until(what: string, holds: () => unknown): Promise<void>;
  /** Resolves when the unit is in this state. */
  untilState(unit: string, state: string): Promise<void>;
  /** A named pipe in the folder of the agent: whoever reads from it waits until it is opened. */
  gate(name: string): Gate;
  /** Whether the agent or a check has come to this place: `touch "$FLEET_AGENT/name"`. */
  reached(name: string): boolean;
  readonly env: Readonly<Record<string, string>>;
  /** Those of whoever submits. */
  readonly options: RalphOptions;
}

/** A machine whose home is known: another worker, or a command, can run on it later. */
export function ownHome() {
  let home = '';
  const furnish = (made: string) => {
    home = made;
    return {};
  };
  return {
    machine: { furnish } satisfies Machine,
    homeOf: () => ({ HOME: home, XDG_STATE_HOME: join(home, 'state'), XDG_CACHE_HOME: join(home, 'cache') }),
  };
}

/** `database`: the URL. `lanes`: a project with stories, and the agent for them. `more`: for the environment of everybody. */
export function fleetRig(
  database: string,
  lanes?: LaneRig,
  more: Readonly<Record<string, string>> = {},
): FleetRig {
  const remote = folder('ralph-remote-');
  remote.git('init', '--quiet', '--bare', '--initial-branch', 'main');
  const project = lanes?.project ?? repo();
  project.git('remote', 'add', 'origin', remote.dir);
  project.git('push', '--quiet', 'origin', 'main');
  const { orders, bin, turns } = scriptedClaude<FleetTurn>('fleet-agent.mjs');
  const env: Readonly<Record<string, string>> = {
    IS_SANDBOX: '1',
    FLEET_AGENT: orders,
    RALPH_DATABASE_URL: database,
    ...lanes?.options.env,
    ...more,
  };
  const options: RalphOptions = { cwd: project.dir, path: lanes?.options.path ?? [bin], env };
  const fleet = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await ralph(['fleet', ...args], options);
    if (code !== 0) throw new Error(`ralph fleet ${args.join(' ')}: ${code}\n${stdout}${stderr}`);
    return stdout;
  };
  const sql = createSql(database);
  const workerOn: FleetRig['workerOn'] = ({ furnish, env: own, ...how }, name, ...args) => {
    const { dir: home } = folder(`ralph-worker-${name}-`);
    const furnished = furnish?.(home);
    const homes = { HOME: home, XDG_STATE_HOME: join(home, 'state'), XDG_CACHE_HOME: join(home, 'cache') };
    const started = startRalph(['worker', '--name', name, '--sandbox', 'none', ...args], {
      ...options,
      ...how,
      env: { ...env, ...homes, ...furnished, ...own },
    });
    onTestFinished(async () => {
      started.process.kill('SIGCONT');
      started.process.kill('SIGKILL');
      await started.finished;
    });
    return started;
  };
  const units = async () => JSON.parse(await fleet('status', '--json')).units;
  return {
    ...{ remote, project, env, options, fleet, units, turns },
    does(...scripts) {
      for (const [at, script] of scripts.entries()) writeFileSync(join(orders, `turn-${at + 1}`), script);
    },
    submit: async (...args) =>
      JSON.parse(await fleet('submit', lanes ? 'prd' : 'loop', ...args, '--agent', 'claude', '--json')).unit,
    worker: (name, ...args) => workerOn({}, name, ...args),
    workerOn,
    sql,
    until: (what, holds) =>
      vi.waitFor(
        async () => {
          if (!(await holds())) throw new Error(`still not: ${what}`);
        },
        { timeout: 240_000, interval: 200 },
      ),
    untilState: (unit, state) =>
      vi.waitFor(
        async () => {
          const [now] = await sql('select state, detail from ralph.unit where id = $1', unit);
          if (now?.state !== state) throw new Error(`it is ${now?.state}, ${now?.detail}, and not ${state}`);
        },
        { timeout: 240_000, interval: 200 },
      ),
    gate(name) {
      const path = join(orders, name);
      execFileSync('mkfifo', [path]);
      return { path, open: (text = 'go') => writeFileSync(openSync(path, constants.O_RDWR), `${text}\n`) };
    },
    reached: name => existsSync(join(orders, name)),
  };
}

/** What has landed of a list. */
export function remoteFiles({ remote }: FleetRig, unit: string): Readonly<Record<string, string>> {
  const branch = `ralph/${unit}/_int`;
  const names = remote.git('ls-tree', '-r', '--name-only', branch).trim().split('\n');
  return timeless(Object.fromEntries(names.map(name => [name, remote.git('show', `${branch}:${name}`)])));
}

/** The log is written in the order in which stories land. */
export function timeless(files: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const sorted = (files['ralph/progress.txt'] ?? '').split('\n').filter(Boolean).sort().join('\n');
  return { ...files, 'ralph/progress.txt': sorted };
}

/** Over one connection, as long as it lasts: to open one costs the server and us more than most questions. */
function createSql(database: string): FleetRig['sql'] {
  let open: Promise<Client> | undefined;
  const connect = async () => {
    const client = new Client({ connectionString: database });
    const forget = () => {
      open = undefined;
    };
    client.on('error', forget);
    client.on('end', forget);
    await client.connect().catch(error => {
      forget();
      throw error;
    });
    return client;
  };
  onTestFinished(async () => (await open)?.end());
  return async (text, ...params) => {
    open ??= connect();
    return (await (await open).query(text, [...params])).rows;
  };
}
