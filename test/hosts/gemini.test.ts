import { conformance } from './conformance.ts';

conformance('gemini', {
  toolErrors: 'no: reported as successes',
  tagInThinking: 'not shown',
  tagInSubagent: 'not shown',
  limited: 'rate-limit, reset time reported',
  budget: 'ends the run after the turn',
});
