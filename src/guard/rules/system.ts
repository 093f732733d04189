/** The machine: privileges, containers, configuration, environment, processes, persistence: categories 7, 8, 11, 13, 14, 15. */
import {
  afterGlobals,
  type Call,
  has,
  operands,
  rows,
  type Signs,
  shows,
  sub,
  values,
  verb,
} from '../call.ts';
import { type Rule, rule, type Scene } from '../rule.ts';
import { isShell } from '../wrappers.ts';

const ROOT_SHELL: readonly [string, string] = [
  'it gives the agent all rights on this machine',
  'Do what you can as yourself, and say what a person has to do.',
];
const MACHINE: readonly [string, string] = [
  'it changes how this machine is set up',
  'Leave the system to the user, and say what it would need.',
];
const AGAIN: readonly [string, string] = [
  'it makes something run again later, unasked',
  'Run it now, in the project; say what could be scheduled.',
];
const ESCAPE: readonly [string, string] = [
  'it lets a container out of its box',
  'Run it without those rights, and mount only the project.',
];
const KILLS: readonly [string, string] = [
  'it ends processes that are not yours',
  'End only what you started, by its number.',
];
const HIJACK: readonly [string, string] = [
  'it changes which code the programs of the system run',
  'Call the program you mean by its path.',
];

const DOCKER = 'docker podman nerdctl docker-compose';
const mounts = (call: Call) =>
  [
    ...values(call, 'v', 'volume'),
    ...values(call, 'mount').map(each => /(?:source|src)=([^,]*)/.exec(each)?.[1] ?? ''),
  ].map(each => each.split(':')[0] ?? '');
const assignedTo = (call: Call) => [
  ...call.assigned,
  ...(/^(?:export|declare|typeset|env|sudo|cross-env|setenv)$/.test(call.name)
    ? call.args.flatMap(word => {
        const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(word) ?? [];
        return name === undefined ? [] : [{ name, value: value ?? '' }];
      })
    : []),
];
const sets =
  (name: RegExp, value: (value: string, scene: Scene) => boolean = () => true) =>
  (call: Call, scene: Scene) =>
    assignedTo(call).some(each => name.test(each.name) && value(each.value, scene));

