/** A container engine for the tests: the one that runs here, or one of our own in a temporary folder, with an image of nothing. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ContainerOptions } from '../../src/sandbox/provider.ts';

export interface Engine {
  readonly options: ContainerOptions;
  stop(): Promise<void>;
}

const IMAGE = 'ralph-test-nothing';

export async function startEngine(): Promise<Engine | { readonly why: string }> {
  if (spawnSync('docker', ['--version']).status !== 0) return { why: 'there is no docker' };
  const folder = mkdtempSync(join(tmpdir(), 'ralph-engine-'));
  const clean = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  const running = spawnSync('docker', ['version']).status === 0;
  const daemon = running ? undefined : await startDaemon(folder);
  if (daemon && 'why' in daemon) {
    clean();
    return daemon;
  }
  const engine = ['docker', ...(daemon ? ['--host', daemon.host] : [])];
  const stop = async () => {
    spawnSync('docker', [...engine.slice(1), 'rmi', '--force', IMAGE]);
    await daemon?.stop();
    clean();
  };
  try {
    importImage(engine, folder);
  } catch (error) {
    await stop();
    return { why: `the image cannot be made: ${error}` };
  }
  // The programs of this machine, read-only: an image that needs no registry.
  const args = ['--volume', '/usr:/usr:ro', '--volume', '/etc/alternatives:/etc/alternatives:ro'];
  return { options: { image: IMAGE, engine, args }, stop };
}

function importImage([command = '', ...flags]: readonly string[], folder: string): void {
  const root = join(folder, 'root');
  for (const name of ['usr', 'etc/alternatives', 'proc', 'sys', 'dev', 'tmp'])
    mkdirSync(join(root, name), { recursive: true });
  for (const name of ['bin', 'lib', 'lib64', 'sbin']) symlinkSync(`usr/${name}`, join(root, name));
  const image = execFileSync('tar', ['--directory', root, '--create', '.']);
  execFileSync(command, [...flags, 'import', '-', IMAGE], {
    input: image,
    stdio: ['pipe', 'ignore', 'pipe'],
  });
}

async function startDaemon(
  folder: string,
): Promise<{ readonly host: string; stop(): Promise<void> } | { readonly why: string }> {
  if (process.getuid?.() !== 0) return { why: 'no docker daemon runs, and only root can start one' };
  if (spawnSync('dockerd', ['--version']).status !== 0)
    return { why: 'no docker daemon runs or is installed' };
  const host = `unix://${join(folder, 'socket')}`;
  const flags = ['--data-root', 'data', '--exec-root', 'exec', '--pidfile', 'pid'].map((word, index) =>
    index % 2 === 0 ? word : join(folder, word),
  );
  const network = ['--iptables=false', '--ip6tables=false', '--bridge=none'];
  // It ends with us, however we end: when every test is filtered out, nobody is told that it is over.
  const tied = '"$@" < /dev/null & daemon=$!; { cat <&3 > /dev/null; kill $daemon; } & wait $daemon';
  const words = ['-c', `exec 3<&0; ${tied}`, 'sh', 'dockerd', '--host', host, ...flags, ...network];
  const daemon = spawn('sh', words, { stdio: ['pipe', 'ignore', 'pipe'] });
  let said = '';
  const ready = new Promise<boolean>(resolve => {
    daemon.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      said += chunk;
      if (said.includes('API listen on')) resolve(true);
    });
    daemon.once('exit', () => resolve(false));
    daemon.once('error', () => resolve(false));
  });
  const ended = new Promise<void>(resolve => void daemon.once('exit', () => resolve()));
  if (!(await ready)) return { why: `the docker daemon does not start: ${said.trim().split('\n').at(-1)}` };
  return {
    host,
    async stop() {
      daemon.stdin.end();
      await ended;
      spawnSync('umount', [join(folder, 'exec/netns/default')]); // it leaves one mount behind
    },
  };
}
