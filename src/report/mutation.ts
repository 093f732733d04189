/** What `ralph mutate` found, for people. */
import { type MutationReport, shownSurvivors } from '../domain/mutation.ts';
import { counted, duration } from './numbers.ts';

export function mutationLines(report: MutationReport): readonly string[] {
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
