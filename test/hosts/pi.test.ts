import { conformance } from './conformance.ts';

/** Run as any command that Ralph has no adapter for: its words are all that is known of it. */
conformance('pi', {
  toolCalls: 'not told',
  toolErrors: 'not told',
  tagInToolResult: 'not shown',
  tagInFile: 'not shown',
  tagInPrompt: 'not echoed',
  tagInThinking: 'not shown',
  tagInSubagent: 'has none',
  tokens: 'not told',
  subagentTokens: 'has none',
  cost: 'not told',
  refused: 'crash',
  limited: 'crash, no reset time',
  broken: 'crash',
  cut: 'crash',
  budget: 'refused: it tells no tokens',
});
