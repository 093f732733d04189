/** What nobody inside needs to read: the user's keys, logins and histories. */
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pathPattern } from '../domain/text/glob.ts';
import { isSecretName } from '../domain/text/known-files.ts';
import { isBelow, tryTo } from '../platform/files.ts';
import type { SandboxSpec } from './provider.ts';

/** In the home: folders and files of programs that keep a login, where the name does not say so. */
export const SECRET_PATHS: readonly string[] = [
  ...['.ssh', '.gnupg', '.pki', '.password-store', '.git-credentials', '.vault-token', '.subversion/auth'],
  // Clouds and hosts.
  ...['.aws', '.azure', '.kube', '.minikube/certs', '.oci', '.aliyun', '.bluemix', '.fly', '.terraform.d'],
  ...[
    '.config/gcloud',
    '.config/doctl',
    '.config/hcloud',
    '.config/linode-cli',
    '.config/scw',
    '.config/fly',
  ],
  ...['.config/netlify', '.config/vercel', '.local/share/com.vercel.cli', '.wrangler', '.config/.wrangler'],
  ...['.config/heroku', '.config/stripe', '.config/firebase', '.config/configstore', '.config/helm'],
  // Code and packages.
  ...[
    '.config/gh',
    '.config/hub',
    '.config/glab-cli',
    '.config/git/credentials',
    '.docker',
    '.config/containers',
  ],
  ...['.npmrc', '.yarnrc', '.yarnrc.yml', '.bunfig.toml', '.pypirc', '.pip', '.config/pip', '.condarc'],
  ...['.m2/settings.xml', '.m2/settings-security.xml', '.gradle/gradle.properties', '.ivy2/.credentials'],
  ...['.nuget/NuGet', '.config/NuGet', '.bundle/config', '.composer/auth.json', '.config/composer', '.hex'],
  ...['.kaggle', '.huggingface', '.cache/huggingface/token', '.config/rclone', '.config/sops', '.config/age'],
  // Wallets, mail and browsers.
  ...['.config/op', '.config/1Password', '.config/Bitwarden', '.config/keepassxc', '.local/share/keyrings'],
  ...['.local/share/kwalletd', '.mozilla', '.thunderbird', '.config/google-chrome', '.config/chromium'],
  ...[
    '.config/BraveSoftware',
    '.config/microsoft-edge',
    '.config/vivaldi',
    '.config/opera',
    'snap',
    '.var/app',
  ],
  ...['.config/Signal', '.config/Slack', '.config/discord', '.electrum', '.bitcoin', '.ethereum'],
].map(path => `~/${path}`);

/** Where a home keeps what belongs to programs: how many folders down from it names are looked at. */
const LOOKED_IN: readonly (readonly [folder: string, depth: number])[] = [
  ['', 1],
  ['.config', 2],
  ['.local/share', 2],
];

/** Secrets by their names: at the top of the home, in the folders of programs and one further down. */
export function findSecrets(home: string): readonly string[] {
  const found = LOOKED_IN.flatMap(([name, depth]) => namedSecrets(join(home, name), depth));
  return [...new Set(found.flatMap(path => tryTo(() => realpathSync(path)) ?? []))].slice(0, MOST_SECRETS);
}

/** Each is a mount. */
const MOST_SECRETS = 500;

function namedSecrets(folder: string, depth: number): readonly string[] {
  const entries = tryTo(() => readdirSync(folder, { withFileTypes: true })) ?? [];
  return entries.flatMap(entry => {
    const path = join(folder, entry.name);
    if (isSecretName(entry.name)) return [path];
    const isPrograms = entry.isDirectory() && (entry.name.startsWith('.') || depth > 1);
    return isPrograms && depth > 0 ? namedSecrets(path, depth - 1) : [];
  });
}

/** `~` is the home, everything else is below `root` unless it is absolute. */
export function resolvePath(path: string, home: string, root: string): string {
  return path === '~' || path.startsWith('~/') ? join(home, path.slice(1)) : resolve(root, path);
}

/** What the patterns stand for on this machine, now. A path that is not there hides nothing. */
export function findHidden(patterns: readonly string[], home: string, root: string): readonly string[] {
  const isGlob = (pattern: string) => /[*?]/.test(pattern);
  const resolved = (some: readonly string[]) => some.map(path => resolvePath(path, home, root));
  const plain = resolved(patterns.filter(pattern => !isGlob(pattern))).filter(path => existsSync(path));
  const globs = resolved(patterns.filter(isGlob)).map(glob => pathPattern(glob));
  const found = globs.length === 0 ? [] : walk(root, globs);
  return [...new Set([...plain, ...found].map(path => realpathSync(path)))];
}

/** Folders that hold nothing of the user's own, and a lot of it. */
const SKIPPED = new Set(['.git', 'node_modules']);

function walk(folder: string, patterns: readonly RegExp[]): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap(entry => {
    const path = join(folder, entry.name);
    if (patterns.some(pattern => pattern.test(path))) return [path];
    return entry.isDirectory() && !SKIPPED.has(entry.name) ? walk(path, patterns) : [];
  });
}

/**
 * The folders on the way to a trusted path are bound too: a mount cannot be renamed and created again. `hide`: folders of which nothing is
 * bound.
 */
export function computeBinds(
  { writable, trusted, hidden }: Pick<SandboxSpec, 'writable' | 'trusted' | 'hidden'>,
  hide: readonly string[] = [],
) {
  const readOnly = unique(trusted.filter(path => existsSync(path)).map(path => realpathSync(path)));
  const all = unique([...writable, ...readOnly.flatMap(path => between(path, writable))]);
  const shown = (paths: readonly string[]) =>
    paths.filter(path => !hide.some(folder => isBelow(path, folder)));
  return { writable: shown(all), readOnly: shown(readOnly), hidden: shown(hidden) };
}

function between(path: string, roots: readonly string[]): readonly string[] {
  const folder = dirname(path);
  if (!roots.some(root => isInside(folder, root))) return [];
  return [...between(folder, roots), folder];
}

export function isInside(path: string, folder: string): boolean {
  return path !== folder && isBelow(path, folder);
}

export function unique(paths: readonly string[]): readonly string[] {
  return [...new Set(paths)];
}
