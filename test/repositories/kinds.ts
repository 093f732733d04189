/** Repositories of every kind, each made with the real program, and what becomes of each way to work in them. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { hashOfFile } from '../../src/platform/hash.ts';
import { folder, gitEnv, type Repo, repo, repoAt } from '../rig/repo.ts';
import { IS_CAMPAIGN } from '../rig/thorough.ts';

/** How a run works in it: where it is, in a worktree, with a clean proof, in lanes. */
export const WAYS = ['in place', '--worktree', '--proof clean', '--parallel'] as const;

export type Way = (typeof WAYS)[number];

/** `works`, or the words with which it is refused before anything is spent. */
export type Outcome = string;

export interface Kind {
  /** Makes one; returns the folder that is worked in. */
  make(): Repo;
  /** Why the programs of this machine cannot make one; undefined: they can. */
  impossible?(): string | undefined;
  /** What must hold for the files that a check sees; beside the work of the agent. */
  readonly check?: string;
  readonly flags?: readonly string[];
  /** Where it is not `works`. */
  readonly outcome?: Outcome | Partial<Readonly<Record<Way, Outcome>>>;
  /** What a user should know. */
  readonly note?: string;
}

export function outcomeOf({ outcome = 'works' }: Pick<Kind, 'outcome'>, way: Way): Outcome {
  return typeof outcome === 'string' ? outcome : (outcome[way] ?? 'works');
}

/** A clean proof of a run in place is a run in place, with one step more: where both work, it is enough but for a campaign. */
export function waysOf(kind: Pick<Kind, 'outcome'>): readonly Way[] {
  const isOneStepMore = outcomeOf(kind, 'in place') === outcomeOf(kind, '--proof clean');
  return WAYS.filter(way => IS_CAMPAIGN || way !== 'in place' || !isOneStepMore);
}

export const FILES = {
  'README.md': '# test\n',
  '.gitignore': '.ralph/\n',
  'tasks.md': '- [ ] Add one\n- [ ] Add two\n',
};

const TRUST = ['-c', 'protocol.file.allow=always'];

export function project(more: Readonly<Record<string, string>> = {}): Repo {
  return repo({ ...FILES, ...more });
}

/** The project, with more in its one commit. */
function amended(work: Repo): Repo {
  work.git('add', '--all');
  work.git('commit', '--quiet', '--message', 'more');
  return work;
}

function cloned(from: Repo, ...flags: readonly string[]): Repo {
  const place = folder();
  place.git(...TRUST, 'clone', '--quiet', ...flags, `file://${from.dir}`, 'clone');
  return repoAt(place.path('clone'));
}

function withSubmodule(work: Repo, other: Repo): Repo {
  work.git(...TRUST, 'submodule', '--quiet', 'add', other.dir, 'sub');
  return amended(work);
}

function nested(): Repo {
  const outer = withSubmodule(project(), repo({ x: 'x\n' }));
  const all = withSubmodule(project(), outer);
  all.git(...TRUST, 'submodule', '--quiet', 'update', '--init', '--recursive');
  return all;
}

const needs = (version: readonly [number, number]) => () => {
  const said = execFileSync('git', ['version'], { encoding: 'utf8' }).trim();
  const [major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(said)?.slice(1) ?? []).map(Number);
  return major > version[0] || (major === version[0] && minor >= version[1])
    ? undefined
    : `${said} is older than ${version.join('.')}`;
};

const needsProgram =
  (...argv: readonly [string, ...string[]]) =>
  () =>
    spawnSync(argv[0], argv.slice(1)).status === 0 ? undefined : `${argv.join(' ')} does not run`;

function lfs(): Repo {
  const work = project({ '.gitattributes': '*.bin filter=lfs diff=lfs merge=lfs -text\n' });
  work.git('lfs', 'install', '--local', '--skip-repo');
  work.write('data.bin', 'the content\n');
  return amended(work);
}

function lfsPointers(): Repo {
  const from = lfs();
  const place = folder();
  execFileSync('git', ['clone', '--quiet', from.dir, 'clone'], {
    cwd: place.dir,
    env: { ...gitEnv(), GIT_LFS_SKIP_SMUDGE: '1' },
  });
  const work = repoAt(place.path('clone'));
  work.git('lfs', 'install', '--local', '--skip-repo', '--skip-smudge');
  return work;
}

function signing(): Repo {
  const keys = folder('ralph-keys-');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', keys.path('key')]);
  const work = project();
  for (const [key, value] of Object.entries({
    'gpg.format': 'ssh',
    'user.signingkey': keys.path('key'),
    'commit.gpgsign': 'true',
  }))
    work.git('config', key, value);
  return work;
}

function hooked(name: string, script: string): Repo {
  const work = project();
  work.script(`.git/hooks/${name}`, script);
  return work;
}

