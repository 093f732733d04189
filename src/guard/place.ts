/** Where a path is: what of it is the project's, and what is not the agent's to touch. Pure but for the names it is given. */
import { posix } from 'node:path';
import { pathPattern } from '../domain/text/glob.ts';
import { UNKNOWN, UNSET } from './call.ts';

export interface Surroundings {
  /** Where the agent works. */
  readonly root: string;
  readonly home: string;
  /** What is already in the environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Globs, from the root. */
  readonly protect: readonly string[];
  readonly agents: AgentFiles;
}

/** What of the agents themselves an agent must not touch. Files and folders, in the project and in the home alike. */
export interface AgentFiles {
  /** What decides what an agent does when it is next started. */
  readonly settings: readonly string[];
  /** Logins. */
  readonly secrets: readonly string[];
  /** The commands by which they are started. */
  readonly commands: readonly string[];
}

export type Where =
  /** `/`, or a folder of the system and all that is in it. */
  | 'system'
  | 'device'
  /** The user's whole home, or the folder that holds homes. */
  | 'home'
  /** Keys, passwords, tokens. */
  | 'secret'
  /** What a shell or a login runs. */
  | 'start-up'
  /** Settings and hooks of agents. */
  | 'agent-settings'
  | 'outside'
  /** The folder for temporary files itself. */
  | 'temp-root'
  | 'temp'
  /** Can be made again. */
  | 'cache'
  | 'project-root'
  | 'git'
  /** Ralph's own. */
  | 'state'
  /** What the settings protect. */
  | 'protected'
  | 'project'
  /** A variable that may be empty, and a slash behind it. */
  | 'perhaps-root'
  | 'unknown';

const SYSTEM =
  /^\/(?:$|(?:etc|usr|bin|sbin|lib|lib32|lib64|boot|var|opt|sys|proc|root|srv|snap|run|System|Library|Applications|private\/etc|private\/var|mnt|media)(?:\/|$))/;
const TEMP = /^(?:\/private)?(?:\/tmp|\/var\/tmp|\/var\/folders|\/dev\/shm)(?:\/|$)/;
const QUIET_DEVICES = /^\/dev\/(?:null|zero|u?random|full|tty|stdin|stdout|stderr|fd\/\d+|ptmx|pts\/\d+)$/;
const SECRET =
  /^(?:\.ssh(?:\/(?!config$|known_hosts)(?!.*\.pub$).*)?|\.aws(?:\/credentials.*)?|\.gnupg(?:\/.*)?|\.netrc|\.git-credentials|\.pypirc|\.npmrc|\.docker\/config\.json|\.kube\/config|\.config\/gh(?:\/.*)?|\.config\/gcloud(?:\/.*)?|\.azure(?:\/.*)?|\.password-store(?:\/.*)?|\.config\/op(?:\/.*)?|\.vault-token|\.pgpass|\.my\.cnf|\.(?:bash|zsh|python|psql|mysql|node_repl)_history|Library\/Keychains(?:\/.*)?|\.local\/share\/keyrings(?:\/.*)?|\.mozilla\/.*|\.config\/google-chrome(?:\/.*)?)$/;
const SYSTEM_SECRET =
  /^\/(?:etc\/(?:shadow|gshadow|sudoers|sudoers\.d\/.*|ssh\/ssh_host_.*_key)|proc\/.*\/(?:environ|mem)|root\/\.ssh(?:\/.*)?|var\/run\/secrets\/.*)-?$/;
const START_UP =
  /^(?:\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|zlogout|kshrc|cshrc|tcshrc|login|inputrc|xinitrc|xsession|xprofile|gitconfig|vimrc|tmux\.conf)|\.ssh\/(?:authorized_keys2?|config|rc|environment)|\.config\/(?:fish|autostart|systemd|git|nvim)(?:\/.*)?|Library\/LaunchAgents(?:\/.*)?|\.oh-my-zsh(?:\/.*)?|\.vim(?:\/.*)?|\.local\/share\/systemd(?:\/.*)?)$/;
