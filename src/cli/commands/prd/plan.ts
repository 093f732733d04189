/** `ralph prd plan`: the planning dialogue with an agent, in the user's own terminal. It ends with a valid list, or says what is missing. */
import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import type { Problem } from '../../../domain/text/problem.ts';
import { readIfThere } from '../../../platform/files.ts';
import { runInForeground } from '../../../platform/foreground.ts';
import { loadStories, policyOf } from '../../../run/stories/load.ts';
import type { ChosenAgent } from '../../../run/turns/choose-agent.ts';
import { isScaffold } from '../../../store/prd-folder.ts';
import type { PrdPaths } from '../../../store/prd-paths.ts';
import { readTemplate } from '../../../store/prd-paths.ts';
import { isList } from '../../../store/tasks-file.ts';
import { type CliCommand, Problems, refuse } from '../../command.ts';
import { setUp } from '../../set-up.ts';
import { declarePlace, placeOf } from './place.ts';

export const plan: CliCommand = {
  declare: command =>
    declarePlace(command)
      .option('--agent <name>', 'the agent to plan with')
      .option('-m, --model <model>', 'the model it should use'),
  help: `
Examples:
  ralph prd plan
  ralph prd plan --agent codex

If ralph/prd.md is still the template, the agent asks you what is wanted and writes it; if you have written it yourself, it only
derives the stories. In Claude Code with Ralph's plugin, /ralph:ralph-plan is the same.
`,
  async run(given) {
    const { call, paths } = placeOf(given);
    const {
      settings,
      agents: [agent],
    } = setUp('prd', call, () => ownProblems(paths));
    const argv = dialogue(agent, planPrompt(paths));
    const where = `agent ${agent.name}`;
    const what = 'Ralph cannot start a dialogue with this agent';
    if (!argv) refuse(where, what, 'use another --agent, or write the files yourself');
    const { notStarted } = await runInForeground(argv, { cwd: call.cwd, env: call.env });
    if (notStarted !== undefined) refuse(where, `cannot be started: ${notStarted}`);
    const list = loadStories(paths, policyOf(settings));
    if (!isList(list)) throw new Problems(list);
    const { length } = list.userStories;
    call.output.human(
      `\n${paths.name}/tasks.json is valid: ${length === 1 ? '1 story' : `${length} stories`}. Next: ralph prd run\n`,
    );
    return 0;
  },
};

function ownProblems(paths: PrdPaths): readonly Problem[] {
  const folder = relative(paths.root, paths.folder) || '.';
  const problems: Problem[] = [];
  if (!existsSync(paths.folder))
    problems.push({
      where: `${folder}/`,
      what: 'there is no such folder',
      fix: '`ralph prd init` creates it',
    });
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    const fix = `write ${folder}/prd.md and ${folder}/tasks.json by hand, or ralph prd import`;
    problems.push({ where: 'ralph prd plan', what: 'this command is a dialogue and needs a terminal', fix });
  }
  return problems;
}

function planPrompt(paths: PrdPaths): string {
  const isEmpty = isScaffold(readIfThere(paths.prd) ?? '');
  const mode = isEmpty
    ? 'is still the template: do full planning'
    : 'has been written already: do task derivation';
  return `${readTemplate('plan.md', { RALPH_DIR: paths.name })}\n\`${paths.name}/prd.md\` ${mode}.\n`;
}

/** The user's own flags go with it, and every other word is the agent's own way to begin a conversation. */
function dialogue(
  { adapter, command, prefix, flags, model }: ChosenAgent,
  prompt: string,
): readonly [string, ...string[]] | undefined {
  if (!adapter.dialogue) return undefined;
  const { promptFlag, modelFlag } = adapter.dialogue;
  return [
    command,
    ...prefix,
    ...flags,
    ...(model !== undefined && modelFlag !== undefined ? [modelFlag, model] : []),
    ...(promptFlag === undefined ? [] : [promptFlag]),
    prompt,
  ];
}