function filtered(settings: Readonly<Record<string, string>>, rules = '.gitattributes'): Repo {
  const work = project();
  work.write(rules, '*.secret filter=crypt\n');
  for (const [key, value] of Object.entries(settings)) work.git('config', `filter.crypt.${key}`, value);
  work.write('a.secret', 'abc\n');
  return amended(work);
}

function withSetting(key: string, value: string, files: Readonly<Record<string, string>> = {}): Repo {
  const work = project();
  work.git('config', key, value);
  for (const [name, content] of Object.entries(files)) work.write(name, content);
  return Object.keys(files).length === 0 ? work : amended(work);
}

const CRYPT = { clean: 'tr a-z n-za-m', smudge: 'tr a-z n-za-m' };
const FILTER = 'goes through the filter crypt, which Ralph does not run';

export const KINDS: Readonly<Record<string, Kind>> = {
  'an ordinary repository': { make: project },
  submodules: { make: () => withSubmodule(project(), repo({ x: 'x\n' })), check: 'test -f sub/x' },
  'submodules with submodules': { make: nested, check: 'test -f sub/sub/x' },
  'a submodule that you have moved': {
    make() {
      const work = withSubmodule(project(), repo({ x: 'x\n' }));
      work.write('sub/y', 'y\n');
      repoAt(work.path('sub')).git('add', 'y');
      repoAt(work.path('sub')).git('commit', '--quiet', '--message', 'y');
      return work;
    },
    check: 'test -f sub/x',
    outcome: { '--parallel': 'sub has changes that are not committed' },
  },
  'a submodule that is not checked out': {
    make: () => cloned(withSubmodule(project(), repo({ x: 'x\n' }))),
    check: 'test -d sub',
  },
  'Git LFS': {
    impossible: needsProgram('git', 'lfs', 'version'),
    make: lfs,
    check: 'grep -q content data.bin',
  },
  'Git LFS, pointers only': {
    impossible: needsProgram('git', 'lfs', 'version'),
    make: lfsPointers,
    check: 'grep -q oid data.bin',
    note: 'a file whose content is not here is a pointer everywhere',
  },
  'a sparse checkout': {
    make() {
      const work = project({ 'in/a': 'a\n', 'out/b': 'b\n' });
      work.git('sparse-checkout', 'set', 'in');
      return work;
    },
    check: 'test -f in/a && test ! -e out/b',
  },
  'a shallow clone': { make: () => cloned(amended(projectWith('later', '1\n')), '--depth=1') },
  'a partial clone': {
    make() {
      const from = project({ 'old/file': 'old\n' });
      from.git('config', 'uploadpack.allowFilter', 'true');
      return cloned(from, '--filter=blob:none');
    },
    note: 'nothing is fetched',
  },
  '`scalar clone` (partial and sparse)': {
    impossible: needsProgram('scalar', 'version'),
    make() {
      const from = project({ 'deep/file': 'deep\n' });
      from.git('config', 'uploadpack.allowFilter', 'true');
      const place = folder();
      // It would have the machine call it at times, and writes into the settings of the user.
      for (const name of ['crontab', 'systemctl'])
        place.script(`bin/${name}`, '[ "$1" = -l ] || cat >/dev/null');
      const own = { HOME: place.dir, GIT_CONFIG_GLOBAL: place.path('settings') };
      execFileSync('scalar', ['clone', `file://${from.dir}`, 'clone'], {
        cwd: place.dir,
        env: { ...gitEnv(), ...own, PATH: `${place.path('bin')}:${process.env.PATH}` },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      return repoAt(place.path('clone/src'));
    },
    check: 'test ! -e deep/file',
  },
  'a linked worktree': {
    make() {
      const work = project();
      const place = folder();
      work.git('worktree', 'add', '--quiet', '-b', 'linked', place.path('linked'));
      return repoAt(place.path('linked'));
    },
  },
  'a separate git directory': {
    make() {
      const work = project();
      work.git('init', '--quiet', '--separate-git-dir', folder().path('git'));
      return work;
    },
  },
  'a detached HEAD': {
    make() {
      const work = project();
      work.git('checkout', '--quiet', '--detach');
      return work;
    },
  },
  'no commit yet': {
    make() {
      const work = folder();
      work.git('init', '--quiet', '--initial-branch', 'main');
      for (const [name, content] of Object.entries(FILES)) work.write(name, content);
      return work;
    },
    outcome: {
      '--worktree': 'a worktree needs a commit to start from',
      '--parallel': 'there is no commit yet',
    },
  },
  'a bare repository': {
    make() {
      const work = folder();
      work.git('init', '--quiet', '--bare');
      work.write('tasks.md', FILES['tasks.md']);
      return work;
    },
    outcome: 'this is a bare repository',
  },
  'a repository inside': {
    make() {
      const work = project();
      work.write('in/x', 'x\n');
      repoAt(work.path('in')).git('init', '--quiet');
      return work;
    },
  },
  'a project inside of a submodule': {
    make: () => repoAt(withSubmodule(project(), project()).path('sub')),
  },
  'a folder of the repository': {
    make() {
      const work = repo({
        'a/x': 'x\n',
        ...Object.fromEntries(Object.entries(FILES).map(([name, text]) => [`b/${name}`, text])),
      });
      return repoAt(work.path('b'));
    },
  },
  'files of somebody else (`safe.directory`)': {
    impossible: () => (process.getuid?.() === 0 ? undefined : 'only root can give files away'),
    make() {
      const work = project();
      for (const name of ['', '.git']) chownSync(work.path(name), 12_345, 12_345);
      return work;
    },
    outcome: 'dubious ownership',
  },
  '`core.autocrlf`': { make: () => withSetting('core.autocrlf', 'true', { 'dos.txt': 'a\r\nb\r\n' }) },
  '`core.fileMode=false`': {
    make() {
      const work = withSetting('core.fileMode', 'false');
      chmodSync(work.path('README.md'), 0o755);
      return work;
    },
  },
  'a split index': {
    make() {
      const work = withSetting('core.splitIndex', 'true');
      work.git('update-index', '--split-index');
      return work;
    },
  },
  'an untracked cache': {
    make() {
      const work = withSetting('core.untrackedCache', 'true');
      work.git('update-index', '--force-untracked-cache');
      return work;
    },
  },
  'a file system monitor': {
    make() {
      const hook = folder('ralph-monitor-');
      return withSetting('core.fsmonitor', hook.script('monitor', 'printf "/\\0"'));
    },
  },
  'SHA-256': {
    make() {
      const work = folder();
      work.git('init', '--quiet', '--object-format=sha256', '--initial-branch', 'main');
      for (const [name, content] of Object.entries(FILES)) work.write(name, content);
      return amended(work);
    },
  },
  reftable: {
    impossible: needs([2, 45]),
    make() {
      const work = folder();
      work.git('init', '--quiet', '--ref-format=reftable', '--initial-branch', 'main');
      for (const [name, content] of Object.entries(FILES)) work.write(name, content);
      return amended(work);
    },
  },
  'signed commits': { impossible: needsProgram('ssh-keygen', '-?'), make: signing },
  'a hook that reformats': {
    make: () =>
      hooked(
        'pre-commit',
        'for each in made-*; do [ -e "$each" ] && echo formatted >> "$each" && git add "$each"; done; true',
      ),
  },
  'a hook that refuses at first': {
    make: () =>
      hooked(
        'pre-commit',
        'cd "$(git rev-parse --git-common-dir)" && mkdir tried 2>/dev/null && { echo "not yet"; exit 1; }; true',
      ),
    note: 'the agent hears what the hook says, and has another turn',
  },
  'a hook that rewrites messages': { make: () => hooked('commit-msg', 'sed -i "1s/^/[X-1] /" "$1"') },
  'a filter with both directions': {
    make: () => filtered(CRYPT),
    outcome: { '--worktree': FILTER, '--proof clean': FILTER, '--parallel': FILTER },
  },
  'a filter that only `.git/info/attributes` names': {
    make: () => filtered(CRYPT, '.git/info/attributes'),
    outcome: { '--worktree': FILTER, '--proof clean': FILTER, '--parallel': FILTER },
  },
  'a filter for commits alone': {
    make: () => filtered({ clean: CRYPT.clean }),
    outcome: { '--parallel': FILTER },
  },
  'a file with `merge=union`': {
    make: () => project({ '.gitattributes': 'log merge=union\n', log: 'start\n' }),
    check: 'test -f log',
  },
  'a merge driver': {
    make() {
      const work = project({ '.gitattributes': 'log merge=own\n', log: 'start\n' });
      work.git('config', 'merge.own.driver', `touch ${work.path('.git/driven')}`);
      return work;
    },
    check: 'test -f log',
    note: 'the driver is not run: where lanes change the same lines, the agent merges them',
  },
  'a folder that ignores itself, with `--strict`': {
    make() {
      const work = project();
      work.write('.husky/_/.gitignore', '*\n');
      work.write('.husky/_/husky.sh', 'true\n');
      return work;
    },
    flags: ['--strict'],
  },
};

function projectWith(name: string, content: string): Repo {
  const work = project();
  work.write(name, content);
  return work;
}

/** Every file of the project by its content, but for what Ralph and the agent have made. */
export function contents(dir: string): Readonly<Record<string, string>> {
  const files = readdirSync(dir, { recursive: true, withFileTypes: true, encoding: 'utf8' })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(dir.length + 1))
    .filter(name => !/(^|\/)(\.git|\.ralph)(\/|$)|(^|\/)made-|^tasks\.md$/.test(name));
  return Object.fromEntries(files.sort().map(name => [name, hashOfFile(join(dir, name))]));
}
