/** The guard as hosts call it: on when it should be, each host answered in its own way, and closed when it fails. */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ralph } from '../rig/ralph.ts';
import { type Repo, repo } from '../rig/repo.ts';

const BEFORE: Readonly<Record<string, string>> = { gemini: 'BeforeTool', opencode: 'tool.execute.before' };
const HOSTS = ['claude', 'codex', 'copilot', 'qwen', 'gemini', 'opencode'];
const bash = (command: unknown) => ({ tool_name: 'Bash', tool_input: { command } });

async function ask(project: Repo, input: unknown, { host = 'claude', env = {} } = {}) {
  const text =
    typeof input === 'string'
      ? input
      : JSON.stringify({ session_id: 's', cwd: project.dir, ...Object(input) });
  const args = ['hook', host, BEFORE[host] ?? 'PreToolUse'];
  const { code, stdout, stderr } = await ralph(args, { cwd: project.dir, env, input: text });
  expect([code, stderr]).toEqual([0, '']);
  return stdout === '' ? undefined : JSON.parse(stdout);
}

function guarded(guard: Readonly<Record<string, unknown>> = {}, more = {}): Repo {
  const project = repo();
  project.write('.ralph/settings.json', JSON.stringify({ guard: { enabled: true, ...guard }, ...more }));
  return project;
}

const reasonOf = (answer: unknown): string => {
  const { hookSpecificOutput, reason } = (answer ?? {}) as Record<string, never> & { reason?: string };
  return (
    reason ??
    (hookSpecificOutput as { permissionDecisionReason?: string } | undefined)?.permissionDecisionReason ??
    ''
  );
};

describe('every host', () => {
  test.each(HOSTS)('%s is answered in its own way', { tags: ['promise', 'P-hook-hosts'] }, async host => {
    const project = guarded();
    const answer = await ask(project, bash('rm -rf /'), { host });
    expect(reasonOf(answer)).toMatch(
      /^Ralph's guard refused this: `rm -rf \/`: it deletes files of the system/,
    );
    if (host === 'gemini') expect(answer).toMatchObject({ decision: 'deny' });
    else if (host === 'opencode') expect(answer).toMatchObject({ kind: 'deny' });
    else expect(answer).toMatchObject({ hookSpecificOutput: { permissionDecision: 'deny' } });
    expect(await ask(project, bash('npm test'), { host })).toBeUndefined();
  });
});

describe('when it is on', () => {
  test('not at all without a loop, unless the settings say so', async () => {
    expect(await ask(repo(), bash('rm -rf /'))).toBeUndefined();
    expect(await ask(guarded({ enabled: false }), bash('rm -rf /'))).toBeUndefined();
  });

  test('while a loop runs in this session, and its ledger has what was refused', {
    tags: ['promise', 'P-guard'],
  }, async () => {
    const project = repo();
    const start = {
      session_id: 's',
      cwd: project.dir,
      command_name: 'ralph:ralph-loop',
      command_args: 'Do it --completion-promise X',
    };
    await ralph(['hook', 'claude', 'UserPromptExpansion'], {
      cwd: project.dir,
      input: JSON.stringify(start),
    });
    expect(reasonOf(await ask(project, bash('rm -rf ~')))).toContain('delete-home');
    expect(await ask(project, bash('git reset --hard'))).toMatchObject({
      hookSpecificOutput: { additionalContext: expect.stringContaining('with a warning') },
    });
    expect(await ask(project, { ...bash('rm -rf ~'), session_id: 'another' })).toBeUndefined();
    const [run = ''] = readdirSync(join(project.dir, '.ralph/runs'));
    const ledger = project.read(`.ralph/runs/${run}/events.jsonl`);
    expect(ledger).toContain('"refused":true');
    expect(ledger).toContain('Guard: `git reset --hard`');
  });
});

