/** Lanes whose agents choose the history of what lands: work of others that has landed stays, and nothing counts as merged that was not. */
import { join } from 'node:path';
import { type Arena, type Attack, attacks } from './rig.ts';

/** With a wall it does not come to that. */
const UNCONTAINED = { plain: true } as const;
const EVERYWHERE = { plain: true, contained: true, sandboxed: true } as const;
const INT = `$(git for-each-ref --format='%(refname)' 'refs/heads/ralph/*/_int')`;
/** Until the work of the other lane has landed. */
const WAIT = `n=0; until git cat-file -e "${INT}:one.txt" 2>/dev/null || [ $n -gt 600 ]; do n=$((n + 1)); sleep 0.1; done`;
const GIT = 'git -c user.name=a -c user.email=a@example.invalid';
const COMMIT = `${GIT} add -A && ${GIT} commit -qm two`;

/** A file of the git directory that both lanes have: by it they know of each other. */
const MARK = '$(sed "s/gitdir: //; s|/worktrees/.*||" .git)/lanes-';
const untilThere = (file: string) =>
  `n=0; until [ -e "${file}" ] || [ $n -gt 600 ]; do n=$((n + 1)); sleep 0.1; done`;
/** What the second lane writes into the worktree of the first, by each name that this has. */
const INTRUDE = `for at in "$PWD/../T1" "$(dirname "$(git rev-parse --git-common-dir)")"/.ralph/worktrees/*/T1; do
echo theirs > "$at/theirs.txt"; echo theirs > "$at/one.txt"; done 2>/dev/null; mkdir -p ../T1; echo theirs > ../T1/theirs.txt`;

/** Two tasks side by side; the second one does this, and the first one may, too. A third one begins when the first has landed. */
async function play(
  arena: Arena,
  second: string,
  first = 'true',
  { third, check = 'true' }: { readonly third?: string; readonly check?: string } = {},
) {
  const project = arena.project({
    'README.md': '# test\n',
    'tasks.md': `- [ ] Add one\n- [ ] Add two\n${third === undefined ? '' : '- [ ] Add three\n'}`,
    'shared.txt': 'first\n\n\n\nlast\n',
    '.gitignore': '.ralph/\n',
  });
  project.git('checkout', '-qb', 'feature');
  project.write('feature.txt', 'mine\n');
  project.git('add', '-A');
  project.git('commit', '-qm', 'a feature of the user');
  project.git('checkout', '-q', 'main');
  const agent = arena.agent(`cat > /dev/null
case "$PWD" in
*/T1) echo one > one.txt; sed -i 's/first/one/' shared.txt; ${first} ;;
*/T2) ${second} ;;
*/T3) ${third} ;;
esac
echo '<promise>COMPLETE</promise>'`);
  const lanes = third === undefined ? '2' : '1';
  const flags = ['--tasks', 'tasks.md', '--parallel', lanes, '--check', check, '--max-iterations', '5'];
  const finished = await arena.ralph(['loop', ...flags, '--agent', agent], { cwd: project.dir });
  const files = project.git('ls-tree', '-r', '--name-only', 'main').split('\n');
  return { ...finished, project, files };
}

/** Held: what the first has landed is there afterwards, with what the second did, or the run says what is gone. */
const keepsBoth = (second: string) => async (arena: Arena) => {
  const { code, files, project, stderr } = await play(arena, `${WAIT}; echo two > two.txt; ${second}`);
  if (!files.includes('one.txt') && !files.includes('two.txt')) throw new Error(stderr);
  const shared = project.git('show', 'main:shared.txt');
  return files.includes('one.txt') && shared.startsWith('one') && (code !== 0 || files.includes('two.txt'));
};

