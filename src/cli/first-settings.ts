/** What `ralph init` proposes: an agent that is installed, and checks that the project has and that run here. */
import { PREFERRED } from '../agents/registry.ts';
import { capture } from '../platform/capture.ts';
import { shellCommand } from '../platform/shell.ts';
import { duration } from '../report/numbers.ts';
import { isExecutable } from '../turns/choose-agent.ts';
import type { Call } from './command.ts';

export interface Place extends Pick<Call, 'env'> {
  readonly root: string;
}

export function installedAgent({ root, env }: Place): string | undefined {
  return PREFERRED.find(name => isExecutable(name, { cwd: root, env }));
}

export interface TriedCheck {
  readonly command: string;
  /** It can be run; whether it passes is another question, and the agent's work. */
  readonly runs: boolean;
  readonly fails: boolean;
  /** `passes (1.2s)`. */
  readonly words: string;
}

const PATIENCE = 120_000;
const CANNOT_RUN: Readonly<Record<number, string>> = {
  126: 'it may not be executed',
  127: 'there is no such command',
};

/** Runs it once, as a run would. */
export async function tryCheck(command: string, { root, env }: Place): Promise<TriedCheck> {
  const began = performance.now();
  const { code, output } = await capture(shellCommand(command), { cwd: root, env, timeout: PATIENCE });
  const time = duration((performance.now() - began) / 1000);
  const last = output.trim().split('\n').at(-1) ?? '';
  if (code === 0) return { command, runs: true, fails: false, words: `passes (${time})` };
  const why = CANNOT_RUN[code];
  if (why !== undefined)
    return { command, runs: false, fails: true, words: `cannot be run: ${why}. ${last}`.trim() };
  if (code === 124)
    return { command, runs: true, fails: false, words: `takes longer than ${duration(PATIENCE / 1000)}` };
  return { command, runs: true, fails: true, words: `runs, and fails now (exit code ${code}, ${time})` };
}
