/** Two pieces of work that conflict in every way that files can, and scripts that decide it. */
import { expect } from 'vitest';
import { type Repo, repo } from './repo.ts';

export const FILE_KINDS = [
  ...['binary', 'delete/change', 'delete/change', 'file/folder', 'mode', 'rename/delete', 'rename/delete'],
  ...['rename/rename', 'text'],
];

export const KINDS = [...FILE_KINDS, 'submodule'].sort();

const linesOf = (name: string) => Array.from({ length: 30 }, (_, at) => `${name} ${at}`).join('\n');

/** What both begin with, committed. `others`: how many files nobody touches. */
export function beginConflicts(project: Repo, others = 0): void {
  for (let at = 0; at < others; at++) project.write(`others/${Math.floor(at / 100)}/${at}`, `${at % 500}\n`);
  for (const [name, text] of [
    ...[['text.txt', 'a\n'] as const, ['binary.bin', 'a\0b'] as const, ['landed-deletes', 'a\n'] as const],
    ['own-deletes', 'a\n'] as const,
    ...['old.txt', 'landed-renames', 'own-renames'].map(name => [name, linesOf(name)] as const),
  ])
    project.write(name, text);
  project.git('add', '--all');
  project.git('commit', '--quiet', '--message', 'before both');
}

/** The same with a submodule. Which commit of it each of them wants is in a file. */
export function beginWithSubmodule(project: Repo): void {
  const other = repo({ in: 'base\n' });
  for (const name of ['landed', 'own', 'both']) {
    other.git('checkout', '--quiet', '-b', name, 'main');
    other.write('in', `${name}\n`);
    other.git('commit', '--quiet', '--all', '--message', name);
    project.write(`sub.${name}`, other.git('rev-parse', 'HEAD'));
  }
  other.git('checkout', '--quiet', 'main');
  project.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', other.dir, 'sub');
  beginConflicts(project);
}

/** Where it is not checked out, as in the clone of a worker, the commit alone is named. */
const MOVE = (to: string) =>
  `if test -e sub/.git; then git -C sub checkout -q $(cat sub.${to}); elif test -e sub.${to}; then git update-index --cacheinfo 160000,$(cat sub.${to}),sub; fi`;

export const LANDED = [
  ...['echo 1 > text.txt', "printf 'a\\0one' > binary.bin", 'git mv old.txt one.txt', MOVE('landed')],
  ...['rm landed-deletes', 'echo 1 > own-deletes', 'echo f > f', 'echo x > m', 'rm own-renames'],
  'git mv landed-renames landed-renamed; echo 1 >> landed-renamed',
].join('\n');

export const OWN = [
  ...['echo 2 > text.txt', "printf 'a\\0two' > binary.bin", 'git mv old.txt two.txt', MOVE('own')],
  ...['echo 2 > landed-deletes', 'rm own-deletes', 'mkdir f', 'echo x > f/x', 'echo x > m; chmod +x m'],
  'rm landed-renames; git mv own-renames own-renamed; echo 2 >> own-renamed',
].join('\n');

/** Some by what is in the files, some by what the agent says. */
export const DECIDED = [
  ...['echo 12 > text.txt', 'rm two.txt', 'rm landed-deletes', 'mv f~* f/y', MOVE('both')],
  'rm landed-renamed; mv own-renamed renamed',
  `printf '<keep>binary.bin</keep>\\n<keep>own-deletes</keep>\\nand <keep>m</keep>' > $LANE_AGENT/$STORY.says`,
].join('\n');

/** The files of a branch, with their modes. */
function listFiles(project: Pick<Repo, 'git'>, branch: string): readonly string[] {
  const lines = project.git('ls-tree', '-r', branch).trim().split('\n');
  return lines
    .map(line => line.replace(/ \w+ [0-9a-f]+\t/, ' '))
    .filter(line => !/README|tasks\.md| (ralph|work|\.ralph|others)\/|\.git|sub\./.test(line));
}

const LANDED_FILES = [
  ...['100644 binary.bin', '100644 f/x', '100644 f/y', '100644 m', '100644 one.txt', '100644 own-deletes'],
  ...['100644 renamed', '160000 sub', '100644 text.txt'],
];

/** What both have done, decided, is on this branch. */
export function expectBoth(project: Pick<Repo, 'git'>, branch: string): void {
  const files = listFiles(project, branch);
  const hasSubmodule = files.includes('160000 sub');
  expect(files).toEqual(LANDED_FILES.filter(each => hasSubmodule || each !== '160000 sub'));
  if (hasSubmodule)
    expect(project.git('rev-parse', `${branch}:sub`)).toBe(project.git('show', `${branch}:sub.both`));
}

/** The same for two that begin together, whoever lands first: each does its own side, and all of it where it sees the other's. */
export function eitherSide(id: string, other: string, side: 0 | 1): { implement: string; decide: string } {
  const all = [
    ...['echo both > text.txt', "printf 'a\\0both' > binary.bin", 'rm -rf f f~*', 'mkdir f', 'echo x > f/x'],
    ...['echo y > f/y', 'rm -f old.txt one.txt two.txt', 'echo renamed > renamed.txt', MOVE('both')],
    ...['rm -f landed-deletes own-deletes', 'echo x > m', 'chmod +x m'],
    'rm -f landed-renames own-renames landed-renamed own-renamed; echo renamed > both-renamed',
    `printf '<keep>%s</keep>\\n' text.txt binary.bin old.txt one.txt two.txt landed-deletes own-deletes f f/x m sub landed-renamed own-renamed > $LANE_AGENT/$STORY.says`,
  ].join('\n');
  const own = side === 0 ? LANDED : OWN;
  return {
    // Again after a kill: what is done already fails, and the rest follows.
    implement: `mkdir -p sides; touch sides/${id}\nif test -e sides/${other}; then\n${all}\nelse\n${own.replace('mkdir f', 'mkdir -p f')}\nfi; true`,
    decide: `test ! -e sides/${other} || {\n${all}\n}; true`,
  };
}
