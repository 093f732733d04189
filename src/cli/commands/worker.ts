/** `ralph worker`: takes units of the fleet and works on them, until it is asked to end. */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { ADAPTERS } from '../../agents/registry.ts';
import type { ExitCode } from '../../domain/run/stop-reason.ts';
import { isProblem } from '../../domain/text/problem.ts';
import type { Database } from '../../fleet/database.ts';
import { closeWorkerFolder, findLeftovers, openWorkerFolder, removeLeftover } from '../../fleet/leftovers.ts';
import { serveFigures } from '../../fleet/metrics.ts';
import { FLEET_VERSION } from '../../fleet/migrations.ts';
import { showBranch } from '../../fleet/place.ts';
import { checkRepoUrl } from '../../fleet/submit.ts';
import { createWorker } from '../../fleet/worker.ts';
import { findProgram } from '../../platform/programs.ts';
import { harmless } from '../../platform/text.ts';
import { chooseProvider, type Wanted } from '../../sandbox/choose.ts';
import {
  type Call,
  type CliCommand,
  orThrow,
  Problems,
  refuse,
  refuseInside,
  wholeNumber,
} from '../command.ts';
import { collect } from '../set-up.ts';
import { unitRunner } from '../unit-run.ts';
import { DATABASE, withDatabase } from '../which-run.ts';

export const worker: CliCommand = {
  declare: command =>
    command
      .option(...DATABASE)
      .option('--slots <n>', 'how many units at a time (default: 2)')
      .option(
        '--label <word>',
        'what this machine has to offer, such as gpu; its agents are known (may be repeated)',
        collect,
      )
      .option('--name <name>', 'what it is called in `ralph fleet status` (default: the name of the machine)')
      .option(
        '--allow-repo <glob>',
        'take only units of repositories whose address fits (may be repeated)',
        collect,
      )
      .option(
        '--sandbox <name>',
        'auto, srt, container, sbx or none: for units that ask for none themselves (default: any that works, or the worker does not start)',
      )
      .option('--once', 'end when nothing is left to do')
      .option('--metrics <address>', 'serve /healthz and /metrics there, such as 127.0.0.1:9464'),
  help: `
Examples:
  ralph worker
  ralph worker --slots 4 --label gpu --allow-repo "git@example.org:team/*"
  ralph worker --once

Whoever can submit units can run code on this machine: give the address of the
database to nobody else. Ctrl-C or SIGTERM: it takes nothing more, finishes or
leaves the step of each unit, pushes what is there and ends within 25 seconds.
`,
  async run(call) {
    refuseInside('worker', call);
    const what = 'must be a whole number from 1 to 1000';
    const slots = wholeNumber('--slots', call.options.slots ?? 2, 1, 1_000, what);
    const repos = reposOf(call);
    const sandbox = await sandboxOf(call);
    return withDatabase<ExitCode>(call, database => work(call, database, { slots, repos, sandbox }), {
      isWorker: true,
    });
  },
};

async function work(
  call: Call,
  database: Database,
  {
    sandbox,
    ...limits
  }: { readonly slots: number; readonly repos: readonly string[]; readonly sandbox: Wanted },
): Promise<ExitCode> {
  const { options, output, env: all } = call;
  // What it runs must not reach the database.
  const { RALPH_DATABASE_URL: _, PGPASSWORD: __, PGPASSFILE: ___, ...env } = all;
  const labels = labelsOf(call);
  const name = `${String(options.name ?? hostname())}-${randomBytes(2).toString('hex')}`;
  if (name.includes('/')) refuse(`--name ${String(options.name)}`, 'must have no slash in it');
  const folder = orThrow(openWorkerFolder(env, name));
  const drain = new AbortController();
  const say = createSay(call);
  const onSignal = () => {
    if (!drain.signal.aborted) say('draining', '');
    drain.abort();
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal).on('SIGHUP', onSignal);
  const made = createWorker({
    ...{ database, worker: name, folder, env, ...limits, labels, say },
    run: unitRunner(call, sandbox),
    version: FLEET_VERSION,
    once: options.once === true,
    showBranch: (unit, abort) => showBranch(env, unit, abort),
    draining: drain.signal,
  });
  const metrics =
    typeof options.metrics === 'string'
      ? orThrow(await serveFigures(options.metrics, made.figures))
      : undefined;
  await clearLeftovers(env, say, drain.signal);
  say('started', '', { worker: name, slots: limits.slots, labels, database: database.shown });
  try {
    await made.work();
    return 0;
  } finally {
    metrics?.close();
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal).off('SIGHUP', onSignal);
    closeWorkerFolder(env, name);
    if (!output.quiet) say('ended', '');
  }
}

/** What workers that never came back have left here, but for work that is nowhere else: `ralph prune --places` removes that. */
async function clearLeftovers(
  env: Call['env'],
  say: ReturnType<typeof createSay>,
  draining: AbortSignal,
): Promise<void> {
  for (const leftover of findLeftovers(env)) {
    const { unit, worker, place, why } = leftover;
    if (why !== undefined) say('left', unit, { worker, place });
    else {
      const left = await removeLeftover(env, leftover, draining);
      if (draining.aborted) return;
      say('removed', unit, { worker, ...(left !== undefined && { left }) });
    }
  }
}

function reposOf({ options }: Call): readonly string[] {
  const repos = (options.allowRepo ?? []) as readonly string[];
  const problems = repos.flatMap(pattern => checkRepoUrl(pattern, '--allow-repo') ?? []);
  if (problems.length > 0) throw new Problems(problems);
  return repos;
}

/** Checks run in a sandbox unless the owner of the machine says otherwise. */
async function sandboxOf({ options, env, cwd }: Call): Promise<Wanted> {
  const wanted = String(options.sandbox ?? 'any');
  if (!['any', 'auto', 'none', 'srt', 'container', 'sbx'].includes(wanted))
    refuse(`--sandbox ${wanted}`, 'is not known', 'auto, srt, container, sbx or none');
  const chosen = await chooseProvider(wanted as Wanted, { cwd, env, container: { args: [] } });
  if (isProblem(chosen))
    refuse(
      chosen.where,
      chosen.what,
      `install one of them and check with \`ralph doctor\`; \`ralph worker --sandbox none\` works without one, and then whoever submits a unit can reach all that you can`,
    );
  return wanted as Wanted;
}

function labelsOf({ options, env, cwd }: Call): readonly string[] {
  const installed = ADAPTERS.filter(({ name }) => !isProblem(findProgram(name, env, cwd))).map(
    ({ name }) => name,
  );
  return [...new Set([...installed, ...((options.label ?? []) as readonly string[])])];
}

/** A line for people, or a line of JSON for a program that collects logs. */
function createSay({ output }: Call) {
  return (what: string, unit: string, more: Readonly<Record<string, unknown>> = {}): void => {
    const at = new Date().toISOString();
    if (output.json)
      output.answer(`${JSON.stringify({ at, event: what, ...(unit && { unit }), ...more })}\n`);
    if (output.json || output.quiet) return;
    const rest = Object.entries(more)
      .map(([key, value]) => [key, String(Array.isArray(value) ? value.join(', ') : value)] as const)
      .flatMap(([key, value]) => (value === '' ? [] : `${key}: ${value}`));
    const words = [unit, what, ...rest].filter(Boolean).map(harmless);
    output.human(`${at.slice(11, 19)}  ${words.join('  ')}\n`);
  };
}
