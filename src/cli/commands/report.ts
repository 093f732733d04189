/** `ralph report`: a run, or all of them, as a file for people or for programs. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { parentOf } from '../../domain/board.ts';
import { closest, type Problem } from '../../domain/problem.ts';
import { createRedactor, type Redact, redactDeep } from '../../domain/secrets.ts';
import { writeAtomic } from '../../platform/files.ts';
import { createDetailFold } from '../../report/details.ts';
import { type HtmlWorld, htmlOf, htmlOfAll } from '../../report/html.ts';
import { junitOfChecks } from '../../report/junit.ts';
import { markdownOf, markdownOfAll } from '../../report/markdown.ts';
import { cleanJson, readRun } from '../../report/read-run.ts';
import { figuresOf, figuresOfAll } from '../../report/runs-figures.ts';
import { sarifOf } from '../../report/sarif.ts';
import { childrenOf } from '../../store/child-runs.ts';
import { projectAt, type RunPaths, runPaths } from '../../store/paths.ts';
import { listRuns } from '../../store/run-file.ts';
import { type Call, type CliCommand, orThrow, Problems, refuse } from '../command.ts';
import { readPageAssets } from '../page-assets.ts';
import { VERSION } from '../version.ts';
import { RUN_ARGUMENT, RUN_DATABASE, type WantedRun, withRun } from '../which-run.ts';

const FORMATS = ['html', 'md', 'json', 'junit', 'sarif'] as const;
type Format = (typeof FORMATS)[number];
/** Those that exist for many runs. */
const FORMATS_OF_ALL: readonly Format[] = ['html', 'md', 'json'];

export const report: CliCommand = {
  declare(command) {
    command
      .argument(...RUN_ARGUMENT)
      .option(...RUN_DATABASE)
      .option('--format <format>', `${FORMATS.join(', ')}; without it from the name of the file, else md`)
      .option('-o, --output <file>', 'write to this file instead of stdout')
      .option('--bundle <file>', 'write a proof that others can verify: `ralph verify FILE`')
      .option(
        '--sign-key <file>',
        'sign it with this SSH key, or with the one of this .pub file in your ssh-agent',
      )
      .option('--all', 'every run of the project: success rate, iterations, cost, time')
      .addHelpText(
        'after',
        '\nExamples:\n  ralph report -o run.html\n  ralph report 20261115 --format sarif -o ralph.sarif\n  ralph report --all -o runs.html\n  ralph report --bundle run.proof --sign-key ~/.ssh/id_ed25519\n  ralph report | gh pr comment --body-file -\n',
      );
  },
  async run(call) {
    if (call.options.bundle !== undefined || call.options.signKey !== undefined) return bundleRun(call);
    const { format, output, all } = requestOf(call);
    const text = all ? allAs(format, call) : await withRun(call, run => oneAs(format, call, run));
    if (output === undefined) call.output.answer(text);
    else {
      const path = resolve(call.cwd, output);
      writeAtomic(path, text, 0o600);
      call.output.human(`${path}\n`);
    }
    return 0;
  },
};

async function bundleRun(call: Call): Promise<0> {
  const { cwd, env, options } = call;
  const [file, key] = [options.bundle, options.signKey];
  if (typeof file !== 'string') refuse('--sign-key', 'needs --bundle: only a bundle is signed');
  const other = ['format', 'output', 'all'].find(name => options[name] !== undefined);
  if (other !== undefined) refuse(`--${other}`, 'cannot be combined with --bundle', 'leave one of them out');
  const { writeBundle } = await import('../../bundle/write.ts');
  const signing = { key: typeof key === 'string' ? resolve(cwd, key) : undefined, world: { cwd, env } };
  const text = await withRun(call, ({ id, paths }) =>
    orThrow(writeBundle({ ...signing, id, paths, version: VERSION })),
  );
  const path = resolve(cwd, file);
  writeAtomic(path, text, 0o600);
  const signed = key === undefined ? ' (not signed)' : '';
  call.output.human(`${path}${signed}\n`);
  return 0;
}

