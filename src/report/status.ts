/** `ralph status`: the runs of a project as a table that fits the screen. */
import { clip, displayWidth } from '../platform/text.ts';
import type { RunOverview } from '../store/overview.ts';
import { dollars, wholeSeconds } from './numbers.ts';
import { type Paint, paint, type Style } from './style.ts';

const COLORS: Record<RunOverview['state'], Paint> = {
  running: 'cyan',
  done: 'green',
  stopped: 'yellow',
  crashed: 'red',
};

export function statusLines(runs: readonly RunOverview[], style: Style, now: number): readonly string[] {
  if (runs.length === 0)
    return ['There are no runs here yet. Start one with `ralph run -p "…"`, or watch `ralph demo`.'];
  const rows = runs.map(run => cells(run, now));
  const widths =
    rows[0]?.map((_, column) => Math.max(...rows.map(row => displayWidth(row[column] ?? '')))) ?? [];
  return rows.map((row, index) => {
    const padded = row.map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - displayWidth(cell)));
    const line = clip(padded.join('  ').trimEnd(), style.width);
    const run = runs[index];
    return run ? line.replace(ending(run), word => paint(style, COLORS[run.state], word)) : line;
  });
}

function cells(run: RunOverview, now: number): readonly string[] {
  const of = run.maxIterations === null ? '' : `/${run.maxIterations}`;
  const { passed, failed } = run.checks;
  return [
    run.id,
    ending(run),
    `${run.command} ${run.iteration}${of}`,
    passed + failed === 0 ? '' : `checks ${passed}/${passed + failed}`,
    run.cost === null ? '' : dollars(run.cost),
    run.startedAt === null ? '' : wholeSeconds(Math.max(0, (now - Date.parse(run.startedAt)) / 1000)),
  ];
}

function ending({ stopReason, state }: RunOverview): string {
  return stopReason ?? state;
}
