import { conformance } from './conformance.ts';

conformance('amp', {
  tagInThinking: 'not shown',
  subagentTokens: 'not counted',
  prompt: 'some letters beyond ASCII broken',
});
