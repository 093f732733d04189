import { conformance } from './conformance.ts';

conformance('copilot', {
  budget: 'ends the run after the turn',
  prompt: 'byte for byte, words before it',
});
