import { findPlace } from '../../agents/install-plugin.ts';
import { answer, type Call, type CliCommand, refuse, refuseInside } from '../command.ts';
import { findInstalled, type Uninstall } from '../uninstall.ts';

const PACKAGE = 'npm uninstall -g @ralph-loop/ralph';

export const uninstall: CliCommand = {
  declare: command =>
    command
      .option(
        '--all',
        'also every run of every project, the state folder, and the database of `ralph fleet up`',
      )
      .option('--dry-run', 'print what would be removed, and remove nothing'),
  help: `
Examples:
  ralph uninstall --dry-run
  ralph uninstall
  ralph uninstall --all --dry-run
  ralph uninstall --all

Without --all the plugins go that \`ralph plugin install\` put into your agents;
your runs stay. Your settings, your story lists, work that is not merged and
versions of your files below refs/ralph always stay, each with the command that
removes it.
`,
  async run(call) {
    refuseInside('uninstall', call);
    const { options, env, cwd } = call;
    const place = findPlace(env);
    if (!place) refuse('ralph uninstall', "Ralph's folder of plugins was not found", PACKAGE);
    const all = options.all === true;
    const found = findInstalled({ place, env, cwd, all });
    if (found.running.length > 0)
      refuse(
        'ralph uninstall',
        `still running: ${found.running.join(', ')}`,
        'wait, or end each: `ralph cancel RUN`; a loop in a session `ralph session cancel`; `ralph watch` Ctrl-C',
      );
    return await perform(call, found, { all, isDry: options.dryRun === true });
  },
};

interface How {
  readonly all: boolean;
  /** Nothing is removed; what would go and what would stay is said. */
  readonly isDry: boolean;
}

async function perform({ output }: Call, { parts, last }: Uninstall, how: How): Promise<0 | 1> {
  const goes: string[] = [];
  const left: string[] = [];
  const kept = new Set<'failed' | 'work'>();
  const take = async (some: typeof parts) => {
    for (const part of some) {
      const done = await part.remove(how);
      left.push(...done.left);
      if (done.kept) kept.add(done.kept);
      else goes.push(...part.lines);
    }
  };
  await take(parts);
  if (kept.has('work'))
    left.push(...last.flatMap(({ lines }) => lines).map(line => `${line} (for the work above)`));
  else await take(last);
  answer(output, { removed: how.isDry ? [] : goes, chosen: goes, left }, () => words(goes, left, how));
  return kept.size > 0 && !how.isDry ? 1 : 0;
}

function words(goes: readonly string[], left: readonly string[], { all, isDry }: How): string {
  return [
    ...(goes.length + left.length === 0 ? [nothing(all)] : []),
    ...(goes.length === 0 ? [] : [isDry ? 'This would be removed:' : 'Removed:', ...goes.map(indent)]),
    ...(left.length === 0 ? [] : [isDry ? 'This would stay:' : 'Stays:', ...left.map(indent)]),
    ...(isDry ? [] : [`The program itself: ${PACKAGE}`]),
  ].join('\n');
}

function nothing(all: boolean): string {
  return all
    ? 'Nothing of Ralph is here but the program.'
    : 'No plugin of Ralph is in any agent. Your runs stay: `ralph uninstall --all` removes them.';
}

function indent(line: string): string {
  return `  ${line}`;
}
