/** `ralph completion SHELL`: scripts that complete commands and flags, made from the same tables as the help. */
import { Command } from 'commander';
import { ADAPTERS } from '../../agents/registry.ts';
import { projectAt } from '../../store/paths.ts';
import { listRuns } from '../../store/run-file.ts';
import { type CliCommand, refuse } from '../command.ts';
import { COMMANDS, GLOBAL_FLAGS } from '../command-list.ts';

export const completion: CliCommand = {
  declare: command => command.argument('<shell>', 'bash, zsh or fish'),
  help: `
Examples:
  ralph completion bash >> ~/.bashrc
  ralph completion zsh > "\${fpath[1]}/_ralph"
  ralph completion fish > ~/.config/fish/completions/ralph.fish
`,
  async run({ args: [shell = ''], cwd, env, output }) {
    // What the scripts ask for while somebody types.
    if (shell === 'runs') {
      output.answer(`${listRuns(projectAt(cwd, env)).toReversed().slice(0, SHOWN).join('\n')}\n`);
      return 0;
    }
    const write = Object.hasOwn(SHELLS, shell) ? SHELLS[shell as keyof typeof SHELLS] : undefined;
    if (!write) refuse(shell, 'there is no completion for this shell', 'bash, zsh or fish');
    output.answer(write(await describeCommands()));
    return 0;
  },
};

/** More than this nobody chooses from. */
const SHOWN = 50;

interface Described {
  readonly name: string;
  readonly summary: string;
  /** Words that may follow it. */
  readonly actions: readonly string[];
  readonly takesRun: boolean;
  readonly flags: readonly {
    readonly names: readonly string[];
    readonly help: string;
    readonly takesValue: boolean;
    /** Those that it can have; none: anything. */
    readonly values: readonly string[];
  }[];
}

const HELP = { names: ['-h', '--help'], help: 'help', takesValue: false, values: [] };

async function describeCommands(): Promise<readonly Described[]> {
  return Promise.all(
    COMMANDS.map(async ({ name, summary, load }) => {
      const loaded = await load();
      if (!('actions' in loaded)) {
        const { flags, takesRun } = describe(loaded);
        return { name, summary, actions: [], takesRun, flags: [...flags, HELP] };
      }
      const each = await Promise.all(loaded.actions.map(async action => describe(await action.load()).flags));
      const flags = new Map(each.flat().map(flag => [flag.names.join(), flag]));
      const actions = loaded.actions.map(action => action.name);
      return { name, summary, actions, takesRun: false, flags: [...flags.values(), HELP] };
    }),
  );
}

const AGENT_FLAGS = new Set(['--agent', '--fallback', '--implementer', '--reviewer', '--agents']);

function describe(definition: CliCommand): Pick<Described, 'flags' | 'takesRun'> {
  const command = new Command();
  definition.declare?.(command);
  for (const { declaration, help } of GLOBAL_FLAGS) command.option(declaration, help);
  const visible = command.options.filter(({ hidden }) => !hidden);
  const flags = visible.map(option => ({
    names: [option.short, option.long].filter(name => name !== undefined && name !== null),
    help: option.description,
    takesValue: option.required || option.optional,
    values: AGENT_FLAGS.has(option.long ?? '')
      ? ADAPTERS.map(({ name }) => name).filter(name => name !== 'generic')
      : (/[<[]([\w-]+(?:\|[\w-]+)+)[\]>]/.exec(option.flags)?.[1]?.split('|') ?? []),
  }));
  return { flags, takesRun: command.registeredArguments.some(argument => argument.name() === 'run') };
}

/** The flags whose values are known, each with them. */
function chosenFrom(commands: readonly Described[]): readonly (readonly [string, string])[] {
  const all = commands.flatMap(({ flags }) => flags.filter(({ values }) => values.length > 0));
  return [...new Map(all.map(({ names, values }) => [names.join('|'), values.join(' ')]))];
}

const words = ({ actions, flags }: Described) => [...actions, ...flags.flatMap(flag => flag.names)].join(' ');
const quoted = (text: string) => text.replaceAll("'", '’').replaceAll(/[[\]:]/g, ' ');

function bash(commands: readonly Described[]): string {
  return `# bash completion for ralph
_ralph() {
  local word=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} command=\${COMP_WORDS[1]}
  case $previous in
    -C|--cwd) COMPREPLY=($(compgen -d -- "$word")); return ;;
    -f|--prompt-file|--events) COMPREPLY=($(compgen -f -- "$word")); return ;;
${chosenFrom(commands)
  .map(([names, values]) => `    ${names}) COMPREPLY=($(compgen -W '${values}' -- "$word")); return ;;`)
  .join('\n')}
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${commands.map(each => each.name).join(' ')} --help --version' -- "$word"))
    return
  fi
  case $command in
${commands.map(each => `    ${each.name}) COMPREPLY=($(compgen -W '${words(each)}'${each.takesRun ? "\" $(ralph completion runs 2>/dev/null | tr '\\n' ' ')\"" : ''} -- "$word")) ;;`).join('\n')}
  esac
}
complete -F _ralph ralph
`;
}

function zsh(commands: readonly Described[]): string {
  const argument = ({ names, help, takesValue, values }: Described['flags'][number]) =>
    names
      .map(
        name =>
          `'${name}[${quoted(help)}]${takesValue ? `:value:${values.length > 0 ? `(${values.join(' ')})` : '_files'}` : ''}'`,
      )
      .join(' ');
  const choices = ({ actions, takesRun }: Described) =>
    actions.length > 0
      ? [`'*:action:(${actions.join(' ')})'`]
      : takesRun
        ? ["'1:run:($(ralph completion runs 2>/dev/null))'"]
        : [];
  return `#compdef ralph
_ralph() {
  local -a commands=(
${commands.map(each => `    '${each.name}:${quoted(each.summary)}'`).join('\n')}
  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  case $words[2] in
${commands.map(each => `    ${each.name}) _arguments ${[...each.flags.map(argument), ...choices(each)].join(' ')} ;;`).join('\n')}
  esac
}
(( $+functions[compdef] )) && compdef _ralph ralph
`;
}

function fish(commands: readonly Described[]): string {
  const flag = (command: string, { names, help, takesValue, values }: Described['flags'][number]) => {
    const long = names.find(name => name.startsWith('--'));
    const short = names.find(name => !name.startsWith('--'));
    const parts = [
      long && `-l ${long.slice(2)}`,
      short && `-s ${short.slice(1)}`,
      takesValue && '-r',
      values.length > 0 && `-f -a '${values.join(' ')}'`,
    ]
      .filter(Boolean)
      .join(' ');
    return `complete -c ralph -n '__fish_seen_subcommand_from ${command}' ${parts} -d '${quoted(help)}'`;
  };
  const choices = ({ name, actions, takesRun }: Described) => {
    const offered = takesRun ? '(ralph completion runs 2>/dev/null)' : actions.join(' ');
    return offered === ''
      ? []
      : [`complete -c ralph -n '__fish_seen_subcommand_from ${name}' -f -a '${offered}'`];
  };
  return `# fish completion for ralph
complete -c ralph -n __fish_use_subcommand -f
${commands.map(each => `complete -c ralph -n __fish_use_subcommand -a ${each.name} -d '${quoted(each.summary)}'`).join('\n')}
${commands.flatMap(each => [...choices(each), ...each.flags.map(one => flag(each.name, one))]).join('\n')}
`;
}

const SHELLS = { bash, zsh, fish };
