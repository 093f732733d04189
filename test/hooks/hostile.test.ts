/** Whatever a host sends, a hook answers with its JSON or with nothing, and never ends a loop that nobody claimed. */
import { readdirSync, symlinkSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runHook } from '../../src/hooks/main.ts';
import { findSession, parseState, writeSession } from '../../src/store/session-file.ts';
import { folder, repo } from '../rig/repo.ts';
import { examples } from '../rig/thorough.ts';

const STATE = '.claude/ralph-loop.local.md';
const SESSION = 's1';

const loop = parseState(
  '---\niteration: 1\nmax_iterations: 0\ncompletion_promise: "DONE"\nsession_id: "s1"\n---\nDo it',
);
if ('problem' in loop) throw new Error(loop.problem);

const EVENTS = [
  'Stop',
  'AfterAgent',
  'agentStop',
  'UserPromptSubmit',
  'UserPromptExpansion',
  'BeforeAgent',
  'SessionStart',
  'PostToolBatch',
  'PostToolUse',
  'AfterTool',
  'step-finish',
  'text.complete',
  'chat.message',
  'PreToolUse',
  'BeforeTool',
  'tool.execute.before',
  'Nonsense',
];
const FIELDS = [
  'session_id',
  'prompt_id',
  'cwd',
  'transcript_path',
  'last_assistant_message',
  'background_tasks',
  'agent_id',
  'prompt',
  'prompt_response',
  'source',
  'command_name',
  'command_args',
  'tool_calls',
  'timestamp',
  'stop_hook_active',
  'text',
  'turn_id',
  'tool_name',
  'tool_input',
];

const odd = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(
    's1',
    '../../x',
    '\u0000',
    '/dev/null',
    '.',
    '__proto__',
    '<promise>done</promise>',
    -1,
    1e308,
  ),
);
const input = fc.dictionary(fc.constantFrom(...FIELDS), odd, { maxKeys: FIELDS.length });

test.each(['claude', 'codex', 'copilot', 'qwen', 'gemini'])(
  '%s: a transcript that is a folder is none',
  async host => {
    const project = repo();
    writeSession(project.path(STATE), loop);
    for (const event of ['Stop', 'agentStop', 'AfterAgent']) {
      const stdin = JSON.stringify({ session_id: SESSION, transcript_path: '.' });
      const env = { CLAUDE_PROJECT_DIR: project.dir, GEMINI_PROJECT_DIR: project.dir };
      expect(await runHook(host, event, stdin, env)).not.toContain('hook failed');
    }
  },
);

const NASTY = 'a\x1b]0;x\x07\x1b[2J\x9b31m\u202eb';
const NO_LETTER = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/;

test.each<[string, string, Record<string, unknown>, string]>([
  [
    'a file that came with the repository',
    'UserPromptSubmit',
    { session_id: 's2', prompt: 'Hi' },
    'stranger',
  ],
  [
    'a command in the background',
    'Stop',
    { last_assistant_message: 'x', background_tasks: [{ type: 'shell', command: NASTY }] },
    STATE,
  ],
  ['why it is blocked', 'Stop', { last_assistant_message: `<blocked>${NASTY}</blocked>` }, STATE],
  ['a command that is refused', 'PreToolUse', { tool_input: { command: `rm -rf / '${NASTY}'` } }, STATE],
])('what people are shown is letters: %s', async (_, event, input, there) => {
  const project = repo();
  project.write(`.claude/ralph-loop.${NASTY}.local.md`, `---\niteration: "${NASTY}"\n---\nx`);
  if (there === STATE) writeSession(project.path(STATE), loop);
  const stdin = JSON.stringify({ session_id: SESSION, cwd: project.dir, tool_name: 'Bash', ...input });
  const answer = JSON.parse(await runHook('claude', event, stdin, { CLAUDE_PROJECT_DIR: project.dir }));
  const shown = answer.systemMessage ?? answer.hookSpecificOutput.permissionDecisionReason;
  expect(shown).toContain('a31mb');
  expect(shown).not.toMatch(NO_LETTER);
});

test('a named link is not followed to write what the context monitor has said', async () => {
  const [project, elsewhere] = [repo(), folder()];
  project.settings({ contextMonitor: { enabled: true, window: 1_000 } });
  symlinkSync(elsewhere.dir, project.path('.ralph/context'));
  project.write('t', 'x'.repeat(8_000));
  const stdin = JSON.stringify({ session_id: SESSION, transcript_path: project.path('t') });
  const answer = await runHook('claude', 'PostToolBatch', stdin, { CLAUDE_PROJECT_DIR: project.dir });
  expect([answer.includes('CRITICAL'), readdirSync(elsewhere.dir)]).toEqual([true, []]);
});

test.each(['claude', 'codex', 'copilot', 'qwen', 'gemini', 'opencode'])(
  '%s',
  async host => {
    const project = repo();
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...EVENTS), input, fc.boolean(), async (event, fields, isMine) => {
        writeSession(project.path(STATE), loop);
        const stdin = JSON.stringify(isMine ? { ...fields, session_id: SESSION } : fields);
        const answer = await runHook(host, event, stdin, {
          CLAUDE_PROJECT_DIR: project.dir,
          GEMINI_PROJECT_DIR: project.dir,
        });
        if (answer !== '') expect(JSON.parse(answer)).toBeTypeOf('object');
        expect(answer).not.toContain('hook failed');
        // It may sleep, count or go on; only /cancel-ralph, a new loop or the promise end it.
        const ended = /cancel-ralph|ralph-loop|ulw-loop/.test(JSON.stringify(fields));
        if (!ended) expect(findSession(project.dir, SESSION)).toBeDefined();
      }),
      examples(300),
    );
  },
  60_000,
);
