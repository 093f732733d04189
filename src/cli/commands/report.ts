/** `ralph report`: a run, or all of them, as a file for people or for programs. */
import { extname, resolve } from 'node:path';
import type { LedgerTrust } from '../../domain/run/ledger-trust.ts';
import type { ExitCode } from '../../domain/run/stop-reason.ts';
import { didYouMean, type Problem } from '../../domain/text/problem.ts';
import { writeAtomic } from '../../platform/files.ts';
import { VERSION } from '../../platform/version.ts';
import {
  FORMATS,
  FORMATS_OF_ALL,
  type ReportFormat,
  reportAll,
  reportRun,
} from '../../report/create-report.ts';
import { projectAt } from '../../store/paths.ts';
import { type Call, type CliCommand, orThrow, Problems, refuse } from '../command.ts';
import { RUN_ARGUMENT, RUN_DATABASE, warnOfLedger, withRun } from '../which-run.ts';

export const report: CliCommand = {
  declare: command =>
    command
      .argument(...RUN_ARGUMENT)
      .option(...RUN_DATABASE)
      .option(`--format <${FORMATS.join('|')}>`, 'without it from the name of the file, else md')
      .option('-o, --output <file>', 'write to this file instead of stdout (-)')
      .option('--bundle <file>', 'write a proof that others can verify: `ralph verify FILE`')
      .option(
        '--sign-key <file>',
        'sign it with this SSH key, or with the one of this .pub file in your ssh-agent',
      )
      .option('--all', 'every run of the project: success rate, iterations, cost, time'),
  help: '\nExamples:\n  ralph report -o run.html\n  ralph report 20261115 --format sarif -o ralph.sarif\n  ralph report --all -o runs.html\n  ralph report --bundle run.proof --sign-key ~/.ssh/id_ed25519\n  ralph report | gh pr comment --body-file -\n',
  async run(call) {
    if (call.options.bundle !== undefined || call.options.signKey !== undefined) return bundleRun(call);
    const { format, output, all } = requestOf(call);
    const { cwd, env } = call;
    const world = { env, version: VERSION };
    const { text, trust } = all
      ? { text: reportAll(format, { ...world, project: projectAt(cwd, env) }), trust: NO_DOUBT }
      : await withRun(call, ({ id, project }) => reportRun(format, id, { ...world, project }));
    if (output === undefined) call.output.document(text);
    else {
      const path = resolve(call.cwd, output);
      writeAtomic(path, text, 0o600);
      call.output.human(`${path}\n`);
    }
    return warnOfLedger(call.output, 'report', trust);
  },
};

/** Of many runs each says for itself whether it can be believed. */
const NO_DOUBT: LedgerTrust = { kind: 'intact' };

async function bundleRun(call: Call): Promise<ExitCode> {
  const { cwd, env, options } = call;
  const [file, key] = [options.bundle, options.signKey];
  if (typeof file !== 'string') refuse('--sign-key', 'needs --bundle: only a bundle is signed');
  const other = ['format', 'output', 'all'].find(name => options[name] !== undefined);
  if (other !== undefined) refuse(`--${other}`, 'cannot be combined with --bundle', 'leave one of them out');
  const { writeBundle } = await import('../../proof/bundle/write.ts');
  const signing = { key: typeof key === 'string' ? resolve(cwd, key) : undefined, world: { cwd, env } };
  const { text, trust } = await withRun(call, ({ id, paths }) =>
    orThrow(writeBundle({ ...signing, id, paths, version: VERSION })),
  );
  const path = resolve(cwd, file);
  writeAtomic(path, text, 0o600);
  const signed = key === undefined ? ' (not signed)' : '';
  call.output.human(`${path}${signed}\n`);
  return warnOfLedger(call.output, 'report', trust);
}

/** Throws everything that is wrong with the flags at once. */
function requestOf({ options, args, output: { json } }: Call) {
  const all = options.all === true;
  const output = typeof options.output === 'string' && options.output !== '-' ? options.output : undefined;
  const asked = typeof options.format === 'string' ? options.format : json ? 'json' : formatOfFile(output);
  const allowed = all ? FORMATS_OF_ALL : FORMATS;
  const format = allowed.find(each => each === asked);
  const problems: Problem[] = [];
  if (asked === undefined) problems.push(unknownEnding(String(output)));
  else if (!format) problems.push(unknownFormat(asked, allowed));
  if (all && args[0] !== undefined)
    problems.push({ where: args[0], what: 'cannot be combined with --all', fix: 'leave one of them out' });
  if (all && options.database !== undefined)
    problems.push({ where: '--database', what: 'cannot be combined with --all', fix: 'name a unit' });
  if (problems.length > 0 || !format) throw new Problems(problems);
  return { format, output, all };
}

function unknownFormat(asked: string, allowed: readonly ReportFormat[]): Problem {
  const what = FORMATS.some(each => each === asked) ? 'not available with --all' : 'unknown format';
  return {
    where: `--format ${asked}`,
    what,
    ...didYouMean(asked, allowed, `one of ${allowed.join(', ')}`),
  };
}

const ENDINGS: Readonly<Record<string, ReportFormat>> = {
  html: 'html',
  htm: 'html',
  md: 'md',
  json: 'json',
  xml: 'junit',
  sarif: 'sarif',
};

/** undefined: it has an ending, and of nothing that Ralph writes. */
function formatOfFile(output: string | undefined): ReportFormat | undefined {
  const ending = extname(output ?? '').slice(1);
  return ending === '' ? 'md' : ENDINGS[ending.toLowerCase()];
}

function unknownEnding(file: string): Problem {
  const endings = Object.keys(ENDINGS).map(ending => `.${ending}`);
  return {
    where: `--output ${file}`,
    what: `Ralph does not write ${extname(file)} files`,
    fix: `end it in one of ${endings.join(', ')}, or name the --format`,
  };
}
