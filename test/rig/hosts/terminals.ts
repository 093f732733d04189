/** How each host is started in a terminal, and what it shows when it can be typed into. */
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HostSession } from './session.ts';

export interface TerminalSetup {
  /** What a user who has used it before would have in his home. */
  setUp?(session: HostSession): Promise<void>;
  readonly env?: Readonly<Record<string, string>>;
  argv(session: HostSession, flags: readonly string[]): readonly string[];
  /** On the screen when it waits for a prompt for the first time. */
  readonly ready: string | RegExp;
  /** What stands before the name of a command. */
  readonly prefix: string;
  /** Flags that open the last session of this folder again. */
  readonly resume: readonly string[];
  /** What it shows of the command once its extensions are loaded, where that takes a while. */
  readonly offers?: string;
  /** On the screen as long as it has not finished, where what is typed meanwhile is taken for something else. */
  readonly busy?: string;
  /** What it shows when it was interrupted, where it does not hang up on the model. */
  readonly interrupted?: string;
  /** How often Esc is pressed to interrupt it; once unless told. */
  readonly escapes?: 2;
  /** In a session that is opened again it asks the model for things of its own, between the turns. */
  readonly strays?: true;
  /** After an Esc behind a tool call it asks the model once more, by itself. */
  readonly nudges?: true;
}

const KEY = 'dummy-key-0123456789abcdefghij';

const table = {
  claude: {
    env: { ANTHROPIC_API_KEY: KEY },
    setUp: ({ place }) =>
      place.writeHome('.claude.json', {
        hasCompletedOnboarding: true,
        theme: 'dark',
        bypassPermissionsModeAccepted: true,
        customApiKeyResponses: { approved: [KEY.slice(-20)], rejected: [] },
        projects: { [place.repo]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
      }),
    argv: () => ['--dangerously-skip-permissions'],
    ready: 'bypass permissions',
    prefix: '/ralph:',
    resume: ['--continue'],
  },
  codex: {
    async setUp({ place }) {
      const path = join(place.home, '.codex/config.toml');
      const trust = `[projects."${place.repo}"]\ntrust_level = "trusted"\n`;
      if (!readFileSync(path, 'utf8').includes(trust)) appendFileSync(path, `\n${trust}`);
    },
    // With an older model its terminal begins with the offer of a newer one.
    argv: (_session, flags) => [
      ...flags
        .filter((flag, at) => flag !== '--disable' && flags[at - 1] !== '--disable')
        .map((flag, at, all) => (all[at - 1] === '-m' ? 'gpt-6-sol' : flag)),
      '--dangerously-bypass-approvals-and-sandbox',
      '--dangerously-bypass-hook-trust',
    ],
    ready: /context left|\? for shortcuts|% left/,
    prefix: '$',
    interrupted: 'Conversation interrupted',
    strays: true,
    resume: ['resume', '--last'],
  },
  copilot: {
    setUp: ({ place }) => place.writeHome('.copilot/config.json', { trusted_folders: [place.repo] }),
    argv: (_session, flags) => ['--allow-all', ...flags],
    ready: /\/ commands/,
    escapes: 2,
    prefix: '/ralph:',
    resume: ['--continue'],
  },
  qwen: {
    argv: (_session, flags) => ['--yolo', ...flags],
    ready: /YOLO mode/,
    offers: 'Loop on a task',
    busy: 'esc to cancel',
    prefix: '/',
    resume: ['--continue'],
  },
  gemini: {
    argv: (_session, flags) => ['--yolo', '--skip-trust', ...flags],
    ready: /Type your message/,
    nudges: true,
    prefix: '/',
    resume: ['--resume', 'latest'],
  },
  opencode: {
    argv: (_session, flags) => [...flags],
    ready: /Ask anything|Build ·/,
    escapes: 2,
    prefix: '/',
    resume: ['--continue'],
  },
} satisfies Readonly<Record<string, TerminalSetup>>;

export type TerminalHost = keyof typeof table;

export const TERMINALS: Readonly<Record<TerminalHost, TerminalSetup>> = table;
