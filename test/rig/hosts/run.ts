/** Runs one agent CLI to its end, as its own process group, and gives back everything it said. */
import { spawn } from 'node:child_process';
import type { Place } from './place.ts';

export interface RunOptions {
  readonly place: Place;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string;
  /** Ends the whole group: a CLI that hangs must not outlive its test. */
  readonly signal?: AbortSignal;
}

export interface RunResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The lines of stdout that are JSON, parsed. */
  readonly events: readonly unknown[];
  readonly ms: number;
}

export async function runHost(argv: readonly string[], options: RunOptions): Promise<RunResult> {
  const [command = '', ...args] = argv;
  const started = performance.now();
  const child = spawn(command, args, {
    cwd: options.place.repo,
    env: { ...options.place.env, ...options.env },
    detached: true,
    stdio: 'pipe',
  });
  const killGroup = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {} // the group is gone already
  };
  options.signal?.addEventListener('abort', killGroup, { once: true });
  child.stdin.on('error', () => {}); // a CLI that ends before it has read everything
  child.stdin.end(options.stdin);
  const [stdout, stderr, ending] = await Promise.all([text(child.stdout), text(child.stderr), end(child)]);
  options.signal?.removeEventListener('abort', killGroup);
  killGroup();
  return {
    ...ending,
    stdout,
    stderr,
    events: jsonLines(stdout),
    ms: Math.round(performance.now() - started),
  };
}

async function text(stream: NodeJS.ReadableStream): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
}

function end(child: ReturnType<typeof spawn>): Promise<Pick<RunResult, 'code' | 'signal'>> {
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal }));
  });
}

/** Split at "\n" only: agents put U+2028 into their lines. */
function jsonLines(stdout: string): readonly unknown[] {
  return stdout.split('\n').flatMap(line => {
    try {
      return line.startsWith('{') ? [JSON.parse(line) as unknown] : [];
    } catch {
      return [];
    }
  });
}
