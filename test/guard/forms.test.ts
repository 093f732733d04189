/** Each way to hand a text to a shell, with each text: what is refused when it is written plainly is refused in every form. */
import { expect, test } from 'vitest';
import { judgeCommand } from '../../src/guard/guard.ts';
import { WORLD } from './corpus.ts';

const HARM = ['rm -rf /', 'rm -rf ~', 'git push --force origin main', 'echo x > test/a.test.ts'];

/** A command that runs `text`. */
const CARRIERS: Record<string, (text: string) => string> = {
  'dot from stdin, here-string': text => `. /dev/stdin <<<'${text}'`,
  'source from stdin, here-string': text => `source /dev/stdin <<< '${text}'`,
  'dot from stdin, here-document': text => `. /dev/stdin <<'E'\n${text}\nE`,
  'dot from fd 0': text => `. /dev/fd/0 <<<'${text}'`,
  'dot from proc': text => `. /proc/self/fd/0 <<<'${text}'`,
  'source from a substitution': text => `source <(echo '${text}')`,
  'dot from a substitution': text => `. <(printf '%s' '${text}')`,
  'bash from a substitution': text => `bash <(echo '${text}')`,
  'shell of stdin': text => `sh /dev/stdin <<<'${text}'`,
  'bash of fd 0': text => `bash /dev/fd/0 <<< '${text}'`,
  'shell of stdin in a pipe': text => `echo '${text}' | sh /dev/stdin`,
  'shell of a dash': text => `echo '${text}' | sh -`,
  'shell with a flag for stdin': text => `echo '${text}' | bash -s -- a b`,
  'xargs, replaced': text => `echo '${text}' | xargs -I{} sh -c '{}'`,
  'xargs, replaced, by itself': text => `echo '${text}' | xargs -I % bash -c %`,
  'xargs, as an argument': text => `echo '${text}' | xargs -d '\\n' sh -c`,
  'xargs, a line each': text => `printf '%s\\n' '${text}' | xargs -L1 -I{} bash -c "{}"`,
  watch: text => `watch '${text}'`,
  'watch with flags': text => `watch -n 1 -d '${text}'`,
  'parallel of a pipe': text => `echo '${text}' | parallel`,
  'parallel of a pipe, with jobs': text => `echo '${text}' | parallel -j 2`,
  'parallel with arguments': text => `parallel ::: '${text}'`,
  'parallel, a shell': text => `parallel sh -c ::: '${text}'`,
  'a variable': text => `X='${text}'; eval "$X"`,
  'an exported one': text => `X='${text}' sh -c 'eval "$X"'`,
  'a function': text => `f() { ${text}; }; f`,
  env: text => `env -i sh -c '${text}'`,
  'a trap': text => `trap '${text}' EXIT`,
  'a coprocess': text => `coproc sh -c '${text}'`,
  time: text => `time sh -c '${text}'`,
  exec: text => `exec sh -c '${text}'`,
  'a file written first': text => `echo '${text}' > /tmp/x; sh /tmp/x`,
  'a file written first, sourced': text => `echo '${text}' > x.sh && . ./x.sh`,
  'tee and a shell': text => `echo '${text}' | tee /tmp/x | sh`,
  base64: text => `echo ${Buffer.from(text).toString('base64')} | base64 -d | sh /dev/stdin`,
  script: text => `script -qc '${text}' /dev/null`,
  flock: text => `flock /tmp/l -c '${text}'`,
  timeout: text => `timeout 5 bash -c '${text}'`,
  nohup: text => `nohup sh -c '${text}' &`,
  busybox: text => `busybox sh -c '${text}'`,
  entr: text => `ls | entr -s '${text}'`,
  find: text => `find . -maxdepth 0 -exec sh -c '${text}' \\;`,
  make: text => `printf 'a:\\n\\t${text}\\n' | make -f -`,
  mapfile: text => `mapfile -t L <<<'${text}'; eval "\${L[0]}"`,
  read: text => `read -r L <<<'${text}'; eval "$L"`,
  'bash with an option before': text => `bash -o pipefail -c '${text}'`,
  'bash with a long flag': text => `bash --norc -c '${text}'`,
  su: text => `su -c '${text}'`,
  'git alias': text => `git -c alias.x='!${text}' x`,
  'git bisect': text => `git bisect run sh -c '${text}'`,
  'git rebase': text => `git rebase --exec '${text}' HEAD~1`,
  'here-document into a shell': text => `bash <<E\n${text}\nE`,
  nested: text => `sh -c "sh -c '${text}'"`,
  'stdin of the outer shell': text => `sh -c 'exec sh' <<<'${text}'`,
};

