/** Where the actions of `ralph prd` work: `-d` for the project, `--ralph-dir` for the folder in it. */
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { type PrdPaths, prdPaths } from '../../../store/prd-paths.ts';
import { type Call, refuse } from '../../command.ts';

export function declarePlace(command: Command): Command {
  return command
    .option('-d, --project-dir <path>', 'the project; default: the one that this folder is in')
    .option(
      '--ralph-dir <path>',
      'the folder of prd.md and tasks.json, relative to the project; default: ralph',
    );
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
