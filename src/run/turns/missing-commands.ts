/** Checks that cannot be started: better said before the first turn than by a check that fails for ever. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { asObject, parseObject } from '../../domain/text/json.ts';
import { closest, type Problem } from '../../domain/text/problem.ts';
import { simpleCommands } from '../../domain/text/shell-words.ts';
import { readIfThere } from '../../platform/files.ts';
import type { Place } from '../../workspace/repository.ts';
import { isExecutable } from './choose-agent.ts';

/** What every shell knows itself. */
const BUILT_IN = new Set(
  '. : [ alias bg break case cd command continue echo eval exec exit export false fg for function getopts hash if jobs kill local printf pwd read readonly return set shift source test time times trap true type ulimit umask unalias unset until wait while'.split(
    ' ',
  ),
);

/** Only what is plainly a program; what a shell makes of the rest is its own. */
const PROGRAM = /^[\w./@%+:,-]+$/;
const ASSIGNMENT = /^[A-Za-z_]\w*=[\w./:@%+,-]*$/;

/** One for each command that cannot be started. */
export function missingCommands(
  commands: readonly string[],
  world: Place,
  where: (command: string) => string = command => `check \`${command}\``,
): readonly Problem[] {
  return commands.flatMap(command => {
    const words = firstCommand(command);
    const program = words[0];
    if (program === undefined) return [];
    const what = isExecutable(program, world) ? missingScript(words, world.cwd) : whyNot(program, world.cwd);
    return what ? [{ where: where(command), ...what }] : [];
  });
}

/** Without assignments, and without what only chooses the folder. */
function firstCommand(line: string): readonly string[] {
  const [first = []] = simpleCommands(line);
  const words = first.slice(first.findIndex(word => !ASSIGNMENT.test(word)));
  const [program = ''] = words;
  return PROGRAM.test(program) && !BUILT_IN.has(program) ? words : [];
}

type Why = Pick<Problem, 'what' | 'fix'> | undefined;

function whyNot(program: string, cwd: string): Why {
  if (program.includes('/') && existsSync(resolve(cwd, program)))
    return { what: `${program} may not be executed`, fix: `chmod +x ${program}` };
  const fix = program.includes('/')
    ? `create it; if the agent is to write it, check with \`sh ${program}\``
    : 'install it, or change the check';
  return { what: `there is no such command: ${program}`, fix };
}

const MANAGERS: ReadonlySet<string> = new Set(['npm', 'pnpm', 'yarn', 'bun']);

/** A script whose name is almost one of the project's: an agent that is to write it would not help. */
function missingScript([manager = '', verb = '', name = '']: readonly string[], cwd: string): Why {
  if (!MANAGERS.has(manager) || (verb !== 'run' && verb !== 'run-script')) return undefined;
  const scripts = Object.keys(
    asObject(parseObject(readIfThere(join(cwd, 'package.json')) ?? '')?.scripts) ?? {},
  );
  const near = scripts.includes(name) ? undefined : closest(name, scripts);
  return near === undefined
    ? undefined
    : { what: `package.json has no script ${name}`, fix: `did you mean ${near}?` };
}
