/** A story list at a glance: `ralph prd status`, and the summary of an archive. */

import { passedIds, waitsFor } from '../domain/stories/assignment.ts';
import { type AskedQuestion, answerCommand, questionWords } from '../domain/stories/questions.ts';
import type { Story, StoryList } from '../domain/stories/story.ts';
import { displayWidth, oneLine } from '../platform/text.ts';
import { counted } from './numbers.ts';
import { phrase, storyState } from './phrases.ts';
import { hanging, type Mark, mark, paint, type Style } from './style.ts';
import { tableCell } from './words.ts';

export interface StoriesView {
  readonly list: StoryList;
  /** What the next iteration would be for. */
  readonly next: string;
  /** Which loop is running, or that none is. */
  readonly loop: string;
  /** The branch that is checked out; undefined: none. */
  readonly branch: string | undefined;
  /** Stories that the list calls approved, and no review of Ralph's own is on record for. */
  readonly claimed: readonly string[];
  /** What stories ask, and nobody has answered. */
  readonly questions: readonly Pick<AskedQuestion, 'story' | 'question'>[];
}

export function storiesLines(view: StoriesView, style: Style): readonly string[] {
  const { list, next, loop, claimed, questions } = view;
  const stories = list.userStories;
  const done = stories.filter(story => story.passes && !claimed.includes(story.id)).length;
  const name = [list.project, list.branchName].filter(text => text.trim() !== '').map(phrase);
  const ids = Math.max(0, ...stories.map(story => displayWidth(phrase(story.id))));
  return [
    paint(
      style,
      'bold',
      `${name.join(mark(style, 'dot'))}${name.length > 0 ? ': ' : ''}${done} of ${stories.length} stories done`,
    ),
    '',
    ...stories.flatMap(story => storyLines(story, view, ids, style)),
    '',
    ...questions.flatMap(each =>
      hanging(style, '?', `${phrase(questionWords(each))} Answer: ${answerCommand(each.story)}`),
    ),
    ...(questions.length > 0 ? [''] : []),
    `Next: ${next}`,
    `Loop: ${loop}`,
    `Branch: ${branchWords(view)}`,
  ];
}

function branchWords({ list, branch }: StoriesView): string {
  const used = branch === undefined ? 'none' : phrase(branch);
  const named = list.branchName.trim();
  if (named === '' || named === branch) return used;
  return `${used}; \`ralph prd run\` works on ${phrase(named)}`;
}

function storyLines(
  story: Story,
  { list, claimed, questions }: StoriesView,
  ids: number,
  style: Style,
): readonly string[] {
  const isAsking = questions.some(each => each.story === story.id);
  const id = phrase(story.id);
  const indent = ' '.repeat(displayWidth(mark(style, 'pending')) + ids + 2);
  const room = Math.max(20, style.width - indent.length);
  const head = `${mark(style, signOf(story, isAsking))} ${id}${' '.repeat(ids - displayWidth(id))} `;
  const waiting = story.passes ? [] : waitsFor(story, passedIds(list.userStories));
  const facts = [
    stateOf(story, claimed.includes(story.id)),
    ...(story.reviewCount > 0 ? [counted(story.reviewCount, 'review')] : []),
    ...(isAsking ? ['waits for your answer'] : []),
    ...(waiting.length > 0 ? [`waits for ${waiting.map(phrase).join(', ')}`] : []),
  ].join(', ');
  const more = [
    ...(story.reviewFeedback.trim() === '' ? [] : [`Feedback: ${story.reviewFeedback}`]),
    ...((story.notes ?? '').trim() === '' ? [] : [`Notes: ${story.notes}`]),
  ];
  return [
    `${head}${oneLine(story.title, room)}`,
    `${indent}${oneLine(facts, room)}`,
    ...more.map(text => `${indent}${paint(style, 'dim', oneLine(text, room))}`),
  ];
}

function stateOf({ passes: done, reviewStatus }: Story, isClaimed: boolean): string {
  return isClaimed ? 'claimed, not reviewed' : storyState({ done, reviewStatus });
}

/** What a review asks for is the agent's to do. */
function signOf({ passes, reviewStatus }: Story, isAsking: boolean): Mark {
  if (isAsking) return 'attention';
  if (passes) return 'done';
  return reviewStatus === 'needs_review' || reviewStatus === 'changes_requested' ? 'active' : 'pending';
}

export interface ArchiveFacts extends Pick<StoriesView, 'branch' | 'claimed'> {
  /** Days. */
  readonly from: string;
  readonly to: string;
}

/** `summary.md` of an archive. */
export function archiveSummary(list: StoryList, { from, to, branch, claimed }: ArchiveFacts): string {
  const stories = list.userStories;
  const done = stories.filter(story => story.passes && !claimed.includes(story.id)).length;
  const reviews = stories.reduce((sum, story) => sum + story.reviewCount, 0);
  const cell = (text: string) => tableCell(oneLine(text, 200));
  const rows = stories.map(story => {
    const state = stateOf(story, claimed.includes(story.id));
    const remarks = [story.notes ?? '', story.reviewFeedback].filter(text => text.trim() !== '').join(' · ');
    return `| ${cell(story.id)} | ${cell(story.title)} | ${state} | ${story.reviewCount} | ${cell(remarks)} |`;
  });
  return `# ${phrase(list.project) || 'Summary'}

${phrase(list.description)}

- Stories: ${done} of ${stories.length} completed
- Dates: ${from} to ${to}
- Branch: ${phrase(branch ?? 'none')}
- Reviews: ${reviews}

| Story | Title | State | Reviews | Remarks |
| ----- | ----- | ----- | ------- | ------- |
${rows.join('\n')}
`;
}
