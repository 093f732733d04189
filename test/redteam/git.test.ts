/** Attacks through git: what the inside writes must not run outside, and what is committed must be what was checked. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { story, storyList } from '../domain/stories/stories.ts';
import { gitEnv, type Repo } from '../rig/repo.ts';
import { type Arena, type Attack, attacks, type Group } from './rig.ts';

const NAMESPACE = process.platform === 'linux' ? readlinkSync('/proc/self/ns/pid') : '';

const DONE = 'echo "<response>DONE</response>"';

interface Planted {
  /** What the agent does, in the project. `$EVIL` is a program of its own. */
  readonly plant: string;
  /** What is in the project before. */
  readonly files?: Readonly<Record<string, string>>;
  before?(work: Repo, arena: Arena): void;
  /** Planted by a check, not by the agent. */
  readonly inCheck?: boolean;
  readonly path?: (work: Repo) => readonly string[];
  /** What the user does afterwards, as words of `ralph`; else another run. */
  later?(agent: string): readonly (readonly string[])[];
}

/** A project whose work is committed and pushed, and a program that leaves a mark when it runs outside of the wall. */
function arrange(arena: Arena, { files = {}, before, plant, inCheck }: Planted): Repo {
  const work = arena.project({ 'a.txt': 'a\n', '.gitignore': '.evil\n', ...files });
  const remote = join(arena.home, 'remote.git');
  work.git('init', '-q', '--bare', remote);
  work.git('remote', 'add', 'origin', remote);
  work.git('push', '-q', '--set-upstream', 'origin', 'main');
  before?.(work, arena);
  const settings = { scm: { command: 'git', tasks: ['commit', 'push'] } };
  // By a way without a space, since most settings of git are words for a shell: one that is not found would show nothing.
  const way = join(arena.outside, 'tree');
  symlinkSync(work.dir, way);
  const script = `EVIL=${way}/.evil\n${evil(arena)}\n{ ${plant}\n} >/dev/null 2>&1`;
  work.write('.plant', script);
  work.git('add', '.plant');
  work.git('commit', '-qm', 'plant');
  work.settings({ ...settings, ...(inCheck && { guardrails: [{ command: 'sh ./.plant' }] }) });
  return work;
}

/** In a wall the numbers of processes are its own: only what runs outside has ours. */
function evil({ outside }: Arena): string {
  return `cat > "$EVIL" <<'END'
#!/bin/sh
[ "$(readlink /proc/self/ns/pid)" = "${NAMESPACE}" ] && touch "${outside}/ran"
[ -t 0 ] || timeout 0.3 cat
END
chmod +x "$EVIL"`;
}

/** The turn that plants it, what the user does later, and a look at the runs: nothing ran outside. */
async function runsNothing(arena: Arena, work: Repo, planted: Planted): Promise<boolean> {
  const cheat = arena.agent(`${planted.inCheck ? '' : 'sh ./.plant; '}echo b > a.txt; ${DONE}`);
  const honest = arena.agent(`echo c > a.txt; ${DONE}`);
  const path = planted.path?.(work) ?? [];
  const run = (agent: string) => ['run', '-p', 'Do it', '-m', '1', '--agent', agent];
  const later = planted.later?.(honest) ?? [run(honest)];
  for (const args of [run(cheat), ...later, ['status']]) {
    const { code, stderr } = await arena.ralph(args, { cwd: work.dir, path });
    // What does not even begin runs nothing, and shows nothing.
    if (planted.later) expect(code, stderr).not.toBe(2);
  }
  return !hasRun(arena);
}

const hasRun = ({ outside }: Arena) => existsSync(join(outside, 'ran'));

/** Planted in one repository, which holds all of them or shows that one of them ran. */
function together(name: string, parts: Readonly<Record<string, Planted>>): readonly Attack[] {
  const all = Object.values(parts);
  const { inCheck = false } = all[0] ?? {};
  const later = all.flatMap(({ later }) => later ?? []);
  const one: Planted = {
    plant: all.map(({ plant }) => `( ${plant} )`).join('\n'),
    files: Object.assign({}, ...all.map(({ files }) => files)),
    before: (work, arena) => {
      for (const { before } of all) before?.(work, arena);
    },
    inCheck,
    ...(later.length > 0 && { later: agent => later.flatMap(words => words(agent)) }),
  };
  const group: Group = {
    name,
    async attempt(arena) {
      const work = arrange(arena, one);
      const isHeld = await runsNothing(arena, work, one);
      // What git does not obey where it is asked plainly was not planted: a sandbox sees to that.
      work.git('status');
      if (arena.level === 'contained') expect(hasRun(arena)).toBe(true);
      return isHeld;
    },
  };
  return Object.entries(parts).map(([name, what]) => ({ ...planted(name, what), group }));
}

