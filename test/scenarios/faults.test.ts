/** Accidents around a run: a ledger that is gone, processes that were left running, a last line of any length, files that git ignores. */
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createJournal, type Entry, openJournal, readJournal } from '../../src/store/journal.ts';
import { projectPaths, runPaths } from '../../src/store/paths.ts';
import { writeKilled } from '../rig/ledger.ts';
import { ralph } from '../rig/ralph.ts';
import { folder, type Repo, repo } from '../rig/repo.ts';

const program = (name: string, script: string) => folder('ralph-bin-').script(name, script);

const worker = (script: string) => program('worker', `cat > /dev/null\n${script}`);
const run = (made: Repo, ...args: string[]) => ralph(args, { cwd: made.dir });
const latest = (made: Repo) =>
  runPaths(projectPaths(made.dir), readdirSync(made.path('.ralph/runs')).sort().at(-1) ?? '');

/** A run that met its limit, and could be resumed. */
async function stopped(): Promise<Repo> {
  const made = repo();
  await run(made, 'run', '-p', 'say <response>DONE</response>', '--agent', worker('echo no'), '-m', '1');
  return made;
}

/** Lives until the test is over, or until somebody ends it; answers whether somebody did. */
function living(env: Record<string, string>) {
  const child = spawn('sleep', ['1000'], { env: { PATH: process.env.PATH, ...env }, stdio: 'ignore' });
  let isEnded = false;
  const ended = new Promise<void>(resolve =>
    child.on('exit', () => {
      isEnded = true;
      resolve();
    }),
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  return { isEnded: () => isEnded, ended };
}

/** As if it had been killed: the last line of its ledger, which says how it ended, is not there. */
function cutEnd(made: Repo): void {
  const paths = latest(made);
  const lines = readFileSync(paths.events, 'utf8').trimEnd().split('\n');
  writeKilled(paths.events, lines.slice(0, -1));
}

describe('a ledger', () => {
  test.each(['is gone', 'was emptied'])(
    'that %s in the project is put back from the state folder when the run is resumed',
    async how => {
      const made = await stopped();
      const { mirror, events } = latest(made);
      if (how === 'was emptied') truncateSync(mirror.events);
      else rmSync(mirror.events);
      const { code, stdout } = await run(made, 'resume', '--max-iterations', '2', '--json');
      expect([code, JSON.parse(stdout).iterations.length]).toEqual([1, 2]);
      expect(readFileSync(mirror.events, 'utf8')).toBe(readFileSync(events, 'utf8'));
    },
  );

  test('that is gone is not begun again in silence', async () => {
    const made = await stopped();
    rmSync(latest(made).events);
    for (const more of [[], ['--accept-changes']]) {
      const { code, stderr } = await run(made, 'resume', '--max-iterations', '2', ...more);
      expect(code).toBe(2);
      expect(stderr.replace(/\s+/g, ' ')).toContain('its ledger is missing: what it has done and spent');
    }
  });

  test.each([300_000, 3_000_000])('with a last line of %i characters is continued as it is', async length => {
    const paths = latest(await stopped());
    const open = () => createJournal(paths.events, { run: 'r', now: Date.now });
    for (const text of ['x'.repeat(length), 'after it']) {
      const journal = open();
      journal.append({ type: 'notice', level: 'info', text });
      journal.close();
    }
    const entries: Entry[] = [];
    const { problems } = readJournal(openJournal(paths), entry => entries.push(entry));
    expect(problems).toEqual([]);
    expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, at) => at + 1));
  });
});

describe('processes that a killed run has left', () => {
  test.runIf(process.platform === 'linux')('are ended and named before a new run begins', async () => {
    const made = await stopped();
    const { owner } = JSON.parse(readFileSync(latest(made).run, 'utf8'));
    cutEnd(made);
    const orphan = living({ [owner]: '1' });
    const agent = worker(`echo '<response>DONE</response>'`);
    const { code, stdout, stderr } = await run(made, 'run', '-p', 'say it', '--agent', agent);
    await orphan.ended;
    expect(code).toBe(0);
    expect((stdout + stderr).replace(/\s+/g, ' ')).toContain('which was killed, were still running: ended.');
  });

  test.each(['HOME_OF_OTHERS', 'RALPH_OWNER_0123456789ab', 17, ''])(
    'are not those that an edited run.json names: %s',
    async owner => {
      const made = await stopped();
      const { mirror, folder } = latest(made);
      const edited = JSON.stringify({ ...JSON.parse(readFileSync(mirror.run, 'utf8')), owner });
      writeFileSync(mirror.run, edited);
      const other = living({ HOME_OF_OTHERS: '1', RALPH_OWNER_0123456789ab: '1', 17: '1' });
      expect((await run(made, 'resume', '--max-iterations', '2')).code).toBe(1);
      const copy = `${folder.slice(0, -1)}x`;
      mkdirSync(copy);
      writeFileSync(join(copy, 'run.json'), edited);
      expect((await run(made, 'resume', basename(copy), '--accept-changes')).code).toBe(2);
      expect(other.isEnded()).toBe(false);
    },
  );
});

test('a worktree with files that git ignores is removed only by force', async () => {
  const made = repo({ '.gitignore': 'local.db\nnode_modules\n.env\n' });
  made.write('.env', 'the same\n');
  const agent = worker(`echo x > local.db; mkdir node_modules; echo x > node_modules/x; echo 'the same' > .env
echo x > work; git add work; git commit -qm work; echo '<promise>COMPLETE</promise>'`);
  await run(made, 'loop', 'do it', '--agent', agent, '--check', 'test -e work', '--worktree=w');
  made.git('merge', '--quiet', 'ralph/w');
  const refused = await run(made, 'cancel', '--remove', 'w');
  expect(refused.code).toBe(2);
  const said = refused.stderr.replace(/\s+/g, ' ');
  expect(said).toContain('holds files that git ignores and that are nowhere else: local.db');
  expect(said).not.toMatch(/node_modules|\.env/);
  expect((await run(made, 'cancel', '--remove', 'w', '--force')).code).toBe(0);
});

test('Mercurial is told to commit in its own words', async () => {
  const made = repo();
  const hg = program('hg', `printf '[%s]' "$@" >> called`);
  made.settings({ scm: { command: hg, tasks: ['commit', 'push'] } });
  const agent = worker(`echo '<response>DONE</response>'`);
  const { code } = await run(made, 'run', '-p', 'say it', '--agent', agent);
  expect(code).toBe(0);
  expect(made.read('called')).toBe('[commit][-A][-m][say it][push]');
});
