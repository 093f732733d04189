import { appendFileSync, existsSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { listSessions, parseState, writeSession } from '../../src/store/session-file.ts';
import { runsOf } from '../rig/ledger.ts';
import { ralph } from '../rig/ralph.ts';
import { type Repo, repo } from '../rig/repo.ts';

const STATE = '.claude/ralph-loop.local.md';
const DONE = '<promise>DONE</promise>';

async function hook(project: Repo, event: string, input: unknown, env: Record<string, string> = {}) {
  const text = typeof input === 'string' ? input : JSON.stringify(input);
  const finished = await ralph(['hook', 'claude', event], {
    cwd: project.dir,
    env: { CLAUDE_PROJECT_DIR: project.dir, ...env },
    input: text,
  });
  expect([finished.code, finished.stderr]).toEqual([0, '']);
  return finished.stdout === '' ? undefined : JSON.parse(finished.stdout);
}

const session = { session_id: 's1', prompt_id: 'p1', cwd: '/elsewhere', hook_event_name: 'x' };
const start = (project: Repo, args: string, more = {}) =>
  hook(project, 'UserPromptExpansion', {
    ...session,
    ...more,
    command_name: 'ralph:ralph-loop',
    command_args: args,
  });
const stop = (project: Repo, more: Record<string, unknown> = {}, env: Record<string, string> = {}) =>
  hook(project, 'Stop', { ...session, ...more }, env);
/** As in a session without a transcript: the hook before a tool counts. With one: `tool-calls.test.ts`. */
const tools = async (project: Repo, count = 1) => {
  for (let made = 0; made < count; made++)
    await hook(project, 'PreToolUse', { ...session, tool_name: 'Glob', tool_input: { pattern: '*' } });
};

/** One line of a transcript. */
const line = (id: string, block: Record<string, unknown>, extra: Record<string, unknown> = {}) =>
  `${JSON.stringify({ type: 'assistant', isSidechain: false, message: { id, role: 'assistant', model: 'm', content: [block] }, ...extra })}\n`;
const words = (text: string) => ({ type: 'text', text });

describe('with no loop', () => {
  test('every event passes in silence', { tags: ['promise', 'P-hook-silent'] }, async () => {
    const project = repo();
    for (const event of ['Stop', 'PostToolBatch', 'UserPromptSubmit', 'SessionStart', 'Nonsense']) {
      expect(await hook(project, event, { ...session, last_assistant_message: DONE })).toBeUndefined();
    }
  });

  test.each([
    '',
    'not json',
    '[]',
    'null',
    '{}',
    '{"session_id":5}',
    `{"session_id":"s1","background_tasks":{}}`,
    '{"session_id":"s1"',
  ])('and hostile input %j nothing happens', async input => {
    expect(await hook(repo(), 'Stop', input)).toBeUndefined();
  });
});

describe('the promise', () => {
  test('is found in an earlier block of the final message than the one the host tells', {
    tags: 'promise',
  }, async () => {
    const project = repo();
    await start(project, 'x --completion-promise DONE');
    await tools(project);
    project.write(
      't.jsonl',
      line('m1', { type: 'tool_use', id: 't' }) +
        line('m2', words(`All done. ${DONE}`)) +
        line('m2', words('Summary.')),
    );
    expect(
      await stop(project, { last_assistant_message: 'Summary.', transcript_path: project.path('t.jsonl') }),
    ).toEqual({
      systemMessage: expect.stringContaining('PROMISE_ACCEPTED'),
    });
  });

  test('is found when thinking came after it and the host tells no words', async () => {
    const project = repo();
    await start(project, 'x --completion-promise DONE');
    await tools(project);
    project.write('t.jsonl', line('m2', words(DONE)) + line('m2', { type: 'thinking', thinking: 'hm' }));
    expect(await stop(project, { transcript_path: project.path('t.jsonl') })).toEqual({
      systemMessage: expect.stringContaining('PROMISE_ACCEPTED'),
    });
  });

  test('is found in a transcript that is not written yet when the hook begins', async () => {
    const project = repo();
    await start(project, 'x --completion-promise DONE');
    await tools(project);
    const path = project.path('t.jsonl');
    writeFileSync(path, line('m1', { type: 'tool_use', id: 't' }));
    const asked = stop(project, { transcript_path: path, last_assistant_message: 'Summary.' });
    // In two halves, as a host may write it.
    const late = line('m2', words(DONE)) + line('m2', words('Summary.'));
    appendFileSync(path, late.slice(0, 40));
    setImmediate(() => appendFileSync(path, late.slice(40)));
    expect(await asked).toEqual({ systemMessage: expect.stringContaining('PROMISE_ACCEPTED') });
  });

  test.each<[string, string]>([
    ['an earlier message', line('m1', words(DONE)) + line('m2', words('not yet'))],
    ['a sub-agent', line('m1', words('not yet')) + line('m9', words(DONE), { isSidechain: true })],
    [
      'a tool result',
      `${line('m1', words('not yet'))}${JSON.stringify({ type: 'user', message: { content: [{ type: 'tool_result', content: DONE }] } })}\n`,
    ],
    ['thinking', line('m1', { type: 'thinking', thinking: DONE }) + line('m1', words('not yet'))],
    [
      'the user’s words',
      `${JSON.stringify({ type: 'user', message: { role: 'user', content: DONE } })}\n${line('m1', words('not yet'))}`,
    ],
    [
      'the client’s own words',
      line('m1', words('not yet')) + line('m2', words(DONE)).replace('"model":"m"', '"model":"<synthetic>"'),
    ],
  ])('in %s does not count', async (_, transcript) => {
    const project = repo();
    await start(project, 'x --completion-promise DONE');
    await tools(project);
    project.write('t.jsonl', transcript);
    expect(
      await stop(project, { last_assistant_message: 'not yet', transcript_path: project.path('t.jsonl') }),
    ).toMatchObject({ decision: 'block' });
  });

  test('at the end of a transcript of 100 MB is found as fast as in a short one', async () => {
    const project = repo();
    await start(project, 'x --completion-promise DONE');
    await tools(project);
    const path = project.path('t.jsonl');
    writeFileSync(path, '');
    truncateSync(path, 100_000_000);
    appendFileSync(path, `\n${line('m1', words(DONE))}`);
    expect(await stop(project, { last_assistant_message: null, transcript_path: path })).toEqual({
      systemMessage: expect.stringContaining('PROMISE_ACCEPTED'),
    });
  });

  test('is judged from what the host tells when the transcript is missing', async () => {
    const project = repo();
    await start(project, 'x --completion-promise DONE');
    await tools(project);
    expect(await stop(project, { last_assistant_message: DONE, transcript_path: '/no/such/file' })).toEqual({
      systemMessage: expect.stringContaining('PROMISE_ACCEPTED'),
    });
  });

  test.each<[string, string]>([
    ['<promise>done</promise>', 'in the wrong case'],
    ['<promise> DONE </promise>', 'wrong spaces'],
    ['<promise>DONE', 'is not closed'],
    [`say \`${DONE}\``, 'only quoted'],
    ['<promise>NEARLY</promise>', 'contains other text'],
    ['<PROMISE>DONE</PROMISE>', 'in the wrong case'],
    [`I must not say ${DONE} yet`, 'a sentence that denies it'],
    [`I will output ${DONE} when the tests pass.`, 'promises it for later'],
    [`Should I say ${DONE}?`, 'in a question'],
    [`Like this:\n\`\`\`\n${DONE}\n\`\`\``, 'in a code block'],
  ])('almost right (%s) is told with what was wrong', async (said, why) => {
    const project = repo();
    await start(project, 'x --completion-promise DONE');
    await tools(project);
    const answer = await stop(project, { last_assistant_message: said });
    expect(answer.reason).toContain(why);
    expect(answer.reason).toContain(DONE);
  });
});

describe('work', () => {
  test('is counted in tool calls, and --min-tool-calls wants so many', {
    tags: ['promise', 'P-session-work'],
  }, async () => {
    const project = repo();
    await start(project, 'x --completion-promise DONE --min-tool-calls 3');
    await tools(project, 2);
    expect((await stop(project, { last_assistant_message: DONE })).reason).toContain(
      'no tool calls/work were performed',
    );
    await tools(project);
    expect(await stop(project, { last_assistant_message: DONE })).toEqual({
      systemMessage: expect.stringContaining('PROMISE_ACCEPTED'),
    });
  });

  test.each([
    ['accept', /PROMISE_ACCEPTED$/],
    ['warn', /PROMISE_ACCEPTED \(warning: no tool was called\)$/],
  ])('is not asked for with --on-promise-no-work %s', async (policy, message) => {
    const project = repo();
    await start(project, `x --completion-promise DONE --on-promise-no-work ${policy}`);
    expect(await stop(project, { last_assistant_message: DONE })).toEqual({
      systemMessage: expect.stringMatching(message),
    });
  });
});

describe('nobody is trapped', () => {
  test('another prompt of the user is left alone; the loop sleeps and can be woken', {
    tags: ['promise', 'P-session-free'],
  }, async () => {
    const project = repo();
    await start(project, 'x --completion-promise DONE');
    expect(await stop(project, { prompt_id: 'p2', last_assistant_message: 'an answer' })).toBeUndefined();
    expect(existsSync(project.path(STATE))).toBe(true);
    const woken = await start(project, '', { prompt_id: 'p3' });
    expect(woken.systemMessage).toContain('resumed at iteration 1');
    expect(await stop(project, { prompt_id: 'p3', last_assistant_message: 'x' })).toMatchObject({
      decision: 'block',
    });
  });

  test('a background task that comes back takes the loop with it', async () => {
    const project = repo();
    await start(project, 'x --completion-promise DONE');
    expect(
      await stop(project, { background_tasks: [{ id: 'a', type: 'subagent', status: 'running' }] }),
    ).toBeUndefined();
    await hook(project, 'UserPromptSubmit', {
      ...session,
      prompt_id: 'p2',
      prompt: '<task-notification>done</task-notification>',
    });
    expect(await stop(project, { prompt_id: 'p2', last_assistant_message: 'x' })).toMatchObject({
      decision: 'block',
    });
  });

  test('a server in the background does not hold the loop up', async () => {
    const project = repo();
    await start(project, 'x --completion-promise DONE');
    expect(
      await stop(project, {
        background_tasks: [{ id: 'a', type: 'shell', status: 'running' }],
        last_assistant_message: 'x',
      }),
    ).toMatchObject({ decision: 'block' });
  });

  test('two sessions have a loop each, and neither can end or steer the other', {
    tags: ['promise', 'P-session-two'],
  }, async () => {
    const project = repo();
    await start(project, 'one --completion-promise A');
    await start(project, 'two --completion-promise B', { session_id: 's2' });
    expect(readdirSync(project.path('.claude')).sort()).toEqual([
      'ralph-loop.local.md',
      'ralph-loop.s2.local.md',
    ]);
    expect(
      (await stop(project, { session_id: 's2', last_assistant_message: '<promise>A</promise>' })).reason,
    ).toContain('Original task:\ntwo');
    expect(await stop(project, { session_id: 's3', last_assistant_message: 'x' })).toBeUndefined();
    const cancelled = await hook(project, 'UserPromptExpansion', {
      ...session,
      session_id: 's2',
      command_name: 'ralph:cancel-ralph',
      command_args: '',
    });
    expect(cancelled.reason).toContain('was at iteration 2');
    expect(readdirSync(project.path('.claude'))).toEqual(['ralph-loop.local.md']);
  });

  test('sessions whose names look alike have a file each', async () => {
    const project = repo();
    for (const session_id of ['s', 'a.b', 'a_b', 'a/b']) await start(project, 'x', { session_id });
    const sessions = listSessions(project.dir).map(file => 'state' in file && file.state.sessionId);
    expect(sessions.sort()).toEqual(['a.b', 'a/b', 'a_b', 's']);
  });

  test('a session id that is a path stays a name', async () => {
    const project = repo();
    await start(project, 'one');
    await start(project, 'two', { session_id: '../../evil' });
    expect(readdirSync(project.path('.claude')).sort()).toEqual([
      expect.stringMatching(/^ralph-loop\.______evil\.[0-9a-f]{8}\.local\.md$/),
      'ralph-loop.local.md',
    ]);
  });

  test.each([
    ['---\niteration: x\nmax_iterations: 1\n---\ntask', "'iteration' is not a whole number"],
    ['---\niteration: 1\nmax_iterations: -1\n---\ntask', "'max_iterations' is not a whole number"],
    ['---\niteration: 1\nmax_iterations: 0\n---\n \n', 'there is no task'],
    ['---\niteration: 1\nmax_iter', 'no front matter'],
    ['\0\0\0', 'no front matter'],
  ])('a damaged file (%j) of nobody is shown; one of a loop is written again', async (content, problem) => {
    const project = repo();
    project.write(STATE, content);
    const answer = await stop(project, { last_assistant_message: 'x' });
    expect(answer.systemMessage).toContain('is not of a loop that you started here');
    expect(answer.systemMessage).toContain(problem);
    expect(project.read(STATE)).toBe(content);
    rmSync(project.path(STATE));
    await start(project, 'x --completion-promise DONE');
    project.write(STATE, content);
    expect(await stop(project, { last_assistant_message: 'x' })).toMatchObject({
      decision: 'block',
      systemMessage: expect.stringContaining('was changed by somebody else'),
    });
    expect(parseState(project.read(STATE))).toMatchObject({ iteration: 2, task: 'x' });
  });

  test('a hook that fails lets the stop through and says so', {
    tags: ['promise', 'P-hook-open'],
  }, async () => {
    const project = repo();
    await start(project, 'x --completion-promise DONE --check true');
    await tools(project);
    project.git('init', '--quiet');
    project.write('.ralph/runs/x', '');
    const state = parseState(project.read(STATE));
    if ('problem' in state) throw new Error(state.problem);
    writeSession(project.path(STATE), { ...state, runId: 'x/y' });
    const answer = await stop(project, { last_assistant_message: DONE });
    expect(answer.decision).toBeUndefined();
    expect(answer.systemMessage).toContain('failed and let the agent pass');
  });
});

describe('the state file', () => {
  test('is in the project’s root, in the form of seed 000, with the task byte for byte', async () => {
    const project = repo();
    const task = 'one\n---\niteration: 99\n---\n\ttwo';
    await start(project, `${task} --completion-promise DONE --max-iterations 7`);
    const content = project.read(STATE);
    expect(content).toMatch(
      /^---\nactive: true\niteration: 1\nmax_iterations: 7\ncompletion_promise: "DONE"\nstarted_at: "\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"\nsession_id: "s1"\n/,
    );
    expect(content.endsWith(`\n---\n${task}`)).toBe(true);
    expect(parseState(content)).toMatchObject({ task, iteration: 1, maxIterations: 7 });
  });

  test('that seed 000’s script wrote is understood', () => {
    const seed =
      '---\nactive: true\niteration: 3\nmax_iterations: 20\ncompletion_promise: "ALL DONE"\nstarted_at: "2026-01-01T00:00:00Z"\n---\nBuild it\n';
    expect(parseState(seed)).toMatchObject({
      iteration: 3,
      maxIterations: 20,
      completionPromise: 'ALL DONE',
      task: 'Build it\n',
    });
    expect(parseState(seed.replace('"ALL DONE"', 'null'))).toMatchObject({ completionPromise: null });
  });
});

describe('checks', () => {
  test('are run again although no file that git sees has changed', {
    tags: ['promise', 'P-session-checks'],
  }, async () => {
    const project = repo({ '.gitignore': 'node_modules\n' });
    await start(project, 'x --completion-promise DONE --check "test -e node_modules/it"');
    await tools(project);
    const first = await stop(project, { last_assistant_message: DONE });
    expect(first.reason).toContain('failed (exit code 1)');
    project.write('node_modules/it', '');
    expect(await stop(project, { last_assistant_message: DONE })).toEqual({
      systemMessage: expect.stringContaining('PROMISE_ACCEPTED'),
    });
  });

  test('of a stop that was peeked at are run once, whatever they say; the next stop runs them anew', async () => {
    const project = repo();
    const call = async (event: string, more: object) => {
      const input = JSON.stringify({ session_id: 's', cwd: project.dir, ...more });
      const { stdout } = await ralph(['hook', 'opencode', event], { cwd: project.dir, input });
      return stdout === '' ? {} : JSON.parse(stdout);
    };
    const check = '--check "echo ran >> .ralph/count; test -e green"';
    const prompt = `/ralph-loop x --completion-promise DONE --min-tool-calls 0 ${check}`;
    await call('chat.message', { prompt });
    const said = { last_assistant_message: DONE };
    expect((await call('text.complete', said)).reason).toContain('failed (exit code 1)');
    expect((await call('step-finish', said)).reason).toContain('failed (exit code 1)');
    expect(project.read('.ralph/count')).toBe('ran\n');
    project.write('green', '');
    expect((await call('step-finish', said)).message).toContain('PROMISE_ACCEPTED');
    expect(project.read('.ralph/count')).toBe('ran\nran\n');
  });

  test('run behind a wall where there is one: nothing that they start is left, and the state folder is not there', async () => {
    const project = repo();
    const look = 'ls \\"$XDG_STATE_HOME/ralph\\" > seen; test -z \\"$(cat seen)\\"';
    await start(project, `x --completion-promise DONE --check "${look}"`);
    await tools(project);
    const { proof } = await endOf(project);
    if (proof.contained === 'pid') expect(project.read('seen')).toBe('');
  });

  async function endOf(project: Repo) {
    await stop(project, { last_assistant_message: DONE });
    const lines = (await ralph(['log', '--json'], { cwd: project.dir })).stdout.trimEnd().split('\n');
    const last = JSON.parse(lines.at(-1) ?? '');
    return last.result ?? { proof: {} };
  }

  test('are not run for an agent that makes no claim', async () => {
    const project = repo();
    await start(project, 'x --completion-promise DONE --check "touch ran"');
    await tools(project);
    await stop(project, { last_assistant_message: 'not yet' });
    expect(existsSync(project.path('ran'))).toBe(false);
  });
});

test('every decision is in the ledger, as in any run', {
  tags: ['promise', 'P-session-ledger'],
}, async () => {
  const project = repo();
  await start(project, 'x --completion-promise DONE');
  await stop(project, { last_assistant_message: 'x' });
  await tools(project);
  await stop(project, { last_assistant_message: DONE });
  const { stdout, stderr } = await ralph(['log', '--json'], { cwd: project.dir });
  expect(stderr).toBe('');
  const events = stdout
    .trimEnd()
    .split('\n')
    .map(each => JSON.parse(each));
  expect(events.map(event => event.seq)).toEqual(events.map((_, at) => at + 1));
  const turn = [
    'iteration-started',
    'agent-started',
    'agent-ended',
    'turn-ended',
    'judged',
    'iteration-ended',
  ];
  expect(events.map(event => event.type)).toEqual(['run-started', ...turn, ...turn, 'run-ended']);
  expect(events[6].verdict).toMatchObject({ kind: 'continue', feedback: [{ kind: 'claim-missing' }] });
});

test('ralph session shows and cancels the loop of a session', async () => {
  const project = repo();
  await start(project, 'Build it --completion-promise DONE --max-iterations 5');
  const shown = await ralph(['session', 'status'], { cwd: project.dir });
  expect(shown.stdout).toBe('s1  active  iteration 1/5  0 tool calls  <promise>DONE</promise>  Build it\n');
  const cancelled = await ralph(['session', 'cancel'], { cwd: project.dir });
  expect(cancelled.stdout).toContain('Cancelled the Ralph loop (was at iteration 1)');
  expect(existsSync(project.path(STATE))).toBe(false);
});

test('ralph cancel ends the loop of a session by the id of its run; it is steered nowhere but there', async () => {
  const project = repo();
  await start(project, 'Build it --completion-promise DONE');
  const [id = ''] = runsOf(project);
  const told = await ralph(['tell', id, 'hello'], { cwd: project.dir });
  expect([told.code, told.stdout]).toEqual([1, expect.stringContaining('the loop of an agent session')]);
  const cancelled = await ralph(['cancel', id], { cwd: project.dir });
  expect([cancelled.code, cancelled.stdout]).toEqual([0, `${id} stops now. Its work is kept.\n`]);
  expect(existsSync(project.path(STATE))).toBe(false);
});

describe('what only happens sometimes', () => {
  test('a sub-agent that stops is not the loop', async () => {
    const project = repo();
    await start(project, 'x --completion-promise DONE');
    const before = project.read(STATE);
    expect(await stop(project, { agent_id: 'a1', last_assistant_message: DONE })).toBeUndefined();
    expect(project.read(STATE)).toBe(before);
  });

  test('a loop that has ended leaves no state behind', async () => {
    const project = repo();
    await start(project, 'x --completion-promise DONE --min-tool-calls 0');
    await stop(project, { last_assistant_message: DONE });
    expect(existsSync(project.path(STATE))).toBe(false);
    expect(await stop(project, { last_assistant_message: 'again' })).toBeUndefined();
  });

  test('the user learns of the host’s cap before it ends the loop, and a tool call begins its count anew', async () => {
    const project = repo();
    const cap = { CLAUDE_CODE_STOP_HOOK_BLOCK_CAP: '3' };
    await start(project, 'x --completion-promise DONE');
    const again = async () => (await stop(project, { last_assistant_message: 'no' }, cap)).systemMessage;
    expect(await again()).not.toContain('ends a loop after 3 stops');
    expect(await again()).toContain(
      'ends a loop after 3 stops in a row without a tool call; this was number 2',
    );
    await tools(project);
    expect(await again()).not.toContain('ends a loop after 3 stops');
  });

  test('after a compaction the agent is reminded of its task, and at no other start', async () => {
    const project = repo();
    await start(project, 'Fix the parser --completion-promise DONE');
    const began = (source: string) => hook(project, 'SessionStart', { ...session, source });
    expect(JSON.stringify(await began('compact'))).toContain('Fix the parser');
    for (const source of ['startup', 'resume', 'clear']) expect(await began(source)).toBeUndefined();
  });

  test('a loop without a run, as one from a terminal, gets one at the first stop', async () => {
    const project = repo();
    await ralph(['session', 'start', '--session', 's1', 'Tidy up'], { cwd: project.dir });
    await stop(project, { last_assistant_message: 'no' });
    const state = parseState(project.read(STATE));
    expect(state).toMatchObject({ iteration: 2, runId: expect.stringMatching(/^\d{8}-/) });
    expect((await ralph(['log'], { cwd: project.dir })).stdout).toContain('claude');
  });
});
