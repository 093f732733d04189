import { conformance } from './conformance.ts';

conformance('claude', {
  tagInPrompt: 'not echoed',
  cost: 'reported',
  limited: 'rate-limit, reset time reported',
});
