/** The commands that steer a run from another terminal: pause, continue, tell, answer, cancel. */
import { parentOf } from '../../domain/lanes/board.ts';
import { systemClock } from '../../platform/clock.ts';
import { LONGEST_TEXT, type Message } from '../../store/inbox.ts';
import { isRunning } from '../../store/lease.ts';
import { type ProjectPaths, projectAt, runPaths } from '../../store/paths.ts';
import { listRuns, readRunFile } from '../../store/run-file.ts';
import { send } from '../../store/send.ts';
import { removedWords, removeLanes } from '../../workspace/remove-lanes.ts';
import { removeWorktree } from '../../workspace/remove-worktree.ts';
import { answer, type Call, type CliCommand, orThrow, Problems, refuse, refuseInside } from '../command.ts';

const RUN_ARGUMENT = [
  '[run]',
  'a run, part of its id, or a story of a parallel run; may be left out when only one is running',
] as const;

/** The run stops between two steps until it is continued. */
export const pause: CliCommand = {
  declare: command => command.argument(...RUN_ARGUMENT),
  help: "\nExamples:\n  ralph pause\n  ralph pause 20261115\n  ralph pause US-002\n\nWhat you change in the files meanwhile is yours: it is not taken for the agent's, and protected files are protected as you leave them.\n",
  run: async call => steer(call, call.args[0], { kind: 'pause' }),
};

export const continueRun: CliCommand = {
  declare: command => command.argument(...RUN_ARGUMENT),
  help: '\nExamples:\n  ralph continue\n  ralph continue 20261115\n',
  run: async call => steer(call, call.args[0], { kind: 'continue' }),
};

/** Words for the agent, in its next prompt, once. */
export const tell: CliCommand = {
  declare: command => command.argument(...RUN_ARGUMENT).argument('[text]', 'what to tell the agent'),
  help: '\nExamples:\n  ralph tell "The bug is in src/login.ts, not in the tests"\n  ralph tell 20261115 "Use the helper in src/dates.ts"\n  ralph tell US-002 "Dates are in UTC"\n\nThe agent reads it at the beginning of its next iteration, and only then.\n',
  async run(call) {
    const { args } = call;
    const [run, text] = args.length > 1 ? args : [undefined, args[0]];
    refuseText(text, 'ralph tell "Look at src/login.ts"');
    return steer(call, run, { kind: 'tell', text });
  },
};

/** What the user decides, for every later prompt of the story that asked. A run that has stopped gets it when it is resumed. */
export const answerQuestion: CliCommand = {
  declare: command =>
    command
      .argument('[run]', RUN_ARGUMENT[1])
      .argument('[story]', 'the story that asked')
      .argument('[text]', 'what you decide'),
  help: '\nExamples:\n  ralph answer US-002 "Use ISO dates"\n  ralph answer 20261115 US-002 "Use ISO dates"\n\nOf a run that has stopped because nobody answered the answer is kept: resume it.\n',
  async run(call) {
    const { args } = call;
    const [run, story, text] = args.length > 2 ? args : [undefined, ...args];
    if (story === undefined || text === undefined)
      refuse('answer', 'a story and a text are needed', 'ralph answer US-002 "Use ISO dates"');
    refuseText(text, 'ralph answer US-002 "Use ISO dates"');
    return steer(call, run, { kind: 'answer', story, text });
  },
};

function refuseText(text: string | undefined, example: string): asserts text is string {
  if (text === undefined || text.trim() === '') refuse('text', 'there is none', example);
  if (text.length > LONGEST_TEXT) {
    const what = `it has ${text.length} characters; at most ${LONGEST_TEXT}`;
    refuse('text', what, 'write it to a file, and tell the agent its name');
  }
}

/** Ends a run, and takes its worktree away when that loses nothing. */
export const cancel: CliCommand = {
  declare: command =>
    command
      .argument(...RUN_ARGUMENT)
      .option('--gently', 'let the step that it is in finish')
      .option(
        '--remove <worktree>',
        'remove a worktree that Ralph made, and its branch, or those of a parallel run; refused while they hold unmerged work',
      )
      .option(
        '--force',
        'with --remove: also delete files in it that git ignores; of a parallel run also unmerged work, which is kept under refs/ralph/kept',
      ),
  help: '\nExamples:\n  ralph cancel\n  ralph cancel 20261115 --gently\n  ralph cancel US-002\n  ralph cancel --remove async\n  ralph cancel --remove 20261115-015913-k3f9\n',
  async run(call) {
    const { remove } = call.options;
    if (typeof remove !== 'string')
      return steer(call, call.args[0], { kind: 'cancel', gently: call.options.gently === true });
    refuseInside('cancel', call);
    const project = projectAt(call.cwd, call.env);
    const { root } = project;
    const force = call.options.force === true;
    const parallel = parallelRun(project, remove);
    if (parallel !== undefined) return removeParallel(call, project, parallel, force);
    orThrow(await removeWorktree({ root, env: call.env, name: remove, force }));
    call.output.answer(`The worktree ${remove} and its branch are gone.\n`);
    return 0;
  },
};

/** The parallel run that is meant, if one is: a worktree has another name. */
function parallelRun(project: ProjectPaths, name: string): string | undefined {
  const fits = listRuns(project).filter(
    id =>
      parentOf(id) === undefined &&
      id.includes(name) &&
      readRunFile(runPaths(project, id))?.given?.parallel !== undefined,
  );
  return fits.find(id => id === name) ?? (fits.length === 1 ? fits[0] : undefined);
}

/** All that it has left in the repository. What is nowhere else stays, and is named. */
async function removeParallel(
  { env, output }: Call,
  project: ProjectPaths,
  run: string,
  force: boolean,
): Promise<0> {
  if (isRunning(runPaths(project, run))) refuse(run, 'it is running', `\`ralph cancel ${run}\` ends it`);
  const result = await removeLanes({ root: project.root, env, run, force });
  const { removed, kept, problems } = result;
  answer(output, { runId: run, removed, kept, left: problems }, () => removedWords(run, result).join('\n'));
  if (problems.length > 0) throw new Problems(problems);
  return 0;
}

function steer(call: Call, wanted: string | undefined, order: Message): 0 | 1 {
  refuseInside(order.kind, call);
  const { cwd, env, output } = call;
  const project = projectAt(cwd, env);
  const { message, done, runId } = orThrow(send(project, wanted, order, systemClock.now()));
  answer(output, { runId, done, message }, () => message);
  return done ? 0 : 1;
}