/** Ralph's own program and the loops of sessions; files that several agents obey. */
const RALPH_FILES =
  /(?:^|\/)(?:ralph-(?:hook|hook-main|guard)\.cjs|@ralph-loop\/ralph(?:\/.*)?|\.claude\/ralph-loop.*\.local\.md|\.mcp\.json|\.cursor\/(?:hooks\.json|mcp\.json))$/;
const CACHE =
  /^(?:\.cache(?:\/.+)?|\.npm(?:\/.*)?|\.yarn\/.*|\.pnpm-store(?:\/.*)?|\.gradle\/caches(?:\/.*)?|\.m2\/repository(?:\/.*)?|\.cargo\/registry(?:\/.*)?|\.bun\/install\/cache(?:\/.*)?|\.local\/share\/pnpm\/store(?:\/.*)?|Library\/Caches(?:\/.+)?|go\/pkg(?:\/.*)?|\.ccache(?:\/.*)?|\.Trash(?:\/.*)?|\.local\/share\/Trash(?:\/.*)?)$/;
const STATE = /^(?:\.ralph(?:\/.*)?|\.ralph-active)$/;
/** What git itself leaves behind when it was stopped, and what is meant to be edited. */
const GIT_HARMLESS =
  /(?:^|\/)\.git\/(?:(?:.*\/)?[^/]+\.lock|info\/exclude|COMMIT_EDITMSG|MERGE_MSG|gc\.log)$/;

/** Also of all that is in it: `/x/*` is `/x`. */
export function whereIs(given: string, cwd: string | undefined, around: Surroundings): Where {
  if (given === '' || given === '-') return 'unknown';
  const bare = given.replace(/(?:\/(?:\*+|\.\*|\.\[\^\.\]\*|\{\*,\.\*\}|\.))+\/?$/, '') || '/';
  if (/^\uFFFB\/?$/.test(bare) && given !== UNSET) return 'perhaps-root';
  if (bare.startsWith(UNKNOWN) || bare.startsWith(UNSET)) return tailIs(bare);
  const path = absolute(bare, cwd, around);
  if (path === undefined)
    return /^\.\.(?:\/|$)/.test(posix.normalize(bare)) ? 'outside' : inProject(posix.normalize(bare), around);
  if (path === '//') return 'system';
  return device(path) ?? located(path, around);
}

