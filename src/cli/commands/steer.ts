/** The commands that steer a run from another terminal: pause, continue, tell, answer, cancel. */
import { systemClock } from '../../platform/clock.ts';
import { LONGEST_TEXT, type Message } from '../../store/inbox.ts';
import { type ProjectPaths, projectAt, runPaths } from '../../store/paths.ts';
import { findLiveRun } from '../../store/run-file.ts';
import { type Steered, steerRun } from '../../store/steering.ts';
import { removeWorktree } from '../../workspace/remove-worktree.ts';
import { answer, type Call, type CliCommand, orThrow, refuse, refuseInside } from '../command.ts';

const RUN_ARGUMENT = ['[run]', 'a run, or part of its id; may be left out when only one is running'] as const;

/** The run stops between two steps until it is continued. */
export const pause: CliCommand = {
  declare(command) {
    command
      .argument(...RUN_ARGUMENT)
      .addHelpText(
        'after',
        "\nExamples:\n  ralph pause\n  ralph pause 20261115\n\nWhat you change in the files meanwhile is yours: it is not taken for the agent's, and protected files are protected as you leave them.\n",
      );
  },
  run: async call => steer(call, call.args[0], { kind: 'pause' }),
};

export const continueRun: CliCommand = {
  declare(command) {
    command
      .argument(...RUN_ARGUMENT)
      .addHelpText('after', '\nExamples:\n  ralph continue\n  ralph continue 20261115\n');
  },
  run: async call => steer(call, call.args[0], { kind: 'continue' }),
};

/** Words for the agent, in its next prompt, once. */
export const tell: CliCommand = {
  declare(command) {
    command
      .argument(...RUN_ARGUMENT)
      .argument('[text]', 'what to tell the agent')
      .addHelpText(
        'after',
        '\nExamples:\n  ralph tell "The bug is in src/login.ts, not in the tests"\n  ralph tell 20261115 "Use the helper in src/dates.ts"\n\nThe agent reads it at the beginning of its next iteration, and only then.\n',
      );
  },
  async run(call) {
    const { args } = call;
    const [run, text] = args.length > 1 ? args : [undefined, args[0]];
    refuseText(text, 'ralph tell "Look at src/login.ts"');
    return steer(call, run, { kind: 'tell', text });
  },
};

/** What the user decides, for every later prompt of the story that asked. A run that has stopped gets it when it is resumed. */
export const answerQuestion: CliCommand = {
  declare(command) {
    command
      .argument('[run]', RUN_ARGUMENT[1])
      .argument('[story]', 'the story that asked')
      .argument('[text]', 'what you decide')
      .addHelpText(
        'after',
        '\nExamples:\n  ralph answer US-002 "Use ISO dates"\n  ralph answer 20261115 US-002 "Use ISO dates"\n\nOf a run that has stopped because nobody answered the answer is kept: resume it.\n',
      );
  },
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
  declare(command) {
    command
      .argument(...RUN_ARGUMENT)
      .option('--gently', 'let the step that it is in finish')
      .option(
        '--remove <worktree>',
        'remove a worktree that Ralph made, and its branch; refused while it holds unmerged work',
      )
      .option('--force', 'with --remove: also delete files in it that git ignores')
      .addHelpText(
        'after',
        '\nExamples:\n  ralph cancel\n  ralph cancel 20261115 --gently\n  ralph cancel --remove async\n',
      );
  },
  async run(call) {
    const { remove } = call.options;
    if (typeof remove !== 'string')
      return steer(call, call.args[0], { kind: 'cancel', gently: call.options.gently === true });
    refuseInside('cancel', call);
    const { root } = projectAt(call.cwd);
    const force = call.options.force === true;
    orThrow(await removeWorktree({ root, env: call.env, name: remove, force }));
    call.output.answer(`The worktree ${remove} and its branch are gone.\n`);
    return 0;
  },
};

function steer(call: Call, wanted: string | undefined, order: Message): 0 | 1 {
  refuseInside(order.kind, call);
  const { cwd, env, output } = call;
  const project = projectAt(cwd, env);
  const run = orThrow(findLiveRun(project, wanted));
  const { message, done } =
    'ended' in run ? steerEnded(project, run.ended, order) : steerRun(run, order, systemClock.now());
  answer(output, { runId: 'ended' in run ? run.ended : run.id, done, message }, () => message);
  return done ? 0 : 1;
}

/** Only an answer waits for a run to be resumed. */
function steerEnded(project: ProjectPaths, id: string, order: Message): Steered {
  if (order.kind !== 'answer') return { message: `${id} is not running.`, done: false };
  const { message, done } = steerRun({ id, paths: runPaths(project, id) }, order, systemClock.now());
  return { message: done ? `${message} It is not running: ralph resume ${id}` : message, done };
}
