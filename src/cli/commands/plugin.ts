import { join } from 'node:path';
import { describeStep, findPlace, performStep, stepsTo } from '../../agents/install-plugin.ts';
import { type HostPlugin, PLUGINS, type Place } from '../../agents/plugins.ts';
import { capture } from '../../platform/capture.ts';
import { type Call, type CliCommand, Problems, refuse } from '../command.ts';

const ACTIONS = ['install', 'remove', 'path', 'check'] as const;
const HOSTS = PLUGINS.map(host => host.name);

export const plugin: CliCommand = {
  declare: command =>
    command
      .argument('<action>', ACTIONS.join(', '))
      .argument('<host>', HOSTS.join(', '))
      .option('--dry-run', 'show what would change, and change nothing'),
  help: `
Examples:
  ralph plugin install codex --dry-run
  ralph plugin install codex
  ralph plugin check codex
  ralph plugin remove codex
`,
  async run(call) {
    const [action = '', name = ''] = call.args;
    const known = ACTIONS.find(each => each === action);
    const host = PLUGINS.find(each => each.name === name);
    const place = findPlace(call.env);
    if (!known || !host || !place) throw new Problems(problems(action, name, place));
    if (known === 'path') {
      call.output.answer(`${join(place.root, 'plugins', host.folder)}\n`);
      return 0;
    }
    return known === 'check' ? check(call, host, place) : change(call, known, host, place);
  },
};

function problems(action: string, host: string, place: Place | undefined) {
  return [
    ...(ACTIONS.some(each => each === action)
      ? []
      : [{ where: action, what: 'unknown action', fix: `use one of ${ACTIONS.join(', ')}` }]),
    ...(HOSTS.includes(host)
      ? []
      : [{ where: host, what: 'Ralph has no plugin for this host', fix: `use one of ${HOSTS.join(', ')}` }]),
    ...(place === undefined
      ? [
          {
            where: 'ralph plugin',
            what: "Ralph's folder of plugins was not found",
            fix: 'npm install -g @ralph-loop/ralph',
          },
        ]
      : []),
  ];
}

async function change(
  { options, output }: Call,
  action: 'install' | 'remove',
  host: HostPlugin,
  place: Place,
): Promise<0 | 1> {
  const theirs = action === 'install' ? host.theirs?.(place) : undefined;
  if (theirs !== undefined)
    refuse(theirs, "is there already, and it is not Ralph's plugin", 'move it away, or keep it');
  const steps = stepsTo(action, host, place);
  if (steps.length === 0) {
    const state = action === 'install' ? 'is already installed' : 'is not installed';
    output.answer(`Ralph's plugin ${state} in ${host.title}. Nothing to do.\n`);
    return 0;
  }
  output.answer(`${options.dryRun ? 'This would change' : 'This changes'}:\n`);
  for (const step of steps) output.answer(`  ${describeStep(step)}\n`);
  if (options.dryRun) return 0;
  for (const step of steps) {
    const wrong = await performStep(step, place);
    if (wrong !== undefined) {
      output.error(`${describeStep(step).replace(/ +/, ' ')} failed:\n${wrong}\n`);
      return 1;
    }
  }
  output.answer(
    `${action === 'install' ? 'Installed' : 'Removed'} Ralph's plugin ${action === 'install' ? 'in' : 'from'} ${host.title}.\n`,
  );
  if (action === 'install') for (const { text } of host.cautions(place)) output.answer(`${text}\n`);
  return 0;
}

/** 0 when a loop would run. */
async function check({ cwd, env, output }: Call, host: HostPlugin, place: Place): Promise<0 | 1> {
  const asked = await capture([host.name, '--version'], { cwd, env, timeout: 30_000 });
  const isThere = asked.code === 0;
  const version = host.installed(place);
  const cautions = version === undefined ? [] : host.cautions(place);
  const found = isThere
    ? `${host.name}: ${asked.stdout.trim().split('\n')[0]}`
    : `${host.name} cannot be started: install it, or add it to the PATH`;
  output.answer(`${isThere ? '✓' : '✗'} ${found}\n`);
  output.answer(
    version === undefined
      ? `✗ Ralph's plugin is not installed in ${host.title}: ralph plugin install ${host.name}\n`
      : `✓ Ralph's plugin ${version} is installed in ${host.title}\n`,
  );
  for (const { text, stops } of cautions) output.answer(`${stops ? '✗' : '·'} ${text}\n`);
  return isThere && version !== undefined && !cautions.some(each => each.stops) ? 0 : 1;
}
