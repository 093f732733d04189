/** Any other command: it is called as it is, and every line of its output is its own words. */
import { type AgentAdapter, NO_NEEDS } from '../agent.ts';

export const generic: AgentAdapter = {
  name: 'generic',
  install: 'put the command on the PATH',
  reports: { cost: 'never', tokens: 'never', toolCalls: false },
  endsWithResult: false,
  needsFile: false,
  needs: NO_NEEDS,
  dialogue: {},
  stopSignal: 'SIGTERM',
  invocation: ({ command, flags }) => ({ argv: [command, ...flags], env: {} }),
  // One message from the first line to the last, so that a tag may go over several lines.
  read: line => [{ kind: 'text', text: `${line}\n`, delta: true }],
};
