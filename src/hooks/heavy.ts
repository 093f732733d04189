/** What few hooks do, and what loads a great deal: processes, git, checks. `beside.ts` loads it. */

export { openProtected } from './protection.ts';
export { onHandOver } from './session-to-terminal.ts';
export { onStoryStop } from './story-stop.ts';
export { verify } from './verify.ts';
