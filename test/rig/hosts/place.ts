/** A fresh home and a fresh git repository for one run of an agent. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const exec = promisify(execFile);

export interface Place {
  /** Holds all the others. */
  readonly root: string;
  readonly home: string;
  readonly repo: string;
  /** The bare environment: nothing of the machine's own agents, keys or settings gets through. */
  readonly env: Readonly<Record<string, string>>;
  writeHome(path: string, content: unknown): Promise<void>;
  remove(): Promise<void>;
}

export async function makePlace(path: string): Promise<Place> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'ralph-host-')));
  const home = join(root, 'home');
  const repo = join(root, 'repo');
  const temp = join(root, 'tmp');
  for (const folder of [home, repo, temp]) await mkdir(folder);
  const env = { PATH: path, HOME: home, TMPDIR: temp, LANG: 'C.UTF-8' };
  await gitRepo(repo, env);
  return {
    root,
    home,
    repo,
    env,
    async writeHome(name, content) {
      const file = join(home, name);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content, null, 2));
    },
    // A CLI that has just ended may still have a helper that writes a last file.
    remove: () => rm(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }),
  };
}

async function gitRepo(cwd: string, env: Readonly<Record<string, string>>): Promise<void> {
  const git = (...args: readonly string[]) => exec('git', args, { cwd, env });
  await writeFile(join(env.HOME ?? cwd, '.gitconfig'), '[user]\nname = dev\nemail = dev@example.invalid\n');
  await git('init', '--quiet', '--initial-branch=main');
  await writeFile(join(cwd, 'README.md'), 'A repository for one test.\n');
  await git('add', '.');
  await git('commit', '--quiet', '-m', 'start');
}