// biome-ignore format: a table, a rule a row
export const SYSTEM_RULES: readonly Rule[] = [
  rule('root-shell', [7, 'block'], 'sudo doas su pkexec run0', call => isRootShell(call), ROOT_SHELL),
  rule('sudo', [7, 'warn'], 'sudo doas pkexec run0', call => !isRootShell(call) && !has(call, 'l', 'v', 'k', 'K', 'V', 'version', 'help'), ['it runs with all rights', 'Do it as yourself where that is possible.']),
  rule('users', [7, 'block'], 'useradd adduser userdel deluser usermod groupadd groupmod groupdel passwd chpasswd chsh visudo vipw gpasswd newgrp dscl', () => true, ['it changes the users of this machine or their rights', 'Leave users and passwords to the user.']),
  rule('capabilities', [7, 'block'], 'setcap capsh', call => call.args.length > 0 && !has(call, 'print'), ROOT_SHELL),

  rule('docker-privileged', [8, 'block'], DOCKER, call => has(call, 'privileged') || values(call, 'cap-add').some(each => /^(?:ALL|(?:CAP_)?SYS_(?:ADMIN|PTRACE|MODULE|RAWIO))$/i.test(each)) || values(call, 'security-opt').some(each => /unconfined|label[=:]disable/.test(each)) || values(call, 'device').some(each => /^\/dev\/(?:sd|nvme|mem|kmem|disk|xvd|vd)/.test(each)) || values(call, 'pid', 'userns', 'cgroupns').some(each => each === 'host'), ESCAPE),
  rule('docker-mount', [8, 'block'], DOCKER, (call, { where }) => call.place === 'here' && mounts(call).some(path => /docker\.sock|containerd\.sock/.test(path) || (path.startsWith('/') && ['system', 'home', 'device', 'secret'].includes(where(path)) && !/^\/etc\/(?:localtime|timezone|ssl\/certs|hosts|resolv\.conf)/.test(path)) || (/^[~$]/.test(path) && ['home', 'secret'].includes(where(path)))), ['it gives a container files of the machine', 'Mount only the project.']),
  rule('docker-host-network', [8, 'warn'], DOCKER, call => values(call, 'network', 'net', 'ipc').some(each => each === 'host'), ['the container shares the network of the machine', 'Publish the ports that are needed: -p.']),
  rule('docker-daemon', [8, 'warn'], DOCKER, call => values(call, 'H', 'host').some(each => /^tcp:|^ssh:/.test(each)), ['it works on the containers of another machine', 'Use the local ones.']),
  rule('docker-prune', [17, 'warn'], DOCKER, call => sub(call, 'system|volume|container|image|network|builder', 'prune') || (sub(call, 'volume', 'rm|remove')) || (sub(call, 'rm|rmi|stop|kill') && /\$\(\s*docker|`\s*docker/.test(call.written)), ['it removes containers, images or volumes of other projects, too', 'Remove by name what you made.']),
  rule('compose-volumes', [17, 'warn'], DOCKER, call => (call.name === 'docker-compose' || sub(call, 'compose')) && afterGlobals(call).some(word => word === 'down' || word === 'rm') && has(call, 'v', 'volumes'), ['it deletes the data of the services', 'Leave the volumes: docker compose down.']),
  rule('enter-host', [8, 'block'], 'nsenter chroot runc ctr crictl', call => (call.name === 'nsenter' && (values(call, 't', 'target').includes('1') || has(call, 'a', 'all'))) || (call.name === 'chroot' && /^\/(?:host|mnt|proc\/1)/.test(operands(call)[0] ?? '')) || (call.name === 'runc' && sub(call, 'run|exec|create')) || (call.name === 'ctr' && has(call, 'privileged')), ESCAPE),
  rule('kube-privileged', [8, 'block'], 'kubectl oc', call => /privileged["']?\s*:\s*true|hostPID["']?\s*:\s*true/.test(`${call.args.join(' ')} ${call.input ?? ''}`) || (sub(call, 'debug') && /\bnode\//.test(call.args.join(' '))), ESCAPE),

  rule('system-settings', [11, 'block'], 'sysctl iptables ip6tables nft ufw firewall-cmd setenforce timedatectl hostnamectl date modprobe insmod rmmod csrutil spctl networksetup scutil update-alternatives dpkg-reconfigure reg netsh pfctl ifconfig ip route hwclock', call => changesSystem(call), MACHINE),
  rule('defaults-write', [11, 'warn'], 'defaults gsettings dconf localectl', call => /^(?:write|delete|set|reset|set-locale|set-keymap|load)$/.test(call.args[0] ?? ''), MACHINE),
  rule('services', [11, 'warn'], 'systemctl service brew rc-service launchctl', call => /^(?:start|restart|reload|stop|kill|try-restart|isolate|edit|set-property|daemon-reload|revert)$/.test((call.name === 'service' || call.name === 'rc-service' ? call.args[1] : call.name === 'brew' ? (call.args[0] === 'services' ? call.args[1] : '') : operands(call)[0]) ?? '') && !has(call, 'user'), ['it starts or stops services of the machine', "Start the project's own server instead."]),
  rule('services-off', [11, 'block'], 'systemctl', call => /^(?:disable|mask|set-default|isolate|rescue|emergency)$/.test(operands(call)[0] ?? '') || (operands(call)[0] === 'stop' && /ssh|network|docker|firewall|systemd|dbus/i.test(call.args.join(' '))), MACHINE),

  rule('preload', [13, 'block'], '', sets(/^(?:LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|BASH_ENV|PROMPT_COMMAND|PERL5OPT|RUBYOPT|PYTHONSTARTUP|GIT_EXTERNAL_DIFF)$/, value => value !== ''), HIJACK),
  rule('shell-env', [13, 'block'], '', (call, scene) => sets(/^ENV$/, value => value.startsWith('/') || value.startsWith('~'))(call, scene) && isShell(call.name), HIJACK),
  rule('path-hijack', [13, 'warn'], '', sets(/^(?:PATH|LD_LIBRARY_PATH|DYLD_LIBRARY_PATH)$/, value => isHijack(value)), HIJACK),
  rule('path-replaced', [13, 'warn'], '', (call, scene) => sets(/^PATH$/, value => value === '' || (!/[$:]/.test(value) && !/^\/(?:usr|bin|opt|nix)/.test(value)))(call, scene) && /\bPATH=/.test(call.written || 'PATH='), HIJACK),
  rule('node-options', [13, 'warn'], '', sets(/^NODE_OPTIONS$/, (value, { where }) => [...value.matchAll(/(?:--require|-r|--import|--loader|--experimental-loader)[= ](\S+)/g)].some(found => /^[/~]|\.\./.test(found[1] ?? '') && !['project'].includes(where(found[1] ?? '')))), HIJACK),
  rule('no-certificates', [13, 'warn'], '', (call, scene) => sets(/^(?:NODE_TLS_REJECT_UNAUTHORIZED|PYTHONHTTPSVERIFY|GIT_SSL_NO_VERIFY)$/, value => /^(?:0|1|true)$/.test(value))(call, scene), ['it switches off the check of certificates', 'Leave it on.']),
  rule('proxy', [13, 'warn'], '', sets(/^(?:https?_proxy|all_proxy)$/i, value => /:\/\//.test(value) && !/localhost|127\.0\.0\.1/.test(value)), ['it sends all traffic through another machine', 'Leave the network as it is.']),
  rule('alias-override', [13, 'warn'], 'alias', call => call.args.some(word => /^(?:sudo|su|rm|git|ssh|ls|cd|curl|npm|node|python3?|cat|docker)=/.test(word)), ['it changes what a common command does', 'Use a name of your own.']),
  rule('ralph-orders', [18, 'block'], '', (call, scene) => sets(/^RALPH_HOOKS$/)(call, scene) || (call.name === 'unset' && call.args.includes('RALPH_HOOKS')) || (call.name === 'env' && values(call, 'u', 'unset').includes('RALPH_HOOKS')), ["it changes Ralph's own orders", 'Leave RALPH_HOOKS alone.']),
  rule('umask', [13, 'warn'], 'umask', call => /^0?0?0?0$|^0?00[0-2]$/.test(call.args[0] ?? ''), ['new files can be changed by everybody', 'Leave the umask as it is.']),
  rule('hide-tracks', [14, 'warn'], '', (call, scene) => (call.name === 'history' && has(call, 'c', 'd', 'w')) || (call.name === 'set' && call.args.join(' ') === '+o history') || (call.name === 'unset' && /HISTFILE|HISTSIZE/.test(call.args.join(' '))) || sets(/^HIST(?:FILE|SIZE|FILESIZE)$/, value => value === '' || value === '/dev/null' || value === '0')(call, scene), ['it hides what was done', 'Leave the history as it is.']),
  rule('clear-logs', [14, 'block'], 'journalctl wevtutil dmesg auditctl logrotate', call => has(call, 'vacuum-time', 'vacuum-size', 'rotate', 'C', 'clear', 'D') || call.args[0] === 'cl', ['it destroys the logs of the machine', 'Leave logs as they are.']),

  rule('power', [14, 'block'], 'shutdown reboot halt poweroff init telinit systemctl', call => (call.name === 'systemctl' ? /^(?:poweroff|reboot|halt|suspend|hibernate|kexec)$/.test(operands(call)[0] ?? '') : /^(?:init|telinit)$/.test(call.name) ? /^[0156s]$/i.test(call.args[0] ?? '') : !has(call, 'help', 'version') && !(call.name === 'shutdown' && has(call, 'c'))), ['it switches the machine off', 'Leave the machine running.']),
  rule('kill-all', [14, 'block'], 'kill killall pkill skill', call => killsAll(call), KILLS),
  rule('kill-ralph', [14, 'block'], 'pkill killall kill', (call, { around }) => (call.name === 'kill' ? /\$PPID/.test(call.args.join(' ')) : operands(call).some(each => /^(?:ralph|node .*ralph)/.test(each) || around.agents.commands.some(name => each.startsWith(name)))), ['it ends the agent or Ralph itself', 'Say that you are done; the run ends by itself.']),
  rule('steer-ralph', [14, 'block'], 'ralph', call => steers(call), ['only the user may steer a run or a loop', 'Say that you are done, or why you cannot continue; the run ends by itself.']),
  rule('kill-common', [14, 'warn'], 'killall pkill', call => !has(call, 'f', 'full') && operands(call).some(each => /^(?:node|bun|deno|python3?|java|bash|sh|zsh|docker|dockerd|postgres|mysqld|redis-server|sshd|ssh)$/.test(each)), ['it ends every process of that name, also those of others', 'End the one that you started, by its number.']),
  rule('trace', [14, 'warn'], 'gdb strace ltrace lldb dtrace', call => has(call, 'p', 'pid'), ['it looks into a running process', 'Debug a process that you start yourself.']),

  rule('crontab', [15, 'block'], 'crontab', call => !has(call, 'l') && (call.args.length > 0 || call.from.length > 0 || call.reads.length > 0), AGAIN),
  rule('at', [15, 'block'], 'at batch', call => !has(call, 'l', 'c', 'V') && (call.from.length > 0 || call.reads.length > 0 || call.input !== undefined || call.args.length > 0), AGAIN),
  rule('enable-service', [15, 'block'], 'systemctl launchctl update-rc.d chkconfig schtasks loginctl sc pm2 rc-update', call => isPersistent(call), AGAIN),
];

/** What ends a run or a loop, begins another one in its place, or speaks in the name of the user. */
function steers({ args }: Call): boolean {
  const words = args.filter(
    (word, at) => !word.startsWith('-') && !/^(?:-C|--cwd)$/.test(args[at - 1] ?? ''),
  );
  return /^(?:cancel|pause|continue|tell|answer|hook|continue-here|uninstall|prune|session (?:cancel|start))(?: |$)/.test(
    words.join(' '),
  );
}

function isRootShell(call: Call): boolean {
  const { name } = call;
  if (name === 'su') return !has(call, 'help', 'version');
  if (
    has(call, 'i', 's', 'login', 'shell', 'e', 'edit') &&
    call.args.some(word => /^-[a-zA-Z]*[ise]|^--(?:login|shell|edit)/.test(word))
  )
    return true;
  const [inner = ''] = operands(call).filter(word => !/^\w+=/.test(word));
  return (
    /^(?:su|visudo|passwd|bash|sh|zsh|fish|dash|-i)$/.test(inner) &&
    !call.args.some(word => /^-[a-z]*c$/.test(word) || /\.sh$/.test(word))
  );
}

const filtersPackets = (call: Call) =>
  !has(call, 'L', 'S', 'list', 'n') || has(call, 'F', 'flush', 'P', 'A', 'D', 'I', 'X');

const CHANGES: Signs = {
  sysctl: call =>
    has(call, 'w', 'p', 'load', 'system', 'write') || call.args.some(word => /^[\w.]+=/.test(word)),
  ...rows('iptables ip6tables', filtersPackets),
  nft: /\b(?:flush|delete|add|insert|destroy)\b/,
  ufw: /^(?!status|show|version)/,
  'firewall-cmd': /--(?:add|remove|set|reload|panic)/,
  timedatectl: /^set-/,
  hostnamectl: /^set-|^hostname \S/,
  date: 's set',
  hwclock: 'w s set systohc hctosys',
  csrutil: /disable|clear/,
  spctl: /disable|master-disable/,
  networksetup: /^-set|^-remove|^-create/,
  scutil: /--set/,
  'update-alternatives': 'set install remove config',
  reg: /^(?:add|delete|import|restore)/i,
  netsh: /\b(?:set|add|delete|reset)\b/i,
  pfctl: 'd F f e',
  ifconfig: /\b(?:down|up|add|del)\b/,
  ip: /\b(?:link|addr|address|route|rule|neigh)\b.*\b(?:add|del|delete|flush|set|replace|change)\b/,
  route: /\b(?:add|del|delete|flush)\b/,
};

function changesSystem(call: Call): boolean {
  return shows(call, CHANGES) ?? (call.args.length > 0 && !has(call, 'help', 'version'));
}

/** A folder in which anybody can put a program, before those of the system. */
function isHijack(value: string): boolean {
  const [first = ''] = value.split(':');
  return (
    first === '.' || first === '' || /^(?:\/private)?(?:\/tmp|\/var\/tmp|\/dev\/shm)(?:\/|$)/.test(first)
  );
}

function killsAll(call: Call): boolean {
  const [first, ...rest] = call.args;
  if (call.name === 'kill') {
    const targets = [
      ...(first !== undefined && !/^-(?:\d|[A-Z]|s$|n$|-signal)/.test(first) ? [first] : []),
      ...rest,
    ];
    return (
      targets.some(word => word === '-1' || word === '1' || word === '0') ||
      (first === '-1' && rest.length === 0)
    );
  }
  if (
    has(call, 'u', 'U', 'user', 'g', 'G', 't') &&
    !(call.name === 'pkill' && values(call, 'u', 'U').length === 0)
  )
    return true;
  return (
    operands(call).some(each => /^(?:\.|\.\*|\*|)$/.test(each) || each === '-1') || has(call, 'inverse', 'v')
  );
}

const PERSISTS: Signs = {
  systemctl: verb(/^(?:enable|link|preset|add-wants|reenable)$/),
  launchctl: verb(/^(?:load|bootstrap|submit|enable|kickstart)$/),
  loginctl: verb(/^enable-linger$/),
  schtasks: /\/create/i,
  sc: verb(/^(?:create|config)$/i),
  pm2: verb(/^startup$/),
  'rc-update': verb(/^add$/),
};

function isPersistent(call: Call): boolean {
  return shows(call, PERSISTS) ?? call.args.length > 0;
}
