/** Runs commands of the real program one after the other in a process that lives on. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { testEnv } from './ralph.ts';

export interface Answer {
  readonly code: unknown;
  readonly said: string;
}

/** One process for all of them: to start Ralph takes longer than most commands. */
export function startCommands(env: Readonly<Record<string, string>>, home: string) {
  const child: ChildProcess = spawn(process.execPath, [join(import.meta.dirname, 'command-server.mjs')], {
    cwd: home,
    env: testEnv({ env }),
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let count = 0;
  let said = '';
  let look = () => {};
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', chunk => {
      said += chunk;
      look();
    });
  return (argv: readonly string[], cwd: string): Promise<Answer> => {
    const mark = `\u0001${++count}\n`;
    said = '';
    return new Promise((resolve, reject) => {
      let code: unknown;
      const died = () => reject(new Error(`it ended in ${argv.join(' ')}:\n${said}`));
      const timer = setTimeout(() => reject(new Error(`no end of ${argv.join(' ')}:\n${said}`)), 120_000);
      look = () => {
        if (code === undefined || said.split(mark).length < 3) return;
        clearTimeout(timer);
        child.off('exit', died);
        resolve({ code, said: said.replaceAll(mark, '') });
      };
      child.once('exit', died);
      child.once('message', message => {
        code = (message as Answer).code;
        look();
      });
      child.send({ argv, cwd, mark });
    });
  };
}
