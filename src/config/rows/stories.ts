/** How stories are worked on and reviewed. */
import { choice, duration, integer, text, yesNo } from '../kinds.ts';
import type { Setting } from '../setting.ts';

export const STORIES = [
  {
    key: 'implementer',
    kind: text(),
    flag: { prd: '--implementer <agent>' },
    help: 'Who builds the stories and fixes what a review asks for: agent or agent:model. Default: the agent.',
  },
  {
    key: 'reviewer',
    kind: text(),
    flag: { prd: '--reviewer <agent>' },
    help: 'Who reviews them: agent or agent:model, best of another vendor than the one who builds. Default: the agent.',
  },
  {
    key: 'skipReview',
    kind: yesNo,
    default: false,
    flag: { prd: '--skip-review' },
    help: 'No reviews: an implement iteration marks its own story as done. For work where speed matters more.',
  },
  {
    key: 'reviewCap',
    kind: integer({ min: 1 }),
    default: 5,
    flag: { prd: '--review-cap <n>' },
    help: 'How many reviews a story may have.',
  },
  {
    key: 'atCap',
    kind: choice(['approve', 'stop']),
    default: 'approve',
    flag: { prd: '--at-cap <approve|stop>' },
    help: 'After the last allowed review: approve the story with the remaining work in its feedback, or stop the run.',
  },
  {
    key: 'maxQuestionWait',
    kind: duration('0: do not wait'),
    default: 3600,
    flag: { prd: '--max-question-wait <duration>' },
    help: 'When an agent has asked a question and no other story is ready: wait so long for `ralph answer`, then stop as blocked.',
  },
  {
    key: 'parallel',
    kind: integer({ min: 1, max: 64 }),
    default: 1,
    flag: { prd: '--parallel <n>', loop: '--parallel <n>' },
    help: 'Work on so many stories, or tasks of --tasks, at the same time, each in a worktree of its own. What is proven is merged one by one, after every check has passed on the merged files.',
  },
  {
    key: 'bestOf',
    kind: integer({ min: 1, max: 16 }),
    default: 1,
    flag: { loop: '--best-of <n>' },
    help: 'Make so many attempts at the task side by side, each in a worktree of its own. A fresh reviewer compares those that are proven; one lands, the others are kept as branches.',
  },
  {
    key: 'attemptAgents',
    kind: text(),
    flag: { loop: '--agents <names>' },
    help: 'With --best-of: who makes the attempts, in turn: agent or agent:model, separated by commas. Default: the agent.',
  },
  {
    key: 'unchecked',
    kind: yesNo,
    default: false,
    flag: { prd: '--unchecked' },
    help: 'With --parallel: merge although there is no check. Without one nobody knows whether what is merged still works.',
  },
] as const satisfies readonly Setting[];