/** `*` in the folder where one is. */
function absolute(given: string, cwd: string | undefined, { home, root }: Surroundings): string | undefined {
  const path = given.replace(/^file:\/\//, '');
  if (/^[A-Za-z]:[\\/]?/.test(path)) return '/etc/windows'; // a drive of Windows is no part of a project here
  const tilde = /^~([^/]*)(.*)$/.exec(path);
  if (tilde)
    return trimmed(posix.normalize(tilde[1] ? `/home/${tilde[1]}${tilde[2]}` : `${home}${tilde[2]}`));
  if (path.startsWith('/')) {
    const real = (name: string) => posix.normalize(unaliased(name, cwd ?? root));
    return trimmed(real(real(path)));
  }
  const here = cwd ?? (/^\.\./.test(path) ? undefined : root);
  if (here === undefined) return undefined;
  const isAll = /^(?:\*+|\.\*|\.|\.\/|\{\*,\.\*\}|\.\[\^\.\]\*)$/.test(path);
  return trimmed(isAll ? here : posix.join(here, path));
}

/** Each process has a name for the root of all files, and one for the folder that it is in. */
function unaliased(path: string, cwd: string): string {
  return path.replace(/^\/proc\/(?!sys\/)[^/]+(?:\/task\/[^/]+)?\/(root|cwd)(?=\/|$)/, (_, which) =>
    which === 'root' ? '/' : cwd,
  );
}

function trimmed(path: string): string {
  return path.length > 1 ? path.replace(/\/+$/, '') || '/' : path;
}

function device(path: string): Where | undefined {
  if (!path.startsWith('/dev/') || TEMP.test(path)) return undefined;
  return QUIET_DEVICES.test(path) ? 'temp' : 'device';
}

function located(path: string, around: Surroundings): Where {
  const { root, home } = around;
  const inside = below(path, root);
  if (inside !== undefined) return inside === '' ? 'project-root' : inProject(inside, around);
  if (SYSTEM_SECRET.test(path)) return 'secret';
  const own = below(path, home);
  if (own !== undefined) return own === '' ? 'home' : inHome(own, path, around);
  if (path !== '/' && below(root, path) !== undefined) return 'home'; // a folder that holds the project and more
  if (TEMP.test(path))
    return /^(?:\/private)?(?:\/tmp|\/var\/tmp|\/dev\/shm)$/.test(path) ? 'temp-root' : 'temp';
  if (below(home, path) !== undefined || /^\/(?:home|Users)(?:\/[^/]*)?$/.test(path))
    return path === '/' ? 'system' : 'home';
  if (SYSTEM.test(path)) return 'system';
  return isAgentFile(path, around) ? 'agent-settings' : 'outside';
}

function inHome(own: string, path: string, around: Surroundings): Where {
  if (START_UP.test(own)) return 'start-up';
  if (SECRET.test(own) || isIn(own, around.agents.secrets)) return 'secret';
  if (isAgentFile(own, around)) return 'agent-settings';
  if (/^(?:\.cache|\.local\/state)\/ralph(?:\/|$)/.test(own)) return 'state'; // code that Ralph has compiled
  if (CACHE.test(own)) return 'cache';
  if (below(around.root, path) !== undefined) return 'home';
  return 'outside';
}

function inProject(path: string, around: Surroundings): Where {
  if (STATE.test(path)) return 'state';
  if (GIT_HARMLESS.test(path)) return 'project';
  if (/(?:^|\/)\.git(?:\/|$)/.test(path)) return 'git';
  if (isAgentFile(path, around)) return 'agent-settings';
  return around.protect.some(glob => fits(path, glob) || holds(path, glob)) ? 'protected' : 'project';
}

function isAgentFile(path: string, { agents }: Surroundings): boolean {
  return RALPH_FILES.test(path) || isIn(path, agents.settings);
}

/** Whether it is one of these files, or in one of these folders, wherever they are. */
function isIn(path: string, files: readonly string[]): boolean {
  return files.some(file => `/${path}/`.includes(`/${file}/`));
}

/** The folder in which what is protected is. */
function holds(path: string, glob: string): boolean {
  const start =
    glob
      .replace(/^\.?\//, '')
      .split(/[*?[]/)[0]
      ?.replace(/\/?[^/]*$/, '') ?? '';
  return start !== '' && (start === path || start.startsWith(`${path}/`));
}

/** Nothing is known of its beginning; its end may say enough. */
function tailIs(path: string): Where {
  const tail = path.replace(/^[\uFFFB\uFFFC]+\/?/, '');
  if (/^\.ssh\/|^\.aws\/credentials|^\.gnupg/.test(tail)) return 'secret';
  return 'unknown';
}

/** The way from a folder to what is in it; '' for the folder itself. */
function below(path: string, folder: string): string | undefined {
  if (folder === '') return undefined;
  if (path === folder) return '';
  const from = folder === '/' ? '/' : `${folder}/`;
  return path.startsWith(from) ? path.slice(from.length) : undefined;
}

/** As git's `:(glob)`: `*` stops at a slash, `**` does not, a folder stands for all that is in it. */
export function fits(path: string, glob: string): boolean {
  return pathPattern(glob.replace(/^\.?\//, '').replace(/\/+$/, ''), { orBelow: true }).test(path);
}