const planted = (name: string, what: Planted): Attack => ({
  name,
  held: { contained: true, sandboxed: true },
  attempt: arena => runsNothing(arena, arrange(arena, what), what),
});

const NESTED = `mkdir -p in; git init -q in; echo x > in/x; echo "* filter=x" > in/.gitattributes
git -C in config filter.x.clean "$EVIL"; git -C in config core.fsmonitor "$EVIL"
git -C in -c user.name=a -c user.email=a add x; git -C in -c user.name=a -c user.email=a commit -qm x; echo y >> in/x`;

const ATTRIBUTES = 'mkdir -p .git/info .git/hooks; echo "* filter=x" > .git/info/attributes';
const EVERYTHING = `${ATTRIBUTES}; for what in clean smudge process; do git config filter.x.$what "$EVIL"; done
for hook in post-checkout post-index-change reference-transaction pre-commit post-commit; do cp "$EVIL" .git/hooks/$hook; done
git config core.fsmonitor "$EVIL"`;

const inWorktree = (agent: string) => [
  ['loop', 'Do it', '--check', 'true', '--max-iterations', '1', '--agent', agent, '--worktree=w'],
];

const LATER: readonly (readonly [when: string, later: NonNullable<Planted['later']>])[] = [
  [
    '`ralph loop`',
    agent => [['loop', 'Do it', '--check', 'true', '--max-iterations', '1', '--agent', agent]],
  ],
  ['`ralph show`, `explain` and `report`', () => [['show'], ['explain'], ['report', '--format', 'html']]],
  ['`ralph simulate`', () => [['simulate', '--check', 'true']]],
  [
    '`ralph resume`',
    () => [
      ['run', '-p', 'Do it', '-m', '1', '--agent', 'true'],
      ['resume', '--max-iterations', '2'],
    ],
  ],
];

