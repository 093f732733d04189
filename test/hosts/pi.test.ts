import { conformance } from './conformance.ts';

conformance('pi', {
  tagInSubagent: 'has none',
  subagentTokens: 'has none',
  cost: 'reported',
});
