/** The progress file of `ralph loop`, in the form of seed 004. */
import type { CheckSummary, IterationResult } from './result.ts';

export function formatProgress(result: IterationResult): string {
  const { iteration, allChecksPassed, completionTagFound, stepsTaken, cost, duration, checkResults, error } =
    result;
  return [
    `## Iteration ${iteration} — ${allChecksPassed && completionTagFound ? 'PASS' : 'FAIL'}`,
    `- Steps: ${stepsTaken}`,
    `- Cost: ${cost === null ? 'unknown' : `$${cost.toFixed(4)}`}`,
    `- Duration: ${duration.toFixed(1)}s`,
    ...(error === null ? [] : [`- Error: ${oneLine(error)}`]),
    '- Checks:',
    ...checkResults.map(check => `  - ${check.name}: ${checkWord(check)}`),
    '',
  ].join('\n');
}

function checkWord({ passed, output, exitCode, flaked }: CheckSummary): string {
  if (passed) return flaked === undefined ? 'PASS' : `PASS (flaky: failed ${flaked} time(s) first)`;
  const last = output
    .split('\n')
    .filter(line => line.trim() !== '')
    .at(-1);
  return `FAIL — ${last === undefined ? `exit code ${exitCode}` : oneLine(last)}`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim().slice(0, 200);
}
