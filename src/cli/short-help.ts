/** The help of a command with many flags: those that most runs need, in groups, on one screen. */
import type { Command, Option } from 'commander';

/** As many flags as a screen has room for; a command with fewer shows them all. */
const ROOM = 24;

/** Those that most runs need, by what they are for. */
const BASIC: Readonly<Record<string, string>> = {
  Task: 'prompt prompt-file spec title worktree',
  Checks: 'check protect dry-run',
  Agent: 'agent model sandbox',
  Limits: 'maximum-iterations max-iterations max-cost max-time',
  Options: 'json quiet',
};

export function shortenHelp(command: Command, name: string): void {
  const all = command.options.filter(({ hidden }) => !hidden);
  if (all.length <= ROOM) return;
  let shown = 0;
  for (const option of all) {
    const group = Object.keys(BASIC).find(each =>
      BASIC[each]?.split(' ').includes(option.long?.slice(2) ?? ''),
    );
    if (group === undefined) option.hideHelp();
    else {
      shown++;
      option.helpGroup(`${group}:`);
      option.flags = option.flags.replace(/\[[^\]]*\|[^\]]*\]/, '[name]');
      option.description = firstWords(option.description);
    }
  }
  // The groups come in the order of their first flags.
  const groups = Object.keys(BASIC).map(group => `${group}:`);
  const rank = ({ helpGroupHeading = 'Options:' }: Option) => groups.indexOf(helpGroupHeading);
  (command.options as Option[]).sort((a, b) => rank(a) - rank(b));
  command.addHelpText('after', `${all.length - shown} more flags: ralph ${name} --help all`);
}

/** Its first sentence, and what it is by default. */
function firstWords(help: string): string {
  const [first = help] = help.split(/(?<=[.;]) |; /);
  const fallback = / \(default: [^)]*\)$/.exec(help)?.[0] ?? '';
  return `${first.replace(/[.;:]$/, '').replace(fallback, '')}${fallback}`;
}
