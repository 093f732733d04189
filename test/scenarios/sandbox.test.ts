/** The sandbox through the real bin: what is said when there is none, what the run leaves, and the contract with sbx. */
import { existsSync, readdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { RunEvent } from '../../src/domain/run/event.ts';
import { srt } from '../../src/sandbox/srt.ts';
import { ralph, startRalph } from '../rig/ralph.ts';
import { folder, type Repo, repo } from '../rig/repo.ts';

const DONE = '<response>DONE</response>';
const PROMPT = ['-p', `Say ${DONE}`];

/** An agent that is a shell script: behind the wall there is no socket to steer it by. */
function agent(project: Repo, script: string, settings: Readonly<Record<string, unknown>> = {}): void {
  const command = folder('ralph agent ').script('agent', `cat > /dev/null\n${script}`);
  project.settings({ agent: { command }, ...settings });
}

function ledger(project: Repo): readonly RunEvent[] {
  const [run = ''] = readdirSync(project.path('.ralph/runs'));
  return project
    .read(`.ralph/runs/${run}/events.jsonl`)
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as RunEvent);
}

/** A PATH on which nothing is found but what these tests need. */
function barePath(): string {
  const bin = folder('ralph bin ').dir;
  for (const name of ['sh', 'cat', 'git', 'env', 'grep', 'sleep']) {
    const found = (process.env.PATH ?? '')
      .split(':')
      .map(each => join(each, name))
      .find(each => existsSync(each));
    if (found) symlinkSync(realpathSync(found), join(bin, name));
  }
  return bin;
}

describe('on a machine without any', () => {
  test('--sandbox is refused with how to install each, and nothing is written', async () => {
    const project = repo();
    const env = { PATH: barePath() };
    const { code, stderr } = await ralph(['run', ...PROMPT, '--agent', 'cat', '--sandbox'], {
      cwd: project.dir,
      env,
    });
    expect(code).toBe(2);
    expect(stderr).toMatch(/--sandbox: no sandbox works here/);
    expect(stderr).toMatch(/srt: .*(bubblewrap|bwrap).*apt-get install bubblewrap socat ripgrep/s);
    expect(stderr).toMatch(/sbx: it is not installed/);
    expect(stderr).toMatch(/container: no image is set/);
    expect(existsSync(project.path('.ralph/runs'))).toBe(false);
  });

  test('no worktree is made for a loop that has no sandbox to work in', async () => {
    const project = repo();
    const args = ['loop', 'x', '--check', 'true', '--agent', 'cat', '--sandbox', '--worktree', 'w'];
    const { code } = await ralph(args, { cwd: project.dir, env: { PATH: barePath() } });
    expect([code, existsSync(project.path('.ralph'))]).toEqual([2, false]);
    expect(project.git('branch', '--format=%(refname:short)')).not.toContain('ralph/w');
  });

  test('--sandbox=auto says so loudly and goes on', async () => {
    const project = repo();
    agent(project, `echo '${DONE}'`);
    const { code, stdout } = await ralph(['run', ...PROMPT, '--sandbox=auto'], {
      cwd: project.dir,
      env: { PATH: barePath() },
    });
    expect(code).toBe(0);
    expect(stdout.replace(/\s+/g, ' ')).toContain('NO SANDBOX works here: agent and checks run as you');
  });

  test('a provider nobody knows is an error with the names', async () => {
    const project = repo();
    const { code, stderr } = await ralph(['run', ...PROMPT, '--agent', 'cat', '--sandbox=sr'], {
      cwd: project.dir,
    });
    expect([code, stderr]).toEqual([2, expect.stringContaining('did you mean srt?')]);
  });
});

test('--hide-env keeps variables from agent and checks, sandbox or not', async () => {
  const project = repo();
  agent(project, `test -z "$AWS_REGION$MY_TOKEN" && echo "$OTHER ${DONE}"`, {
    guardrails: [{ command: 'test -z "$AWS_REGION$MY_TOKEN" && test -n "$OTHER"' }],
  });
  const env = { AWS_REGION: 'moon', MY_TOKEN: 'abcdefgh', OTHER: 'seen' };
  const args = ['run', ...PROMPT, '-m', '1', '--hide-env', 'AWS_*', '--hide-env', 'my_token'];
  const { code } = await ralph(args, { cwd: project.dir, env });
  expect(code).toBe(0);
});

const works = (await srt.probe({ cwd: '/', env: process.env, container: { args: [] } })).ok;