describe('what it looks at', () => {
  test.each([
    ['Write', { file_path: '.git/hooks/pre-commit' }, 'write-git'],
    ['Edit', { file_path: 'test/a.test.ts' }, 'write-protected'],
    ['MultiEdit', { file_path: '/etc/hosts' }, 'write-system'],
    ['NotebookEdit', { notebook_path: '.ralph/runs/x.ipynb' }, 'write-protected'],
    ['write_file', { file_path: '~/.bashrc' }, 'write-start-up'],
    ['edit', { filePath: '.claude/settings.json' }, 'write-agent-settings'],
    ['create', { path: '.ralph-active' }, 'write-protected'],
    ['Read', { file_path: '~/.ssh/id_rsa' }, 'read-secret'],
    [
      'apply_patch',
      { command: '*** Begin Patch\n*** Update File: .git/config\n+x\n*** End Patch' },
      'write-git',
    ],
    [
      'apply_patch',
      { input: '*** Begin Patch\n*** Delete File: test/a.test.ts\n*** End Patch' },
      'write-protected',
    ],
    ['apply_patch', { input: '\n*** Begin Patch\n*** Add File: test/b\n+x' }, 'write-protected'],
    [
      'shell',
      { command: ['apply_patch', '*** Begin Patch\n*** Update File: test/a\n+x\n*** End Patch'] },
      'write-protected',
    ],
    ['shell', { command: ['rm', '-rf', 'etc'], workdir: '/' }, 'delete-system'],
    ['run_shell_command', { command: 'rm a.test.ts', directory: 'test' }, 'write-protected'],
    ['Grep', { pattern: '.', path: '~/.ssh/id_rsa' }, 'read-secret'],
    ['read_many_files', { paths: ['src/a.ts', '~/.netrc'] }, 'read-secret'],
    ['mcp__files__move_file', { source: 'x', destination: 'test/a' }, 'write-protected'],
    ['multi_edit', { edits: [{ file_path: 'test/a', new_string: 'x' }] }, 'write-protected'],
    ['mcp__editor__write', { uri: 'file:///etc/hosts' }, 'write-system'],
    ['shell', { command: ['bash', '-lc', 'rm -rf /'] }, 'delete-system'],
    ['exec_command', { cmd: 'rm -rf /' }, 'delete-system'],
    ['run_shell_command', { command: 'rm -rf /' }, 'delete-system'],
    ['Bash', { command: 42 }, 'no text'],
  ])('%s %j', async (name, input, rule) => {
    const project = guarded({}, { protect: ['test/**'] });
    expect(reasonOf(await ask(project, { tool_name: name, tool_input: input }))).toContain(rule);
  });

  test.each([
    ['Write', { file_path: 'src/a.ts' }],
    ['Read', { file_path: 'src/a.ts' }],
    ['Read', { file_path: '.ralph/settings.json' }],
    ['Grep', { pattern: 'rm -rf /', path: '.' }],
    ['WebFetch', { url: 'https://example.com' }],
    ['Task', { prompt: 'rm -rf /' }],
    ['TodoWrite', { todos: [] }],
    ['Write', { file_path: 'src/a.ts', content: '*** Begin Patch\n*** Add File: test/b' }],
    ['create', { path: 'src/a.ts', file_text: '/etc/hosts' }],
    ['shell', { command: ['ls'], workdir: 'src' }],
    ['apply_patch', { input: '*** Begin Patch\n*** Add File: src/a.ts\n+rm -rf /\n*** End Patch' }],
  ])('%s %j is let through', async (name, input) => {
    expect(await ask(guarded(), { tool_name: name, tool_input: input })).toBeUndefined();
  });

  test('a script that was written before is read when it is run', async () => {
    const project = guarded();
    project.write('clean.sh', '#!/bin/sh\ncd /\nrm -rf *\n');
    project.write('tool', '#!/usr/bin/env node\n// rm -rf /\n');
    project.write('fine.sh', 'git reset --hard\nif [ -z "$X" ]; then echo it is; fi\n');
    for (const command of [
      'sh clean.sh',
      './clean.sh',
      'bash -x ./clean.sh',
      '. ./clean.sh',
      'cd . && sh clean.sh',
    ]) {
      expect(reasonOf(await ask(project, bash(command)))).toContain('(in clean.sh)');
    }
    for (const command of ['./tool', 'sh fine.sh', 'cat clean.sh', 'sh missing.sh']) {
      expect(await ask(project, bash(command))).toBeUndefined();
    }
  });
});

describe('the settings', () => {
  test('allow silences a rule or a command, and nothing beside it', async () => {
    const project = guarded({ allow: ['publish', 'terraform destroy -target=*'] });
    expect(await ask(project, bash('npm publish'))).toBeUndefined();
    expect(await ask(project, bash('terraform destroy -target=x'))).toBeUndefined();
    expect(reasonOf(await ask(project, bash('terraform destroy')))).toContain('terraform-destroy');
    expect(reasonOf(await ask(project, bash('npm publish && rm -rf /')))).toContain('delete-system');
  });

  test('deny adds to it, also where the command hides', async () => {
    const project = guarded({ deny: ['make deploy*'] });
    expect(reasonOf(await ask(project, bash('bash -c "make deploy"')))).toContain('guard.deny: make deploy*');
    expect(await ask(project, bash('make build'))).toBeUndefined();
  });
});

describe('it fails closed', () => {
  test('a command that is no shell is refused with the reason', { tags: 'promise' }, async () => {
    expect(reasonOf(await ask(guarded(), bash('echo "open')))).toContain('cannot be read as shell');
  });

  test('in a run: a call that cannot be read, and orders that cannot be read', async () => {
    const project = repo();
    const orders = {
      run: project.dir,
      root: project.dir,
      given: false,
      guard: { allow: [], deny: [], protect: [] },
    };
    const env = { RALPH_HOOKS: JSON.stringify(orders) };
    expect(reasonOf(await ask(project, 'garbage', { env }))).toContain('cannot be read');
    expect(reasonOf(await ask(project, bash('rm -rf /'), { env }))).toContain('delete-system');
    expect(project.read('hook-notes.jsonl')).toContain('"refused":true');
  });

  test('without its rules it refuses', async () => {
    const project = guarded();
    for (const name of ['ralph-hook.cjs', 'ralph-hook-main.cjs']) {
      const program = join(import.meta.dirname, '../../plugins/claude/bin', name);
      project.write(`alone/${name}`, readFileSync(program, 'utf8'));
    }
    const { spawnSync } = await import('node:child_process');
    const { stdout } = spawnSync(process.execPath, ['alone/ralph-hook.cjs', 'claude', 'PreToolUse'], {
      cwd: project.dir,
      input: JSON.stringify({ session_id: 's', cwd: project.dir, ...bash('npm test') }),
      encoding: 'utf8',
    });
    expect(reasonOf(JSON.parse(stdout))).toContain('could not be judged');
    rmSync(join(project.dir, 'alone'), { recursive: true });
  });
});
