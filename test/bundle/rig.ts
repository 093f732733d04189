/** A real run with everything that a bundle can hold, its bundle, and keys to sign with. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { encodeBundle, type Signature } from '../../src/proof/bundle/envelope.ts';
import type { Statement } from '../../src/proof/bundle/format.ts';
import { ralph } from '../rig/ralph.ts';
import { folder, type Repo, repo, writeScript } from '../rig/repo.ts';

export interface Proven {
  readonly work: Repo;
  /** A folder of its own, for bundles and keys. */
  readonly place: string;
  readonly env: Readonly<Record<string, string>>;
  readonly signers: string;
  key(name: string): string;
  report(...args: string[]): Promise<string>;
}

export const COMMITS = { scm: { command: 'git', tasks: ['commit'] } };

/** An agent that first empties the protected test and then does the work. */
const AGENT = `#!/bin/sh
cat > .prompt
if grep -q two a; then echo b > a; else echo two > a; echo : > test/t.sh; fi
echo '<promise>COMPLETE</promise>'
`;

export function proven(settings: object = COMMITS, ...flags: string[]): Promise<Proven> {
  return provenBeside([], settings, ...flags);
}

export const SUBMODULE = 'sub';

/** `ours`: what is committed before the run and in no snapshot: files of `.ralph`, a submodule. */
export async function provenBeside(
  ours: readonly string[],
  settings: object = COMMITS,
  ...flags: string[]
): Promise<Proven> {
  const work = repo({
    '.gitignore': '.prompt\n.ralph\n',
    a: 'a\n',
    'test/t.sh': 'grep -q b a && echo fine\n',
    'check.sh': 'test -e a\n',
  });
  const place = folder('ralph-proof-').dir;
  const env = { HOME: place };
  writeScript(join(place, 'agent'), AGENT);
  work.settings(settings);
  for (const path of ours) {
    if (path === SUBMODULE) {
      const link = `160000,${work.git('rev-parse', 'HEAD').trim()},${path}`;
      work.git('update-index', '--add', '--cacheinfo', link);
      continue;
    }
    if (path !== '.ralph/settings.json') work.write(path, 'x');
    work.git('add', '--force', path);
  }
  if (ours.length > 0) work.git('commit', '--quiet', '--message', 'of Ralph');
  const checks = ['--check', 'sh test/t.sh', '--check', 'sh check.sh', '--protect', 'test/**'];
  const loop = ['loop', 'Fix it', '--agent', join(place, 'agent'), ...checks, ...flags];
  const { code, stderr } = await ralph(loop, { cwd: work.dir, env });
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const key = (name: string) => {
    const path = join(place, name);
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', path]);
    return path;
  };
  const signers = join(place, 'signers');
  return {
    work,
    place,
    env,
    signers,
    key,
    async report(...args) {
      const bundle = join(place, 'run.proof');
      const done = await ralph(['report', '--bundle', bundle, ...args], { cwd: work.dir, env });
      expect(done).toMatchObject({ code: 0 });
      return bundle;
    },
  };
}

/** Who may sign, with the key of this file. */
export function allow(file: string, who: string, key: string): void {
  const [type, content] = readFileSync(`${key}.pub`, 'utf8').split(' ');
  writeFileSync(file, `${who} ${type} ${content}\n`);
}

export interface Parts {
  readonly statement: Statement;
  readonly signature: Signature | undefined;
}

export function partsOf(path: string): Parts {
  const { payload, signatures } = JSON.parse(readFileSync(path, 'utf8'));
  return { statement: JSON.parse(Buffer.from(payload, 'base64').toString()), signature: signatures[0] };
}

/** As a forger would write it who knows the format: the digest fits. */
export function forge(statement: unknown, signature: Signature | undefined): string {
  return encodeBundle(Buffer.from(JSON.stringify(statement)), signature);
}