describe.skipIf(!works)('in srt', () => {
  test('agent and checks run inside; what was stopped is shown, kept and fed back', {
    tags: ['promise', 'P-sandbox'],
  }, async () => {
    const project = repo();
    project.settings({
      guardrails: [{ command: 'test "$RALPH_SANDBOX" = srt && ! touch /etc/ralph-check' }],
    });
    agent(
      project,
      `echo x > /etc/ralph-agent; mkdir -p .claude; echo {} > .claude/settings.json
       if test -e again; then echo '${DONE}'; else touch again; fi`,
      { guardrails: [{ command: 'test "$RALPH_SANDBOX" = srt && ! touch /etc/ralph-check' }] },
    );
    const temporary = folder('rt').dir; // short: a socket's path has no room for more
    const args = ['run', ...PROMPT, '--sandbox=srt', '-m', '2'];
    const { code, stdout } = await ralph(args, { cwd: project.dir, env: { TMPDIR: temporary } });
    expect(code).toBe(0);
    expect(stdout).toContain('Blocked by the sandbox: write /etc/ralph-agent');
    expect(stdout).toContain('  Sandbox: srt (');
    const events = ledger(project);
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'denied', what: 'write /etc/ralph-agent' }),
    );
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'denied', what: 'write /etc/ralph-check' }),
    );
    expect(events[0]).toMatchObject({ type: 'run-started', sandbox: expect.stringContaining('srt') });
    expect(project.read('.ralph/prompt_002.txt')).toMatch(
      /^The sandbox stopped this in the last turn or its checks.*write \/etc\/ralph-agent.*$/m,
    );
    // What another program would obey is moved away.
    expect(existsSync(project.path('.claude/settings.json'))).toBe(false);
    const status = await ralph(['status'], { cwd: project.dir });
    expect(status.stdout).toContain('in srt');
    expect(readdirSync(temporary)).toEqual([]);
  });

  test('a PRD is built inside, and the marker of its run is out of reach', async () => {
    const story = {
      id: 'US-001',
      title: 'Make it',
      description: 'Make made.txt',
      acceptanceCriteria: ['made.txt is there'],
      priority: 1,
      passes: false,
      reviewStatus: null,
      reviewCount: 0,
      reviewFeedback: '',
      notes: '',
      dependsOn: [],
    };
    const list = {
      project: 'p',
      branchName: 'main',
      description: 'd',
      verifyCommands: [],
      userStories: [story],
    };
    const files = {
      'prd.md': '# p\n',
      'progress.txt': '',
      'prompt.md': 'Do it.\n',
      'tasks.json': JSON.stringify(list),
    };
    const project = repo(
      Object.fromEntries(Object.entries(files).map(([name, text]) => [`ralph/${name}`, text])),
    );
    const step = `const fs = require('fs'), p = 'ralph/tasks.json', t = JSON.parse(fs.readFileSync(p)), s = t.userStories[0];
      if (s.reviewStatus === null) s.reviewStatus = 'needs_review';
      else Object.assign(s, { passes: true, reviewStatus: 'approved', reviewCount: 1 });
      fs.writeFileSync(p, JSON.stringify(t));`;
    agent(
      project,
      `touch made.txt; (echo x > .ralph-active) 2> /dev/null && echo REACHED
       '${process.execPath}' -e "${step.replaceAll('\n', ' ')}"
       git add -A && git commit -qm work`,
    );
    const { code, stdout } = await ralph(['prd', 'run', '--sandbox=srt', '-n', '4'], { cwd: project.dir });
    expect(stdout).not.toContain('REACHED');
    expect([code, JSON.parse(project.read('ralph/tasks.json')).userStories[0].reviewStatus]).toEqual([
      0,
      'approved',
    ]);
  });

  test('a machine that is slow to find a program has it all the same', async () => {
    const project = repo();
    agent(project, `echo worked > work.txt; echo '${DONE}'`);
    const slow = folder('bin');
    slow.script('which', 'sleep 1.1\ncommand -v "$1"');
    const { code, stderr } = await ralph(['run', ...PROMPT, '--sandbox=srt'], {
      cwd: project.dir,
      path: [slow.dir],
    });
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('not found')]);
    expect(project.read('work.txt')).toBe('worked\n');
  });

  test('Ralph killed: nothing of the sandbox lives on, its own process neither', async () => {
    const project = repo();
    const temporary = folder('rt').dir;
    agent(project, 'echo started; sleep 1000');
    const env = { TMPDIR: temporary };
    const run = startRalph(['run', ...PROMPT, '--sandbox=srt'], { cwd: project.dir, env });
    await run.until('started');
    const ours = () => processesOf(temporary).filter(each => !each.startsWith(`${run.process.pid} `));
    for (const name of ['sleep 1000', 'srt-host'])
      await expect.poll(() => ours().some(each => each.includes(name))).toBe(true);
    run.process.kill('SIGKILL');
    await expect.poll(ours).toEqual([]);
  });

  test('the second signal ends everything inside at once', async () => {
    const project = repo();
    const token = `${80_000 + (process.pid % 10_000)}.6`;
    agent(project, `trap '' TERM INT; echo started; sleep ${token}`);
    const run = startRalph(['run', ...PROMPT, '--sandbox=srt'], { cwd: project.dir });
    await run.until('started');
    run.process.kill('SIGINT');
    await run.until('shutting down');
    run.process.kill('SIGINT');
    expect((await run.finished).code).toBe(130);
    expect(processesOf(token)).toEqual([]);
  });
});

