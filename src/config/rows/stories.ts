/** How the stories of `ralph prd` are reviewed. */
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
] as const satisfies readonly Setting[];
