/** The corpus of commands, and the world that it is meant for. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GUARDED } from '../../src/agents/registry.ts';
import type { GuardWorld } from '../../src/guard/guard.ts';

export type Expected = 'block' | 'warn' | 'ok';

export interface Sample {
  readonly expected: Expected;
  readonly category: number;
  readonly command: string;
}

export const WORLD: GuardWorld = {
  root: '/home/you/app',
  cwd: '/home/you/app',
  home: '/home/you',
  env: { HOME: '/home/you', USER: 'you' },
  protect: ['test/**'],
  allow: [],
  deny: [],
  agents: GUARDED,
  readScript: () => undefined,
};

export function readCorpus(): readonly Sample[] {
  let category = 0;
  return readFileSync(join(import.meta.dirname, 'corpus.txt'), 'utf8')
    .split('\n')
    .flatMap(line => {
      category = Number(/^## (\d+)/.exec(line)?.[1] ?? category);
      const [, expected, command] = /^(block|warn|ok) (.*)$/.exec(line) ?? [];
      if (expected === undefined || command === undefined) return [];
      return [{ expected: expected as Expected, category, command: command.replaceAll('⏎', '\n') }];
    });
}
