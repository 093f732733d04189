/** Files, disks, and what fills them: categories 1, 2, 3, 18. */
import {
  afterGlobals,
  behind,
  type Call,
  has,
  operands,
  rowOf,
  rows,
  type Signs,
  shows,
  values,
} from '../call.ts';
import { codeOf } from '../code.ts';
import type { Where } from '../place.ts';
import { type Rule, rule, type Scene } from '../rule.ts';
import { foundBy } from '../wrappers.ts';

type Paths = (call: Call, operands: readonly string[]) => readonly string[];

const all: Paths = (_, paths) => paths;

/** What a command would delete with all that is in it. */
const DELETED: Readonly<Record<string, Paths>> = {
  ...rows('rm grm', (call, paths) => (has(call, 'r', 'R', 'recursive') ? paths : [])),
  ...rows('rimraf srm del del-cli', all),
  find: call => (call.args.includes('-delete') ? foundBy(call) : []),
  rsync: (call, paths) =>
    has(call, 'delete', 'delete-after', 'delete-before', 'del') ? paths.slice(-1) : [],
  mv: (_, paths) => paths.slice(0, -1),
  rd: ({ args }, paths) =>
    args.some(word => /^\/s$/i.test(word)) ? paths.filter(word => /^[a-z]:/i.test(word)) : [],
  'Remove-Item': ({ args }, paths) => (/-recurse/i.test(args.join(' ')) ? paths : []),
};

function deleted(call: Call): readonly string[] {
  return rowOf(DELETED, call.name)?.(call, operands(call)) ?? found(REMOVERS, codeOf(call) ?? '');
}

/** The paths that a program names to functions of this kind. */
function found(pattern: RegExp, code: string): readonly string[] {
  return [...code.matchAll(pattern)].map(([, ...groups]) => groups.find(path => path !== undefined) ?? '');
}

