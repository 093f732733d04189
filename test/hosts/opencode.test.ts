import { RETRIES } from './cases.ts';
import { conformance } from './conformance.ts';

conformance('opencode', {
  tagInPrompt: 'not echoed',
  tagInThinking: 'not shown',
  subagentTokens: 'not counted',
  cost: 'reported',
  limited: 'rate-limit, reset time reported',
  cut: RETRIES,
});