/** Throws everything that is wrong with the flags at once. */
function requestOf({ options, args, output: { json } }: Call) {
  const all = options.all === true;
  const output = typeof options.output === 'string' ? options.output : undefined;
  const asked = typeof options.format === 'string' ? options.format : json ? 'json' : formatOfFile(output);
  const allowed = all ? FORMATS_OF_ALL : FORMATS;
  const format = allowed.find(each => each === asked);
  const problems: Problem[] = [];
  if (!format) problems.push(unknownFormat(asked, allowed));
  if (all && args[0] !== undefined)
    problems.push({ where: args[0], what: 'cannot be combined with --all', fix: 'leave one of them out' });
  if (all && options.database !== undefined)
    problems.push({ where: '--database', what: 'cannot be combined with --all', fix: 'name a unit' });
  if (problems.length > 0 || !format) throw new Problems(problems);
  return { format, output, all };
}

function unknownFormat(asked: string, allowed: readonly Format[]): Problem {
  const near = closest(asked, allowed);
  const what = FORMATS.some(each => each === asked) ? 'not available with --all' : 'unknown format';
  return {
    where: `--format ${asked}`,
    what,
    fix: near && near !== asked ? `did you mean ${near}?` : `one of ${allowed.join(', ')}`,
  };
}

const ENDINGS: Readonly<Record<string, Format>> = {
  html: 'html',
  htm: 'html',
  md: 'md',
  json: 'json',
  xml: 'junit',
  sarif: 'sarif',
};

function formatOfFile(output: string | undefined): Format {
  return ENDINGS[output?.split('.').at(-1)?.toLowerCase() ?? ''] ?? 'md';
}

function oneAs(format: Format, call: Call, run: WantedRun): string {
  const { id, paths } = run;
  const redact = createRedactor(call.env);
  switch (format) {
    case 'html':
      return htmlReport(run, { assets: readPageAssets(), version: VERSION, redact });
    case 'md':
      return markdownOf(redactDeep(readRun(id, paths), redact));
    case 'json': {
      const { result: _, ...reading } = readRun(id, paths);
      return `${cleanJson(reading, redact)}\n`;
    }
    case 'junit':
      return junitReport(id, paths, redact);
    case 'sarif': {
      const { view, integrity } = readRun(id, paths);
      return sarifOf(redactDeep(view, redact), integrity, VERSION);
    }
    default:
      return format satisfies never;
  }
}

/** What all iterations together may add to the file. The latest are kept. */
const MOST_DETAIL = 24 * 1024 * 1024;

function htmlReport({ id, paths, project }: WantedRun, world: HtmlWorld): string {
  const details = new Map<string, string>();
  let size = 0;
  const keep = (name: string, json: string) => {
    size += json.length - (details.get(name)?.length ?? 0);
    details.set(name, json);
    for (const [oldest, text] of details) {
      if (size <= MOST_DETAIL) break;
      details.delete(oldest);
      size -= text.length;
    }
  };
  const read = (runId: string, from: RunPaths) => {
    const name = (number: number) => (runId === id ? String(number) : `${runId} ${number}`);
    const fold = createDetailFold(from, detail => keep(name(detail.number), cleanJson(detail, world.redact)));
    const run = readRun(runId, from, fold.add);
    fold.end();
    return run;
  };
  const children = childrenOf(project, id).map(child => read(child, runPaths(project, child)));
  return htmlOf(read(id, paths), details, world, children);
}

/** With what the checks printed, which the ledger's last line leaves out. */
function junitReport(id: string, paths: RunPaths, redact: Redact): string {
  let outputs: ReadonlyMap<number, string> = new Map();
  const fold = createDetailFold(paths, ({ checks }) => {
    if (checks.length > 0) outputs = new Map(checks.map(({ index, output }) => [index, redact(output.text)]));
  });
  const { view, integrity } = readRun(id, paths, fold.add);
  fold.end();
  return junitOfChecks(redactDeep(view, redact), outputs, integrity);
}

function allAs(format: Format, call: Call): string {
  const project = projectAt(call.cwd, call.env);
  const redact = createRedactor(call.env);
  const figures = figuresOfAll(
    listRuns(project)
      .filter(id => parentOf(id) === undefined)
      .map(id => ({ id, paths: runPaths(project, id) }))
      .filter(({ paths }) => existsSync(paths.events))
      .map(({ id, paths }) => figuresOf(readRun(id, paths))),
  );
  if (format === 'html') return htmlOfAll(figures, { assets: readPageAssets(), version: VERSION, redact });
  return format === 'json' ? `${cleanJson(figures, redact)}\n` : markdownOfAll(redactDeep(figures, redact));
}