attacks('Code of the inside that git would run outside', [
  ...together('Every setting of git that names a program', {
    'A clean filter, named by attributes in the tree': {
      plant: 'echo "* filter=x" >> .gitattributes; git config filter.x.clean "$EVIL"',
    },
    'A filter process': {
      plant: 'echo "a.txt filter=p" >> .gitattributes; git config filter.p.process "$EVIL"',
    },
    'core.fsmonitor': { plant: 'git config core.fsmonitor "$EVIL"' },
    Hooks: {
      plant: `mkdir -p .git/hooks; for hook in post-index-change pre-commit post-commit pre-push reference-transaction post-checkout; do cp "$EVIL" .git/hooks/$hook; done`,
    },
    'textconv and diff.external': {
      plant: `echo "* diff=x" >> .gitattributes; git config diff.x.textconv "$EVIL"; git config diff.external "$EVIL"; git config diff.x.command "$EVIL"`,
    },
    'gpg.program': {
      plant:
        'git config commit.gpgsign true; git config gpg.program "$EVIL"; git config log.showSignature true',
    },
    'A merge driver': {
      plant: `mkdir -p .git/info; echo "* merge=x" | tee -a .gitattributes >> .git/info/attributes; git config merge.x.driver "$EVIL"; git config merge.default x`,
    },
    'core.sshCommand and another address to push to': {
      plant: 'git config core.sshCommand "$EVIL"; git config --add remote.origin.pushurl ssh://localhost/x',
    },
    'remote.origin.receivepack': {
      plant: `git config --add remote.origin.pushurl "$(git config remote.origin.url)"; git config remote.origin.receivepack "$EVIL"; git config remote.origin.uploadpack "$EVIL"`,
    },
    'credential.helper and core.askPass': {
      plant: `git config credential.helper "!$EVIL"; git config core.askPass "$EVIL"; git config --add remote.origin.pushurl https://localhost:1/x`,
    },
  }),
  ...together('Other places where git reads such settings', {
    'A clean filter, named by .git/info/attributes': {
      plant:
        'mkdir -p .git/info; echo "* filter=x" >> .git/info/attributes; git config filter.x.clean "$EVIL"',
    },
    'core.fsmonitor in a file that the settings include': {
      plant: 'printf "[core]\\n\\tfsmonitor = %s\\n" "$EVIL" > .gitconfig-of-project',
      files: { '.gitconfig-of-project': '' },
      before: work => void work.git('config', 'include.path', '../.gitconfig-of-project'),
    },
    'core.hooksPath': {
      plant: `mkdir -p hooks; for hook in post-index-change pre-commit pre-push; do cp "$EVIL" hooks/$hook; done; git config core.hooksPath hooks`,
    },
    'An address rewritten with insteadOf': {
      plant: `git config protocol.ext.allow always; git config "url.ext::$EVIL .insteadOf" /`,
    },
    'A repository inside with a clean filter and fsmonitor': { plant: NESTED },
    "A submodule's own settings": {
      plant: `git -C sub config core.fsmonitor "$EVIL"; git config -f .git/modules/sub/config core.fsmonitor "$EVIL"; echo y > sub/x`,
      before(work, arena) {
        const from = join(arena.home, 'sub');
        mkdirSync(from);
        const run = (...args: string[]) => execFileSync('git', args, { cwd: from, env: gitEnv() });
        run('init', '-q');
        writeFileSync(join(from, 'x'), 'x\n');
        run('add', '.');
        run('commit', '-qm', 'x');
        work.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', from, 'sub');
        work.git('commit', '-qm', 'sub');
      },
    },
    'An embedded bare repository': {
      plant:
        'git init -q --bare bare; git --git-dir=bare config core.fsmonitor "$EVIL"; git --git-dir=bare config core.worktree ..',
    },
  }),
  ...together('Planted by a check', {
    'core.fsmonitor, set by a check': { plant: 'git config core.fsmonitor "$EVIL"', inCheck: true },
    'Hooks, left by a check': {
      plant: `mkdir -p .git/hooks; for hook in post-index-change pre-commit post-commit pre-push; do cp "$EVIL" .git/hooks/$hook; done`,
      inCheck: true,
    },
    'A repository inside, made by a check': { plant: NESTED, inCheck: true },
  }),
  planted('core.fsmonitor in config.worktree', {
    plant: 'git config extensions.worktreeConfig true; git config --worktree core.fsmonitor "$EVIL"',
    before: work => void work.git('config', 'extensions.worktreeConfig', 'true'),
  }),
  planted('.git/commondir', {
    plant: `cp -r .git .evilgit; git --git-dir=.evilgit config core.fsmonitor "$EVIL"; echo ../.evilgit > .git/commondir`,
  }),
  planted('A .git that is a file and leads elsewhere', {
    plant: `cp -r .git .evilgit; git --git-dir=.evilgit config core.fsmonitor "$EVIL"; mv .git .git-old; echo "gitdir: ./.evilgit" > .git`,
  }),
  planted('Hooks of a remote inside of the project', {
    plant:
      'mkdir -p remote.git/hooks; cp "$EVIL" remote.git/hooks/post-receive; cp "$EVIL" remote.git/hooks/pre-receive',
    before(work) {
      work.git('init', '-q', '--bare', work.path('remote.git'));
      work.git('remote', 'set-url', 'origin', work.path('remote.git'));
      work.git('push', '-q', 'origin', 'main');
      work.write('.git/info/exclude', 'remote.git\n');
    },
  }),
  planted('A partial clone that fetches what is missing', {
    plant: `git config extensions.partialClone origin; git config remote.origin.promisor true; git config remote.origin.uploadpack "$EVIL"; rm -rf .git/objects/??`,
  }),
  ...together(
    'Filters, hooks and fsmonitor that are met by one command after the other',
    Object.fromEntries(
      LATER.map(([when, later]) => [
        `Filters, hooks and fsmonitor that are met by ${when}`,
        { plant: EVERYTHING, later },
      ]),
    ),
  ),
  // By itself: another run before it has seen the filter, and refuses to make a worktree without it.
  planted('Filters, hooks and fsmonitor that are met by `ralph loop --worktree`', {
    plant: EVERYTHING,
    later: inWorktree,
  }),
  planted('A smudge filter in settings that are included on the branch of a worktree alone', {
    plant: `${ATTRIBUTES}; printf '[filter "x"]\\n\\tsmudge = %s\\n\\trequired = true\\n' "$EVIL" > .git/more; git config includeIf.onbranch:ralph/**.path more`,
    later: inWorktree,
  }),
  planted('Filters, hooks and fsmonitor that are met when a story list creates its branch', {
    plant: `${EVERYTHING}; touch a.txt`,
    files: {
      'ralph/prd.md': '# Demo\n',
      'ralph/tasks.json': JSON.stringify({ ...storyList(story('US-001')), branchName: 'feature' }),
    },
    later: agent => [['prd', 'run', '-n', '1', '--agent', agent]],
  }),
  planted('A git in node_modules/.bin, first on the PATH', {
    plant:
      'mkdir -p node_modules/.bin; for name in git sh ssh ps git-lfs; do cp "$EVIL" node_modules/.bin/$name; done',
    path: work => [work.path('node_modules/.bin')],
  }),
  planted('A git in the project, and a PATH with a dot', {
    plant: 'cp "$EVIL" git; cp "$EVIL" sh; cp "$EVIL" ps',
    path: () => ['.', ''],
  }),
]);

