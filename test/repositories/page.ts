/** The page of the docs that says which repositories and machines are tried, from the tables of the tests. */
import { KINDS, type Kind, outcomeOf, WAYS, type Way } from './kinds.ts';
import { MACHINES } from './machines.ts';

export function repositoriesPage(): string {
  return `# Repositories and machines that are tried

Generated from \`test/repositories\`; \`npm run generate\` writes it. Each kind is made with the real program, and worked in in four ways: \`ralph loop\` with a commit where it is, in a worktree, with a clean proof, and as a list of tasks side by side.
Either it **works**, or it is refused with the sentence that is shown, before an agent is started. In both cases your files, your index and what \`git status\` says of them are afterwards what they were.

${tableOf('kind', KINDS)}

Kinds that the git of a machine cannot make are skipped there, and the test says so: reftable needs git 2.45, Git LFS and \`scalar\` need their programs.

## Machines
An ordinary repository, worked in in the same four ways.

${tableOf('machine', MACHINES)}

Machines that cannot be made are skipped, and the test says so: disks of their own need root, a clock that jumps needs libfaketime. What fills up, becomes read-only or is killed in the middle of a run is tried in \`test/scenarios/disk.test.ts\` and \`test/chaos\`.

## How it is done
- **Submodules.** Worktrees, lanes and clean checkouts get the files of each submodule on the commit that is recorded, from the copy in your own \`.git/modules\`; nothing is fetched over a network. In a worktree it is a repository of its own, with the objects of yours by reference. One that you have not checked out stays an empty folder. What lands has the link that the agent has committed: a submodule that it moves and does not commit is named and left, and the worktree of a lane that holds work in one is kept. What is merged into a lane takes its submodules along; one that does not have the commit, or has changes in the way, is not moved, and the story needs you before it can land. A branch that is checked out is not moved to work that moves a submodule: the final block has the \`git merge\` for it.
- **Git LFS.** Files are taken from your own \`.git/lfs\`, and nothing is downloaded: a file whose content is not there stays a pointer, as in your clone.
- **Sparse checkouts** stay sparse in worktrees, lanes and clean checkouts. What is not checked out is in every commit as it was.
- **Filters.** Ralph runs none but LFS. Where a committed file needs one to be readable, a worktree or a clean checkout would not have it, so it is refused. Lanes are committed by Ralph itself, so there no filter is accepted.
- **Merging.** \`merge=union\` counts in the merge queue, by the attributes of what has landed. Merge drivers run programs, and are not run.
- **Signing.** With \`commit.gpgsign\` every commit of a lane, and every merge, is signed, with your key and the program of your global settings; one that the repository names is not started. That it works is tried before the first turn.
- **A clean checkout that cannot be made** (a full disk, a temporary folder that is gone) ends the run: no agent can repair it.
- **Monorepos.** Which checks are run for which change is for you to say: [Work in a monorepo](how-to/work-in-a-monorepo.md) shows how.
`;
}

type Row = Pick<Kind, 'outcome' | 'note'>;

function tableOf(what: string, rows: Readonly<Record<string, Row>>): string {
  const heads = WAYS.map(way => (way.startsWith('--') ? `\`${way}\`` : way));
  const lines = Object.entries(rows).map(
    ([name, row]) => `| ${name} | ${WAYS.map(way => cellOf(row, way)).join(' | ')} | ${row.note ?? ''} |`,
  );
  return `| ${what} | ${heads.join(' | ')} | note |\n|---|${WAYS.map(() => '---|').join('')}---|\n${lines.join('\n')}`;
}

function cellOf(kind: Row, way: Way): string {
  const outcome = outcomeOf(kind, way);
  return outcome === 'works' ? outcome : `refused: “${outcome}”`;
}
