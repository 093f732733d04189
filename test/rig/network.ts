/** Hosts of a test's own: network namespaces, each with a cable to the machine of the test that can be pulled out. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { basename, dirname } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import { freePort } from '../../src/fleet/cluster.ts';
import { gitEnv } from './repo.ts';

export interface Host {
  /** What to start a program with so that it runs there. */
  readonly prefix: readonly string[];
  /** `unplugged`: nothing arrives, and the host sees that its cable is out. `silent`: what it sends arrives, and no answer comes back. */
  cut(how: 'unplugged' | 'silent'): void;
  restore(): void;
}

export interface Network {
  /** That of the machine of the test, as the hosts know it. */
  readonly address: string;
  host(): Host;
}

/** Why there can be no hosts, in a word. Where RALPH_REQUIRE_POSTGRES=1 that is a failure. */
export function networkMissing(): string | undefined {
  const isThere = process.getuid?.() === 0 && spawnSync('ip', ['netns', 'list']).status === 0;
  if (!isThere && process.env.RALPH_REQUIRE_POSTGRES === '1')
    throw new Error('RALPH_REQUIRE_POSTGRES=1, and network namespaces need root and iproute2');
  return isThere ? undefined : 'network namespaces need root and iproute2';
}

export function createNetwork(): Network {
  const net = `10.213.${process.pid % 250}`;
  const address = `${net}.1`;
  ip('addr', 'add', `${address}/32`, 'dev', 'lo');
  onTestFinished(() => ip('addr', 'del', `${address}/32`, 'dev', 'lo'));
  let hosts = 0;
  return {
    address,
    host() {
      const number = ++hosts;
      return createHost(`ralph${process.pid % 250}-${number}`, `${net}.${number + 1}`, address);
    },
  };
}

function createHost(name: string, own: string, server: string): Host {
  const [here, there] = [`${name}a`, `${name}b`];
  const route = (...to: readonly string[]) => ip('route', 'replace', ...to);
  ip('netns', 'add', name);
  onTestFinished(() => ip('netns', 'del', name));
  ip('link', 'add', here, 'type', 'veth', 'peer', 'name', there);
  ip('link', 'set', there, 'netns', name);
  ip('link', 'set', here, 'up');
  route(`${own}/32`, 'dev', here);
  onTestFinished(() => ip('route', 'flush', `${own}/32`));
  ip('-n', name, 'addr', 'add', `${own}/32`, 'dev', there);
  for (const each of ['lo', there]) ip('-n', name, 'link', 'set', each, 'up');
  ip('-n', name, 'route', 'add', `${server}/32`, 'dev', there);
  return {
    prefix: ['ip', 'netns', 'exec', name],
    cut(how) {
      route('blackhole', `${own}/32`);
      if (how === 'unplugged') ip('link', 'set', here, 'down');
    },
    restore() {
      ip('link', 'set', here, 'up');
      route(`${own}/32`, 'dev', here);
    },
  };
}

function ip(...args: readonly string[]): void {
  execFileSync('ip', args, { stdio: 'pipe' });
}

/** The address of a bare repository for those who reach it over the network. */
export async function serveGit(repository: string, address: string): Promise<string> {
  const port = await freePort();
  const flags = [
    '--reuseaddr',
    '--export-all',
    '--enable=receive-pack',
    `--base-path=${dirname(repository)}`,
  ];
  const daemon = spawn('git', ['daemon', ...flags, `--listen=${address}`, `--port=${port}`], {
    env: gitEnv(),
    stdio: 'ignore',
    detached: true,
  });
  onTestFinished(() => void process.kill(-(daemon.pid ?? 0), 'SIGKILL'));
  const url = `git://${address}:${port}/${basename(repository)}`;
  await vi.waitFor(() => execFileSync('git', ['ls-remote', url], { env: gitEnv(), stdio: 'pipe' }), {
    timeout: 120_000,
    interval: 50,
  });
  return url;
}
