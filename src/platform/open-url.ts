/** Opens an address in the user's browser. Not one of our processes: it lives on, and is nobody's to end. */
import { spawn } from 'node:child_process';

/** false: there is no program for it. */
export function openUrl(url: string, env: Readonly<Record<string, string | undefined>>): Promise<boolean> {
  const opener = process.platform === 'darwin' ? 'open' : 'xdg-open';
  const child = spawn(opener, [url], { env: { ...env }, detached: true, stdio: 'ignore' });
  return new Promise(resolve => {
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}
