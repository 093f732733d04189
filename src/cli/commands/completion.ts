/** `ralph completion SHELL`: a script that asks Ralph what may come next. The answer is made from the same tables as the help. */
import { Command } from 'commander';
import { ADAPTERS } from '../../agents/registry.ts';
import { phrase } from '../../report/phrases.ts';
import { projectAt } from '../../store/paths.ts';
import { listRuns } from '../../store/run-file.ts';
import { type Call, type CliCommand, type CommandRow, refuse } from '../command.ts';
import { COMMANDS, findCommand, GLOBAL_FLAGS } from '../command-list.ts';

export const completion: CliCommand = {
  declare: command =>
    command
      .argument('<shell>', 'bash, zsh or fish')
      .argument('[typed...]', 'the scripts ask with `words`, and what has been typed behind it'),
  help: `
Examples:
  ralph completion bash >> ~/.bashrc
  ralph completion zsh > "\${fpath[1]}/_ralph"
  ralph completion fish > ~/.config/fish/completions/ralph.fish
`,
  async run({ args: [shell = '', ...typed], cwd, env, output }) {
    if (shell === 'words') {
      const offered = await wordsAfter(typed, { cwd, env });
      for (const [word, meaning] of offered)
        output.document(meaning === '' ? `${word}\n` : `${word}\t${phrase(meaning)}\n`);
      return offered.length > 0 ? 0 : 1;
    }
    const script = Object.hasOwn(SHELLS, shell) ? SHELLS[shell as keyof typeof SHELLS] : undefined;
    if (script === undefined) refuse(shell, 'there is no completion for this shell', 'bash, zsh or fish');
    output.document(script);
    return 0;
  },
};

type Offer = readonly [word: string, meaning: string];

/** What may come next; `typed` ends with the word that is being typed. None: a file, or whatever the user likes. */
async function wordsAfter(
  typed: readonly string[],
  place: Pick<Call, 'cwd' | 'env'>,
): Promise<readonly Offer[]> {
  const { name, rest } = findCommand(typed.slice(0, -1));
  const rows = (all: readonly CommandRow[]) => all.map((row): Offer => [row.name, row.summary]);
  if (name === undefined) return [...rows(COMMANDS), HELP, ['--version', 'the version']];
  const loaded = await COMMANDS.find(row => row.name === name)?.load();
  if (!loaded) return [];
  if (!('actions' in loaded)) return wordsOf(loaded, typed.at(-2), place);
  const action = loaded.actions.find(row => row.name === findCommand(rest).name);
  return action ? wordsOf(await action.load(), typed.at(-2), place) : [...rows(loaded.actions), HELP];
}

const HELP: Offer = ['--help', 'help'];
const AGENT_FLAGS = new Set(['--agent', '--fallback', '--implementer', '--reviewer', '--agents']);

/** `before`: the word before the one that is being typed. */
function wordsOf(
  definition: CliCommand,
  before: string | undefined,
  { cwd, env }: Pick<Call, 'cwd' | 'env'>,
): readonly Offer[] {
  const command = new Command();
  definition.declare?.(command);
  for (const { declaration, help } of GLOBAL_FLAGS) command.option(declaration, help);
  const flags = command.options.filter(({ hidden }) => !hidden);
  const flag = flags.find(({ short, long }) => before !== undefined && [short, long].includes(before));
  const values = AGENT_FLAGS.has(flag?.long ?? '')
    ? ADAPTERS.map(({ name }) => name).filter(name => name !== 'generic')
    : (/[<[]([\w-]+(?:\|[\w-]+)+)[\]>]/.exec(flag?.flags ?? '')?.[1]?.split('|') ?? []);
  if (flag && (flag.required || values.length > 0)) return values.map(value => [value, '']);
  const takesRun = command.registeredArguments.some(argument => argument.name() === 'run');
  const runs = takesRun ? listRuns(projectAt(cwd, env)).toReversed().slice(0, SHOWN) : [];
  return [
    ...runs.map((id): Offer => [id, 'a run']),
    ...flags.flatMap(({ short, long, description }) =>
      [short, long].flatMap((word): readonly Offer[] => (word ? [[word, description]] : [])),
    ),
    HELP,
  ];
}

/** More than this nobody chooses from. */
const SHOWN = 50;

/** Exit code 1 of `words`: nothing is offered, so a file may be meant. */
const SHELLS = {
  bash: `# bash completion for ralph
_ralph() {
  local found=$(ralph completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1)
  COMPREPLY=($(compgen -W "$found" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _ralph ralph
`,
  zsh: `#compdef ralph
_ralph() {
  local -a found=("\${(@f)$(ralph completion words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=("\${(@)\${(@)found//:/\\\\:}/$'\\t'/:}")
  if [[ -n "$found" ]]; then _describe ralph found; else _files; fi
}
(( $+functions[compdef] )) && compdef _ralph ralph
`,
  fish: `# fish completion for ralph
function __ralph_words
  set -l typed (commandline -opc)[2..]
  ralph completion words -- $typed (commandline -ct) 2>/dev/null
  or __fish_complete_path (commandline -ct)
end
complete -c ralph -f -a '(__ralph_words)'
`,
};
