/** A run, or all of them, as a text for people or for programs: what `ralph report` and the library hand out. */
import { existsSync } from 'node:fs';
import { parentOf } from '../domain/lanes/board.ts';
import type { LedgerTrust } from '../domain/run/ledger-trust.ts';
import { createRedactor, type Redact, redactDeep } from '../domain/text/secrets.ts';
import type { Env } from '../platform/git.ts';
import { childrenOf } from '../store/child-runs.ts';
import { type ProjectPaths, type RunPaths, runPaths } from '../store/paths.ts';
import { listRuns } from '../store/run-file.ts';
import { changesBefore, changesOf } from './changes.ts';
import { createDetailFold } from './details.ts';
import { type HtmlWorld, htmlOf, htmlOfAll, readPageAssets } from './html.ts';
import { junitOfChecks } from './junit.ts';
import { markdownOf, markdownOfAll } from './markdown.ts';
import { cleanJson, readRun } from './read-run.ts';
import { figuresOf, figuresOfAll } from './runs-figures.ts';
import { sarifOf } from './sarif.ts';

export const FORMATS = ['html', 'md', 'json', 'junit', 'sarif'] as const;
/** What a report can be written as. */
export type ReportFormat = (typeof FORMATS)[number];
/** Those that exist for many runs. */
export const FORMATS_OF_ALL: readonly ReportFormat[] = ['html', 'md', 'json'];

export interface ReportWorld {
  readonly project: ProjectPaths;
  readonly env: Env;
  readonly version: string;
}

/** Of one run, with how far its ledger can be believed. */
export interface Report {
  readonly text: string;
  readonly trust: LedgerTrust;
}

export function reportRun(format: ReportFormat, id: string, { project, env, version }: ReportWorld): Report {
  const paths = runPaths(project, id);
  const redact = createRedactor(env);
  switch (format) {
    case 'html':
      return htmlReport(project, id, { assets: readPageAssets(), version, redact });
    case 'md':
      return markdownReport(id, paths, redact);
    case 'json': {
      const { result: _, ...reading } = readRun(id, paths);
      return { text: `${cleanJson(reading, redact)}\n`, ...reading.integrity };
    }
    case 'junit':
      return junitReport(id, paths, redact);
    case 'sarif': {
      const { view, integrity } = readRun(id, paths);
      return { text: sarifOf(redactDeep(view, redact), integrity, version), ...integrity };
    }
    default:
      return format satisfies never;
  }
}

/** What all iterations together may add to the file. The latest are kept. */
const MOST_DETAIL = 24 * 1024 * 1024;

function htmlReport(project: ProjectPaths, id: string, world: HtmlWorld): Report {
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
  const run = read(id, runPaths(project, id));
  return { text: htmlOf(run, details, world, children), ...run.integrity };
}

/** GitHub takes 65,536 characters in a comment. */
const DIFF = 40_000;
const DIFF_BEFORE = 5_000;

function markdownReport(id: string, paths: RunPaths, redact: Redact): Report {
  const reading = readRun(id, paths);
  const changes = redactDeep(changesOf(reading.view, paths, DIFF), redact);
  const before = redactDeep(changesBefore(paths, DIFF_BEFORE), redact);
  return { text: markdownOf(redactDeep(reading, redact), changes, before), ...reading.integrity };
}

/** With what the checks printed, which the ledger's last line leaves out. */
function junitReport(id: string, paths: RunPaths, redact: Redact): Report {
  let outputs: ReadonlyMap<number, string> = new Map();
  const fold = createDetailFold(paths, ({ checks }) => {
    if (checks.length > 0) outputs = new Map(checks.map(({ index, output }) => [index, redact(output.text)]));
  });
  const { view, integrity } = readRun(id, paths, fold.add);
  fold.end();
  return { text: junitOfChecks(redactDeep(view, redact), outputs, integrity), ...integrity };
}

/** Of every run of a project. */
export function reportAll(format: ReportFormat, { project, env, version }: ReportWorld): string {
  const redact = createRedactor(env);
  const pages: string[] = [];
  let size = 0;
  const ids = listRuns(project).filter(
    id => parentOf(id) === undefined && existsSync(runPaths(project, id).events),
  );
  // The latest first: of what does not fit into one file the figures remain.
  const latest = ids.toReversed().map(id => {
    const { result: _, ...reading } = readRun(id, runPaths(project, id));
    const json = format === 'html' && size < MOST_DETAIL ? cleanJson(reading, redact) : '';
    if (json !== '') pages.push(json);
    size += json.length;
    return figuresOf(reading);
  });
  const figures = figuresOfAll(latest.toReversed());
  if (format === 'html') return htmlOfAll(figures, pages, { assets: readPageAssets(), version, redact });
  return format === 'json' ? `${cleanJson(figures, redact)}\n` : markdownOfAll(redactDeep(figures, redact));
}
