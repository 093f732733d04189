/** `ralph replay`: judges a recorded run again, with the adapters and the judge of today. */
import type { Settings } from '../../config/settings-shape.ts';
import { isProblem, type Problem } from '../../domain/problem.ts';
import { checkNoun } from '../../report/phrases.ts';
import { replayLines } from '../../report/replay.ts';
import { readIterations } from '../../store/checkpoint.ts';
import { projectAt, runPaths } from '../../store/paths.ts';
import { findRun, readRunFile } from '../../store/run-file.ts';
import { storyTerms } from '../../stories/plan.ts';
import { loopTerms } from '../../turns/loop-plan.ts';
import { replayIteration } from '../../turns/replay.ts';
import { runTerms } from '../../turns/run-plan.ts';
import { type CliCommand, Problems } from '../command.ts';
import { styleOf } from '../reporters.ts';

const TERMS = { run: runTerms, loop: loopTerms, prd: storyTerms } as const;

export const replay: CliCommand = {
  declare(command) {
    command.argument('[run]', 'a run, or part of its id; without it the latest').addHelpText(
      'after',
      `
Examples:
  ralph replay
  ralph replay 20261115 --json | jq '.iterations[] | select(.same | not)'

Reads the raw streams in the run's folder with the adapters of this version,
takes the checks from the ledger, judges each iteration again, and says whether
the verdict is the same. Runs nothing and changes nothing.
Exit code 0: all the same; 1: at least one is not.
`,
    );
  },
  async run({ args: [wanted], cwd, output }) {
    const project = projectAt(cwd);
    const id = findRun(project, wanted);
    if (isProblem(id)) throw new Problems([id]);
    const paths = runPaths(project.runs, id);
    const file = readRunFile(paths);
    const { iterations: recorded, problems } = readIterations(paths);
    const terms = file && file.command in TERMS ? TERMS[file.command as keyof typeof TERMS] : undefined;
    if (!file || !terms) throw new Problems([notJudged(id, file?.command)]);
    const settings = file.config as Settings;
    const iterations = recorded.flatMap(
      each => replayIteration({ paths, settings, terms: terms(settings) }, each) ?? [],
    );
    const same = iterations.every(each => each.same);
    for (const problem of problems) output.error(`ralph replay: the ledger has been changed: ${problem}\n`);
    if (output.json) output.answer(`${JSON.stringify({ runId: id, same, iterations })}\n`);
    else {
      const lines = replayLines(iterations, checkNoun(file.command), styleOf(output));
      output.answer(`${[`Run ${id}, judged again`, '', ...lines].join('\n')}\n`);
    }
    return same ? 0 : 1;
  },
};

function notJudged(id: string, command: string | undefined): Problem {
  return {
    where: id,
    what: `a run of ralph ${command ?? 'unknown'} cannot be judged again from its folder`,
    fix: 'ralph run, ralph loop and ralph prd run can',
  };
}
