/** `ralph mutate`: puts faults into the changed lines, in copies, and names those that no check notices. */
import { settingsFromFlags } from '../../config/flags.ts';
import { loadSettings } from '../../config/load.ts';
import { type MutationReport, shownSurvivors } from '../../domain/checks/mutation.ts';
import type { ExitCode } from '../../domain/run/stop-reason.ts';
import { parseDuration } from '../../domain/text/duration.ts';
import type { Problem } from '../../domain/text/problem.ts';
import { mutate as mutateLines, type Progress } from '../../proof/faults/mutate.ts';
import { counted, duration } from '../../report/numbers.ts';
import { projectPaths } from '../../store/paths.ts';
import { answer, type Call, type CliCommand, orThrow, Problems } from '../command.ts';
import { collect } from '../set-up.ts';
import { untilStopped } from '../signals.ts';

export const mutate: CliCommand = {
  declare: command =>
    command
      .argument('[base]', 'the commit to compare with; default: where this branch left its upstream or main')
      .option('--check <cmd>', 'a command that should notice; default: those of the settings', collect)
      .option(
        '--setup <cmd>',
        'makes a fresh copy ready, such as "npm ci"; then ignored files are not copied',
      )
      .option('--max <n>', 'try at most so many faults', '60')
      .option('--time <duration>', 'take at most so long: 90s, 10m, 1h', '10m')
      .option('--min <percent>', 'exit with 1 only if the score is lower'),
  help: `
Examples:
  ralph mutate --check "npm test"
  ralph mutate origin/main --check "pytest -x -q" --min 70
  ralph mutate HEAD~3 --check "node --test" --json | jq '.survivors'

Would your checks notice a fault? Ralph changes the lines that you changed since
BASE, one fault at a time, in copies of the project, and runs the checks. Below
the folder it is started in; your files are not touched. JavaScript, TypeScript,
Python, Go, Rust, Java and shell.
Exit code 0: every fault was noticed. 1: some were not, or the score is below
--min. 2: bad input, or a check is red without a fault. 130: interrupted.
`,
  async run(call) {
    const { request, min } = requestOf(call);
    const { output } = call;
    const line = liveLine(call);
    const result = await untilStopped(signal => mutateLines({ ...request, signal, progress: line.show }));
    line.clear();
    const report = orThrow(result);
    answer(output, report, () => mutationLines(report).join('\n'));
    return exitCodeOf(report, min);
  },
};

/** Throws everything that is wrong at once. */
function requestOf({ options, args, cwd, env }: Call) {
  const flags = settingsFromFlags('loop', { check: options.check });
  const { settings, problems: inFiles } = loadSettings(projectPaths(cwd), 'loop');
  const problems: Problem[] = [...flags.problems, ...inFiles];
  const max = Number(options.max);
  if (!Number.isSafeInteger(max) || max < 1)
    problems.push({ where: `--max ${options.max}`, what: 'must be a whole number, 1 or more' });
  const time = (parseDuration(String(options.time)) ?? 0) * 1000;
  if (!time || time > LONGEST)
    problems.push({
      where: `--time ${options.time}`,
      what: 'must be a duration of at most 24 days',
      fix: '10m',
    });
  const min = options.min === undefined ? undefined : Number(options.min);
  if (min !== undefined && !(min >= 0 && min <= 100 && options.min !== ''))
    problems.push({ where: `--min ${options.min}`, what: 'must be a number from 0 to 100' });
  const given = (flags.layer.checks as readonly string[] | undefined) ?? [];
  const checks = given.length > 0 ? given : (settings.checks ?? []);
  if (checks.length === 0 && problems.length === 0)
    problems.push({ where: 'ralph mutate', what: 'there is no check', fix: '--check "npm test" names one' });
  if (problems.length > 0 || !time) throw new Problems(problems);
  const [base] = args;
  const setup = options.setup as string | undefined;
  const more = { ...(base !== undefined && { base }), ...(setup !== undefined && { setup }) };
  return { request: { cwd, env, checks, max, time, ...more }, min };
}

/** A timer can wait no longer. */
const LONGEST = 24 * 86_400_000;

function exitCodeOf({ survivors, score, stopped }: MutationReport, min: number | undefined): ExitCode {
  if (stopped === 'interrupted') return 130;
  const isTooLow = min === undefined ? survivors.length > 0 : score !== null && score < min;
  return isTooLow ? 1 : 0;
}

/** One line on a terminal, rewritten; nothing elsewhere. */
function liveLine({ output }: Call) {
  const isShown = output.humanIsTTY && !output.quiet;
  let width = 0;
  const write = (text: string) => {
    if (!isShown) return;
    output.draw(`\r${text.padEnd(width)}`);
    width = text.length;
  };
  write('Copying, and running the checks once …');
  return {
    show: ({ tried, chosen, survived }: Progress) =>
      write(`${tried} of ${chosen} faults tried, ${survived} not noticed`),
    clear(): void {
      write('');
      if (isShown) output.draw('\r');
    },
  };
}

function mutationLines(report: MutationReport): readonly string[] {
  const { survivors, notes } = report;
  const { shown, more } = shownSurvivors(survivors);
  return [
    ...notes.map(note => `Note: ${note}`),
    ...(shown.length > 0 ? ['Your checks would not notice this:'] : []),
    ...shown.map(({ file, line, change }) => `  ${file}:${line}  ${change}`),
    ...more.map(({ file, count }) => `  ${file}  and ${count} more`),
    scoreLine(report),
    ...stoppedLine(report),
    ...(survivors.length > 0
      ? ['Add a test that fails for each, or leave those that make no difference.']
      : []),
  ];
}

function scoreLine({
  score,
  mutants,
  survivors,
  timeouts,
  base,
  lines,
  files,
  seconds,
}: MutationReport): string {
  const where = `${counted(lines, 'changed line')} in ${counted(files, 'file')} since ${base.slice(0, 10)}`;
  if (score === null) return `No fault was tried: ${where}.`;
  const hung = timeouts > 0 ? `, ${timeouts} of them by a time limit` : '';
  const noticed = `${mutants - survivors.length} of ${counted(mutants, 'fault')} noticed${hung}`;
  return `Score ${score} %: ${noticed}; ${where}; ${duration(seconds)}.`;
}

function stoppedLine({ stopped, untried }: MutationReport): readonly string[] {
  if (untried === 0) return [];
  const why = { time: 'the time was over', interrupted: 'interrupted' };
  const words = stopped === null ? '--max allows more' : why[stopped];
  return [`${untried} more ${untried === 1 ? 'was' : 'were'} not tried: ${words}.`];
}
