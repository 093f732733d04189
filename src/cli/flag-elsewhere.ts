/** A flag that this command does not have, and another one does. */
import { Command } from 'commander';
import { closest } from '../domain/problem.ts';
import type { CliCommand } from './command.ts';
import { COMMANDS } from './command-list.ts';

/** What was meant: a flag of this command that is not in its help, or one of another command; '': nobody knows. */
export async function explainFlag(message: string, own: string, command: Command): Promise<string> {
  const flag = /'(--?[\w-]+)/.exec(message)?.[1];
  if (flag === undefined || message.includes('Did you mean')) return '';
  const near = closest(
    flag,
    command.options.flatMap(({ long }) => long ?? []),
  );
  if (near !== undefined) return `. Did you mean ${near}?`;
  const owners: string[] = [];
  for (const { name, load } of COMMANDS) {
    const loaded = await load();
    if (!('actions' in loaded)) owners.push(...(hasFlag(loaded, flag) ? [name] : []));
    else
      for (const action of loaded.actions)
        if (hasFlag(await action.load(), flag)) owners.push(`${name} ${action.name}`);
  }
  const others = owners.filter(name => name !== own).map(name => `\`ralph ${name}\``);
  const hint =
    own === 'run' && flag === '--check'
      ? '; here the checks are guardrails of the settings: `ralph init`'
      : '';
  return others.length === 0 ? '' : `. ${flag} is a flag of ${others.slice(0, 3).join(', ')}${hint}`;
}

function hasFlag(definition: CliCommand, flag: string): boolean {
  const command = new Command();
  definition.declare(command);
  return command.options.some(({ long, short, hidden }) => !hidden && (long === flag || short === flag));
}
