/**
 * Stands in for GitHub's runner (2.336): runs the steps of a composite action that are commands, obeys what it finds in their output,
 * and reads the files that they were given, all as the runner does.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const ROOT = join(import.meta.dirname, '../..');
/** Whatever is not among them is a token, if it is anything. */
export const COMMANDS =
  'set-output save-state add-mask add-matcher remove-matcher debug notice warning error group endgroup echo stop-commands set-env add-path'.split(
    ' ',
  );
const FILES = ['GITHUB_OUTPUT', 'GITHUB_ENV', 'GITHUB_PATH', 'GITHUB_STATE', 'GITHUB_STEP_SUMMARY'] as const;

export interface Job {
  readonly code: number | null;
  readonly log: string;
  /** The commands that were obeyed. */
  readonly obeyed: readonly string[];
  readonly outputs: Readonly<Record<string, string>>;
  readonly files: Readonly<Record<(typeof FILES)[number], string>>;
}

export interface Step {
  readonly process: ChildProcess;
  readonly finished: Promise<Job>;
}

interface Action {
  readonly inputs: Readonly<Record<string, { readonly default?: string }>>;
  readonly runs: { readonly steps: readonly ActionStep[] };
}

interface ActionStep {
  readonly run?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Given {
  /** Where the action was checked out to. */
  readonly action?: string;
  readonly cwd: string;
  readonly temp: string;
  readonly env: Readonly<Record<string, string>>;
  readonly inputs: Readonly<Record<string, string>>;
}

/** The step of our action that is a command; the others are actions of others. */
export function startAction({ action = ROOT, cwd, temp, env, inputs }: Given): Step {
  const { inputs: declared, runs } = parse(readFileSync(join(action, 'action.yml'), 'utf8')) as Action;
  const unknown = Object.keys(inputs).filter(name => !(name in declared));
  const [step, ...more] = runs.steps.filter(({ run }) => run !== undefined);
  if (unknown.length > 0 || !step?.run || more.length > 0) throw new Error(`unexpected: ${unknown.join()}`);
  const filled = (text: string) =>
    text.replace(/\$\{\{ inputs\.([\w-]+) \}\}/g, (_, name) => inputs[name] ?? declared[name]?.default ?? '');
  const folder = join(temp, '_runner_file_commands');
  mkdirSync(folder);
  const files = FILES.map(name => [name, join(folder, name.toLowerCase())] as const);
  for (const [, path] of files) writeFileSync(path, '');
  const script = join(temp, 'script.sh');
  writeFileSync(script, step.run);
  const child = spawn('bash', ['--noprofile', '--norc', '-eo', 'pipefail', script], {
    cwd,
    env: {
      ...env,
      GITHUB_ACTIONS: 'true',
      GITHUB_ACTION_PATH: action,
      RUNNER_TEMP: temp,
      ...Object.fromEntries(files),
      ...Object.fromEntries(Object.entries(step.env ?? {}).map(([name, value]) => [name, filled(value)])),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return { process: child, finished: finish(child, files) };
}

async function finish(
  child: ChildProcess,
  files: readonly (readonly [(typeof FILES)[number], string])[],
): Promise<Job> {
  const heard = [child.stdout, child.stderr].map(stream => {
    let text = '';
    stream?.setEncoding('utf8').on('data', chunk => {
      text += chunk;
    });
    return () => text;
  });
  const code = await new Promise<number | null>(resolve => child.on('close', resolve));
  const log = heard.map(text => text()).join('');
  const content = Object.fromEntries(files.map(([name, path]) => [name, readFileSync(path, 'utf8')]));
  const read = content as Job['files'];
  return { code, log, obeyed: obeyedIn(log), files: read, outputs: outputsIn(read.GITHUB_OUTPUT) };
}

/** As ActionCommandManager does: line by line, until stopped, and from its token on again. */
export function obeyedIn(log: string): readonly string[] {
  const obeyed: string[] = [];
  let token: string | undefined;
  for (const line of log.split(/\r\n|\n|\r/)) {
    const [name, data] = newForm(line) ?? oldForm(line) ?? [];
    if (name === undefined) continue;
    if (token !== undefined) {
      if (name.toLowerCase() === token.toLowerCase()) token = undefined;
    } else if (COMMANDS.includes(name.toLowerCase())) {
      obeyed.push(name);
      if (name.toLowerCase() === 'stop-commands') token = data ?? '';
    }
  }
  return obeyed;
}

/** .NET's white space: U+0085 is one, U+FEFF is none. */
const SPACE = /^[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;

function newForm(line: string): readonly [string, string] | undefined {
  const text = line.replace(SPACE, '');
  const end = text.indexOf('::', 2);
  if (!text.startsWith('::') || end === -1) return undefined;
  return [text.slice(2, end).split(' ')[0] ?? '', text.slice(end + 2)];
}

function oldForm(line: string): readonly [string, string] | undefined {
  const start = line.indexOf('##[');
  const end = line.indexOf(']', start);
  if (start === -1 || end === -1) return undefined;
  return [line.slice(start + 3, end).split(' ')[0] ?? '', line.slice(end + 1)];
}

function outputsIn(file: string): Readonly<Record<string, string>> {
  const lines = file.split('\n');
  const outputs: Record<string, string> = {};
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    const [, name, end] = /^([^=<]+)<<(.+)$/.exec(line) ?? [];
    const equals = line.indexOf('=');
    if (name !== undefined) {
      const from = at + 1;
      at = lines.indexOf(end ?? '', from);
      if (at === -1) throw new Error(`the value of ${name} has no end`);
      outputs[name] = lines.slice(from, at).join('\n');
    } else if (equals > 0) outputs[line.slice(0, equals)] = line.slice(equals + 1);
    else if (line !== '') throw new Error(`a line that is no output: ${line}`);
  }
  return outputs;
}
