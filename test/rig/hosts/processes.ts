/** Who is still at work in a place: found by what every process of an agent has of it, whoever started it. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { Place } from './place.ts';

/** The command lines of all processes whose environment, folder or arguments name the place. Zombies are none. */
export function processesIn(place: Place): readonly string[] {
  const root = place.root;
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap(pid => {
      const command = read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim();
      if (command === '') return []; // a zombie, a thread of the kernel, or gone
      const found =
        read(`/proc/${pid}/environ`).includes(root) || command.includes(root) || folder(pid).startsWith(root);
      return found ? [`${pid} ${command.slice(0, 200)}`] : [];
    });
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

function folder(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return '';
  }
}
