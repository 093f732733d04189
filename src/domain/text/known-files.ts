/** Files that a program obeys or trusts by their place or their name: those of a project that run without being asked, and secrets in a home. */

/**
 * Of a project: what a program runs or starts when the folder is entered or opened, or when git is used there, before anybody has asked for
 * it. A folder stands for all that is in it.
 */
export const RUN_UNASKED: readonly string[] = [
  // On entering the folder.
  ...['.envrc', '.env.zsh', '.autoenv', '.autoenv.zsh'],
  ...['mise.toml', '.mise.toml', 'mise.local.toml', '.mise.local.toml', '.mise', 'mise/config.toml'],
  ...['.config/mise', '.config/mise.toml', '.rtx.toml'],
  // On opening it: tasks, servers of tools, settings that name programs, containers.
  ...['.vscode', '.cursor', '.windsurf', '.zed', '.idea', '.fleet', '.kiro', '.roo', '.continue', '.trae'],
  ...['.devcontainer', '.devcontainer.json', '.gitpod.yml', '.mcp.json', '.aider.conf.yml'],
  ...['.helix', '.exrc', '.nvimrc', '.nvim.lua', '.vimrc', '.lvimrc', '.dir-locals.el', '.dir-locals-2.el'],
  // On starting an interpreter or a debugger in it.
  ...[
    '.gdbinit',
    '.lldbinit',
    '.pdbrc',
    '.pythonstartup',
    '.Rprofile',
    '.irbrc',
    '.pryrc',
    '.ghci',
    '.octaverc',
  ],
  // With the next command of git: the hooks of programs that are installed once, and obey these from then on.
  ...['.husky', '.lfsconfig', '.pre-commit-config.yaml', '.pre-commit-config.yml', '.overcommit.yml'],
  ...['lefthook', 'lefthook-local'].flatMap(name => [
    `${name}.yml`,
    `${name}.yaml`,
    `.${name}.yml`,
    `.${name}.yaml`,
  ]),
  ...['lefthook.toml', 'lefthook.json', '.lefthook', '.lefthook-local'],
];

/** Of a home: whether a name says that a file, or a folder with all that is in it, holds keys, passwords, logins or what was typed. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

const SECRET_NAME = new RegExp(
  `^(?:${[
    '\\.?_?netrc|\\.authinfo.*|\\.pgpass|\\.my(?:login)?\\.cnf|\\.dockercfg|\\.s3cfg|\\.boto|\\.msmtprc|\\.fetchmailrc',
    '\\.?(?:.*[-_.])?(?:credentials?|secrets?|tokens?|passwords?|passwd|auth|access[-_]?tokens?|cookies?)(?:[-_.].*)?',
    '(?:hosts|accounts?)\\.ya?ml|rclone\\.conf|kubeconfig|.*\\.kubeconfig|.*\\.tfrc(?:\\.json)?|\\.terraformrc|service[-_]?account.*\\.json',
    'id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|adbkey|.*\\.(?:pem|key|p12|pfx|ppk|keystore|jks|kdbx?|kbx|age|ovpn|gpg)',
    '\\.?.*_history|\\.?(?:lesshst|viminfo|histfile|node_repl_history)|fish_history',
    'key[34]\\.db|logins\\.json|login data.*|keyrings?|kwalletd?|wallets?|\\.xauthority|\\.iceauthority',
  ].join('|')})$`,
  'i',
);
