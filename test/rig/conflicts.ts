/** Two pieces of work that conflict in every way that files can, and scripts that decide it. */
import type { Repo } from './repo.ts';

export const KINDS = [
  ...['binary', 'delete/change', 'delete/change', 'file/folder', 'mode', 'rename/rename', 'text'],
] as const;

const LINES = Array.from({ length: 30 }, (_, at) => `line ${at}`).join('\n');

/** What both begin with, committed. `others`: how many files nobody touches. */
export function beginConflicts(project: Repo, others = 0): void {
  for (let at = 0; at < others; at++) project.write(`others/${Math.floor(at / 100)}/${at}`, `${at % 500}\n`);
  for (const [name, text] of [
    ...[['text.txt', 'a\n'] as const, ['binary.bin', 'a\0b'] as const, ['old.txt', LINES] as const],
    ...[['landed-deletes', 'a\n'] as const, ['own-deletes', 'a\n'] as const],
  ])
    project.write(name, text);
  project.git('add', '--all');
  project.git('commit', '--quiet', '--message', 'before both');
}

export const LANDED = [
  ...['echo 1 > text.txt', "printf 'a\\0one' > binary.bin", 'git mv old.txt one.txt'],
  ...['rm landed-deletes', 'echo 1 > own-deletes', 'echo f > f', 'echo x > m'],
].join('\n');

export const OWN = [
  ...['echo 2 > text.txt', "printf 'a\\0two' > binary.bin", 'git mv old.txt two.txt'],
  ...['echo 2 > landed-deletes', 'rm own-deletes', 'mkdir f', 'echo x > f/x', 'echo x > m; chmod +x m'],
].join('\n');

/** Some by what is in the files, some by what the agent says. */
export const DECIDED = [
  ...['echo 12 > text.txt', 'rm two.txt', 'rm landed-deletes', 'mv f~* f/y'],
  `printf '<keep>binary.bin</keep>\\n<keep>own-deletes</keep>\\nand <keep>m</keep>' > $LANE_AGENT/$STORY.says`,
].join('\n');

/** The files of a branch, with their modes. */
export function listFiles(project: Pick<Repo, 'git'>, branch: string): readonly string[] {
  const lines = project.git('ls-tree', '-r', branch).trim().split('\n');
  return lines
    .map(line => line.replace(/ \w+ [0-9a-f]+\t/, ' '))
    .filter(line => !/README|tasks\.md| (ralph|work|\.ralph|others)\/|\.gitignore/.test(line));
}

export const LANDED_FILES = [
  ...['100644 binary.bin', '100644 f/x', '100644 f/y', '100644 m', '100644 one.txt', '100644 own-deletes'],
  '100644 text.txt',
];

/** The same for two that begin together, whoever lands first: each does its own side, and all of it where it sees the other's. */
export function eitherSide(id: string, other: string, side: 0 | 1): { implement: string; decide: string } {
  const all = [
    ...['echo both > text.txt', "printf 'a\\0both' > binary.bin", 'rm -rf f f~*', 'mkdir f', 'echo x > f/x'],
    ...['echo y > f/y', 'rm -f old.txt one.txt two.txt', 'echo renamed > renamed.txt'],
    ...['rm -f landed-deletes own-deletes', 'echo x > m', 'chmod +x m'],
    `printf '<keep>%s</keep>\\n' text.txt binary.bin old.txt one.txt two.txt landed-deletes own-deletes f f/x m > $LANE_AGENT/$STORY.says`,
  ].join('\n');
  const own = side === 0 ? LANDED : OWN;
  return {
    // Again after a kill: what is done already fails, and the rest follows.
    implement: `mkdir -p sides; touch sides/${id}\nif test -e sides/${other}; then\n${all}\nelse\n${own.replace('mkdir f', 'mkdir -p f')}\nfi; true`,
    decide: `test ! -e sides/${other} || {\n${all}\n}; true`,
  };
}
