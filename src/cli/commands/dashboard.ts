/** `ralph dashboard`: serves the live page until Ctrl-C. */
import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { ADAPTERS } from '../../agents/registry.ts';
import { loadSettings } from '../../config/load.ts';
import type { Launch, Offers } from '../../dashboard/launch.ts';
import { type OpenedPage, openPage } from '../../dashboard/open-page.ts';
import { type Dashboard, isLoopback, openDashboard } from '../../dashboard/server.ts';
import { parseObject, stringAt } from '../../domain/text/json.ts';
import type { Problem } from '../../domain/text/problem.ts';
import { createRedactor } from '../../domain/text/secrets.ts';
import type { Database } from '../../fleet/database.ts';
import { openFleet } from '../../fleet/open.ts';
import { startDetached } from '../../platform/detached.ts';
import { errorCode, errorWords } from '../../platform/error-words.ts';
import { VERSION } from '../../platform/version.ts';
import { readPageAssets } from '../../report/html.ts';
import { isExecutable } from '../../run/turns/choose-agent.ts';
import { projectAt, projectPaths } from '../../store/paths.ts';
import { knownProjects } from '../../store/projects.ts';
import { answer, type Call, type CliCommand, orThrow, Problems, refuse, refuseInside } from '../command.ts';
import { fleetPage } from '../fleet-page.ts';
import { listenForSignals } from '../signals.ts';

export const dashboard: CliCommand = {
  declare: command =>
    command
      .argument('[projects...]', 'the folders of the projects; without them this one')
      .option('-a, --all', 'every project on this machine in which Ralph has worked')
      .option(
        '--database [url]',
        'the units of a fleet, on all machines (default: RALPH_DATABASE_URL, or that of `ralph fleet up`)',
      )
      .option('--port <n>', 'the port; 0 for any free one', '0')
      .option('--host <address>', 'the address to listen on', '127.0.0.1')
      .option('--open', 'open it in the browser'),
  help: '\nExamples:\n  ralph dashboard --open\n  ralph dashboard ~/shop ~/blog --port 7001\n  ralph dashboard --all\n  ralph dashboard --database postgres://ralph@db.example.org/ralph\n\nWhoever has the address with its token can control the runs. RALPH_DASHBOARD_TOKEN sets the token, so that an open page\nreconnects after a restart on the same port.\n',
  async run(call) {
    // Its page can steer every run.
    refuseInside('dashboard', call);
    const { output, env } = call;
    const { port, host, projects } = requestOf(call);
    const signals = listenForSignals(() => {});
    const fleet =
      call.options.database === undefined ? undefined : orThrow(await openFleet(call.options, env));
    let opened: OpenedPage | undefined;
    const served = await serve(call, { port, host, projects }, fleet, () => opened?.remove());
    if (!isLoopback(host))
      output.error(
        `ralph dashboard: ${host} is not a loopback address: others on the network can reach it.\n`,
      );
    answer(output, { url: served.url }, () => served.url);
    // A machine without a browser is no error: the address is there.
    if (call.options.open === true) opened = await openPage(served.url, env);
    if (opened?.isOpen === false)
      output.error('ralph dashboard: no browser could be opened. Open the address yourself.\n');
    await new Promise<void>(done => {
      if (signals.stopping.aborted) done();
      signals.stopping.addEventListener('abort', () => done());
    });
    opened?.remove();
    await served.close();
    await fleet?.close();
    signals.dispose();
    return 0;
  },
};

/** Throws everything that is wrong at once. */
function requestOf({ options, args, cwd, env }: Call) {
  const port = Number(options.port);
  const named = args.map(folder => resolve(cwd, folder));
  const problems: Problem[] = named
    .filter(folder => !statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    .map(where => ({ where, what: 'no such folder' }));
  if (!Number.isSafeInteger(port) || port < 0 || port > 65_535)
    problems.push({ where: `--port ${options.port}`, what: 'must be a number from 0 to 65535' });
  if (problems.length > 0) throw new Problems(problems);
  const all = options.all === true ? knownProjects(env) : [];
  const projects = [...new Set([...named, ...all])];
  return {
    port,
    host: String(options.host),
    projects: projects.length > 0 || options.database !== undefined ? projects : [projectAt(cwd).root],
  };
}

async function serve(
  { env }: Call,
  { port, host, projects }: ReturnType<typeof requestOf>,
  fleet: Database | undefined,
  onPage: () => void,
): Promise<Dashboard> {
  const token = env.RALPH_DASHBOARD_TOKEN || randomBytes(24).toString('base64url');
  try {
    return await openDashboard({
      projects,
      env,
      host,
      port,
      token: encodeURIComponent(token),
      assets: readPageAssets(),
      version: VERSION,
      redact: createRedactor(env),
      onPage,
      launch: isLoopback(host) ? createLaunch({ env }) : undefined,
      offers: root => offersOf(root, env),
      elsewhere: fleet && fleetPage(fleet, env),
    });
  } catch (error) {
    if (errorCode(error) === 'EADDRINUSE')
      refuse(`--port ${port}`, 'the port is in use', 'leave --port out, or use another one');
    if (errorCode(error) === undefined) throw error;
    return refuse(`--host ${host}`, errorWords(error));
  }
}

/** As the settings of the project are now. */
function offersOf(root: string, env: Call['env']): Offers {
  const project = projectPaths(root, env);
  const [loop, run, prd] = (['loop', 'run', 'prd'] as const).map(
    name => loadSettings(project, name).settings,
  );
  const most = (settings: typeof loop) => settings?.maximumIterations ?? 0;
  const { agent, agents = {}, checks = [] } = loop ?? {};
  const installed = ADAPTERS.map(({ name }) => name).filter(name => isExecutable(name, { cwd: root, env }));
  const name = typeof agent === 'string' ? agent : (agent?.command ?? null);
  return {
    agents: [...new Set([...(name === null ? [] : [name]), ...Object.keys(agents), ...installed])],
    agent: name,
    checks,
    maxIterations: { loop: most(loop), run: most(run), prd: most(prd) },
  };
}

/** Starts a run for the dashboard, as a process of its own that does not end with it. */
function createLaunch({ env }: Pick<Call, 'env'>): Launch {
  // Whoever has the token controls the runs: the agent must not find it.
  const { RALPH_DASHBOARD_TOKEN: _, ...rest } = env;
  return async (root, args) => {
    const argv = [process.execPath, process.argv[1] ?? '', '-C', root, '--events', '-', ...args] as const;
    const begun = await startDetached({ argv, cwd: root, env: rest }, runIn);
    if ('sign' in begun) return { done: true, runId: begun.sign, message: `${begun.sign} has begun.` };
    const why = begun.errors.trim() || `exit code ${begun.code}`;
    return { done: false, message: why };
  };
}

function runIn(line: string): string | undefined {
  const event = parseObject(line);
  const type = stringAt(event, 'type');
  return type === 'run-started' || type === 'run-resumed' ? stringAt(event, 'runId') : undefined;
}
