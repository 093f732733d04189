/** `ralph support`: one archive for a bug report. What is in it is shown before it is written; secrets are taken out, and so are the words of people. */
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, release, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { loadSettings } from '../../config/load.ts';
import { isProblem } from '../../domain/text/problem.ts';
import { createRedactor } from '../../domain/text/secrets.ts';
import { capture } from '../../platform/capture.ts';
import { fileSize, readBytes, readIfThere } from '../../platform/files.ts';
import { joinWords } from '../../platform/shell.ts';
import { VERSION } from '../../platform/version.ts';
import { counted, megabytes } from '../../report/numbers.ts';
import { type ProjectPaths, projectAt, runPaths } from '../../store/paths.ts';
import { findRun } from '../../store/run-file.ts';
import { answer, type Call, type CliCommand, refuse } from '../command.ts';
import { RUN_ARGUMENT } from '../which-run.ts';
import { examine } from './doctor.ts';

/** Of a ledger: its end is what matters. */
const MOST = 20_000_000;

export const support: CliCommand = {
  declare: command =>
    command
      .argument(...RUN_ARGUMENT)
      .option('-o, --output <file>', 'where to write it (default: ralph-support.tar.gz)')
      .option('--words', 'also prompts, outputs and all that people and agents have said')
      .option('--dry-run', 'only show what would be in it'),
  help: `
Examples:
  ralph support --dry-run
  ralph support
  ralph support 20261115-1203 -o report.tar.gz

Nothing is sent anywhere: it writes one file, for you to look at and attach.
Secrets are taken out, your home folder is written as ~, and texts are replaced
by their length, unless you say --words.
`,
  async run(call) {
    const { options, output, cwd } = call;
    const file = resolve(cwd, typeof options.output === 'string' ? options.output : 'ralph-support.tar.gz');
    const isDry = options.dryRun === true;
    if (!isDry && existsSync(file))
      refuse('ralph support', `${file} is there already`, 'give another name with -o');
    const parts = await collect(call);
    const list = parts.map(({ name, text, what }) => ({ name, bytes: Buffer.byteLength(text), what }));
    const rows = list.map(
      ({ name, bytes, what }) => `  ${name.padEnd(14)} ${megabytes(bytes).padStart(8)}  ${what}`,
    );
    if (!output.json) output.human([`${counted(list.length, 'file')} in it:`, ...rows, ''].join('\n'));
    if (!isDry) await pack(call, file, parts);
    answer(output, { file: isDry ? null : file, parts: list }, () =>
      isDry
        ? 'Nothing was written.'
        : `Written: ${file}. Look at it before you attach it: ${joinWords(['tar', '-xzf', file, '-O'])} | less`,
    );
    return 0;
  },
};

interface Part {
  readonly name: string;
  readonly what: string;
  readonly text: string;
}

async function collect(call: Call): Promise<readonly Part[]> {
  const { root, cwd, env, args, options } = call;
  const clean = cleaner(env);
  const shorten =
    options.words === true ? (value: unknown) => value : (value: unknown) => withoutWords(value);
  const json = (value: unknown) => clean(`${JSON.stringify(value, null, 2)}\n`);
  const project = projectAt(cwd, env);
  const id = findRun(project, args[0]);
  if (isProblem(id) && args[0] !== undefined) refuse(id.where, id.what, id.fix);
  const { settings, files } = loadSettings(project, 'run');
  const git = await capture(['git', '--version'], { cwd, env, timeout: 10_000 });
  const versions = {
    ralph: VERSION,
    node: process.version,
    system: `${process.platform} ${process.arch} ${release()}`,
    git: git.stdout.trim(),
  };
  return [
    { name: 'versions.json', what: 'Ralph, Node, the system, git', text: json(versions) },
    { name: 'doctor.json', what: 'what `ralph doctor` finds', text: json(await examine({ cwd: root, env })) },
    {
      name: 'settings.json',
      what: `what ${files.length === 0 ? 'the defaults are' : 'your settings say'}`,
      text: json(shorten(settings)),
    },
    ...(isProblem(id) ? [] : runParts(project, id, clean, shorten)),
  ];
}

function runParts(
  project: ProjectPaths,
  id: string,
  clean: (text: string) => string,
  shorten: (value: unknown) => unknown,
): readonly Part[] {
  const { run, events } = runPaths(project, id);
  const line = (text: string) => {
    try {
      return clean(JSON.stringify(shorten(JSON.parse(text))));
    } catch {
      return text === '' ? '' : `[a line that is no JSON, ${text.length} characters]`;
    }
  };
  const size = fileSize(events);
  const tail = readBytes(events, Math.max(0, size - MOST), MOST).toString('utf8');
  const lines = size > MOST ? tail.split('\n').slice(1) : tail.split('\n');
  const cut = size > MOST ? ', its last 20 MB' : '';
  return [
    { name: 'run.json', what: `what run ${id} was given`, text: `${line(readIfThere(run) ?? '')}\n` },
    { name: 'events.jsonl', what: `its ledger${cut}`, text: lines.map(line).join('\n') },
  ];
}

/** Secrets, and where the user's home is. */
function cleaner(env: Call['env']): (text: string) => string {
  const redact = createRedactor(env);
  const home = env.HOME || homedir();
  return text => redact(home.length > 1 ? text.replaceAll(home, '~') : text);
}

async function pack({ cwd, env }: Call, file: string, parts: readonly Part[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'ralph-support-'));
  try {
    for (const { name, text } of parts) writeFileSync(join(folder, name), text, { mode: 0o600 });
    const names = parts.map(({ name }) => name);
    // Under another name until it is whole: half an archive would look like one.
    const part = `${file}.part`;
    const { code, output } = await capture(['tar', '-czf', part, '-C', folder, ...names], {
      cwd,
      env,
      timeout: 60_000,
    });
    if (code === 0) return renameSync(part, file);
    rmSync(part, { force: true });
    refuse(file, `cannot be written: ${output.trim().split('\n')[0] || `tar ended with ${code}`}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Whatever their length. */
const WORDS = new Set([
  ...['text', 'task', 'prompt', 'title', 'output', 'message', 'hint', 'question', 'answer', 'body'],
  ...['words', 'diff', 'notes', 'description', 'summary', 'content', 'result', 'line', 'lines', 'excerpt'],
]);
/** Longer ones are words, too, whatever they are called. */
const LONGEST = 160;

/** For whoever looks for a fault of Ralph the length of what people and agents have said is enough. */
function withoutWords(value: unknown, name = ''): unknown {
  if (typeof value === 'string')
    return value.length > LONGEST || WORDS.has(name) ? `[${value.length} characters]` : value;
  if (Array.isArray(value)) return value.map(each => withoutWords(each, name));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutWords(each, key)]));
}
