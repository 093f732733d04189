/** What can be recorded anew: a script for the model, and where the recording goes. */
import { join } from 'node:path';
import type { HostName, Limit, Setup } from '../rig/hosts/host.ts';
import type { HostSession } from '../rig/hosts/session.ts';
import { HOSTS } from '../rig/hosts/table.ts';
import type { Script } from '../rig/model-server/answer.ts';
import type { Step } from '../rig/model-server/script.ts';
import { helperScript } from './subagent.ts';

export interface Scenario {
  script(name: HostName, repo: string): Script;
  /** What its user would have set otherwise. */
  set?(session: HostSession): Partial<Setup>;
  /** Agents that would try for minutes; their recordings are older, and made by hand. */
  readonly not?: readonly HostName[];
  /** Where a recording of this kind has another name. */
  readonly names?: Readonly<Partial<Record<HostName, string>>>;
}

const AT_ONCE = { 'retry-after': '0', 'retry-after-ms': '1' };
const forever = (step: Step) => ({ script: () => ({ steps: [{ ...step, repeat: 'forever' as const }] }) });

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  text: {
    script: () => ({
      steps: [
        {
          text: 'Hello from the scripted model. <promise>DONE</promise>',
          usage: { input: 1000, cached: 800, output: 12 },
        },
      ],
    }),
  },
  tool: {
    names: { claude: 'bash-tool' },
    script: (_name, repo) => ({
      steps: [
        {
          text: 'I will run a command.',
          tools: [{ do: 'shell', command: 'echo hello > a.txt && cat a.txt' }],
          usage: { input: 1000, cached: 0, output: 20 },
        },
        {
          tools: [{ do: 'write', path: join(repo, 'b.txt'), content: 'written by a tool\n' }],
          usage: { input: 1200, cached: 1000, output: 30 },
        },
        { text: 'All done. <promise>DONE</promise>', usage: { input: 1400, cached: 1200, output: 25 } },
      ],
    }),
  },
  toolerror: {
    script: () => ({
      steps: [
        {
          tools: [{ do: 'shell', command: 'echo to-stderr >&2; exit 3' }],
          usage: { input: 1000, output: 25 },
        },
        { text: 'The command failed with 3.', usage: { input: 1400, cached: 1200, output: 25 } },
      ],
    }),
  },
  reasoning: {
    script: () => ({
      steps: [
        {
          reasoning: '**Planning** the scripted answer.',
          text: 'Answer after reasoning.',
          usage: { input: 1000, cached: 800, output: 40, reasoning: 25 },
        },
      ],
    }),
    set: ({ host, flags }) => (host.name === 'amp' ? { flags: [...flags, '--stream-json-thinking'] } : {}),
  },
  subagent: {
    script: (name, _repo) => {
      const use = HOSTS[name].subagent?.('The task of the helper.', '').use;
      return use === undefined ? { steps: [] } : helperScript(name, use);
    },
    not: ['codex'], // its helper works at the same time: the order differs
  },
  fail401: {
    ...forever({ status: 401, error: 'Incorrect API key provided: dummy', headers: AT_ONCE }),
    names: { claude: 'api-error-401' },
  },
  fail429: {
    ...forever({ status: 429, error: 'Rate limit reached for requests', headers: AT_ONCE }),
    names: { claude: 'api-error-429' },
    not: ['qwen'],
  },
  fail500: {
    ...forever({ status: 500, error: 'The server had an error', headers: AT_ONCE }),
    names: { claude: 'api-error-500' },
    not: ['qwen'],
  },
  cut: {
    ...forever({ text: 'These words are cut in the middle.', cut: { events: 4 } }),
    not: ['opencode', 'claude'], // Claude Code has read the first words or it has not, as it happens
  },
  limit: {
    script: name => ({ steps: [{ ...limitOf(name).step, repeat: 'forever' as const }] }),
    set: ({ host }) => ({ env: limitOf(host.name).env ?? {} }),
    not: ['opencode', 'qwen', 'copilot', 'amp'], // theirs is a plain 429
  },
};

function limitOf(name: HostName): Limit {
  return HOSTS[name].limit?.() ?? { step: {}, resetsIn: 0 };
}
