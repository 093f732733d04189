import { conformance } from './conformance.ts';

conformance('claude', {
  tagInPrompt: 'not echoed',
  cost: 'told',
  limited: 'rate-limit, reset time told',
});
