import { conformance } from './conformance.ts';

conformance('gemini', {
  toolErrors: 'no: told as successes',
  tagInThinking: 'not shown',
  tagInSubagent: 'not shown',
  limited: 'rate-limit, reset time told',
  budget: 'ends the run after the turn',
});
