/** The rows of the table of agents: every case of the suite, what it asks, and what nearly every agent answers. */
export const CASES = {
  plain: ['A plain answer', 'yes'],
  tools: ['Real file edits and commands', 'yes'],
  toolCalls: ['Tool calls are counted', 'yes'],
  toolErrors: ['Failed commands are counted', 'yes'],
  fresh: ['Every iteration starts afresh', 'yes'],
  done: ['Done by the tag in its own words', 'yes'],
  tagInToolResult: ["The tag in a tool's result", 'never done'],
  tagInFile: ['The tag in a file that it writes and prints', 'never done'],
  tagInPrompt: ['The tag in the echoed prompt', 'never done'],
  tagInThinking: ['The tag in its thinking', 'never done'],
  tagInSubagent: ["The tag in a sub-agent's words", 'never done'],
  tokens: ['Tokens', 'reported'],
  subagentTokens: ["Sub-agents' tokens", 'reported'],
  cost: ['Cost', 'from the price table'],
  commit: ['Commit message (text mode)', 'yes'],
  refused: ['Model error 401', 'auth: stops at once'],
  limited: ['429 with a reset time', 'rate-limit, no reset time'],
  broken: ['Model error 500', 'transient'],
  cut: ['A stream cut in the middle', 'transient'],
  budget: ['Token budget', 'ends the turn at once'],
  hang: ['A model that never answers', '--idle-timeout ends it'],
  sigint: ['SIGINT twice in a tool call', 'nothing left'],
  sigterm: ['SIGTERM twice in a tool call', 'nothing left'],
  prompt: ['1 MB of prompt', 'byte for byte'],
} as const satisfies Readonly<Record<string, readonly [title: string, usual: string]>>;

export type Case = keyof typeof CASES;

/** What one agent was seen to do, case by case. */
export type Seen = Partial<Record<Case, string>>;

/** What one agent does that is not the usual. */
export type Differs = Seen;

/** Errors that an agent keeps trying to get over by itself, longer than a test can wait. */
export const RETRIES = 'tries again by itself, for minutes';
