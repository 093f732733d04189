/** Every command that Ralph suggests is one that works: each is taken from the screen and run. */
import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { splitWords } from '../../src/platform/shell.ts';
import { projectPaths } from '../../src/store/paths.ts';
import { listRuns } from '../../src/store/run-file.ts';
import { init, writesFile } from '../rig/claude-stream.ts';
import { ralph } from '../rig/commands.ts';
import { fakeAgent } from '../rig/fake-agent.ts';
import { type RalphOptions, startRalph } from '../rig/ralph.ts';
import { folder, repo } from '../rig/repo.ts';

const COMPLETE = '<promise>COMPLETE</promise>';

const writes = (words: string, file = 'made') => writesFile(file, () => String(Math.random()), words);

const loop = (check: string, ...flags: readonly string[]) => [
  ...['loop', 'Make it', '--check', check, '--agent', 'claude', '--stuck-after', '0'],
  ...flags,
];

/** What stands in backticks and is a command of ours, each once: with the id of the latest run it is the same as without. */
function suggested(...screens: readonly string[]): readonly string[] {
  const all = screens.join('\n').replace(/\n\s+/g, ' ');
  const commands = [...all.matchAll(/`(ralph [^`]+)`/g)].map(([, command = '']) => command);
  return [
    ...new Map(commands.toReversed().map(each => [each.replace(/ \d{8}-\d{6}-\w{4}/, ''), each])).values(),
  ];
}

/** Exit code 2 is for what the user has to fix: a suggestion never ends so. */
async function runAll(commands: readonly string[], world: RalphOptions): Promise<void> {
  for (const command of commands) {
    const { code, stderr } = await ralph(splitWords(command).slice(1), world);
    expect([command, code === 2 ? stderr : '']).toEqual([command, '']);
  }
}

test('after a limit: show, log, report and resume, with the limit raised', async () => {
  const project = repo();
  const agent = await fakeAgent('claude', writes('not yet'), writes('no'), writes(COMPLETE));
  const world = { cwd: project.dir, path: [agent.bin] };
  const ended = await ralph(loop('test -e made', '--max-iterations', '1'), world);
  const [status, explain] = [await ralph(['status'], world), await ralph(['explain'], world)];
  const commands = suggested(ended.stdout, ended.stderr, status.stdout, explain.stdout);
  const names = ['land', 'log', 'report', 'resume', 'show'];
  expect(commands.map(command => command.split(' ')[1]).sort()).toEqual(names);
  await runAll(commands, world);
});

test('after `-C`: every command works where it was given', async () => {
  const project = repo();
  const agent = await fakeAgent('claude', writes('not yet'), writes(COMPLETE));
  const world = { cwd: folder().dir, path: [agent.bin] };
  const there = (...args: readonly string[]) => ralph(['-C', project.dir, ...args], world);
  const ended = await there(...loop('test -e made', '--max-iterations', '1'));
  const screens = [ended, await there('status'), await there('explain')].map(({ stdout }) => stdout);
  for (const screen of screens) expect(suggested(screen)).not.toEqual([]);
  await runAll(suggested(...screens), world);
});

test('after a kill: what `explain` and `status` suggest', async () => {
  const project = repo();
  const agent = await fakeAgent('claude', async turn => void (await turn.line(init)), writes(COMPLETE));
  const world = { cwd: project.dir, path: [agent.bin] };
  const running = startRalph([...loop('true'), '--events', '-'], world);
  await running.until('"kind":"session"');
  running.process.kill('SIGKILL');
  await running.finished;
  const screens = [(await ralph(['explain'], world)).stdout, (await ralph(['status'], world)).stdout];
  const commands = suggested(...screens);
  expect(commands.includes('ralph resume')).toBe(true);
  await runAll(commands, world);
});

test('nothing is called resumable that cannot be resumed', async () => {
  const project = repo();
  const agent = await fakeAgent('claude', writes('not yet'));
  const world = { cwd: project.dir, path: [agent.bin] };
  await ralph(loop('false', '--max-iterations', '1', '--worktree=gone'), world);
  const told = async () => {
    const { stdout } = await ralph(['status'], world);
    const resume = suggested(stdout).filter(command => command.startsWith('ralph resume'));
    return { resume, code: resume[0] && (await ralph(resume[0].split(' ').slice(1), world)).code };
  };
  rmSync(project.path('.ralph/worktrees/gone'), { recursive: true });
  expect(await told()).toEqual({ resume: [], code: undefined });
  expect((await ralph(['resume'], world)).code).toBe(2);
});

test('settings that have changed: the command that is suggested accepts them', async () => {
  const project = repo();
  const agent = await fakeAgent('claude', writes('not yet'), writes(COMPLETE));
  const world = { cwd: project.dir, path: [agent.bin] };
  await ralph(loop('test -e made', '--max-iterations', '1'), world);
  project.settings({ checkRetries: 1 });
  const commands = suggested((await ralph(['status'], world)).stdout);
  expect(commands[0]).toBe('ralph resume --max-iterations 2 --accept-changes');
  await runAll(commands, world);
});

test('work in a worktree that nobody committed: one command takes it over', async () => {
  const project = repo();
  const agent = await fakeAgent('claude', writes(COMPLETE, 'made.txt'));
  const world = { cwd: project.dir, path: [agent.bin] };
  const { stdout, stderr, code } = await ralph(loop('test -e made.txt', '--worktree=w'), world);
  expect(code).toBe(0);
  expect((await ralph(['status'], world)).stdout).toContain('ralph/w  changes not committed');
  const commands = suggested(stdout, stderr).filter(command => command.startsWith('ralph land'));
  expect(commands).toEqual(['ralph land']);
  await runAll(commands, world);
  expect(project.git('ls-files')).toContain('made.txt');
  expect(project.git('branch', '--format=%(refname:short)')).toBe('main\n');
});

test('an id where a later run makes it necessary, and none of the latest', async () => {
  const project = repo();
  const agent = await fakeAgent('claude', writes('not yet'), writes('no'));
  const world = { cwd: project.dir, path: [agent.bin] };
  await ralph(loop('false', '--max-iterations', '1'), world);
  await ralph(loop('false', '--max-iterations', '1'), world);
  const [first = '', second = ''] = listRuns(projectPaths(project.dir));
  const next = async (...args: readonly string[]) => {
    const { stdout } = await ralph(args, world);
    return suggested(stdout).filter(command => /^ralph (log|resume|show|report)/.test(command));
  };
  const explained = await next('explain', second);
  expect(explained).toHaveLength(4);
  expect(explained.join()).not.toContain(second);
  for (const command of await next('explain', first)) expect(command).toContain(first);
  expect(await next('status')).toEqual(['ralph resume --max-iterations 2']);
  expect(await next('status', first)).toEqual([`ralph resume ${first} --max-iterations 2`]);
  expect(await next('status', '--all')).toEqual([`ralph resume ${second} --max-iterations 2`]);
});
