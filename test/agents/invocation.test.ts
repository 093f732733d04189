/** How each agent is called: the prompt is never among the words, and the user's own flags win. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { AgentAdapter, AgentRequest } from '../../src/agents/agent.ts';
import { amp } from '../../src/agents/amp/adapter.ts';
import { claude } from '../../src/agents/claude/adapter.ts';
import { codex } from '../../src/agents/codex/adapter.ts';
import { copilot } from '../../src/agents/copilot/adapter.ts';
import { gemini } from '../../src/agents/gemini/adapter.ts';
import { generic } from '../../src/agents/generic/adapter.ts';
import { opencode } from '../../src/agents/opencode/adapter.ts';
import { qwen } from '../../src/agents/qwen/adapter.ts';

const SCRATCH = '/tmp/scratch/0001';
const BYPASS = '--dangerously-bypass-approvals-and-sandbox';
const COPILOT_QUIET = '--no-color --no-ask-user --no-auto-update';
const COPILOT_USAGE = `--usage-output-file ${SCRATCH}.usage.json`;

type Case = readonly [adapter: AgentAdapter, request: Partial<AgentRequest>, words: string];

const STREAM_SKIP: Partial<AgentRequest> = { mode: 'stream', permissions: 'skip' };
const STREAM_HOST: Partial<AgentRequest> = { mode: 'stream', permissions: 'host' };
const TEXT_SKIP: Partial<AgentRequest> = { mode: 'text', permissions: 'skip' };
const TEXT_HOST: Partial<AgentRequest> = { mode: 'text', permissions: 'host' };

const PLAIN: readonly Case[] = [
  [claude, STREAM_SKIP, '-p --output-format stream-json --verbose --dangerously-skip-permissions'],
  [claude, STREAM_HOST, '-p --output-format stream-json --verbose'],
  [claude, TEXT_SKIP, '-p --output-format text --dangerously-skip-permissions'],
  [claude, TEXT_HOST, '-p --output-format text'],
  [codex, STREAM_SKIP, `e --json ${BYPASS} -`],
  [codex, STREAM_HOST, 'e --json -s workspace-write --skip-git-repo-check -'],
  [codex, TEXT_SKIP, `e -o ${SCRATCH}.reply.txt ${BYPASS} -`],
  [codex, TEXT_HOST, `e -o ${SCRATCH}.reply.txt -s workspace-write --skip-git-repo-check -`],
  [amp, STREAM_SKIP, '--stream-json --dangerously-allow-all -x'],
  [amp, STREAM_HOST, '--stream-json --dangerously-allow-all -x'],
  [amp, TEXT_SKIP, '--dangerously-allow-all -x'],
  [amp, TEXT_HOST, '--dangerously-allow-all -x'],
  [opencode, STREAM_SKIP, 'run --format json --auto'],
  [opencode, STREAM_HOST, 'run --format json'],
  [opencode, TEXT_SKIP, 'run --auto'],
  [opencode, TEXT_HOST, 'run'],
  [gemini, STREAM_SKIP, '-o stream-json --skip-trust --yolo'],
  [gemini, STREAM_HOST, '-o stream-json --skip-trust'],
  [gemini, TEXT_SKIP, '--skip-trust --yolo'],
  [gemini, TEXT_HOST, '--skip-trust'],
  [copilot, STREAM_SKIP, `--output-format json ${COPILOT_QUIET} --allow-all ${COPILOT_USAGE}`],
  [copilot, STREAM_HOST, `--output-format json ${COPILOT_QUIET} ${COPILOT_USAGE}`],
  [copilot, TEXT_SKIP, `-s ${COPILOT_QUIET} --allow-all ${COPILOT_USAGE}`],
  [copilot, TEXT_HOST, `-s ${COPILOT_QUIET} ${COPILOT_USAGE}`],
  [qwen, STREAM_SKIP, '-o stream-json --yolo'],
  [qwen, STREAM_HOST, '-o stream-json'],
  [qwen, TEXT_SKIP, '--yolo'],
  [qwen, TEXT_HOST, ''],
  [generic, STREAM_SKIP, ''],
  [generic, TEXT_HOST, ''],
];

describe('without flags of the user', () => {
  test.each(PLAIN.map(named))('%s is called for %j with the words: %s', (_, request, words, adapter) => {
    expect(wordsOf(adapter, request)).toBe(words);
  });
});

const COLLISIONS: readonly Case[] = [
  [claude, { flags: ['--print', '--verbose'] }, '--output-format stream-json --print --verbose'],
  [claude, { flags: ['--output-format=json'] }, '-p --verbose --output-format=json'],
  [
    claude,
    { permissions: 'skip', flags: ['--permission-mode', 'acceptEdits'] },
    '-p --output-format stream-json --verbose --permission-mode acceptEdits',
  ],
  [
    claude,
    { model: 'opus', flags: ['--model', 'haiku'] },
    '-p --output-format stream-json --verbose --model haiku',
  ],
  [codex, { flags: ['exec', '--json', '-'] }, 'e -s workspace-write --skip-git-repo-check --json -'],
  [codex, { flags: ['--sandbox', 'read-only'] }, 'e --json --skip-git-repo-check --sandbox read-only -'],
  [codex, { flags: ['-c', 'sandbox_mode="x"'] }, 'e --json --skip-git-repo-check -c sandbox_mode="x" -'],
  [codex, { flags: [BYPASS] }, `e --json ${BYPASS} -`],
  [codex, { permissions: 'skip', flags: ['--yolo'] }, 'e --json --yolo -'],
  [
    codex,
    { permissions: 'skip', flags: ['-s', 'read-only'] },
    'e --json --skip-git-repo-check -s read-only -',
  ],
  [codex, { flags: ['--skip-git-repo-check'] }, 'e --json -s workspace-write --skip-git-repo-check -'],
  [codex, { model: 'a', flags: ['-c', 'model="b"', BYPASS] }, `e --json -c model="b" ${BYPASS} -`],
  [codex, { mode: 'text', permissions: 'skip', flags: ['-o', 'mine.txt'] }, `e ${BYPASS} -o mine.txt -`],
  [
    amp,
    { flags: ['--stream-json-thinking', '--execute'] },
    '--dangerously-allow-all --stream-json-thinking --execute',
  ],
  [amp, { model: 'high', flags: ['--mode=low'] }, '--stream-json --dangerously-allow-all --mode=low -x'],
  [opencode, { flags: ['run', '--format', 'default'] }, 'run --format default'],
  [
    opencode,
    { permissions: 'skip', model: 'a/b', flags: ['--auto', '--model', 'c/d'] },
    'run --format json --auto --model c/d',
  ],
  [
    gemini,
    { permissions: 'skip', flags: ['--approval-mode=plan', '--skip-trust'] },
    '-o stream-json --approval-mode=plan --skip-trust',
  ],
  [gemini, { model: 'a', flags: ['-o', 'json', '--model=b'] }, '--skip-trust -o json --model=b'],
  [qwen, { permissions: 'skip', model: 'a', flags: ['-y', '-m', 'b'] }, '-o stream-json -y -m b'],
  [
    copilot,
    { permissions: 'skip', flags: ['--yolo', '--no-color', '--usage-output-file', 'u.json'] },
    '--output-format json --no-ask-user --no-auto-update --yolo --no-color --usage-output-file u.json',
  ],
  [generic, { model: 'm', flags: ['--fast', 'x y'] }, '--fast x y'],
];

describe('with flags of the user', () => {
  test.each(COLLISIONS.map(named))(
    '%s gets no flag twice: %j is called with: %s',
    (_, request, words, adapter) => {
      expect(wordsOf(adapter, request)).toBe(words);
    },
  );

  test.each([
    ['claude', claude, '-p --output-format stream-json --verbose --model m1'],
    ['codex', codex, 'e --json -s workspace-write --skip-git-repo-check -m m1 -'],
    ['amp', amp, '--stream-json --dangerously-allow-all -m m1 -x'],
    ['opencode', opencode, 'run --format json -m m1'],
    ['gemini', gemini, '-o stream-json --skip-trust -m m1'],
    ['qwen', qwen, '-o stream-json -m m1'],
    ['copilot', copilot, `--output-format json ${COPILOT_QUIET} --model m1 ${COPILOT_USAGE}`],
  ] as const)('%s is told the model', (_, adapter, words) => {
    expect(wordsOf(adapter, { model: 'm1' })).toBe(words);
  });
});

describe('files and environment', () => {
  test('claude is kept from working in the background after its last word', () => {
    expect(invoke(claude, {}).env).toEqual({ CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1' });
  });

  test('codex writes its reply to a file in text mode only', () => {
    expect(invoke(codex, { mode: 'text' }).replyFile).toBe(`${SCRATCH}.reply.txt`);
    expect(invoke(codex, { mode: 'stream' }).replyFile).toBeUndefined();
  });

  test('a file that the user has asked for himself is not ours to read and remove', () => {
    expect(invoke(codex, { mode: 'text', flags: ['-o', 'mine.txt'] }).replyFile).toBeUndefined();
    expect(invoke(copilot, { flags: ['--usage-output-file=u.json'] }).reportFile).toBeUndefined();
  });

  test('copilot writes its usage to a file', () => {
    expect(invoke(copilot, {}).reportFile).toBe(`${SCRATCH}.usage.json`);
  });
});

describe('hooks for one process', () => {
  const hooks = { points: ['before-tool', 'stop'], program: ['/bin/node', '/a b/hook.cjs'] } as const;
  const called = (host: string, event: string) => `/bin/node '/a b/hook.cjs' ${host} ${event} run`;

  test.each([claude, copilot])('$name gets a plugin folder, before the flags of the user', adapter => {
    const { argv, folder } = invoke(adapter, { hooks, flags: ['--plugin-dir', 'mine', '--settings', '{}'] });
    expect(argv.join(' ')).toContain(`--plugin-dir ${SCRATCH}.hooks --plugin-dir mine --settings {}`);
    const table = JSON.parse(folder?.files['hooks/hooks.json'] ?? '').hooks;
    expect(Object.keys(table)).toEqual(['PreToolUse', 'Stop']);
    expect(table.PreToolUse[0].hooks[0]).toEqual({
      type: 'command',
      command: called(adapter.name, 'PreToolUse'),
      timeout: 30,
      onFailure: 'block',
    });
  });

  test('qwen gets a file of settings below those of the user', () => {
    const { env, folder } = invoke(qwen, { hooks });
    expect(env).toEqual({ QWEN_CODE_SYSTEM_DEFAULTS_PATH: `${SCRATCH}.hooks/qwen.json` });
    expect(JSON.parse(folder?.files['qwen.json'] ?? '').hooks.Stop[0].hooks[0]).toEqual({
      type: 'command',
      command: called('qwen', 'Stop'),
      timeout: 600,
    });
  });

  test('codex gets flags, and trust for these hooks alone', () => {
    const words = wordsOf(codex, { hooks });
    const command = JSON.stringify(called('codex', 'PreToolUse'));
    expect(words).toContain(`-c hooks.PreToolUse=[{hooks=[{type="command",command=${command},timeout=30}]}]`);
    // To the letter: one that differs is skipped by Codex without a word.
    const identity = `{"event_name":"pre_tool_use","hooks":[{"async":false,"command":${command},"timeout":30,"type":"command"}]}`;
    const hash = createHash('sha256').update(identity).digest('hex');
    expect(words).toContain(
      `"/<session-flags>/config.toml:pre_tool_use:0:0"={trusted_hash="sha256:${hash}"}`,
    );
    expect(words).not.toContain('bypass-hook-trust');
  });

  test.each([gemini, opencode, amp, generic])('$name cannot be given any, and is called as ever', adapter => {
    expect(adapter.hookEvents).toBeUndefined();
    expect(invoke(adapter, { hooks })).toEqual(invoke(adapter, {}));
  });

  test('without a wish there is nothing of it', () => {
    for (const adapter of [claude, copilot, qwen, codex])
      expect(JSON.stringify(invoke(adapter, {}))).not.toMatch(/hooks/);
  });
});

/** The adapter by name, so that a test's title can be read. */
function named([adapter, request, words]: Case) {
  return [adapter.name, request, words, adapter] as const;
}

function wordsOf(adapter: AgentAdapter, request: Partial<AgentRequest>): string {
  const [command, ...words] = invoke(adapter, request).argv;
  expect(command).toBe('/bin/agent');
  return words.join(' ');
}

function invoke(adapter: AgentAdapter, request: Partial<AgentRequest>) {
  return adapter.invocation({
    command: '/bin/agent',
    flags: [],
    mode: 'stream',
    permissions: 'host',
    scratch: SCRATCH,
    ...request,
  });
}
