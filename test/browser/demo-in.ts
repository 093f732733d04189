/** The demo in a real terminal of some width, to its end. */
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { BIN, testEnv } from '../rig/ralph.ts';
import { startTerminal } from '../rig/terminal.ts';

export interface Screen {
  /** With its colors. */
  readonly painted: string;
  readonly lines: readonly string[];
  /** As they were printed, before the terminal had to break one. */
  readonly printed: readonly string[];
}

export async function demoIn(columns: number, { cwd, tmp }: { readonly cwd: string; readonly tmp: string }) {
  // As after an installation: the commands it ends with are short.
  const bin = join(tmp, 'bin');
  mkdirSync(bin, { recursive: true });
  if (!existsSync(join(bin, 'ralph'))) symlinkSync(BIN, join(bin, 'ralph'));
  const terminal = startTerminal({
    cwd,
    env: testEnv({ path: [bin], env: { TMPDIR: tmp } }),
    argv: ['sh', '-c', `'${process.execPath}' '${BIN}' demo --pace 0; echo ended; exec cat`],
    columns,
    rows: 60,
  });
  onTestFinished(terminal.close);
  await terminal.until(/^ended$/m);
  const lines = (text: string) =>
    text
      .replace(/\nended\s*$/, '\n')
      .split('\n')
      .map(line => line.trimEnd());
  const screen: Screen = {
    painted: terminal.painted().replace(/\nended\s*$/, '\n'),
    lines: lines(terminal.screen()),
    printed: lines(terminal.unbroken()),
  };
  return screen;
}