/** Text that is run: turned, encoded, or by the flag of a program that is known for something else. */
const hex = (text: string) => Buffer.from(text).toString('hex');
const numbers = (text: string) => [...Buffer.from(text)].join(',');
const letters = (text: string) => [...Buffer.from(text)].map(each => `\\x${each.toString(16)}`).join('');
const turned = (text: string) => [...text].reverse().join('');

Object.assign(CARRIERS, {
  'env, split, with its own blanks': text => `env -S 'sh\\_-c\\_"${text}"'`,
  'settings of git in a variable': text => `GIT_CONFIG_PARAMETERS="'alias.x=!${text}'" git x`,
  'git ls-remote': text => `git ls-remote --upload-pack='${text}' .`,
  'git clone': text => `git clone -u '${text}' . /tmp/x`,
  'git clone of a command': text => `git clone "ext::sh -c '${text}'" /tmp/x`,
  'git push': text => `git push --receive-pack='${text}' . HEAD`,
  'git difftool': text => `git difftool -x '${text}' HEAD~1`,
  'git grep': text => `git grep -O'${text}' foo`,
  'git archive': text => `git archive --remote=. --exec='${text}' HEAD`,
  'make of stdin by its path': text => `printf 'a:;${text}\\n' | make -f /dev/stdin`,
  'make of a substitution': text => `make --file=<(printf 'a:;${text}\\n')`,
  'awk of stdin by its path': text => `echo 'BEGIN{system("${text}")}' | awk -f /dev/stdin`,
  'perl of a substitution': text => `perl <(echo 'system("${text}")')`,
  'awk, a variable': text => `awk -v x='${text}' 'BEGIN{system(x)}'`,
  'awk, a variable in one word': text => `gawk -F: -vx='${text}' 'BEGIN{system(x)}' f`,
  'sed of a substitution': text => `sed -f <(echo '1e ${text}') f`,
  'sed of a substitution, replaced': text => `sed -f <(echo 's/.*/${text.replaceAll('/', '\\/')}/e') f`,
  'cmake of a substitution': text => `cmake -P <(echo 'execute_process(COMMAND ${text})')`,
  'ninja of a substitution': text => `ninja -f <(printf 'rule r\n command = ${text}\nbuild x: r\n')`,
  'just of a substitution': text => `just -f <(printf 'a:\n  @${text}\n')`,
  'a program nobody knows': text => `rules --from=<(echo 'on: start, do: "${text}"')`,
  'a shell behind tee': text => `echo '${text}' | tee >(sh) > /dev/null`,
  'a shell behind a redirection': text => `echo '${text}' > >(bash)`,
  'a shell before a redirection': text => `bash < <(echo '${text}')`,
  'perl, a pipe': text => `perl -e 'open(F, "${text} |")'`,
  'perl, packed': text => `perl -e 'system(pack("H*","${hex(text)}"))'`,
  'ruby, in brackets': text => `ruby -e '%x(${text})'`,
  'python, by numbers': text => `python3 -c 'import os; os.system("".join(map(chr,[${numbers(text)}])))'`,
  'python, by escapes': text => `python3 -c 'import os; os.system("${letters(text)}")'`,
  'python, turned round': text => `python3 -c 'import os; os.system("${turned(text)}"[::-1])'`,
  'python, a module': text => `python3 -m timeit -s 'import os' 'os.system("${text}")'`,
  'node, in base64': text =>
    `node -e 'require("child_process").execSync(atob("${Buffer.from(text).toString('base64')}"))'`,
  'node, an address': text =>
    `node --import 'data:text/javascript,require("child_process").execSync("${text}")' x.js`,
  deno: text => `deno eval 'new Deno.Command("sh",{args:["-c","${text}"]}).outputSync()'`,
  'ssh, to connect': text => `ssh -o ProxyCommand='${text}' x`,
  'ssh, in one word': text => `ssh -oProxyCommand='${text}' x`,
  'ssh, with a blank': text => `ssh -o "ProxyCommand ${text}" x`,
  'ssh, when it is connected': text => `ssh -o PermitLocalCommand=yes -o LocalCommand='${text}' x`,
  'ssh, for its hosts': text => `ssh -o KnownHostsCommand='${text}' x`,
  'tar, for the next volume': text => `tar -cML1 -F '${text}' -f x.tar a`,
  'tar, to connect': text => `tar --rsh-command='${text}' -cf h:x a`,
  'sed of stdin': text => `echo '${text}' | sed e`,
  'sed, replaced': text => `sed 's/.*/${text.replaceAll('/', '\\/')}/e' f`,
  'vim, a function': text => `vim -c 'call system("${text}")' -c q`,
  'vim, with a plus': text => `vim '+!${text}' +q`,
  'an editor of lines': text => `printf '!${text}\\nq\\n' | ex -s`,
  'a variable without its beginning': text => `X='x${text}'; eval "\${X#x}"`,
  'a name of a variable': text => `Y='${text}'; declare -n X=Y; eval "$X"`,
  'script, with a long flag': text => `script --command '${text}' /dev/null`,
  'yarn exec': text => `yarn exec '${text}'`,
  'cargo, a setting': text => `cargo --config 'build.rustc-wrapper="${text}"' build`,
  'a function with an argument': text => `f() { eval "$1"; }; f '${text}'`,
  'a function with all of them': text => `f() { sh -c "$*"; }; f ${text}`,
  'a loop over what it reads': text => `while read -r x; do eval "$x"; done <<< '${text}'`,
  'a group that gets it': text => `{ read -r x; eval "$x"; } <<< '${text}'`,
  'taskset with a list': text => `taskset -c 0 sh -c '${text}'`,
  'taskset with a mask': text => `taskset 1 sh -c '${text}'`,
  m4: text => `m4 <<< 'syscmd(${text})'`,
  julia: text => `julia -e 'run(\`${text}\`)'`,
  gnuplot: text => `gnuplot -e 'system("${text}")'`,
} satisfies typeof CARRIERS);