/** All processes that have the token in their arguments or their environment. */
function processesOf(token: string): readonly string[] {
  return readdirSync('/proc').flatMap(pid => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return [];
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
      return command.includes(token) || environment.includes(token)
        ? [`${pid} ${command.slice(0, 200)}`]
        : [];
    } catch {
      return [];
    }
  });
}

/** Plays sbx as its documentation has it: notes every call, and runs what `exec` is given. */
const FAKE_SBX = `#!/bin/sh
printf '%s\\n' "$*" >> "$SBX_LOG"
case $1 in
  exec)
    shift
    while :; do
      case $1 in
        -i) shift ;;
        -w) cd "$2"; shift 2 ;;
        -e) export "$2"; shift 2 ;;
        *) break ;;
      esac
    done
    shift
    exec "$@" ;;
esac
`;

describe('the contract with sbx', () => {
  async function withSbx(args: readonly string[], settings = {}, sbx = FAKE_SBX) {
    const project = repo();
    const { dir: bin, script } = folder('ralph-sbx-bin-');
    script('sbx', sbx);
    const log = join(bin, 'log');
    agent(project, `echo "$IS_SANDBOX $RALPH_SANDBOX ${DONE}"`, settings);
    const env = { SBX_LOG: log, NPM_TOKEN: 'abcdefghijk' };
    const ended = await ralph(['run', ...PROMPT, '-m', '1', ...args], { cwd: project.dir, path: [bin], env });
    const calls = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
    return { ...ended, calls, project };
  }

  test('one machine for the run: made, told its hosts, used for agent and checks, removed', async () => {
    const { code, stdout, calls, project } = await withSbx(['--sandbox'], {
      guardrails: [{ command: 'true' }],
    });
    expect(code).toBe(0);
    expect(stdout).toContain('1 sbx');
    const verbs = calls.map(call => call.split(' ').slice(0, 2).join(' '));
    expect(verbs).toEqual([
      'ls',
      'create --name',
      'exec -i',
      'exec -i',
      expect.stringMatching(/^rm --force/),
    ]);
    const name = /--name (\S+) shell/.exec(calls[1] ?? '')?.[1] ?? '';
    expect(calls[1]).toContain(`${realpathSync(project.dir)} `);
    expect(calls[1]).toContain(`${realpathSync(project.dir)}/.git/hooks:ro`);
    expect(calls[2]).toContain(`-w ${realpathSync(project.dir)} `);
    expect(calls[2]).not.toContain('abcdefghijk');
    expect(calls.at(-1)).toBe(`rm --force ${name}`);
  });

  test.each([
    ['allowlist', ['allow example.org', 'allow *.example.com']],
    ['none', ['deny *']],
    ['open', ['allow *']],
  ])('network %s is told to sbx, for this machine alone', async (network, rules) => {
    const sandbox = { network, allowDomains: ['example.org', '*.example.com'] };
    const { calls } = await withSbx(['--sandbox=sbx'], { sandbox });
    const told = calls.flatMap(call => {
      const [, verb, name, host] = /^policy (\w+) network --sandbox (\S+) (.*)$/.exec(call) ?? [];
      return name?.startsWith('ralph-') ? [`${verb} ${host}`] : [];
    });
    expect(told).toEqual(rules);
  });

  test('a machine that cannot be made is a problem with its words, and is removed', async () => {
    const broken = FAKE_SBX.replace('case $1 in', 'case $1 in\n  create) echo "no KVM here" >&2; exit 1 ;;');
    const { code, stderr, calls } = await withSbx(['--sandbox=sbx'], {}, broken);
    expect(code).toBe(2);
    expect(stderr).toContain('no KVM here');
    expect(calls.at(-1)).toMatch(/^rm --force ralph-/);
  });

  test('not logged in is told, with the way out', async () => {
    const out = '#!/bin/sh\necho "not logged in" >&2; exit 1\n';
    const { code, stderr } = await withSbx(['--sandbox=sbx'], {}, out);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/sbx: not logged in \(sbx login\)/)]);
  });
});
