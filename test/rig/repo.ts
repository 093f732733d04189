/** A fresh folder for one test, a git repository if it wants one. Everything in it is removed afterwards. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

export interface Repo {
  readonly dir: string;
  path(name: string): string;
  write(name: string, content: string): void;
  /** A program that is this text; its path. */
  script(name: string, text: string): string;
  read(name: string): string;
  git(...args: string[]): string;
  settings(settings: unknown): void;
}

export function folder(name = 'ralph test '): Repo {
  const dir = mkdtempSync(join(tmpdir(), name));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true, maxRetries: 3 }));
  return repoAt(dir);
}

/** A program: of a text without a first line that says what it is, a shell script. Its path. */
export function writeScript(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text.startsWith('#!') ? text : `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** An agent that is this shell script, in a folder of its own. */
export function scriptedAgent(script: string): string {
  return folder('ralph-agent-').script('agent', script);
}

const MOST_OUTPUT = 64 * 1024 * 1024;
/** Each commit would start two programs more, that find nothing to do. */
const WITHOUT_UPKEEP = {
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'maintenance.auto',
  GIT_CONFIG_VALUE_0: 'false',
};

/** One that is there already. */
export function repoAt(dir: string): Repo {
  const path = (file: string) => join(dir, file);
  const write = (file: string, content: string) => {
    mkdirSync(dirname(path(file)), { recursive: true });
    writeFileSync(path(file), content);
  };
  return {
    dir,
    path,
    write,
    script: (file, text) => writeScript(path(file), text),
    read: file => readFileSync(path(file), 'utf8'),
    git: (...args) =>
      execFileSync('git', args, {
        cwd: dir,
        encoding: 'utf8',
        env: { ...gitEnv(), ...WITHOUT_UPKEEP },
        maxBuffer: MOST_OUTPUT,
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    settings: settings => write('.ralph/settings.json', JSON.stringify(settings, null, 2)),
  };
}

/** All files below it, by their whole paths. */
export function filesIn(dir: string): readonly string[] {
  const all = readdirSync(dir, { recursive: true, withFileTypes: true });
  return all.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name));
}

/** The path of it has a space in it, on purpose. */
export function repo(
  files: Readonly<Record<string, string>> = { 'README.md': '# test\n' },
  name?: string,
): Repo {
  const made = folder(name);
  made.git('init', '--quiet', '--initial-branch', 'main');
  for (const [name, content] of Object.entries(files)) made.write(name, content);
  made.git('add', '--all');
  made.git('commit', '--quiet', '--message', 'start');
  return made;
}

/** git as a machine knows it that nobody has set up, but for a name to commit under. */
export function gitEnv(): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    XDG_STATE_HOME: process.env.XDG_STATE_HOME ?? '',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'Test',
    GIT_AUTHOR_EMAIL: 'test@example.invalid',
    GIT_COMMITTER_NAME: 'Test',
    GIT_COMMITTER_EMAIL: 'test@example.invalid',
  };
}

/** The same with a state folder of its own, for a test or for a file of them. */
export function stateEnv(): Record<string, string> {
  const state = mkdtempSync(join(process.env.RALPH_TEST_PLACES ?? tmpdir(), 'ralph-state-'));
  return { ...gitEnv(), XDG_STATE_HOME: state };
}
