/** Git and what is published: categories 9, 10. */
import { behind, type Call, has, operands, rows, type Signs, shows, sub, values } from '../call.ts';
import { type Rule, rule } from '../rule.ts';

const isAll = (path: string) => /^(?:\.|\.\/|\*|:\/|:\(top\)|-A|--all|\.\/\*)$/.test(path);
const isPlainHttp = (url: string) => /^(?:git\+)?http:\/\/(?!localhost|127\.|\[::1\]|0\.0\.0\.0)/i.test(url);
const KNOWN_REGISTRY =
  /^https:\/\/(?:registry\.npmjs\.org|registry\.yarnpkg\.com|registry\.npmmirror\.com|pypi\.org|test\.pypi\.org|download\.pytorch\.org|npm\.pkg\.github\.com|rubygems\.org)(?:\/|$)|^https?:\/\/(?:localhost|127\.0\.0\.1)/i;

/** Behind `push`, without the remote. */
const pushed = (call: Call) => behind(call).slice(1);
const INDEX_FLAGS = 'i index-url index extra-index-url registry source default-index find-links f'.split(' ');
const indexes = (call: Call) => values(call, ...INDEX_FLAGS);
const packages = (call: Call) => operands(call).slice(1);

const FORCED: readonly [string, string] = [
  'it overwrites history that others may have',
  'Push without force; if it is refused, fetch and rebase first.',
];
const LOSES: readonly [string, string] = [
  'it throws away changes that are not committed',
  'Commit or `git stash` first, or name the one file.',
];
const HISTORY: readonly [string, string] = [
  'it rewrites or destroys history for good',
  'Make a new commit that undoes the change: git revert.',
];
const PUBLISHES: readonly [string, string] = [
  'it publishes to the world, which cannot be taken back',
  'Use --dry-run, and leave publishing to the user.',
];

