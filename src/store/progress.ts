/** `.ralph/ralph-progress.md`: the result of each iteration. The run keeps its own; the well-known name shows the latest. */
import { existsSync } from 'node:fs';
import type { CheckSummary, IterationResult } from '../domain/run/result.ts';
import { appendPrivate, linkOver, removeOdd, writePrivate } from '../platform/files.ts';
import type { ProjectPaths, RunPaths } from './paths.ts';

const MAX_CHARS = 4_000;

export function createProgress(project: ProjectPaths, run: RunPaths) {
  let entries: string[] = [];
  let left = 0;
  writePrivate(run.progress, '');
  return {
    add(result: IterationResult): void {
      const entry = formatProgress(result);
      // An agent or a check may have swept it away, or put a link there.
      if (!removeOdd(run.progress) && existsSync(run.progress)) appendPrivate(run.progress, entry);
      else writePrivate(run.progress, entries.join('') + entry);
      linkOver(run.progress, project.progress);
      entries.push(entry);
      while (entries.join('').length > MAX_CHARS && entries.length > 1) {
        entries = entries.slice(1);
        left++;
      }
    },
    /** As it goes into a prompt: the latest entries, so that a prompt does not grow with the run. */
    latest: () => (left === 0 ? '' : `(${left} earlier iterations are left out)\n`) + entries.join(''),
  };
}

/** In the form of seed 004. */
function formatProgress(result: IterationResult): string {
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
