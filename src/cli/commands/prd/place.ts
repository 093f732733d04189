/** Where the actions of `ralph prd` work: `-d` for the project, `--ralph-dir` for the folder in it. */
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { StoryList } from '../../../domain/stories/story.ts';
import { isProblem } from '../../../domain/text/problem.ts';
import { missingCommands } from '../../../run/turns/missing-commands.ts';
import { approvalsPath, claimedStories, readApprovals } from '../../../store/approvals.ts';
import { type PrdPaths, prdPaths } from '../../../store/prd-paths.ts';
import { proposeChecks } from '../../../workspace/propose-checks.ts';
import { findRepository } from '../../../workspace/repository.ts';
import { type Call, refuse } from '../../command.ts';

export function declarePlace(command: Command): Command {
  return command
    .option('-d, --project-dir <path>', 'the project; default: the one that this folder is in')
    .option(
      '--ralph-dir <path>',
      'the folder of prd.md and tasks.json, relative to the project; default: ralph',
    );
}

/** The checks that `ralph init` would find, as far as they can be started here. */
export function foundChecks({ env }: Call, { root }: PrdPaths): readonly string[] {
  return proposeChecks(root).filter(command => missingCommands([command], { cwd: root, env }).length === 0);
}

/** What was proposed, for people: a line that ends, or nothing. */
export function checkWords(checks: readonly string[]): string {
  if (checks.length === 0)
    return 'No check was found: add verifyCommands, so that more than agents say whether a story is done.\n';
  return `Checks: ${checks.join(', ')} (verifyCommands in tasks.json: leave out what does not fit).\n`;
}

/** What git and the record of approvals say of a list. */
export async function factsOf({ cwd, env }: Call, paths: PrdPaths, list: StoryList) {
  const repository = await findRepository({ cwd, env });
  const branch = isProblem(repository) ? undefined : repository.head.branch;
  return { branch, claimed: claimedStories(list, readApprovals(approvalsPath(env, cwd, paths))) };
}

/** The call as if it had been made in the project, and the files there. */
export function placeOf(call: Call): { readonly call: Call; readonly paths: PrdPaths } {
  const { projectDir, ralphDir } = call.options;
  const root = typeof projectDir === 'string' ? resolve(call.cwd, projectDir) : call.root;
  if (!statSync(root, { throwIfNoEntry: false })?.isDirectory())
    refuse(`--project-dir ${projectDir}`, 'there is no such folder');
  const paths = typeof ralphDir === 'string' ? prdPaths(root, ralphDir) : prdPaths(root);
  return { call: { ...call, cwd: root, root }, paths };
}
