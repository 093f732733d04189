/** What few hooks do, and what loads a great deal: processes, git, checks. `beside.ts` loads it. */
export { onHandOver } from './hand-over.ts';
export { keepProtected, restoreProtected } from './protection.ts';
export { onStoryStop } from './story-stop.ts';
export { verify } from './verify.ts';