test.each(Object.keys(CARRIERS))('%s', name => {
  const carry = CARRIERS[name] ?? (text => text);
  const passed = HARM.filter(text => judgeCommand(carry(text), WORLD)[0]?.tier !== 'block');
  expect(passed).toEqual([]);
});

/** Nobody can see what they run. */
test.each([
  '. /dev/stdin',
  'source /dev/fd/0 < unseen',
  'sh /dev/stdin < unseen',
  'bash < <(./make-script)',
  'source <(./make-script)',
  '. <(some-tool completion)',
  'bash <(./make-script)',
  'cat unseen | xargs -I{} sh -c {}',
  'cat unseen | xargs -I{} sh -c "{}"',
  'cat unseen | parallel',
  './make-script | sh /dev/stdin',
])('not known: %s', command => {
  expect(judgeCommand(command, WORLD)[0]?.tier).toMatch(/block|warn/);
});

/** The files under test/ are protected. */
test.each([
  'git rm test/a.test.ts',
  'git rm -r test',
  'git rm --cached test/a.test.ts',
  'git mv test/a.test.ts src/a.ts',
  'git mv src/a.ts test/a.test.ts',
  'git checkout HEAD~3 -- test/a.test.ts',
  'git checkout main test/a.test.ts',
  'git checkout -- test',
  'git restore test/a.test.ts',
  'git restore --source=HEAD~2 test',
  'git -C /home/you/app restore test/a.test.ts',
  'git stash push -- test/a.test.ts',
  'git stash push test',
  'git clean -fd test',
  'git clean -fdx -- test/tmp',
  'git apply change.patch --include=test/a.test.ts',
  'git apply --directory=test change.patch',
  'git apply <<E\n--- a/test/a.test.ts\n+++ b/test/a.test.ts\n@@ -1 +1 @@\n-a\n+b\nE',
  'patch test/a.test.ts change.patch',
  'patch -p1 <<E\n--- a/test/a.test.ts\n+++ b/test/a.test.ts\n@@ -1 +1 @@\n-a\n+b\nE',
  'git checkout-index -f test/a.test.ts',
  'git update-index --assume-unchanged test/a.test.ts',
  'cd -- test; : > a.test.ts',
  "env -C test sh -c ': > a.test.ts'",
  'env --chdir=test tee a.test.ts',
  'f() { rm "$1"; }; f test/a.test.ts',
  'echo test/a.test.ts | xargs sed -i s/a/b/',
  ": > 'test/a\nb'",
  "apply_patch <<'E'\n*** Begin Patch\n*** Update File: test/a.test.ts\n+x\n*** End Patch\nE",
  "apply_patch '*** Begin Patch\n*** Delete File: test/a.test.ts\n*** End Patch'",
])('protected: %s', command => {
  expect(judgeCommand(command, WORLD)[0]).toMatchObject({ tier: 'block' });
});

