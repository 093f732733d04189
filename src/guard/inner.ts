/** What a command that runs others would run. */
import { skipped } from '../domain/text/wrappers.ts';
import { afterGlobals, type Call } from './call.ts';

export interface Inner {
  /** Commands, as words. */
  readonly commands: readonly (readonly string[])[];
  /** Shell scripts, as text. */
  readonly scripts: readonly string[];
  /** Files with shell scripts in them. */
  readonly files: readonly string[];
  /** What such a script finds in $0, $1 and so on. */
  readonly positional?: readonly string[];
  /** The folder that they run in, when that is not the one that the wrapper runs in. */
  readonly folder?: string;
  /** Where they run, when that is not where the wrapper runs. */
  readonly place?: Call['place'];
  /** They cannot change the variables and the folder of the shell that started them. */
  readonly ownShell: boolean;
  /** Texts that may be no scripts at all: one that cannot be read is passed over. */
  readonly guessed?: true;
}

export const NOTHING: Inner = { commands: [], scripts: [], files: [], ownShell: true };
export const runs = (...argv: readonly string[]): Inner =>
  argv.length > 0 ? { ...NOTHING, commands: [argv] } : NOTHING;

const SSH_VALUED = '-p -i -l -o -F -J -L -R -D -b -c -E -e -I -m -O -Q -S -W -w -B';

export function ssh(call: Call): Inner {
  const [, ...rest] = skipped(call.args, { valued: SSH_VALUED });
  const words = rest[0] === '--' ? rest.slice(1) : rest;
  const scripts = words.length > 0 ? [words.join(' ')] : call.input !== undefined ? [call.input] : [];
  return { ...NOTHING, scripts, place: 'remote' };
}

const RUN_VALUED =
  '-v --volume -e --env --env-file -p --publish -w --workdir -u --user --name --network --net --mount --entrypoint -h --hostname -m --memory --cpus --cap-add --cap-drop --security-opt --device --platform --label -l --add-host --pid --ipc --userns --restart --ulimit --tmpfs --gpus --pull';
const COMPOSE_VALUED =
  '-f --file -p --project-name --profile --env-file -e --env -u --user -w --workdir --name -v --volume';

export function container(call: Call): Inner {
  const words = afterGlobals(call);
  const [first, ...rest] = words[0] === 'container' ? words.slice(1) : words;
  if (first === 'compose') return insideContainer(rest, ['exec', 'run'], COMPOSE_VALUED);
  return insideContainer([first ?? '', ...rest], ['exec', 'run'], RUN_VALUED);
}

function insideContainer(words: readonly string[], verbs: readonly string[], valued: string): Inner {
  const [verb = '', ...rest] = skipped(words, { valued });
  if (!verbs.includes(verb)) return NOTHING;
  const argv = skipped(rest, { valued, skip: 1 });
  return { ...runs(...argv), place: 'container' };
}

/** `docker-compose exec web …`. */
export function composed({ args }: Call): Inner {
  return insideContainer(args, ['exec', 'run'], COMPOSE_VALUED);
}

/** `kubectl exec POD -- …`. */
export function podded(call: Call): Inner {
  const at = call.args.indexOf('--');
  if (afterGlobals(call)[0] !== 'exec' || at < 0) return NOTHING;
  return { ...runs(...call.args.slice(at + 1)), place: 'container' };
}
