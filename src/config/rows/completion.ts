/** What the agent must say when it is done, what is shown and committed. */
import { integer, list, object, text, yesNo } from '../kinds.ts';
import { both, type Setting } from '../setting.ts';

const scm = object({
  command: { kind: text(), help: 'The program, such as git.' },
  tasks: {
    kind: list(text()),
    help: 'What to run, in order. commit commits what was checked, under a message of the agent.',
  },
});

export const COMPLETION = [
  {
    key: 'title',
    kind: text(),
    flag: both('--title <text>'),
    help: 'What the run is about, in a few words. Default: the first line of the task, or the project of the story list.',
  },
  {
    key: 'completionResponse',
    kind: text(),
    default: 'DONE',
    flag: { run: '-c, --completion-response <text>' },
    help: 'What the agent says between <response> tags when it is done. With another text than DONE, <promise>COMPLETE</promise> does not end a run.',
  },
  {
    key: 'completionTag',
    kind: text(),
    default: 'COMPLETE',
    flag: { loop: '--completion-tag <text>' },
    help: 'What the agent says between <promise> tags when it is done. With another text than COMPLETE, <response>DONE</response> does not end a loop.',
  },
  {
    key: 'outputTruncateChars',
    kind: integer({ min: 1 }),
    default: 5000,
    help: 'How many characters of the output of a failed guardrail go into the next prompt.',
  },
  {
    key: 'streamAgentOutput',
    kind: yesNo,
    default: true,
    flag: both('--[no-]stream-agent-output'),
    help: 'Show what the agent does while it works.',
  },
  {
    key: 'showTimestamp',
    kind: yesNo,
    default: false,
    help: 'Begin each line on the terminal with the time: [HH:MM:SS].',
  },
  {
    key: 'maxOutputLines',
    kind: integer({ min: 0 }),
    default: 3,
    help: 'How many lines of the output of a tool or a failed check the terminal shows. 0: none.',
  },
  {
    key: 'maxOutputChars',
    kind: integer({ min: 0 }),
    default: 400,
    help: 'How many characters of it.',
  },
  {
    key: 'includeIterationCountInPrompt',
    kind: yesNo,
    default: false,
    help: 'Begin each prompt with "Iteration X of Y, Z remaining."',
  },
  { key: 'scm', kind: scm, help: 'Source control tasks after every iteration whose guardrails pass.' },
  {
    key: 'commitDirty',
    kind: yesNo,
    default: false,
    help: 'Commit files, too, that you had changed before the run and the agent has changed since. Without it they are named and left.',
  },
] as const satisfies readonly Setting[];
