import { RETRIES } from './cases.ts';
import { conformance } from './conformance.ts';

conformance('qwen', {
  tagInPrompt: 'not echoed',
  broken: RETRIES,
  prompt: 'byte for byte, newlines behind it',
});
