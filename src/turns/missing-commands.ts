/** Checks whose program is not there: better said before the first turn than by a check that fails for ever. */
import type { Settings } from '../config/settings-shape.ts';
import type { Problem } from '../domain/problem.ts';
import { type ChoiceWorld, isExecutable } from './choose-agent.ts';

/** What every shell knows itself. */
const BUILT_IN = new Set(
  '. : [ alias bg break case cd command continue echo eval exec exit export false fg for getopts hash if jobs kill local printf pwd read readonly return set shift source test time times trap true type ulimit umask unalias unset until wait while'.split(
    ' ',
  ),
);

/** Only where the first word is plainly a program; what a shell makes of the rest is its own. */
const PROGRAM = /^\s*(?:[A-Za-z_]\w*=[\w./:@%+,-]*\s+)*([\w./@%+:,-]+)(?=$|[\s;|&)])/;

export function missingCommands(
  commands: readonly string[],
  { sandbox }: Pick<Settings, 'sandbox'>,
  world: ChoiceWorld,
): readonly Problem[] {
  // What is in its image, nobody outside knows.
  if (sandbox.provider === 'container' || sandbox.provider === 'sbx') return [];
  return commands.flatMap(command => {
    const program = PROGRAM.exec(command)?.[1];
    if (program === undefined || BUILT_IN.has(program) || isExecutable(program, world)) return [];
    return [
      {
        where: `check \`${command}\``,
        what: `there is no such command: ${program}`,
        fix: 'install it, or change the command in tasks.json or in --check',
      },
    ];
  });
}
