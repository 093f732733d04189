/** What few hooks do, and what loads a great deal: processes, git, checks. `load-heavy.ts` loads it. */

export { onHandOver } from './session-to-terminal.ts';
export { onStoryStop } from './story-stop.ts';
export { openProtected, verify } from './verify.ts';
