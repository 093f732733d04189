/**
 * One file that opens from disk and makes no request. Text from outside is in it only as text and as JSON in which no tag
 * can begin; the one script and the one style are allowed by their hashes and nothing else is.
 */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Board, laneOutcome } from '../domain/lanes/board.ts';
import { dollars } from '../domain/turn/usage.ts';
import { packageFile } from '../platform/package.ts';
import { headline } from './ending-words.ts';
import { counted, duration } from './numbers.ts';
import { phrase } from './phrases.ts';
import { proofs } from './proofs.ts';
import { cleanJson, type ReadRun } from './read-run.ts';
import { elapsed, type IterationView, outcomeWords } from './run-view.ts';
import type { RunsFigures } from './runs-figures.ts';
import { escapeMarkup } from './words.ts';

/** The page's script and style, as the build has written them. */
export interface PageAssets {
  readonly script: string;
  readonly style: string;
}

export interface HtmlWorld {
  readonly assets: PageAssets;
  readonly version: string;
  /** Takes secrets out of a line. */
  readonly redact: (line: string) => string;
}

/** `details` are JSON already, iteration by iteration; of runs that belong to it by their id and the iteration. */
export function htmlOf(
  run: ReadRun,
  details: ReadonlyMap<string, string>,
  world: HtmlWorld,
  children: readonly ReadRun[] = [],
): string {
  const { result: _, ...reading } = run;
  const { view } = reading;
  const all = [...details].map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',');
  const more = children.map(({ result: __, ...child }) => child);
  return page(
    {
      title: world.redact(phrase(view.title ?? `Ralph ${run.id}`)),
      body: runBody(run, world.redact),
      data: cleanJson({ kind: 'run', run: reading, children: more, version: world.version }, world.redact),
      more: dataElement('details', `{${all}}`),
    },
    world.assets,
  );
}

/** `runs` can be looked at one by one. */
export function htmlOfAll(figures: RunsFigures, runs: readonly string[], world: HtmlWorld): string {
  const body = `<h1>${figures.done} of ${counted(figures.ended, 'run')} done</h1>`;
  const data = cleanJson({ kind: 'all', figures, version: world.version }, world.redact);
  const more = dataElement('runs', `[${runs.join(',')}]`);
  return page({ title: 'Ralph: all runs', body, data, more }, world.assets);
}

/** `canStart`: its server starts runs. */
export function htmlOfDashboard(version: string, assets: PageAssets, canStart: boolean): string {
  const body = '<h1>Ralph</h1><noscript><p>The dashboard needs JavaScript.</p></noscript>';
  return page(
    { title: 'Ralph', body, data: JSON.stringify({ kind: 'dashboard', version, canStart }) },
    assets,
  );
}

interface Content {
  readonly title: string;
  /** What is shown without JavaScript. */
  readonly body: string;
  readonly data: string;
  readonly more?: string;
}

function page({ title, body, data, more = '' }: Content, assets: PageAssets): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta http-equiv="Content-Security-Policy" content="${policyOf(assets)}">
<title>${escapeMarkup(title)}</title>
<link rel="icon" href="data:,">
<style>${assets.style}</style>
</head>
<body>
<main id="app">${body}</main>
${dataElement('data', data)}${more}
<script>${assets.script}</script>
</body>
</html>
`;
}

/** Nothing but this page's own script and style, and no request to anywhere but where the page came from. */
export function policyOf({ script, style }: PageAssets): string {
  return [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    `style-src '${hashOf(style)}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

/** In JSON a `<` may be written as an escape; then nothing in it can end the element. */
function dataElement(id: string, json: string): string {
  const inert = json.replace(
    /[<>&\u2028\u2029]/g,
    sign => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return `<script type="application/json" id="${id}">${inert}</script>\n`;
}

const PLAIN_ROWS = 500;

function runBody(run: ReadRun, redact: (line: string) => string): string {
  const { view, integrity } = run;
  const say = (text: string) => escapeMarkup(redact(phrase(text)));
  const { board } = view;
  const how = board
    ? `${board.landed.length} of ${board.lanes.length} landed`
    : counted(view.iterations.length, 'iteration');
  return `<h1>${say(headline(run))}</h1>
${view.title === null ? '' : `<p>${say(view.title)}</p>`}
<p>ralph ${say(view.command)}, ${say(view.agent)}, ${say(run.id)}: ${how} in ${duration(elapsed(view))}</p>
<ul>${proofs(view, integrity)
    .map(({ holds, text, cause = [] }) => {
      const lines = cause.map(line => escapeMarkup(redact(line))).join('\n');
      const sign = holds === 'yes' ? '✓' : holds === 'no' ? '✗' : '–';
      return `<li>${sign} ${say(text)}${lines && `<pre>${lines}</pre>`}</li>`;
    })
    .join('')}</ul>
<noscript>${board ? plainBoard(board, say) : plainIterations(view.iterations, say)}</noscript>`;
}

type Say = (text: string) => string;

function plainIterations(iterations: readonly IterationView[], say: Say): string {
  const rows = iterations.slice(-PLAIN_ROWS).map(iteration => {
    const { number, seconds, usage } = iteration;
    const cost = usage?.cost === undefined ? '' : dollars(usage.cost);
    const times = [duration(seconds.agent), duration(seconds.checks)];
    return [String(number), ...times, cost, outcomeWords(iteration) ?? ''];
  });
  const left = iterations.length - rows.length;
  const more =
    left > 0 ? `<tr><td colspan="5">${counted(left, 'earlier iteration')} not shown</td></tr>` : '';
  return plainTable(['iteration', 'agent', 'checks', 'cost', 'result'], rows, say, more);
}

function plainBoard({ lanes }: Board, say: Say): string {
  const rows = lanes.map(laneOutcome).map(({ id, title, state, commit, cost, why }) => {
    const cells = [`${id} ${title}`, state, commit?.slice(0, 12) ?? '', cost === null ? '' : dollars(cost)];
    return [...cells, why ?? ''];
  });
  return plainTable(['lane', 'state', 'commit', 'cost', 'why'], rows, say);
}

function plainTable(
  names: readonly string[],
  rows: readonly (readonly string[])[],
  say: Say,
  more = '',
): string {
  const row = (cells: readonly string[]) => `<tr>${cells.map(cell => `<td>${say(cell)}</td>`).join('')}</tr>`;
  return `<table><thead><tr>${names.map(name => `<th>${name}</th>`).join('')}</tr></thead><tbody>
${more}${rows.map(row).join('\n')}
</tbody></table>`;
}

/** Throws when Ralph was taken apart. */
export function readPageAssets(): PageAssets {
  const read = (name: string) => readFileSync(packageFile('dist/page', name), 'utf8');
  return { script: read('page.js'), style: read('page.css') };
}
