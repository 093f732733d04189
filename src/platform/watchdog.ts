/**
 * Ends our children when we cannot: a small shell that waits on a pipe from us. When the pipe closes without
 * a goodbye, Ralph was killed, and the shell ends every process group we told it of and every process that
 * carries our mark. One for the whole of a Ralph process.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { joinWords } from './shell.ts';

export interface Watchdog {
  /** From now on the process group `pid` is ours; `undo` is a command that ends what no signal reaches. */
  watch(pid: number, undo?: readonly string[]): void;
  /** It has ended and its number may be given to somebody else. */
  release(pid: number): void;
}

const SCRIPT = `
mark=$1; groups=' '
while read -r verb pid undo; do
  case $verb in
    watch) groups="$groups$pid "; eval "undo_$pid=\\$undo" ;;
    release) rest=\${groups#* $pid }; [ "$rest" = "$groups" ] || groups="\${groups%% $pid *} $rest" ;;
    bye) exit 0 ;;
  esac
done
end() {
  for group in $groups; do kill -s "$1" -- "-$group"; done
  for file in /proc/[0-9]*/environ; do
    if grep -q "$mark" "$file"; then pid=\${file#/proc/}; kill -s "$1" "\${pid%/environ}"; fi
  done
} 2>/dev/null
for group in $groups; do eval "undo=\\$undo_$group"; sh -c "$undo" & done
end TERM; sleep 1; end KILL; wait
`;

/** `mark` is how an environment variable of ours begins. */
export function startWatchdog(mark: string): Watchdog {
  if (process.platform === 'win32') return { watch() {}, release() {} };
  const shell = spawn('sh', ['-c', SCRIPT, 'ralph-watchdog', mark], {
    detached: true, // a Ctrl-C in the terminal must not reach it
    stdio: ['pipe', 'ignore', 'ignore'],
    cwd: '/',
    env: { PATH: process.env.PATH },
  });
  keepQuiet(shell);
  process.once('exit', () => shell.stdin?.write('bye\n'));
  return {
    watch: (pid, undo = []) => void shell.stdin?.write(`watch ${pid} ${joinWords(undo)}\n`),
    release: pid => void shell.stdin?.write(`release ${pid}\n`),
  };
}

/** It must neither keep us alive nor bring us down. */
function keepQuiet(shell: ChildProcess): void {
  shell.unref();
  shell.on('error', () => {});
  const pipe = shell.stdin as (NodeJS.WritableStream & { unref?(): void }) | null;
  pipe?.on('error', () => {});
  pipe?.unref?.();
}