// biome-ignore format: a table, a rule a row
export const GIT_RULES: readonly Rule[] = [
  rule('git-force-push', [10, 'block'], 'git', call => sub(call, 'push') && (has(call, 'f', 'force', 'mirror') && !call.args.some(word => /^--force-(?:with-lease|if-includes)/.test(word)) || pushed(call).some(ref => ref.startsWith('+'))), FORCED),
  rule('git-force-lease', [10, 'warn'], 'git', call => sub(call, 'push') && call.args.some(word => /^--force-(?:with-lease|if-includes)/.test(word)), FORCED),
  rule('git-delete-remote', [10, 'block'], 'git', call => sub(call, 'push') && (has(call, 'd', 'delete', 'prune') || pushed(call).some(ref => /^:./.test(ref))), ['it deletes a branch or tag of the remote', 'Leave branches of the remote to the user.']),
  rule('git-reset-hard', [10, 'warn'], 'git', call => sub(call, 'reset') && has(call, 'hard', 'merge'), LOSES),
  rule('git-clean', [10, 'warn'], 'git', call => sub(call, 'clean') && has(call, 'f', 'force') && !has(call, 'n', 'dry-run'), ['it deletes files that git does not know, and cannot bring back', 'Look first with git clean -n, and delete by name.']),
  rule('git-discard', [10, 'warn'], 'git', call => (sub(call, 'checkout') && (has(call, 'f', 'force') || behind(call).some(isAll))) || (sub(call, 'switch') && has(call, 'f', 'force', 'discard-changes')) || (sub(call, 'restore') && behind(call).some(isAll) && (!has(call, 'S', 'staged') || has(call, 'W', 'worktree'))), LOSES),
  rule('git-remove-all', [10, 'warn'], 'git', call => sub(call, 'rm') && has(call, 'r') && !has(call, 'cached', 'n', 'dry-run') && behind(call).some(isAll), LOSES),
  rule('git-branch-delete', [10, 'warn'], 'git', call => sub(call, 'branch') && (has(call, 'D') || (has(call, 'd', 'delete') && has(call, 'f', 'force'))), ['it deletes a branch that may not be merged', 'Use git branch -d, which refuses when work would be lost.']),
  rule('git-stash-drop', [10, 'warn'], 'git', call => sub(call, 'stash', 'drop'), ['it throws away stashed work', 'Leave the stash; git stash apply keeps it.']),
  rule('git-stash-clear', [10, 'block'], 'git', call => sub(call, 'stash', 'clear'), ['it throws away everything that was stashed, by anybody', 'Leave the stash; git stash apply keeps it.']),
  rule('git-rewrite', [10, 'block'], 'git', call => sub(call, 'filter-branch|filter-repo|replace') || (sub(call, 'reflog', 'expire|delete')) || (sub(call, 'update-ref') && has(call, 'd', 'stdin', 'delete')) || (sub(call, 'gc') && call.args.some(word => /^--prune=(?:now|all)|^--prune$/.test(word))) || (sub(call, 'prune') && !has(call, 'n', 'dry-run')) || sub(call, 'symbolic-ref') && has(call, 'd', 'delete'), HISTORY),
  rule('git-history-tools', [10, 'block'], 'git-filter-repo bfg git-filter-branch', () => true, HISTORY),
  rule('git-worktree-remove', [10, 'warn'], 'git', call => (sub(call, 'worktree', 'remove') && has(call, 'f', 'force')) || (sub(call, 'submodule', 'deinit') && has(call, 'f', 'force')), LOSES),
  rule('git-tag-move', [10, 'warn'], 'git', call => sub(call, 'tag') && has(call, 'f', 'force'), ['it moves a tag that others may rely on', 'Make a new tag.']),
  rule('git-hooks-path', [15, 'block'], 'git', call => runsCode(call), ['it makes git run a program of its own choosing', 'Leave the configuration of git as it is.']),
  rule('git-global-config', [11, 'warn'], 'git', call => sub(call, 'config') && has(call, 'global', 'system') && (behind(call).length > 1 || has(call, 'unset', 'unset-all', 'add', 'e', 'edit')), ["it changes the user's own configuration of git", 'Set it for this repository only, without --global.']),
  rule('git-no-verify-ssl', [13, 'warn'], 'git', call => /http\.sslverify[= ](?:false|0|no)/i.test(call.args.join(' ')), ['it switches off the check of certificates', 'Leave it on.']),
  rule('git-hide-changes', [10, 'warn'], 'git', call => (sub(call, 'update-index') && has(call, 'assume-unchanged', 'skip-worktree')) || sub(call, 'sparse-checkout', 'set|add|init|reapply'), ['it hides files or changes from git', 'Leave the index and the work tree whole.']),
  rule('git-remote', [4, 'warn'], 'git', call => (sub(call, 'remote', 'set-url')) || (sub(call, 'push') && /^(?:https?|ssh|git):\/\/|^[\w.-]+@[\w.-]+:/.test(behind(call)[0] ?? '')), ['it sends the work somewhere else', 'Push only to the remote that is there.']),
  rule('gh-delete', [17, 'block'], 'gh glab hub', call => sub(call, 'repo|release|secret|variable|ssh-key|gpg-key|codespace|project', 'delete|archive') || (sub(call, 'api') && values(call, 'X', 'method').some(each => /^delete$/i.test(each))), ['it deletes something at the forge', 'Leave that to the user.']),

  rule('publish', [9, 'block'], 'npm pnpm yarn bun cargo twine gem poetry uv flit hatch dotnet mvn gradle gradlew lerna changeset vsce ovsx jsr deno', call => isPublishing(call), PUBLISHES),
  rule('npm-account', [9, 'block'], 'npm pnpm yarn', call => sub(call, 'unpublish|deprecate|owner|token|access|dist-tag|team|hook') && !/^(?:ls|list)$/.test(behind(call)[0] ?? ''), ['it changes packages or accounts at the registry', 'Leave that to the user.']),
  rule('npm-login', [9, 'warn'], 'npm pnpm yarn', call => sub(call, 'login|adduser'), ['it logs in to the registry', 'Leave accounts to the user.']),
  rule('push-image', [9, 'warn'], 'docker podman nerdctl helm crane skopeo', call => sub(call, 'push') || sub(call, 'image', 'push') || (call.name === 'skopeo' && sub(call, 'copy')), ['it publishes an image', 'Build it, and leave pushing to the user.']),
  rule('plain-index', [9, 'block'], 'pip pip3 pipx uv npm pnpm yarn gem bun poetry python python3', call => indexes(call).some(isPlainHttp) || packages(call).some(isPlainHttp), ['it installs code over a connection that anybody can change', 'Use the ordinary registry, over https.']),
  rule('other-index', [9, 'warn'], 'pip pip3 pipx uv npm pnpm yarn gem bun', call => indexes(call).some(url => /^https?:/.test(url) && !KNOWN_REGISTRY.test(url)) || has(call, 'trusted-host') || (sub(call, 'config', 'set') && /registry|strict-ssl|index-url|trusted-host/.test(behind(call, 2).join(' ')) && !KNOWN_REGISTRY.test(behind(call, 3)[0] ?? '')), ['it takes packages from elsewhere', 'Use the registry that the project is configured for.']),
  rule('apt-unsigned', [9, 'block'], 'apt apt-get dpkg yum dnf rpm zypper apk', call => has(call, 'allow-unauthenticated', 'force-yes', 'nogpgcheck', 'nosignature', 'no-gpg-checks', 'allow-untrusted', 'force-all', 'nodeps'), ['it installs without checking who made it', 'Install signed packages only.']),
  rule('apt-source', [9, 'warn'], 'add-apt-repository apt-add-repository apt-key', () => true, ['it trusts another source of system packages', 'Leave the sources of the system to the user.']),
  rule('apt-remove', [11, 'warn'], 'apt apt-get yum dnf pacman brew apk snap zypper', call => sub(call, 'remove|purge|autoremove|uninstall|erase|del') || (call.name === 'pacman' && has(call, 'R')), ['it removes programs from the system', 'Leave installed programs alone.']),
];

