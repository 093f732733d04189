/** A fleet for a test: a remote repository, whoever submits, and workers that are processes of their own with homes of their own. */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type RalphOptions, type Running, ralph, startRalph } from './ralph.ts';
import { folder, type Repo, repo } from './repo.ts';

export interface FleetRig {
  readonly remote: Repo;
  readonly project: Repo;
  /** What the agent does in its n-th turn at all, as a shell script; later ones do what the last does. */
  does(...scripts: readonly string[]): void;
  /** Turns so far, by the folder of the worker. */
  turns(): readonly { readonly cwd: string; readonly pid: number }[];
  submit(...args: readonly string[]): Promise<string>;
  worker(name: string, ...args: readonly string[]): Running;
  fleet(...args: readonly string[]): Promise<string>;
  units(): Promise<readonly Record<string, unknown>[]>;
  /** Resolves when a unit is in this state. */
  until(unit: string, state: string): Promise<Record<string, unknown>>;
  readonly env: Readonly<Record<string, string>>;
}

/** `database`: the URL. */
export function fleetRig(
  database: string,
  files: Readonly<Record<string, string>> = { 'README.md': '# test\n' },
): FleetRig {
  const remote = folder('ralph-remote-');
  remote.git('init', '--quiet', '--bare', '--initial-branch', 'main');
  const project = repo(files);
  project.git('remote', 'add', 'origin', remote.dir);
  project.git('push', '--quiet', 'origin', 'main');
  const { dir: orders } = folder('ralph-fleet-agent-');
  const bin = join(orders, 'bin');
  mkdirSync(bin);
  writeFileSync(
    join(bin, 'claude'),
    `#!/bin/sh\nexec "${process.execPath}" "${join(import.meta.dirname, 'fleet-agent.mjs')}" "$@"\n`,
  );
  chmodSync(join(bin, 'claude'), 0o755);
  const env = { IS_SANDBOX: '1', FLEET_AGENT: orders, RALPH_DATABASE_URL: database };
  const options: RalphOptions = { cwd: project.dir, path: [bin], env };
  const log = join(orders, 'turns.log');
  const fleet = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await ralph(['fleet', ...args], options);
    if (code !== 0) throw new Error(`ralph fleet ${args.join(' ')}: ${code}\n${stdout}${stderr}`);
    return stdout;
  };
  const units = async () => JSON.parse(await fleet('status', '--json')).units;
  return {
    ...{ remote, project, env, fleet, units },
    does(...scripts) {
      for (const [at, script] of scripts.entries()) writeFileSync(join(orders, `turn-${at + 1}`), script);
    },
    turns: () =>
      existsSync(log)
        ? readFileSync(log, 'utf8')
            .trim()
            .split('\n')
            .map(line => JSON.parse(line))
        : [],
    submit: async (...args) =>
      JSON.parse(await fleet('submit', 'loop', ...args, '--agent', 'claude', '--json')).unit,
    worker(name, ...args) {
      const { dir: home } = folder(`ralph-worker-${name}-`);
      const started = startRalph(['worker', '--name', name, '--sandbox', 'none', ...args], {
        ...options,
        env: { ...env, HOME: home, XDG_STATE_HOME: join(home, 'state'), XDG_CACHE_HOME: join(home, 'cache') },
      });
      onTestFinished(async () => {
        started.process.kill('SIGCONT');
        started.process.kill('SIGKILL');
        await started.finished;
      });
      return started;
    },
    async until(unit, state) {
      for (;;) {
        const found = (await units()).find(({ id }: { id: string }) => id === unit);
        if (found?.state === state) return found;
      }
    },
  };
}