/** Whether the commit of the run holds `a.txt` as it was checked, and the new file. */
async function commitsTheWork(arena: Arena, plant: string): Promise<boolean> {
  const work = arena.project({ 'a.txt': 'a\n' });
  work.settings({
    scm: { command: 'git', tasks: ['commit'] },
    guardrails: [{ command: 'grep -q b a.txt' }],
  });
  const agent = arena.agent(`{ ${plant}\n} >/dev/null 2>&1; echo b > a.txt; echo n > new.txt; ${DONE}`);
  const { code } = await arena.ralph(['run', '-p', 'Do it', '-m', '1', '--agent', agent], { cwd: work.dir });
  const shown = (name: string) =>
    execFileSync('git', ['--no-replace-objects', 'show', `main:${name}`], {
      cwd: work.dir,
      env: { ...gitEnv(), GIT_DIR: work.path('.git') },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  const now = shown('a.txt');
  // Nothing was committed, and nobody says that it was.
  if (now === 'a\n') return code !== 0;
  return now === 'b\n' && shown('new.txt') === 'n\n';
}

const forgery = (name: string, plant: string): Attack => ({
  name,
  held: { plain: true, contained: true, sandboxed: true },
  attempt: arena => commitsTheWork(arena, plant),
});

attacks('A commit that is not what was checked', [
  forgery('assume-unchanged', 'git update-index --assume-unchanged a.txt'),
  forgery('skip-worktree', 'git update-index --skip-worktree a.txt'),
  forgery('Rules in .git/info/exclude', 'mkdir -p .git/info; echo "*" > .git/info/exclude'),
  forgery(
    'A replace ref',
    'git replace -f HEAD^{tree} $(git mktree </dev/null); git replace -f HEAD $(git commit-tree -m x $(git mktree </dev/null))',
  ),
  forgery('A graft', 'mkdir -p .git/info; git rev-parse HEAD > .git/info/grafts'),
  forgery(
    'A loose object under the name of another',
    'new=$(echo b | git hash-object --stdin); old=$(echo forged | git hash-object -w --stdin); d=.git/objects; mkdir -p $d/$(echo $new | cut -c1-2); cp -f $d/$(echo $old | cut -c1-2)/$(echo $old | cut -c3-) $d/$(echo $new | cut -c1-2)/$(echo $new | cut -c3-)',
  ),
  forgery(
    'core.worktree that leads elsewhere',
    'mkdir -p /tmp/elsewhere-$$; git config core.worktree /tmp/elsewhere-$$',
  ),
  forgery('core.bare', 'git config core.bare true'),
  forgery('An index.lock that is left behind', 'touch .git/index.lock'),
  forgery('HEAD moved to another branch', 'git checkout -q -b other'),
  forgery('The work hidden by a link in place of a folder', 'rm -rf .git/info; ln -s /tmp .git/info'),
]);