const REMOVERS =
  /(?:rmtree|rm_rf|rm_r|rmSync|rmdirSync|rm|removeSync|rimraf(?:\.sync)?|remove_tree|remove_dir_all|rmdir|unlink|unlinkSync|remove)\s*\(?\s*(?:os\.path\.expanduser\(|Path\(|glob\s*\(?\s*)?["'<]([^"'>]+)["'>]|Path\(["']([^"']+)["']\)\.(?:unlink|rmdir)/g;
const WRITERS =
  /\bopen\(\s*["']([^"']+)["']\s*,\s*["'][wax]|(?:writeFile|appendFile|createWriteStream|writeFileSync|appendFileSync|file_put_contents|File\.write|write_text)\s*\(\s*["']([^"']+)["']|Path\(["']([^"']+)["']\)\.write/g;
const DELETERS =
  'rd rm grm rimraf srm del del-cli find rsync mv Remove-Item python python3 node perl ruby php bun deno';

const deletes =
  (...kinds: readonly Where[]) =>
  (call: Call, { where }: Scene) =>
    deleted(call).some(path => kinds.includes(where(path)));

const copied: Paths = (call, paths) => [...paths.slice(-1), ...values(call, 't', 'target-directory')];

/** The files that a patch names. */
function patched({ input = '', args }: Call): readonly string[] {
  return [...[...args, input].join('\n').matchAll(PATCHED)].flatMap(([, path = '']) => [
    path,
    path.replace(/^[^/]*\//, ''),
  ]);
}

const PATCHED =
  /^(?:---|\+\+\+|(?:rename|copy) (?:from|to)|diff --git .*(?= b\/)|\*\*\* (?:(?:Add|Update|Delete) File|Move to):) "?([^\t\n"]+)/gm;

/** Files of the work tree or of the index that git changes, by subcommand; a branch is none. */
const GIT_WRITES: Readonly<Record<string, Paths>> = {
  ...rows('rm mv restore checkout-index update-index', all),
  clean: (call, paths) => (has(call, 'f', 'force') ? paths : []),
  stash: (_, paths) => (paths[0] === 'push' ? paths.slice(1) : []),
  checkout: (call, paths) => {
    const end = call.args.indexOf('--');
    if (end >= 0) return call.args.slice(end + 1);
    return paths.length > 1 ? paths.slice(1) : paths.filter(path => /\.\w+$/.test(path));
  },
  ...rows('apply am', call => [...values(call, 'include', 'directory'), ...patched(call)]),
};

function gitWrites(call: Call): readonly string[] {
  const [verb = ''] = afterGlobals(call);
  if (has(call, 'n', 'dry-run', 'check', 'stat', 'numstat', 'summary')) return [];
  const paths = rowOf(GIT_WRITES, verb)?.(call, behind(call)) ?? [];
  const [dir] = values(call, 'C');
  return dir === undefined ? paths : paths.map(path => `${dir}/${path}`);
}

/** What a command writes to whose business that is. */
const WRITTEN: Readonly<Record<string, Paths>> = {
  ...rows('tee touch truncate unlink shred mkfifo rm ed ex vim vi nano sponge', all),
  patch: (call, paths) => (has(call, 'dry-run') ? [] : [...paths.slice(0, 1), ...patched(call)]),
  apply_patch: patched,
  git: gitWrites,
  ...rows('cp ln install rsync scp', copied),
  mv: (call, paths) => [...copied(call, paths), ...paths.slice(0, -1)],
  ...rows('sed perl', (call, paths) =>
    has(call, 'i', 'in-place') || call.args.some(word => /^-[a-z]*i/.test(word))
      ? paths.slice(has(call, 'e', 'f', 'expression') ? 0 : 1)
      : [],
  ),
  dd: ({ args }) => args.flatMap(word => /^of=(.*)$/.exec(word)?.[1] ?? []),
  ...rows('chmod chown chgrp chattr setfacl', (_, paths) => paths.slice(1)),
  curl: call => values(call, 'o', 'output'),
  wget: call => values(call, 'O', 'output-document'),
  tar: call => values(call, 'C', 'directory'),
  unzip: call => values(call, 'd'),
};

/** A file that is written to, by redirection or by the command. */
export function written(call: Call): readonly string[] {
  const own = rowOf(WRITTEN, call.name)?.(call, operands(call));
  return [...call.writes, ...(own ?? found(WRITERS, codeOf(call) ?? ''))];
}

const writesTo =
  (...kinds: readonly Where[]) =>
  (call: Call, { where }: Scene) =>
    call.place === 'here' && written(call).some(path => kinds.includes(where(path)));

const SYSTEM_PATH: readonly [string, string] = [
  'it changes files of the system',
  'Keep to the project; put what is needed into a file there and say what a person has to install.',
];

const isSecretRemoval = (call: Call) =>
  call.name === 'chmod' && /^[0-7]?[4-7]00$|^[ugo]*[-=]/.test(operands(call)[0] ?? '');

// biome-ignore format: a table, a rule a row
export const FILE_RULES: readonly Rule[] = [
  rule('delete-system', [1, 'block'], DELETERS, deletes('system', 'device'), ['it deletes files of the system', 'Name the one folder in the project that is to go.']),
  rule('delete-home', [1, 'block'], DELETERS, deletes('home'), ['it deletes a home folder, or a folder that holds more than this project', 'Name the one folder in the project that is to go.']),
  rule('delete-outside', [1, 'block'], DELETERS, deletes('outside', 'secret', 'start-up', 'agent-settings'), ['it deletes what is outside the project', 'Delete only what is in the project, or in a temporary folder.']),
  rule('delete-project', [1, 'block'], DELETERS, deletes('project-root'), ['it deletes the whole project', 'Name what is to go, such as dist or node_modules.']),
  rule('delete-git', [10, 'block'], DELETERS, deletes('git'), ['it deletes the history of the repository', 'Leave .git alone; `git status` and `git log` show what is wrong.']),
  rule('delete-protected', [18, 'block'], DELETERS, deletes('protected', 'state'), ['it deletes what is protected in this run', 'Leave it as it is, and change the code instead.']),
  rule('delete-temp', [1, 'warn'], DELETERS, deletes('temp-root'), ["it deletes everybody's temporary files", 'Delete only the folder that you made there.']),
  rule('delete-variable', [1, 'warn'], DELETERS, deletes('perhaps-root'), ['if that variable is empty, it deletes everything', 'Let the shell stop when it is empty: put :? behind the name, in braces.']),
  rule('delete-in-container', [1, 'warn'], DELETERS, call => call.place === 'container' && deleted(call).some(path => /^\/(?:\*|$)|^\/(?:var|data|etc|home|usr|root|srv)(?:\/|$)/.test(path)), ['it deletes the data of a container', 'Remove the container and start a new one.']),
  rule('move-to-nothing', [1, 'block'], 'mv', call => operands(call).at(-1) === '/dev/null', ['moving to /dev/null destroys it', 'Delete by name what should go.']),
  rule('shred', [1, 'warn'], 'shred wipe', call => operands(call).length > 0, ['shredded files cannot be brought back', 'Delete it in the ordinary way, or leave it to the user.']),
  rule('mass-permissions', [7, 'block'], 'chmod chown chgrp chattr setfacl', (call, { where }) => has(call, 'R', 'recursive') && operands(call).slice(1).some(path => ['system', 'home', 'outside', 'device', 'secret'].includes(where(path))), ['it changes the permissions of everything outside the project', 'Change the one file in the project that needs it.']),
  rule('world-writable', [7, 'warn'], 'chmod', call => /^(?:0?[0-7]?777|0?666|a[+=]rwx|[ugo]*o\+w|\+w[rx]*a|a\+w)$/.test(operands(call)[0] ?? ''), ['it lets everybody on this machine change the file', 'Give only the owner what is needed: chmod u+x, or 755.']),
  rule('setuid', [7, 'block'], 'chmod install', call => /^(?:[ugoa]*[+=][rwx]*s[rwx]*|0?[2467][0-7]{3})$/.test(operands(call)[0] ?? '') || values(call, 'm', 'mode').some(mode => /^[2467][0-7]{3}$/.test(mode)), ['it makes a program run with the rights of its owner', 'Run it as yourself.']),

  rule('write-device', [2, 'block'], '', (call, { where }) => written(call).some(path => where(path) === 'device' && !/^\/dev\/(?:tcp|udp)\//.test(path)), ['it writes to a disk or another device', 'Write to a file in the project.']),
  rule('make-filesystem', [2, 'block'], 'mkfs mke2fs mkswap mkfs.ext4 mkfs.ext3 mkfs.ext2 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.fat mkfs.ntfs mkfs.f2fs newfs wipefs blkdiscard cryptsetup lvremove vgremove pvremove lvreduce mdadm badblocks tune2fs hdparm nvme grub-install update-grub efibootmgr bcdedit sgdisk zpool zfs diskutil format', call => isDiskWork(call), ['it erases or changes disks', 'Nothing in a project needs that: leave it to the user.']),
  rule('partition', [2, 'block'], 'fdisk sfdisk gdisk cfdisk parted', call => !has(call, 'l', 'list', 'dump', 'd') && !call.args.includes('print'), ['it changes the partitions of a disk', 'Only list them: fdisk -l.']),
  rule('mount', [2, 'warn'], 'mount umount losetup swapoff swapon', call => call.args.length > 0 && !has(call, 'l', 'version', 'help'), ['it changes which disks the system sees', 'Leave mounts to the user.']),

  rule('fill-disk', [3, 'block'], 'dd cat yes head tr openssl', call => isEndless(call), ['it fills the disk, and does not stop', 'Say how much: head -c 1M /dev/zero > file.']),
  rule('huge-file', [3, 'warn'], 'fallocate truncate mkfile dd head', call => /(?:^|[ =])(?:\d{3,}G|\d+[TP])i?B?\b/i.test(call.args.join(' ')), ['it makes a file of hundreds of gigabytes', 'Use a size that the task needs.']),
  rule('stress', [3, 'warn'], 'stress stress-ng siege ab wrk hey hping3 slowloris', call => call.args.length > 0 && !/localhost|127\.0\.0\.1/.test(call.args.join(' ')), ['it loads a machine as much as it can', 'Measure against something of your own, with a limit.']),
  rule('fork-loop', [3, 'block'], 'python python3 perl ruby node php', call => /fork\s*(?:\(\))?\s*while\s*(?:fork|1|true)|while\s*(?:\(?\s*(?:True|true|1)\s*\)?)\s*:?\s*\{?[^}]*\bfork\b|loop\s*\{\s*fork/.test(codeOf(call) ?? ''), ['it starts processes until nothing runs any more', 'Start a fixed number of processes.']),

  rule('write-system', [18, 'block'], '', writesTo('system'), SYSTEM_PATH),
  rule('write-secret', [18, 'block'], '', (call, scene) => writesTo('secret')(call, scene) && !isSecretRemoval(call), ["it writes where the user's keys and passwords are", 'Leave them to the user.']),
  rule('write-start-up', [15, 'block'], '', writesTo('start-up'), ['it changes what every new shell or login runs', 'Put it into a script of the project, and say what the user may add himself.']),
  rule('write-agent-settings', [18, 'block'], '', writesTo('agent-settings'), ['it changes the settings or hooks of an agent', 'Work with the settings as they are.']),
  rule('write-git', [18, 'block'], '', (call, scene) => call.name !== 'git' && writesTo('git')(call, scene), ['it changes the inside of .git, such as its hooks', 'Use git commands.']),
  rule('write-protected', [18, 'block'], '', writesTo('protected', 'state'), ['it changes what is protected in this run', 'Leave it as it is, and change the code instead.']),
  rule('write-home', [18, 'warn'], '', writesTo('outside', 'home'), ['it writes outside the project', 'Write into the project, or into a temporary folder.']),
];

const DISK_WORK: Signs = {
  ...rows('zpool zfs', /^(?:destroy|labelclear|rollback)(?: |$)/),
  cryptsetup: /^(?:luksFormat|erase|luksErase|reencrypt|luksRemoveKey|luksKillSlot)(?: |$)/,
  mdadm: 'zero-superblock create C stop S fail remove',
  hdparm: /security-erase|trim-sector|yes-i-know/,
  nvme: /^(?:format|sanitize|delete-ns)(?: |$)/,
  badblocks: 'w n',
  wipefs: 'a o f all',
  sgdisk: 'Z z o d n zap-all zap clear',
  diskutil: ({ args }) => /erase|partition|zero|reformat|secureErase|apfs/i.test(args[0] ?? ''),
  format: /^[a-z]:/i,
  efibootmgr: call => call.args.length > 0 && !has(call, 'v'),
};

function isDiskWork(call: Call): boolean {
  return shows(call, DISK_WORK) ?? (call.args.length > 0 && !has(call, 'version', 'V', 'help'));
}

function isEndless(call: Call): boolean {
  const { name, args, writes, reads } = call;
  const endless = [...args.map(word => word.replace(/^if=/, '')), ...reads].some(path =>
    /^\/dev\/(?:zero|u?random|full)$/.test(path),
  );
  if (name === 'dd') {
    const to = args.find(word => word.startsWith('of='))?.slice(3);
    return endless && to !== undefined && to !== '/dev/null' && !args.some(word => word.startsWith('count='));
  }
  const fills = writes.some(path => !/^\/dev\/(?:null|std\w+)$/.test(path));
  if (name === 'yes') return fills;
  return name === 'cat' && endless && fills;
}