const CODE_KEYS =
  /^(?:core\.(?:hookspath|sshcommand|pager|editor|fsmonitor|gitproxy|askpass)|sequence\.editor|credential\..*helper|credential\.helper|alias\.|filter\..*\.(?:clean|smudge|process)|diff\..*\.(?:command|textconv)|merge\..*\.driver|gpg\.program|url\..*insteadof|include\.path|includeif\.)/i;

/** Setting, not reading: `git config core.hooksPath x`, `git -c core.sshCommand=x`. A pager or editor of one command is nobody's harm. */
function runsCode(call: Call): boolean {
  const once = values(call, 'c').some(
    each =>
      CODE_KEYS.test(each) &&
      !/^(?:core\.(?:pager|editor|fsmonitor)|sequence\.editor|alias\.|credential)/i.test(each) &&
      !/^core\.hookspath=\/dev\/null/i.test(each),
  );
  if (once) return true;
  if (!sub(call, 'config') || has(call, 'get', 'get-all', 'list', 'l', 'unset', 'get-regexp')) return false;
  const [key = '', value] = behind(call).filter(word => !/^(?:set|get)$/.test(word));
  if (value === undefined || !CODE_KEYS.test(key)) return false;
  return (
    !/^(?:core\.(?:pager|editor|fsmonitor)|sequence\.editor)/i.test(key) &&
    !(/^alias\./i.test(key) && !value.startsWith('!')) &&
    !/husky|\.githooks/.test(value)
  );
}

const PUBLISHES_BY: Signs = {
  twine: call => sub(call, 'upload'),
  gem: call => sub(call, 'push|yank'),
  dotnet: call => sub(call, 'nuget', 'push|delete'),
  mvn: call => operands(call).some(goal => /^deploy(?::|$)|release:perform/.test(goal)),
  ...rows('gradle gradlew', (call: Call) =>
    operands(call).some(task => /publish|upload/i.test(task) && !/Local/i.test(task)),
  ),
};

function isPublishing(call: Call): boolean {
  const { name, args } = call;
  if (has(call, 'dry-run', 'n', 'list', 'help') || args.includes('--dry-run')) return false;
  const isWrapped =
    (name === 'yarn' && sub(call, 'npm', 'publish')) || (name === 'npm' && sub(call, 'run|exec', 'publish'));
  return shows(call, PUBLISHES_BY) ?? (isWrapped || sub(call, 'publish|yank'));
}
