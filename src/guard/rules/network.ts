/** What leaves the machine, who gets in, what is secret, what is hidden: categories 4, 5, 6, 12. */
import { afterGlobals, type Call, has, isStdin, operands, sub, UNKNOWN, values } from '../call.ts';
import { codeOf } from '../code.ts';
import { type Rule, rule, type Scene } from '../rule.ts';
import { isShell } from '../wrappers.ts';

const isLocal = (text: string) =>
  /(?:^|[/@\s])(?:localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[?::1\]?|host\.docker\.internal)(?:[:/\s]|$)/.test(
    text,
  );
const DROPS =
  /pastebin|paste\.ee|hastebin|transfer\.sh|webhook\.site|requestbin|pipedream|ngrok|file\.io|0x0\.st|termbin|burpcollaborator|interact\.sh|oast\.|ix\.io|sprunge|dpaste|anonfiles|gofile/i;
const SECRET_NAME =
  /\$\{?[A-Z_]*(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_KEY|PRIVATE_KEY|CREDENTIAL)[A-Z_]*/;
const DOWNLOADERS = /^(?:curl|wget|fetch|http|https|aria2c|lynx|axel|xh)$/;
const DECODERS =
  /^(?:base64|base32|xxd|uudecode|openssl|gunzip|zcat|gzip|bunzip2|bzip2|xz|unxz|rev|tr|hex|od|gpg)$/;
const INTERPRETER = /^(?:python[\d.]*|perl|ruby|node|php|lua|osascript|deno|bun)$/;

/** Paths in a program that it is given. */
const literals = (code: string) => [...code.matchAll(/['"]([~/][^'"]*)['"]/g)].map(found => found[1] ?? '');

const isRunner = (call: Call) =>
  isShell(call.name) || call.name === 'eval' || call.name === 'source' || call.name === '.';
const takesStdin = (call: Call) =>
  (isShell(call.name) &&
    !call.args.some(word => /^-[a-z]*c/.test(word)) &&
    (call.args.includes('-s') || operands(call).every(word => word === '-' || word === '/dev/stdin'))) ||
  (INTERPRETER.test(call.name) && operands(call).every(word => word === '-') && codeOf(call) === call.input);
/** A download in a substitution: `bash <(curl …)`, `sh -c "$(curl …)"`. */
const downloadsInside = (call: Call) =>
  /[<$]\(\s*(?:curl|wget|fetch|lynx|aria2c)\b|`\s*(?:curl|wget)\b/.test(call.written);
const decodesInside = (call: Call) =>
  /[<$]\([^)]*\b(?:base64|base32)\s+(?:-d|-D|--decode)|xxd\s+-r|openssl\s+(?:enc|base64)[^)]*-d/.test(
    call.written,
  );

/** What is read by a command whose business it is to show, copy or pack. */
const READERS =
  'cat less more head tail bat tac nl od xxd hexdump strings base64 base32 grep egrep fgrep rg ag awk gawk sed cut sort uniq cp scp rsync tar zip gzip 7z vim vi nano emacs view open code diff jq yq python python3 node perl ruby php dd tee install mv ln curl wget nc ncat openssl source . sftp ftp mail';
const reads = (call: Call) =>
  [
    ...call.reads,
    ...literals(codeOf(call) ?? ''),
    ...operands(call).filter(word => !values(call, 'i', 'identity-file').includes(word)),
    ...call.args.flatMap(word => /^(?:if=|@|--?[\w-]+=@?|-d@|-F\w*=@|-T|\w+=@)(.+)$/.exec(word)?.[1] ?? []),
  ].map(path => path.replace(/^@/, ''));
const isDotEnv = (path: string) =>
  /(?:^|\/)\.env(?:\.(?!example|sample|template|dist|test|ci|defaults)[\w-]+)?$/.test(path);
const readsSecret = (call: Call, { where }: Scene) =>
  call.place === 'here' &&
  reads(call).some(
    path =>
      where(path) === 'secret' ||
      /(?:^|\/)(?:id_(?:rsa|ed25519|ecdsa|dsa)|[\w-]*service[_-]?account[\w-]*\.json|credentials\.json)$/.test(
        path,
      ),
  );
const dumpsEnv = (call: Call) =>
  (/^(?:env|printenv)$/.test(call.name) && operands(call).length === 0 && !has(call, 'help', 'version')) ||
  (call.name === 'export' && call.args.join(' ') === '-p') ||
  (call.name === 'set' && call.args.length === 0) ||
  (call.name === 'declare' && /^-p?x?$/.test(call.args.join(' ')));
const isSecretSource = (call: Call, scene: Scene) =>
  dumpsEnv(call) || readsSecret(call, scene) || reads(call).some(isDotEnv) || call.name === 'history';

const SENDERS =
  'curl wget nc ncat netcat socat telnet http https xh ftp sftp scp rsync mail mailx sendmail ssh aws gsutil rclone';
const UPLOAD_FLAGS =
  'd data data-binary data-raw data-urlencode F form T upload-file post-file body-file json'.split(' ');
const uploads = (call: Call) => values(call, ...UPLOAD_FLAGS);
const sendsFile = (call: Call) =>
  uploads(call).some(value => value.startsWith('@') || /=@/.test(value)) ||
  values(call, 'T', 'upload-file', 'post-file', 'body-file').length > 0;
const target = (call: Call) => call.args.join(' ');

const SHELL_OUT: readonly [string, string] = [
  'it gives somebody else a shell on this machine',
  'Nothing in a project needs that.',
];
const HIDDEN: readonly [string, string] = [
  'it runs code that nobody has seen',
  'Download it to a file, read it, and run it as a step of its own.',
];
const LEAKS: readonly [string, string] = [
  'it sends secrets over the network',
  'Keep secrets on this machine.',
];
const SHOWS: readonly [string, string] = [
  "it reads the user's keys, passwords or tokens",
  'Use the program that needs the secret; do not read it.',
];

// biome-ignore format: a table, a rule a row
export const NETWORK_RULES: readonly Rule[] = [
  rule('send-secret', [4, 'block'], SENDERS, (call, scene) => !isLocal(target(call)) && (call.from.some(each => isSecretSource(each, scene)) || readsSecret(call, scene) || reads(call).some(isDotEnv) || /\$\((?:[^)]*\b(?:printenv|env)\b|[^)]*(?:\.ssh|\.aws|\.env|id_rsa|credentials|shadow))/.test(call.written)), LEAKS),
  rule('send-variable', [4, 'block'], 'curl wget nc ncat http https xh', call => !isLocal(target(call)) && SECRET_NAME.test(call.written.replace(/(?:-H|--header|-u|--user|--oauth2-bearer)\s*(?:"[^"]*"|'[^']*'|\S+)/g, '')), LEAKS),
  rule('send-drop', [4, 'block'], SENDERS, call => DROPS.test(target(call)) && (call.from.length > 0 || uploads(call).length > 0 || sendsFile(call) || call.reads.length > 0 || /\$\(/.test(call.written)), ['it sends data to a place where anybody can read it', 'Keep the data on this machine.']),
  rule('send-raw', [4, 'block'], 'nc ncat netcat telnet', call => !isLocal(target(call)) && !has(call, 'z') && !has(call, 'l') && operands(call).length > 0 && (call.from.length > 0 || call.reads.length > 0), ['it sends data over a bare connection', 'Keep the data on this machine.']),
  rule('send-file', [4, 'warn'], 'curl wget http https xh', call => !isLocal(target(call)) && sendsFile(call), ['it sends a file to another machine', 'Make sure that nothing of the user is in it.']),
  rule('send-archive', [4, 'block'], 'curl wget ssh', call => !isLocal(target(call)) && call.from.some(each => /^(?:tar|zip|mysqldump|pg_dump|gzip)$/.test(each.name)), ['it sends a whole folder or database to another machine', 'Keep the data on this machine.']),
  rule('copy-away', [4, 'warn'], 'scp rsync rclone sftp', call => /^(?:[\w.-]+@)?[\w.-]{2,}:/.test(operands(call).at(-1) ?? '') && !isLocal(operands(call).at(-1) ?? ''), ['it copies files to another machine', 'Keep the files here, and say what is to be copied.']),
  rule('send-dns', [4, 'block'], 'dig nslookup host ping drill', call => /\$\(|`/.test(call.written) && call.args.some(word => word.includes('.') || word.includes(UNKNOWN)), ['it hides data in the names that it looks up', 'Keep the data on this machine.']),
  rule('mail', [4, 'warn'], 'mail mailx sendmail mutt swaks', call => call.args.length > 0, ['it sends mail', 'Leave mail to the user.']),

  rule('dev-tcp', [5, 'block'], '', call => [...call.writes, ...call.reads, ...(isRunner(call) || call.name === 'exec' ? call.args : [])].some(word => /\/dev\/(?:tcp|udp)\//.test(word)), SHELL_OUT),
  rule('netcat-shell', [5, 'block'], 'nc ncat netcat socat', call => has(call, 'e', 'exec', 'sh-exec') || (call.name !== 'socat' && has(call, 'c') && values(call, 'c').some(value => /sh\b/.test(value))) || /(?:EXEC|SYSTEM|SHELL):/i.test(target(call)), SHELL_OUT),
  rule('shell-from-network', [5, 'block'], '', call => takesStdin(call) && call.from.some(each => /^(?:nc|ncat|netcat|socat|telnet)$/.test(each.name) || (each.name === 'openssl' && each.args[0] === 's_client')), SHELL_OUT),
  rule('socket-shell', [5, 'block'], 'python python3 perl ruby php node lua awk gawk', call => isSocketShell(codeOf(call) ?? ''), SHELL_OUT),
  rule('listen', [5, 'warn'], 'nc ncat netcat', call => has(call, 'l', 'listen'), ['it opens a port that takes whatever comes', "Use the project's own server, on localhost."]),
  rule('reverse-tunnel', [5, 'block'], 'ssh autossh', call => has(call, 'R'), ['it opens a way from another machine into this one', 'Nothing in a project needs that.']),
  rule('tunnel', [5, 'warn'], 'ngrok cloudflared localtunnel lt bore frpc tailscale zerotier-cli', call => call.args.length > 0 && !sub(call, 'version|status|help|--version'), ['it makes this machine reachable from the internet', 'Test on localhost.']),
  rule('remote-control', [5, 'block'], 'tmate chisel msfconsole msfvenom meterpreter teamviewer anydesk gsocket gs-netcat pwncat villain', () => true, SHELL_OUT),
  rule('ssh-daemon', [5, 'warn'], 'sshd dropbear telnetd vncserver x11vnc', () => true, ['it lets others log in to this machine', 'Leave logins to the user.']),
  rule('no-host-check', [5, 'warn'], 'ssh scp sftp', call => /StrictHostKeyChecking[= ]no|UserKnownHostsFile[= ]\/dev\/null/i.test(target(call)), ['it does not look who answers', 'Leave the check of the host on.']),

  rule('read-secret', [6, 'block'], READERS, readsSecret, SHOWS),
  rule('redirect-secret', [6, 'block'], '', (call, scene) => readsSecret({ ...call, name: '', args: [] }, scene), SHOWS),
  rule('read-dotenv', [6, 'warn'], 'cat less more head tail bat nl strings base64 xxd od hexdump curl', call => call.place === 'here' && reads(call).some(isDotEnv), ['it shows the secrets of the project', 'Read .env.example, or only the names: cut -d= -f1 .env.']),
  rule('dump-environment', [6, 'warn'], 'env printenv export set declare', call => dumpsEnv(call) && !call.into.some(name => /^(?:[ef]?grep|rg|ag|wc|cut|awk|sed)$/.test(name)), ['it prints every variable, secrets too', 'Print the one that you need: printenv NAME.']),
  rule('echo-secret', [6, 'warn'], 'echo printf printenv', call => (call.into.length === 0 && SECRET_NAME.test(call.written)) || (call.name === 'printenv' && SECRET_NAME.test(`$${operands(call)[0] ?? ''}`)), ['it prints a secret', 'Test whether it is set: [ -n "$NAME" ].']),
  rule('token-command', [6, 'warn'], 'gh gcloud aws az kubectl vault pass op heroku npm doctl git bw lpass', call => isTokenCommand(call), ['it prints a token or a password', 'Let the program that needs it get it by itself.']),
  rule('keychain', [6, 'block'], 'security secret-tool gpg keyctl mimikatz lazagne', call => (call.name === 'security' && /^(?:find-.*password|dump-keychain|export)$/.test(call.args[0] ?? '')) || (call.name === 'secret-tool' && call.args[0] === 'lookup') || (call.name === 'gpg' && has(call, 'export-secret-keys', 'export-secret-subkeys')) || /mimikatz|lazagne/.test(call.name), SHOWS),
  rule('metadata-service', [6, 'block'], 'curl wget http https xh fetch nc', call => /169\.254\.169\.254|metadata\.google\.internal|100\.100\.100\.200|fd00:ec2::254/.test(target(call)), ['it asks the cloud for the credentials of this machine', 'Nothing in a project needs that.']),

  rule('pipe-to-shell', [12, 'block'], '', call => (takesStdin(call) && call.from.some(each => DOWNLOADERS.test(each.name))) || (isRunner(call) && downloadsInside(call)) || (INTERPRETER.test(call.name) && downloadsInside(call)), HIDDEN),
  rule('decode-to-shell', [12, 'block'], '', call => (takesStdin(call) && call.from.some(each => DECODERS.test(each.name) && !/^(?:tr|od|gpg|openssl)$/.test(each.name) || (each.name === 'openssl' && has(each, 'd')) || (each.name === 'tr' && each.input !== undefined))) || (isRunner(call) && decodesInside(call)), HIDDEN),
  rule('decode-in-code', [12, 'block'], 'python python3 perl ruby node php', call => /\b(?:exec|eval|system|popen|subprocess|Function|instance_eval)\b/.test(codeOf(call) ?? '') && /b64decode|base64|fromhex|decode\(["'](?:hex|rot|base64)|unpack\(|atob|Buffer\.from\([^)]*(?:base64|hex)|str_rot13|zlib\.decompress|marshal\.loads|urlopen|requests\.get|urllib/.test(codeOf(call) ?? ''), HIDDEN),
  rule('generated-shell', [12, 'warn'], '', call => runsUnseen(call), ['it runs text that another command makes', 'Write it to a file, look at it, and run that.']),
  rule('unknown-delete', [12, 'block'], UNKNOWN, (call, { where }) => has(call, 'r', 'R', 'f') && operands(call).some(path => ['system', 'home', 'device'].includes(where(path))), ['a command whose name is hidden works on the whole system', 'Write the command plainly.']),
];

/** A script that comes from where the guard cannot see it. */
function runsUnseen(call: Call): boolean {
  const { name, args, input, from, reads } = call;
  if (name === 'parallel') return input === undefined && from.length > 0 && operands(call).length === 0;
  if (name === '.' || name === 'source') return isStdin(args[0] ?? 'x') && input === undefined;
  if (!isShell(name) || input !== undefined) return false;
  const at = args.findIndex(word => /^-[a-z]*c$/.test(word));
  if (at >= 0) return from.length > 0 && (args[at + 1] ?? '').trimStart().startsWith(UNKNOWN);
  const isPiped = from.length > 0 && !from.some(each => /^(?:cat|docker|kubectl)$/.test(each.name));
  const [file] = operands(call);
  const isUnseen = file !== undefined && isStdin(file);
  return (takesStdin(call) && (isPiped || reads.some(isStdin))) || isUnseen;
}

function isSocketShell(code: string): boolean {
  const socket =
    /\bsocket\b|TCPSocket|fsockopen|\bnet\b['")]*\.(?:connect|createConnection|Socket)|IO::Socket|\/inet\/(?:tcp|udp)\//i.test(
      code,
    );
  return (
    socket &&
    /\/bin\/(?:ba|z|da)?sh|dup2|pty\.spawn|subprocess|child_process|exec\b|system\(|shell_exec|getline/.test(
      code,
    )
  );
}

function isTokenCommand(call: Call): boolean {
  const words = afterGlobals(call).join(' ');
  switch (call.name) {
    case 'gh':
      return /^auth (?:token|status.*(?:-t|--show-token))/.test(words);
    case 'gcloud':
      return /print-(?:access|identity|refresh)-token/.test(words);
    case 'aws':
      return /^(?:configure (?:get|export-credentials)|sts (?:get-session-token|assume-role)|secretsmanager get-secret-value|ssm get-parameters?.*--with-decryption|ecr get-login-password)/.test(
        words,
      );
    case 'az':
      return /get-access-token|keyvault secret show|keys list/.test(words);
    case 'kubectl':
      return /^get secrets?\b.*(?:-o|--output)|^config view.*--raw/.test(words);
    case 'vault':
      return /^(?:kv get|read|print token)/.test(words);
    case 'heroku':
      return /^(?:config$|config -s|auth:token)/.test(words);
    case 'npm':
      return /^(?:config get .*_?auth|token list)/.test(words);
    case 'git':
      return /^credential(?:-\w+)? (?:fill|get)/.test(words);
    case 'doctl':
      return /^auth token/.test(words);
    default:
      return (
        /^(?:pass|op|bw|lpass)$/.test(call.name) && /^(?:show|read|get|item get|[^-\s]+\/[^\s]+)/.test(words)
      );
  }
}
