/** The gate as a host calls it, in any shell, and how often it had to ask the hook program. */
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { folder, type Repo } from '../rig/repo.ts';

export const GATE = join(import.meta.dirname, '../../plugins/claude/bin/gate.sh');

/** Those that are here; `sh` is one of them by another name. */
export const SHELLS: readonly (readonly string[])[] = [['dash'], ['bash'], ['busybox', 'sh']].filter(
  ([name = '', ...rest]) => spawnSync(name, [...rest, '-c', ':']).status === 0,
);

export interface Answered {
  readonly answer: string;
  /** The hook program was started. */
  readonly asked: boolean;
}

export interface Gate {
  (event: string, input: unknown, env?: Readonly<Record<string, string>>): Promise<Answered>;
  readonly project: Repo;
}

export function gateIn(project: Repo, shell: readonly string[], host = 'auto'): Gate {
  const bin = folder('ralph gate ');
  // Says on the error stream that it was called, and is node.
  bin.write('node', `#!/bin/sh\necho asked >&2\nexec '${process.execPath}' "$@"\n`);
  chmodSync(bin.path('node'), 0o755);
  const call = (event: string, input: unknown, env = {}) => {
    const [command = 'sh', ...rest] = shell;
    const child = spawn(command, [...rest, GATE, host, event], {
      cwd: project.dir,
      env: {
        PATH: `${bin.dir}${delimiter}${process.env.PATH}`,
        HOME: bin.dir,
        CLAUDE_PROJECT_DIR: project.dir,
        ...env,
      },
    });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', chunk => {
        output[name] += chunk;
      });
    child.stdin.on('error', () => {}); // it need not read all of it
    child.stdin.end(typeof input === 'string' ? input : JSON.stringify(input));
    return new Promise<Answered>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', code => {
        const { stdout: answer, stderr } = output;
        if (code === 0 && (stderr === '' || stderr === 'asked\n')) resolve({ answer, asked: stderr !== '' });
        else reject(new Error(`exit code ${code}: ${stderr}`));
      });
    });
  };
  return Object.assign(call, { project });
}
