/** The context monitor as hosts call it, on transcripts of theirs. */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ralph } from '../rig/ralph.ts';
import { type Repo, repo } from '../rig/repo.ts';

const RECORDED = join(import.meta.dirname, 'transcripts/claude-compact.jsonl');

function watched(window?: number): Repo {
  const project = repo();
  project.settings({ contextMonitor: { enabled: true, ...(window !== undefined && { window }) } });
  return project;
}

async function call(
  project: Repo,
  event: string,
  more: object = {},
  host = 'claude',
  env: Record<string, string> = {},
) {
  const input = { session_id: 's', cwd: project.dir, transcript_path: project.path('t.jsonl'), ...more };
  const { code, stdout } = await ralph(['hook', host, event], {
    cwd: project.dir,
    input: JSON.stringify(input),
    env,
  });
  expect(code).toBe(0);
  return stdout === '' ? undefined : (JSON.parse(stdout).hookSpecificOutput.additionalContext as string);
}

const used = (tokens: number, more: object = {}) =>
  `${JSON.stringify({ type: 'assistant', isSidechain: false, message: { model: 'claude-opus-5-5', usage: { input_tokens: tokens - 100, cache_read_input_tokens: 50, output_tokens: 50 } }, ...more })}\n`;

describe('Claude Code', () => {
  test('tells at each threshold once, from what the transcript says was used', {
    tags: ['promise', 'P-monitor'],
  }, async () => {
    const project = watched(100_000);
    const told: (string | undefined)[] = [];
    for (const tokens of [20_000, 52_000, 55_000, 73_000, 74_000, 95_000]) {
      appendFileSync(project.path('t.jsonl'), used(tokens));
      told.push((await call(project, 'PostToolBatch'))?.slice(0, 35));
    }
    expect(told).toEqual([
      undefined,
      '[NOTICE] Your context is about 52% ',
      undefined,
      '[WARNING] Your context is about 73%',
      undefined,
      '[CRITICAL] Your context is about 95',
    ]);
  });

  test.each([
    ['50000', undefined, '80%'],
    ['50000', 80_000, '50%'],
    ['many', 80_000, '50%'],
  ])(
    'CLAUDE_CONTEXT_WINDOW=%s says how much the context takes, unless the settings do (%s)',
    async (tokens, window, share) => {
      const project = watched(window);
      writeFileSync(project.path('t.jsonl'), used(40_000));
      const env = { CLAUDE_CONTEXT_WINDOW: tokens };
      expect(await call(project, 'PostToolBatch', {}, 'claude', env)).toContain(share);
    },
  );

  test('a session that begins anew, or was compacted, is told again; another session is another matter', async () => {
    const project = watched(100_000);
    writeFileSync(project.path('t.jsonl'), used(60_000));
    expect(await call(project, 'PostToolBatch')).toContain('60%');
    expect(await call(project, 'PostToolBatch')).toBeUndefined();
    expect(await call(project, 'PostToolBatch', { session_id: '../../other' })).toContain('60%');
    expect(existsSync(project.path('.ralph/context/s.json'))).toBe(true);
    await call(project, 'SessionStart', { source: 'compact' });
    expect(await call(project, 'PostToolBatch')).toContain('60%');
  });

  test('sub-agents and the words of the client itself do not count', async () => {
    const project = watched(100_000);
    const client = used(99_000, { message: { model: '<synthetic>', usage: { input_tokens: 99_000 } } });
    writeFileSync(project.path('t.jsonl'), used(20_000) + used(99_000, { isSidechain: true }) + client);
    expect(await call(project, 'PostToolBatch')).toBeUndefined();
    writeFileSync(project.path('t.jsonl'), used(60_000));
    expect(await call(project, 'PostToolBatch', { agent_id: 'a' })).toBeUndefined();
  });

  test('the window is the model’s, where it is not set', async () => {
    const project = watched();
    writeFileSync(project.path('t.jsonl'), used(600_000));
    expect(await call(project, 'PostToolBatch')).toContain('600k of 1000k');
  });

  test('a recorded session that was compacted: what counts is after it', async () => {
    const project = watched(100_000);
    const lines = readFileSync(RECORDED, 'utf8').trimEnd().split('\n');
    const boundary = lines.findIndex(line => line.includes('compact_boundary'));
    expect(boundary).toBeGreaterThan(0);
    writeFileSync(project.path('t.jsonl'), `${lines.slice(0, boundary).join('\n')}\n`);
    expect(await call(project, 'PostToolBatch')).toMatch(/^\[CRITICAL\]/);
    writeFileSync(project.path('t.jsonl'), `${lines.join('\n')}\n`);
    expect(await call(project, 'PostToolBatch')).toBeUndefined();
  });

  test('a long transcript costs no more: its end is read, also behind a record of a megabyte', async () => {
    const project = watched(100_000);
    const blob = `${JSON.stringify({ type: 'api-request-blob', blob: 'x'.repeat(1_000_000) })}\n`;
    writeFileSync(project.path('t.jsonl'), `${'\n'.repeat(30_000_000)}${used(71_000)}${blob}`);
    expect(await call(project, 'PostToolBatch')).toContain('71%');
  });

  test('without a word of what was used, its size is a guess', async () => {
    const project = watched(100_000);
    writeFileSync(project.path('t.jsonl'), 'x'.repeat(248_000));
    expect(await call(project, 'PostToolBatch')).toContain('62%');
    expect(await call(watched(), 'PostToolBatch')).toBeUndefined();
  });

  test('it is off unless the settings say so', async () => {
    const project = repo();
    writeFileSync(project.path('t.jsonl'), used(990_000));
    expect(await call(project, 'PostToolBatch')).toBeUndefined();
  });
});

test.each([
  [
    'codex',
    'PostToolUse',
    {
      type: 'event_msg',
      payload: {
        type: 'token_count',
        info: {
          last_token_usage: { input_tokens: 80_000, output_tokens: 1_000 },
          model_context_window: 100_000,
        },
      },
    },
  ],
  [
    'gemini',
    'AfterTool',
    { type: 'gemini', model: 'gemini-2.5-pro', tokens: { input: 849_000, output: 1_000 } },
  ],
  [
    'qwen',
    'PostToolBatch',
    {
      type: 'assistant',
      model: 'x',
      contextWindowSize: 100_000,
      usageMetadata: { promptTokenCount: 81_000 },
    },
  ],
])('%s tells it in its own words', async (host, event, record) => {
  const project = watched();
  writeFileSync(project.path('t.jsonl'), `${JSON.stringify(record)}\n`);
  expect(await call(project, event, {}, host)).toContain('81%');
});