/** Whatever reads it. */
test.each([
  'while read l; do echo $l; done < ~/.ssh/id_rsa',
  'exec 3< ~/.netrc; cat <&3',
  'mapfile -t a < ~/.netrc',
  'echo "$(< ~/.ssh/id_rsa)"',
  'rev < ~/.netrc',
  'cat file:///home/you/.netrc',
  'curl file:///home/you/.netrc',
  'cat /proc/self/root/home/you/.netrc',
  'cat /proc/1/root/etc/shadow',
  'cat /proc/self/cwd/../.netrc',
  'cat /proc/thread-self/environ',
  'cat /proc/self/task/1/environ',
  'cat /proc/$PPID/environ',
])('a secret: %s', command => {
  expect(judgeCommand(command, WORLD)[0]).toMatchObject({ tier: 'block' });
});

/** What a working day has. */
test.each([
  'git checkout main',
  'git checkout -b feature',
  'git checkout HEAD -- src/a.ts',
  'git restore src/a.ts',
  'git rm src/old.ts',
  'git mv src/a.ts src/b.ts',
  'git apply --check change.patch',
  'git diff test/a.test.ts',
  'git add test/a.test.ts',
  'git log -- test',
  'git stash list',
  'git clean -n test',
  'patch --dry-run -p1 < change.patch',
  'parallel echo ::: a b',
  'find src -name "*.ts" | xargs -I{} grep -l foo {}',
  'watch -n 2 npm test',
  'source ./env.sh',
  'f() { npm test "$1"; }; f a; f b',
  'while read -r f; do wc -l "$f"; done < files.txt',
  'f() { [ "$1" = 0 ] || f $(($1 - 1)); }; f 9',
  'ls src | xargs grep -i foo',
  'env -C src npm test',
  'ralph status',
  'ralph log --follow',
  'cat /proc/cpuinfo',
  '. venv/bin/activate',
  'ls | xargs -n1 echo',
  "awk -v n='rm -rf /' '$1 == n' log",
  'diff <(echo rm -rf /) a',
  'comm -12 <(sort a) <(sort b)',
  'make 2> >(tee errors.log >&2)',
  'while read -r line; do echo "$line"; done < <(ls)',
])('ordinary: %s', command => {
  expect(judgeCommand(command, WORLD).filter(({ tier }) => tier === 'block')).toEqual([]);
});

/** What is in a file counts as what is written plainly. */
test.each([
  'cat bad.sh | sh',
  'cat ./bad.sh | bash -s -- a',
  'cat fine.sh bad.sh | sh -e',
  'cat < bad.sh | sh',
  'sh < bad.sh',
  'bash -x < bad.sh',
  '. /dev/stdin < bad.sh',
  'env sh < bad.sh',
  'git apply bad.patch',
  'git apply < bad.patch',
  'git -C . apply --index ./bad.patch',
  'git am bad.patch',
  'cat bad.patch | git apply',
  'patch -p1 < bad.patch',
  'patch -p1 -i bad.patch',
  'env git apply bad.patch',
  'git apply bad-move.patch',
  'git apply bad-mode.patch',
])('from a file: %s', command => {
  const patch = (path: string) => `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-a\n+b\n`;
  const files: Readonly<Record<string, string>> = {
    'bad.sh': 'rm -rf /\n',
    'fine.sh': 'npm test\n',
    'bad.patch': patch('test/a.test.ts'),
    'fine.patch': patch('src/a.ts'),
    'bad-move.patch': 'rename from test/a.test.ts\nrename to old\n',
    'fine-move.patch': 'rename from src/a.ts\nrename to src/b.ts\n',
    'bad-mode.patch': 'diff --git a/test/a.test.ts b/test/a.test.ts\nold mode 100644\nnew mode 100000\n',
    'fine-mode.patch': 'diff --git a/src/a.ts b/src/a.ts\nold mode 100644\nnew mode 100755\n',
  };
  const world = { ...WORLD, readScript: (path: string) => files[path] };
  const tiers = (text: string) => judgeCommand(text, world).map(({ tier }) => tier);
  expect(tiers(command)).toContain('block');
  expect(tiers(command.replaceAll('bad', 'fine'))).not.toContain('block');
});

test.each([
  'git sparse-checkout set src',
  'git sparse-checkout init --cone',
  'git update-index --skip-worktree a',
])('hidden from git: %s', command => {
  expect(judgeCommand(command, WORLD)).toMatchObject([{ rule: 'git-hide-changes', tier: 'warn' }]);
});
