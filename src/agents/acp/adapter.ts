/** Any command that speaks the Agent Client Protocol: `--agent "acp:goose acp"`. */
import { type AgentAdapter, NO_NEEDS, UNASKED } from '../agent.ts';
import { createConversation } from './conversation.ts';

export const acp: AgentAdapter = {
  name: 'acp',
  install: 'put the command on the PATH',
  isProtocol: true,
  // Some of these agents report tokens and cost and some do not; which, is known when they have answered.
  reports: { cost: 'never', tokens: 'never', toolCalls: true },
  endsWithResult: true,
  needsFile: false,
  needs: NO_NEEDS,
  stopSignal: 'SIGTERM',
  invocation: ({ command, flags }) => ({ argv: [command, ...flags], env: {} }),
  converse: createConversation,
  read: line => createConversation(UNASKED).hear(line).events,
};
