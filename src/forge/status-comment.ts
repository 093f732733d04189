/** What Ralph writes at a pull request: one status comment, edited in place, and one reply in each thread that it has answered. */
import { isProblem, type Problem } from '../domain/text/problem.ts';
import { endedWords } from '../report/issue-words.ts';
import { counted } from '../report/numbers.ts';
import { hiddenMark } from '../report/pull-request.ts';
import { MARKDOWN_WORDS } from '../report/words.ts';
import { markOf, type Seen } from './facts.ts';
import type { Following } from './follow.ts';
import type { ForgeProblem } from './http.ts';

const { say } = MARKDOWN_WORDS;

/** `now`: what is done, or how it has ended. Asked of the forge, so that there is one however often Ralph is killed. */
export async function writeStatus(
  { ledger, access, number, run }: Following,
  { words, me, unheard }: Seen,
  now: string | NonNullable<State['ended']>,
): Promise<Problem | undefined> {
  const mark = `status-${run.id}`;
  const { forge, redact } = access;
  const facts = factLines(ledger.state(), unheard);
  const lines = [statusLine(now), '', ...facts, '', hiddenMark(mark)];
  const text = redact(lines.join('\n'));
  const there = words.find(word => word.kind === 'comment' && markOf(word, me) === mark);
  if (there?.text.replaceAll('\r\n', '\n') === text) return undefined;
  const write = () => (there ? forge.editComment(there.number, text) : forge.comment(number, text));
  return unlessUnsure(await ledger.act({ act: 'comment', what: String(number) }, write, () => ({})));
}

type State = ReturnType<Following['ledger']['state']>;

function statusLine(now: string | NonNullable<State['ended']>): string {
  return `**Ralph**: ${typeof now === 'string' ? say(now) : endedWords(now)}`;
}

/** A comment has its limits. */
const MOST_CHECKS = 20;

const OTHERS = [
  ['review', 'the review'],
  ['conflict', 'conflicts'],
  ['foreign', 'what others have pushed'],
] as const;

function factLines({ checkRounds, rounds }: State, unheard: number): readonly string[] {
  const ci = Object.entries(checkRounds);
  const more = ci.length - MOST_CHECKS;
  return [
    ...ci.slice(0, MOST_CHECKS).map(([name, count]) => `- ${counted(count, 'round')} for ${say(name)}`),
    ...(more > 0 ? [`- rounds for ${counted(more, 'more check')}`] : []),
    ...OTHERS.flatMap(([why, what]) =>
      rounds[why] > 0 ? [`- ${counted(rounds[why], 'round')} for ${what}`] : [],
    ),
    ...(unheard > 0 ? [`- ${counted(unheard, 'comment')} by people who may not write here: not read`] : []),
  ];
}

/** One reply in each thread whose words a round was made for. */
export async function replyToThreads(
  { ledger, access, number }: Following,
  { words, me, pull }: Seen,
): Promise<Problem | undefined> {
  const { heard, pushed } = ledger.state();
  const commit = pushed.at(-1) ?? pull.head;
  for (const { id, kind, thread } of words) {
    if (kind !== 'thread' || thread === undefined || !heard.includes(id)) continue;
    const mark = `reply-${id}`;
    if (words.some(word => markOf(word, me) === mark)) continue;
    const text = `Worked on in ${commit}.\n\n${hiddenMark(mark)}`;
    const problem = unlessUnsure(
      await ledger.act(
        { act: 'reply', what: id },
        () => access.forge.reply(number, thread, text),
        () => ({}),
      ),
    );
    if (problem) return problem;
  }
  return undefined;
}

/** Whether it arrived is asked at the next look. */
function unlessUnsure(value: unknown): Problem | undefined {
  return isProblem(value) && !(value as ForgeProblem).isUnsure ? value : undefined;
}
