/** A real small disk that fills up, a real file system that becomes read-only: in a mount namespace of its own, as root. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { describe, expect, onTestFinished, test } from 'vitest';
import { diskTrouble } from '../../src/platform/disk.ts';
import { BIN, testEnv } from '../rig/ralph.ts';
import { folder } from '../rig/repo.ts';

const canMount = spawnSync('unshare', ['-m', 'sh', '-c', 'mount -t tmpfs none /mnt']).status === 0;

/**
 * Runs a shell script in a fresh repository on a tmpfs of one megabyte. `ralph`, `$AGENT_DONE` (what an agent prints that is
 * done) and `fill` are there for it.
 */
async function onSmallDisk(agent: string, script: string, name = 'worker', size = '1m') {
  const folder = mkdtempSync(join(tmpdir(), 'ralph-disk-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const bin = join(folder, 'bin');
  const setUp = `set -e
mkdir -p ${bin} ${folder}/disk
mount -t tmpfs -o size=${size} none ${folder}/disk
cd ${folder}/disk
git init -q && git commit -q --allow-empty -m start
ralph() { '${process.execPath}' '${BIN}' "$@"; }
set +e
`;
  const worker = `#!/bin/sh
fill() { dd if=/dev/zero of=filler bs=1k 2>/dev/null; }
${agent}
`;
  spawnSync('mkdir', ['-p', bin]);
  writeFileSync(join(bin, name), worker, { mode: 0o755 });
  const child = spawn('unshare', ['-m', 'sh', '-c', `${setUp}${script}`], {
    env: testEnv({ path: [bin] }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', chunk => (output += chunk));
  await new Promise(resolve => child.on('close', resolve));
  return output.replace(/\s+/g, ' ');
}

/** Not contained: what these agents mount, and the numbers that they know themselves by, must count out here. */
const RUN = `ralph run -p 'say <response>DONE</response>' --agent worker --containment off`;

describe.skipIf(!canMount)('a disk that is full', () => {
  test('ends the run with a clear sentence, its agent with it; with room again it continues', {
    tags: ['promise', 'P-disk'],
  }, async () => {
    const agent = `cat > /dev/null
if [ -e tried ]; then echo '<response>DONE</response>'; exit; fi
: > tried; fill; echo "$$" > ../pid; while echo working working working; do sleep 0.05; done`;
    const said = await onSmallDisk(
      agent,
      `${RUN}; echo "first: $?"
kill -0 "$(cat ../pid)" 2>/dev/null && echo 'the agent is alive'
rm filler
ralph log > /dev/null && echo 'the ledger is whole'
find .ralph -name '*.tmp' -o -name '*.clearing'
ralph status
ralph resume; echo "second: $?"`,
    );
    expect(said).toContain('Stopped: Ralph cannot write its files.');
    expect(said.replaceAll(' ', '')).toMatch(/(events|agent)\.jsonl:thediskisfull/);
    expect(said).toContain('Stop reason: disk_failed (exit code 1)');
    expect(said).toContain('first: 1');
    expect(said).not.toContain('the agent is alive');
    expect(said).toContain('the ledger is whole');
    expect(said).not.toMatch(/\.tmp|incomplete|has been changed|a bug in Ralph/);
    expect(said).toMatch(/Resume: `ralph resume/);
    expect(said).toContain('Stop reason: promise_accepted');
    expect(said).toContain('second: 0');
  });

  test('from the beginning is a problem to fix, and nothing is begun', async () => {
    const said = await onSmallDisk(
      'touch ../called',
      `dd if=/dev/zero of=filler bs=1k 2>/dev/null; ${RUN}; echo "first: $?"; ls ../called`,
    );
    expect(said).toContain('the disk is full');
    expect(said).toContain('first: 2');
    expect(said).not.toContain('a bug in Ralph');
    expect(said).toMatch(/cannot access '?\.\.\/called/);
  });

  test('of the ledger alone ends the run, too, and is told in --json', async () => {
    // This agent writes its raw stream itself.
    const agent = `cat > /dev/null; until ls .ralph/runs/*/iterations/0001/agent.stderr.log; do sleep 0.05; done; fill; sleep 1000`;
    const run = `ralph run -p 'say <response>DONE</response>' --agent claude --iteration-timeout 1 -m 3`;
    const said = await onSmallDisk(agent, `${run} --json 2>/dev/null`, 'claude');
    expect(said).toContain('"stopReason":"disk_failed"');
    expect(said).toMatch(/"detail":"[^"]+: the disk is full"/);
  });

  test('leaves no half line in a ledger, whatever the length of the line', async () => {
    const journal = join(folder('ralph-journal-').dir, 'journal.mjs');
    await build({
      ...{ entryPoints: [join(import.meta.dirname, '../../src/store/journal.ts')], outfile: journal },
      ...{ bundle: true, platform: 'node', format: 'esm', logLevel: 'silent' },
    });
    const script = `
      const { createJournal, openJournal } = await import('${journal}');
      const journal = createJournal(process.cwd() + '/events.jsonl', { run: 'r', now: Date.now });
      for (let n = 0; !journal.trouble() && n < 1e5; n++)
        journal.append({ type: 'notice', level: 'info', text: 'x'.repeat((n * 977) % 9001) });
      const reader = openJournal({ events: process.cwd() + '/events.jsonl', trust: { kind: 'intact' } });
      console.log(journal.trouble(), reader.next().length > 100, reader.torn(), reader.problems().length);`;
    const said = await onSmallDisk(
      '',
      `'${process.execPath}' --input-type=module -e "${script.replaceAll('"', '\\"')}"`,
    );
    expect(said).toMatch(/events\.jsonl: the disk is full true 0 0/);
  });
});

describe.skipIf(!canMount)('a disk that is full in a lane', () => {
  const FILLS = `[ -e ../tried ] || { : > ../tried; dd if=/dev/zero of=filler bs=1k 2>/dev/null; }; true`;
  /** Work of each lane, and what fills the disk around it. */
  const agent = (fills = '') => `cat > /dev/null
cd "$PROJECT" && { ${fills || ':'}; } && cd "$OLDPWD"
echo "$RALPH_LANE_INDEX" > "made-$RALPH_LANE_INDEX"; echo "$RALPH_LANE_INDEX" >> "$PROJECT/../calls"
echo '<promise>COMPLETE</promise>'`;

  test.each([
    ['the turn', agent(FILLS), '{}'],
    ['what sets it up', agent(), JSON.stringify({ laneSetup: `cd "$PROJECT" && ${FILLS}` })],
  ])(
    'by %s stops the whole with one sentence; with room again all of it lands once',
    async (_, worker, settings) => {
      const said = await onSmallDisk(
        worker,
        `printf -- '- [ ] Add one\\n- [ ] Add two\\n- [ ] Add three\\n' > tasks.md; echo .ralph/ > .gitignore
git add -A && git commit -q -m tasks; export PROJECT="$PWD"
mkdir .ralph; echo '${settings}' > .ralph/settings.json
ralph loop --tasks tasks.md --parallel 2 --check true --agent worker --containment off; echo "first: $?"
rm filler; ralph resume; echo "second: $?"
echo "made: $(git ls-tree --name-only HEAD | grep made | tr '\\n' ' ')"`,
        'worker',
        '6m',
      );
      const [first = '', second = ''] = said.split('first: ');
      expect(first).toContain('Stopped: Ralph cannot write its files.');
      expect(first).toContain('Stop reason: disk_failed (exit code 1)');
      expect(first).not.toMatch(/needs you|ralph: the disk/);
      expect(second).toMatch(/^1 /);
      expect(second).toContain('second: 0');
      expect(second).toContain('made: made-0 made-1 made-2');
    },
  );
});

describe.skipIf(!canMount)('a file system that becomes read-only', () => {
  test('ends the run; writable again, it goes on', async () => {
    const agent = `cat > /dev/null
if [ -e ../tried ]; then echo '<response>DONE</response>'; exit; fi
: > ../tried; mount --bind .ralph .ralph; mount -o remount,bind,ro .ralph; echo working`;
    const said = await onSmallDisk(
      agent,
      `${RUN}; echo "first: $?"; umount .ralph; ralph resume; echo "second: $?"`,
    );
    expect(said).toContain('the file system is read-only');
    expect(said).toContain('Stop reason: disk_failed (exit code 1)');
    expect(said).toContain('first: 1');
    expect(said).toContain('second: 0');
    expect(said).toMatch(/Resumed: iteration [12] was cut off/);
  });

  test('from the beginning is a problem to fix', async () => {
    const said = await onSmallDisk('touch ../called', `mount -o remount,ro .; ${RUN}; echo "first: $?"`);
    expect(said).toContain('the file system is read-only');
    expect(said).toContain('first: 2');
  });
});

test.runIf(!canMount)('NOT TESTED HERE: full and read-only disks need root and a mount namespace', () => {});

test.each([
  ['ENOSPC', '/a: the disk is full'],
  ['EDQUOT', '/a: the disk quota is exceeded'],
  ['EROFS', '/a: the file system is read-only'],
  ['EACCES', '/a: permission denied'],
  ['ENOENT', undefined],
])('%s is %s', (code, words) => {
  expect(diskTrouble(Object.assign(new Error('x'), { code, path: '/a' }))).toBe(words);
});