const rows: readonly Attack[] = [
  {
    name: 'A lane merges what has landed with `-s ours`, so that it goes',
    held: EVERYWHERE,
    attempt: keepsBoth(`${COMMIT}; ${GIT} merge -q -s ours -m two "${INT}"`),
  },
  {
    name: 'A lane puts its files on top of what has landed with `reset --soft`',
    held: EVERYWHERE,
    attempt: keepsBoth(`git reset -q --soft "${INT}"; ${COMMIT}`),
  },
  {
    name: 'A lane makes a commit by hand whose parent has landed',
    held: EVERYWHERE,
    attempt: keepsBoth(
      `${COMMIT}; git update-ref HEAD "$(${GIT} commit-tree -m two -p "${INT}" -p HEAD 'HEAD^{tree}')"`,
    ),
  },
  {
    name: 'A lane builds on the commit of another lane, without its work',
    held: EVERYWHERE,
    attempt: keepsBoth(`git reset -q --soft "${INT}^2"; ${COMMIT}`),
  },
  {
    name: 'A lane calls a branch of the user merged that it left out',
    held: EVERYWHERE,
    async attempt(arena) {
      const { project, files, stderr } = await play(
        arena,
        `echo two > two.txt; ${COMMIT}; ${GIT} merge -q -s ours -m two feature`,
      );
      if (!files.includes('two.txt')) throw new Error(stderr);
      return project.git('branch', '--merged', 'main', '--list', 'feature').trim() === '';
    },
  },
  {
    name: 'A lane makes names of Ralph point to a branch of the user, which would then move or go',
    held: EVERYWHERE,
    async attempt(arena) {
      const names = ['refs/heads/ralph/$run/_int', 'refs/ralph/kept/$run/T1/1', 'refs/ralph/kept/$run/T2/1'];
      const point = names.map(name => `git symbolic-ref "${name}" refs/heads/feature`).join('; ');
      const { project, files, stderr } = await play(
        arena,
        `${WAIT}; run=$(echo "${INT}" | cut -d/ -f4); ${point}; echo two > two.txt`,
      );
      if (!files.includes('one.txt')) throw new Error(stderr);
      return (
        project.git('branch', '--list', 'feature', '--format=%(subject)').trim() === 'a feature of the user'
      );
    },
  },
  {
    name: 'A lane writes into the worktree of another one during its turn, and it lands as the work of that one',
    held: { plain: false, contained: true, sandboxed: true },
    async attempt(arena) {
      const { files, stdout, stderr } = await play(
        arena,
        `${untilThere(`${MARK}one`)}; ${INTRUDE}; touch "${MARK}two"; echo two > two.txt`,
        `touch "${MARK}one"; ${untilThere(`${MARK}two`)}; echo one > one.txt`,
      );
      if (!files.includes('one.txt')) throw new Error(stdout + stderr);
      return !files.includes('theirs.txt');
    },
  },
  {
    name: 'A lane writes into the worktree of another one while that waits in the queue, and it lands with what is sent back',
    held: UNCONTAINED,
    async attempt(arena) {
      const [waits, done] = [join(arena.outside, 'waits'), join(arena.outside, 'done')];
      // Red as a candidate until it was sent back once.
      const check = `test -e .git || test ! -e one.txt || test -e fixed.txt || { touch ${waits}; ${untilThere(done)}; exit 1; }`;
      const { files, stdout, stderr } = await play(
        arena,
        `echo two > two.txt; ${untilThere(waits)}; ${INTRUDE}; touch ${done}`,
        `[ -e "${MARK}one" ] && echo fixed > fixed.txt; touch "${MARK}one"`,
        { check },
      );
      if (!files.includes('fixed.txt')) throw new Error(stdout + stderr);
      return !files.includes('theirs.txt');
    },
  },
  {
    name: 'A lane writes into the worktree of another one while the checks of that one run, in silence',
    held: UNCONTAINED,
    async attempt(arena) {
      const [waits, done] = [`${MARK}waits`, `${MARK}done`];
      const check = `case "$PWD" in */T1) touch "${waits}"; ${untilThere(done)} ;; esac`;
      const { files, stdout, stderr } = await play(
        arena,
        `echo two > two.txt; ${untilThere(waits)}; ${INTRUDE}; touch "${done}"`,
        'true',
        { check },
      );
      if (!files.includes('one.txt')) throw new Error(stdout + stderr);
      const said = `${stdout}${stderr}`.replace(/\s+/g, ' ');
      return !files.includes('theirs.txt') || said.includes('by another lane: one.txt, theirs.txt');
    },
  },
  {
    name: 'A lane moves the branch of another one, whose work is then not there',
    held: EVERYWHERE,
    async attempt(arena) {
      const moved = '$(cat .git | sed "s/gitdir: //; s|/worktrees/.*||")/moved';
      const { code, files } = await play(
        arena,
        `echo two > two.txt; for each in $(git for-each-ref --format='%(refname)' 'refs/heads/ralph/*/T1'); do git update-ref "$each" "$(${GIT} commit-tree -m none -p HEAD "$(git mktree < /dev/null)")"; done; touch "${moved}"`,
        `n=0; until [ -e "${moved}" ] || [ $n -gt 600 ]; do n=$((n + 1)); sleep 0.1; done`,
      );
      return (
        ['one.txt', 'README.md', 'tasks.md', 'two.txt'].every(name => files.includes(name)) || code !== 0
      );
    },
  },
  ...(
    [
      ['deletes a file that another one has landed', 'git rm -qf one.txt', 'one.txt of T1'],
      ['takes back a line of another one', "sed -i 's/one/first/' shared.txt", '1 line of shared.txt of T1'],
      ['begins with the files as they were before', 'git checkout -q main -- .; git rm -qf one.txt', 'of T1'],
    ] as const
  ).map(
    ([name, take, said]): Attack => ({
      name: `A lane that comes later ${name}, in silence`,
      held: EVERYWHERE,
      async attempt(arena) {
        const third = `echo three > three.txt; ${take}; ${COMMIT}`;
        const { files, stdout, stderr } = await play(arena, `${WAIT}; echo two > two.txt`, 'true', { third });
        if (!files.includes('three.txt')) throw new Error(stdout + stderr);
        return `${stdout}${stderr}`.replace(/\s+/g, ' ').includes(said);
      },
    }),
  ),
];

attacks('Lanes: the history of what lands', rows);
