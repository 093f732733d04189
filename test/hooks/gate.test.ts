/** The shell script before the hook program: what it answers by itself, and that this changes nothing. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runHook } from '../../src/hooks/main.ts';
import { findSession } from '../../src/store/session-file.ts';
import { takeTallies } from '../../src/store/tally.ts';
import { ralph } from '../rig/ralph.ts';
import { type Repo, repo } from '../rig/repo.ts';
import { GATE, type Gate, gateIn, SHELLS } from './gate.ts';

const STATE = '.claude/ralph-loop.local.md';
const DONE = '<promise>DONE</promise>';
const TASK = 'Say "it" for $HOME, `date`, $(date) \\ and 🎉\n---\nin \'two\' lines %s %d';

/** As Claude Code writes it: the session first, the stop's own fields last. */
const base = (project: Repo, more: Record<string, unknown> = {}) => ({
  session_id: 's1',
  transcript_path: project.path('t.jsonl'),
  cwd: project.dir,
  prompt_id: 'p1',
  permission_mode: 'bypassPermissions',
  effort: { level: 'medium' },
  ...more,
});

const stopped = (project: Repo, said: unknown, more: Record<string, unknown> = {}) => ({
  ...base(project, { hook_event_name: 'Stop', stop_hook_active: true }),
  last_assistant_message: said,
  background_tasks: [],
  session_crons: [],
  ...more,
});

const block = (text: string) => ({ type: 'text', text });
const record = (...content: unknown[]) =>
  `${JSON.stringify({ isSidechain: false, message: { id: 'm1', role: 'assistant', content }, type: 'assistant' })}\n`;
const REQUEST = `${JSON.stringify({ type: 'api-request', body: DONE })}\n`;

/** The final message, each text a line of its own. */
function says(project: Repo, ...texts: readonly string[]): void {
  project.write('t.jsonl', REQUEST + texts.map(text => record(block(text))).join(''));
}

async function loop(shell: readonly string[], args: string, project = repo()): Promise<Gate> {
  const input = JSON.stringify(
    base(project, { command_name: 'ralph:ralph-loop', command_args: `${TASK} ${args}` }),
  );
  await runHook('claude', 'UserPromptExpansion', input, { CLAUDE_PROJECT_DIR: project.dir });
  return gateIn(project, shell);
}

const tools = (gate: Gate, more = {}) =>
  gate('PostToolBatch', base(gate.project, { tool_calls: [{}], ...more }));

async function stop(gate: Gate, said: string, more: Record<string, unknown> = {}, env = {}) {
  says(gate.project, said);
  return await gate('Stop', stopped(gate.project, said, more), env);
}

const state = ({ project }: Gate) => {
  takeTallies(project.dir);
  return findSession(project.dir, 's1')?.state;
};

test.each([
  'Stop',
  'PreToolUse',
  'PostToolBatch',
  'PostToolUse',
  'SessionStart',
  'UserPromptSubmit',
  'AfterTool',
])('with no loop and no settings, %s starts nothing at all', event => {
  const { dir } = repo();
  // Whatever it would start, it would not find.
  const env = { PATH: '/nowhere', CLAUDE_PROJECT_DIR: dir };
  const { status, stdout, stderr } = spawnSync('/bin/sh', [GATE, 'auto', event], {
    cwd: dir,
    env,
    encoding: 'utf8',
  });
  expect([status, stdout, stderr]).toEqual([0, '', '']);
});

describe.each(SHELLS)('%s', (...shell) => {
  test('a stop without a claim is answered with the usual words and counted, without the program', async () => {
    const gate = await loop(shell, '--completion-promise DONE --max-iterations 9');
    const first = await stop(gate, 'not yet: "x" \\ \n\t 🎉 $HOME `date`');
    expect(first.asked).toBe(false);
    expect(JSON.parse(first.answer)).toEqual({
      decision: 'block',
      reason: expect.stringContaining(`you did not output the completion promise ${DONE}`),
      systemMessage: expect.stringContaining('Ralph iteration 2 of 9 | To stop'),
    });
    expect(JSON.parse(first.answer).reason).toContain(`Original task:\n${TASK}`);
    const second = await stop(gate, 'nor now');
    expect([second.asked, second.answer]).toEqual([
      false,
      first.answer.replace('iteration 2', 'iteration 3'),
    ]);
    expect(state(gate)).toMatchObject({ iteration: 3, blocksInARow: 2 });
  });

  test('tools are counted without the program once there are as many as a promise asks for', async () => {
    const gate = await loop(shell, '--completion-promise DONE --min-tool-calls 2');
    const asked = [];
    for (let count = 0; count < 4; count++) asked.push((await tools(gate)).asked);
    expect(asked).toEqual([true, true, false, false]);
    await stop(gate, 'x');
    expect(await tools(gate, { tool_calls: [{ tool_response: 'x'.repeat(1_000_000) }] })).toEqual({
      answer: '',
      asked: false,
    });
    expect(state(gate)).toMatchObject({ toolCalls: 5, blocksInARow: 0, iteration: 2 });
  });

  test.each<[string, (gate: Gate) => Promise<{ asked: boolean }>]>([
    ['the promise', gate => stop(gate, DONE)],
    ['the promise in another case', gate => stop(gate, '<PROMISE>DONE')],
    ['the promise in a long message', gate => stop(gate, `${'x'.repeat(100_000)}${DONE}`)],
    ['the promise behind what the script reads', gate => stop(gate, `${'x\n'.repeat(16_000)}${DONE}`)],
    [
      'the promise spelt with escapes',
      async gate => {
        says(gate.project, DONE);
        const input = JSON.stringify(stopped(gate.project, DONE)).replace('<promise', '\\u003c\\u0070romise');
        return await gate('Stop', input.replace('</promise', '\\u003c/\\u0070romise'));
      },
    ],
    [
      'the promise in an earlier text of the message',
      async gate => {
        says(gate.project, DONE, 'Summary.');
        return await gate('Stop', stopped(gate.project, 'Summary.'));
      },
    ],
    ['a message of which nothing is told', gate => gate('Stop', stopped(gate.project, null))],
    [
      'a transcript that is not there',
      gate => gate('Stop', stopped(gate.project, 'x', { transcript_path: '/no' })),
    ],
    [
      'a transcript that never holds the message',
      async gate => {
        says(gate.project, 'another');
        return await gate('Stop', stopped(gate.project, 'x'));
      },
    ],
    ['another prompt', gate => stop(gate, 'x', { prompt_id: 'p2' })],
    ['another session', gate => stop(gate, 'x', { session_id: 's2' })],
    ['a session whose name is a path', gate => stop(gate, 'x', { session_id: '../s1' })],
    ['a sub-agent', gate => stop(gate, 'x', { agent_id: 'a' })],
    ['a sub-agent in the background', gate => stop(gate, 'x', { background_tasks: [{ type: 'subagent' }] })],
    [
      'a host that says nothing of background tasks',
      gate => stop(gate, 'x', { background_tasks: undefined }),
    ],
    [
      'fields in another order',
      gate => gate('Stop', JSON.stringify(stopped(gate.project, 'x')).replace('{', '{"a":1,')),
    ],
    ['input that is no JSON', gate => gate('Stop', 'nonsense')],
    ['no input', gate => gate('Stop', '')],
    ['another limit of the host', gate => stop(gate, 'x', {}, { CLAUDE_CODE_STOP_HOOK_BLOCK_CAP: '3' })],
    [
      'settings that have changed',
      async gate => {
        gate.project.settings({ guard: { enabled: true } });
        utimesSync(gate.project.path('.ralph/settings.json'), Date.now(), Date.now() / 1000 + 5);
        return await stop(gate, 'x');
      },
    ],
    [
      'a state that somebody has edited',
      async gate => {
        utimesSync(gate.project.path(STATE), Date.now(), Date.now() / 1000 + 5);
        return await stop(gate, 'x');
      },
    ],
    [
      'terms that somebody has edited',
      async gate => {
        const [name = ''] = readdirSync(gate.project.path('.ralph/tally/s1'));
        const path = `.ralph/tally/s1/${name}/terms`;
        const hostile = gate.project.read(path).replace(/^1 0/m, 'a[$(touch pwned)] 0');
        writeFileSync(gate.project.path(path), hostile);
        utimesSync(gate.project.path(path), Date.now(), Date.now() / 1000 + 5);
        const answered = await stop(gate, 'x');
        expect(existsSync(gate.project.path('pwned'))).toBe(false);
        return answered;
      },
    ],
    [
      'two tallies',
      async gate => {
        mkdirSync(gate.project.path('.ralph/tally/s1/other'));
        writeFileSync(gate.project.path('.ralph/tally/s1/other/terms'), '');
        return await stop(gate, 'x');
      },
    ],
  ])('%s is the program’s to judge', async (_, call) => {
    const gate = await loop(shell, '--completion-promise DONE');
    expect((await stop(gate, 'not yet')).asked).toBe(false);
    expect((await call(gate)).asked).toBe(true);
  });

  test('a message that comes late into the transcript is waited for', async () => {
    const gate = await loop(shell, '--completion-promise DONE');
    says(gate.project, 'the one before');
    const late = gate('Stop', stopped(gate.project, 'now'));
    const early = gate.project.path('early.jsonl');
    writeFileSync(early, gate.project.read('t.jsonl') + REQUEST + record(block('now')));
    renameSync(early, gate.project.path('t.jsonl'));
    expect(await late).toMatchObject({ asked: false, answer: expect.stringContaining('iteration 2') });
  });

  test('white space that the host has cut off the message does not matter', async () => {
    const gate = await loop(shell, '--completion-promise DONE');
    for (const text of ['not yet\n', '\n\nnot yet']) {
      says(gate.project, text);
      expect((await gate('Stop', stopped(gate.project, 'not yet'))).asked).toBe(false);
    }
  });

  test('words that were said before are not taken for those that come', async () => {
    const gate = await loop(shell, '--completion-promise DONE --min-tool-calls 0');
    const before = `${REQUEST}${record(block('x'))}${JSON.stringify({ type: 'user' })}\n`;
    gate.project.write('t.jsonl', before);
    expect((await gate('Stop', stopped(gate.project, 'x'))).asked).toBe(true);
    gate.project.write('t.jsonl', before + REQUEST + record(block(DONE)) + record(block('x')));
    expect((await gate('Stop', stopped(gate.project, 'x'))).answer).toContain('PROMISE_ACCEPTED');
  });

  test('a host that tells the whole message needs no transcript', async () => {
    const project = repo();
    const told = { session_id: 's1', turn_id: 't1', transcript_path: null, cwd: project.dir };
    const prompt = '$ralph-loop Do it --completion-promise DONE --min-tool-calls 0';
    await runHook('codex', 'UserPromptSubmit', JSON.stringify({ ...told, prompt }), {});
    const gate = gateIn(project, shell, 'codex');
    const says = (last_assistant_message: unknown, more = {}) =>
      JSON.stringify({ ...told, hook_event_name: 'Stop', ...more, last_assistant_message });
    expect(await gate('Stop', says('not yet'))).toMatchObject({
      asked: false,
      answer: expect.stringContaining('iteration 2'),
    });
    expect((await gate('Stop', says('not yet', { turn_id: 't2' }))).asked).toBe(true);
    expect((await gate('Stop', says(null))).asked).toBe(true);
    expect((await gate('Stop', says('a\u0001b'))).asked).toBe(true);
    expect((await tools(gate)).asked).toBe(false);
    const escaped = says(DONE).replaceAll('promise', '\\u0070romise');
    expect((await gate('Stop', escaped)).answer).toContain('PROMISE_ACCEPTED');
  });

  test('a tool call moves the host’s own limit away, without the program', async () => {
    const gate = await loop(shell, '--completion-promise DONE --min-tool-calls 0');
    const asked = [];
    for (let round = 0; round < 3; round++) {
      for (let count = 0; count < 5; count++) asked.push((await stop(gate, 'x')).asked);
      asked.push((await tools(gate)).asked);
    }
    expect(asked).not.toContain(true);
  });

  test('the last iteration and the host’s own limit are not missed', async () => {
    const gate = await loop(shell, '--completion-promise DONE --max-iterations 3');
    await stop(gate, 'x');
    expect((await stop(gate, 'x')).answer).toContain('iteration 3 of 3');
    expect((await stop(gate, 'x')).answer).toContain('MAX_ITERATIONS_REACHED');
    expect(existsSync(gate.project.path('.ralph/tally/s1'))).toBe(false);
    const other = await loop(shell, '--completion-promise DONE');
    const said = [];
    for (let count = 0; count < 7; count++) said.push((await stop(other, 'x')).answer);
    expect(said.filter(each => each.includes('ends a loop after 8 stops'))).toEqual([said[6]]);
  });

  test('two stops at once are two iterations; tools at once are all counted', async () => {
    const gate = await loop(shell, '--completion-promise DONE --min-tool-calls 0');
    says(gate.project, 'x');
    const both = await Promise.all([1, 2].map(() => gate('Stop', stopped(gate.project, 'x'))));
    expect(both.every(({ answer }) => answer.includes('"decision":"block"'))).toBe(true);
    expect(state(gate)?.iteration).toBe(3);
    await stop(gate, 'x'); // opens the tally again
    const before = state(gate)?.toolCalls ?? 0;
    await stop(gate, 'x');
    await Promise.all(Array.from({ length: 12 }, () => tools(gate)));
    expect(state(gate)?.toolCalls).toBe(before + 12);
  });

  test('tools of which the guard has nothing to say pass; the others are judged', async () => {
    const gate = await loop(shell, '--completion-promise DONE');
    const call = async (tool_name: string, tool_input: unknown) =>
      (await gate('PreToolUse', base(gate.project, { tool_name, tool_input }))).asked;
    expect(await call('Grep', { pattern: 'x', path: '/etc' })).toBe(false);
    expect(await call('Bash', { command: 'echo \'"tool_name":"Grep"\'' })).toBe(true);
    expect(await call('mcp__x__y', { tool_name: 'Grep' })).toBe(true);
    expect(await call('Grep', { command: 'rm -rf /' })).toBe(true);
    expect(await call('Grep', { pattern: 'x'.repeat(20_000) })).toBe(true);
    const refused = await gate(
      'PreToolUse',
      base(gate.project, { tool_name: 'Bash', tool_input: { command: 'rm -rf /' } }),
    );
    expect(JSON.parse(refused.answer).hookSpecificOutput.permissionDecision).toBe('deny');
  });
});

const ORDINARY = [
  'src',
  'index.ts',
  'a-b_c.test.tsx',
  'README.md',
  'Makefile',
  'x',
  'etc',
  'dev',
  '-rf',
  'key.pem',
];
/** Names that the guard looks at, and such as a shell might. */
const ODD = [
  ...[
    '.env',
    '.env.local',
    '.git',
    'hooks',
    '.ssh',
    'id_rsa',
    'id_ed25519',
    'credentials.json',
    '.claude',
    'settings.json',
  ],
  ...[
    'my-service-account.json',
    'service_account.json',
    '.ralph',
    '.ralph-active',
    'ralph-hook.cjs',
    'ralph-guard.cjs',
  ],
  ...[
    'ralph-hook-main.cjs',
    '@ralph-loop',
    'ralph',
    '..',
    '.',
    '',
    'a b',
    'é',
    '$HOME',
    '~',
    '*',
    'shadow',
    'proc',
    'environ',
  ],
  ...[
    '.npmrc',
    '.netrc',
    'auth.json',
    '.mcp.json',
    'Library',
    'Keychains',
    '.bashrc',
    'authorized_keys',
    'tcp',
  ],
];

test('what the gate lets a file tool do, the guard has nothing to say about', async () => {
  const [shell = ['sh']] = SHELLS;
  const gate = await loop(shell, '--completion-promise DONE');
  const { dir } = gate.project;
  let passed = 0;
  const part = fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom(...ORDINARY) },
    { weight: 1, arbitrary: fc.constantFrom(...ODD) },
  );
  const path = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.array(part, { minLength: 1, maxLength: 4 }).map(parts => [dir, ...parts].join('/')),
    },
    fc.array(part, { maxLength: 3 }).map(parts => `/${parts.join('/')}`),
    part,
  );
  await fc.assert(
    fc.asyncProperty(fc.constantFrom('Read', 'Edit', 'Write'), path, async (tool_name, file_path) => {
      const input = base(gate.project, {
        tool_name,
        tool_input: { file_path, content: '"file_path" "command"' },
      });
      const { asked } = await gate('PreToolUse', input);
      if (asked) return;
      passed++;
      const env = { CLAUDE_PROJECT_DIR: dir };
      expect(await runHook('claude', 'PreToolUse', JSON.stringify(input), env)).toBe('');
    }),
    { numRuns: 200 },
  );
  expect(passed).toBeGreaterThan(20);
}, 60_000);

test('with rules of the user’s own the program judges every file', async () => {
  const [shell = ['sh']] = SHELLS;
  const project = repo();
  project.settings({ protect: ['src/**'] });
  const gate = await loop(shell, '--completion-promise DONE', project);
  const write = base(project, { tool_name: 'Write', tool_input: { file_path: project.path('src/a.ts') } });
  const { asked, answer } = await gate('PreToolUse', write);
  expect([asked, JSON.parse(answer).hookSpecificOutput.permissionDecision]).toEqual([true, 'deny']);
});

test('the context monitor is asked when the transcript has grown so far that there may be something to tell', async () => {
  const [shell = ['sh']] = SHELLS;
  const project = repo();
  project.settings({ contextMonitor: { enabled: true, window: 10_000 } });
  const used = (tokens: number) =>
    `${JSON.stringify({ type: 'assistant', isSidechain: false, message: { id: 'm', model: 'm', usage: { input_tokens: tokens } } })}\n`;
  project.write('t.jsonl', used(1_000));
  const gate = await loop(shell, '--completion-promise DONE --min-tool-calls 0', project);
  // Half of what is left to half of the window: 2000 bytes.
  expect((await tools(gate)).asked).toBe(false);
  project.write('t.jsonl', used(1_000).padEnd(1_900, '\n'));
  expect((await tools(gate)).asked).toBe(false);
  project.write('t.jsonl', `${'\n'.repeat(2_200)}${used(6_500)}`);
  const told = await tools(gate);
  expect([told.asked, told.answer]).toEqual([true, expect.stringContaining('65% full')]);
  // From then on it may fall as well.
  expect((await tools(gate)).asked).toBe(true);
});

describe('who reads a session sees what the gate has done', () => {
  const [shell = ['sh']] = SHELLS;

  test('ralph session, ralph status and ralph log', async () => {
    const gate = await loop(shell, '--completion-promise DONE --min-tool-calls 0');
    const { dir: cwd } = gate.project;
    await stop(gate, 'x');
    await tools(gate);
    expect((await ralph(['session', 'status'], { cwd })).stdout).toContain('iteration 2  1 tool calls');
    await stop(gate, 'x');
    await stop(gate, 'x');
    const { stdout } = await ralph(['log', '--json'], { cwd });
    const ended = stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
      .slice(1);
    expect(ended.map(event => [event.type, event.iteration])).toEqual(
      [1, 2, 3].map(each => ['iteration-ended', each]),
    );
    await stop(gate, 'x');
    await stop(gate, 'x');
    expect(JSON.parse((await ralph(['status', '--json'], { cwd })).stdout)).toMatchObject({
      runs: [{ iteration: 5 }],
    });
  });

  test('a cancelled loop says how far it was', async () => {
    const gate = await loop(shell, '--completion-promise DONE');
    await stop(gate, 'x');
    await stop(gate, 'x');
    expect((await ralph(['session', 'cancel'], { cwd: gate.project.dir })).stdout).toContain(
      'was at iteration 3',
    );
    expect(existsSync(gate.project.path('.ralph/tally/s1'))).toBe(false);
  });

  test('what a process left that was killed while it took the tally in is taken by the next', async () => {
    const gate = await loop(shell, '--completion-promise DONE');
    await stop(gate, 'x');
    await stop(gate, 'x');
    const folder = gate.project.path('.ralph/tally/s1');
    const [name = ''] = readdirSync(folder);
    renameSync(`${folder}/${name}`, `${folder}/.${name}.999999999`);
    expect((await stop(gate, 'x')).answer).toContain('iteration 4');
    expect(state(gate)).toMatchObject({ iteration: 4, blocksInARow: 3 });
    expect(readdirSync(folder)).toHaveLength(1);
  });
});

/** One thing that a host may tell, to the gate and to the program. */
type Step = readonly [event: string, input: (project: Repo) => unknown];

function saying(project: Repo, texts: readonly string[], more = {}): unknown {
  says(project, ...texts);
  return stopped(project, texts.at(-1), more);
}

const words = fc.constantFrom(
  'x',
  'still at it',
  'a Promise',
  '<promise>done</promise>',
  DONE,
  'é "q" \\ \n 🎉',
);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: words.map((said): Step => ['Stop', project => saying(project, [said])]),
  },
  {
    weight: 4,
    arbitrary: fc
      .integer({ min: 1, max: 3 })
      .map(
        (count): Step => ['PostToolBatch', project => base(project, { tool_calls: Array(count).fill({}) })],
      ),
  },
  fc.constantFrom<Step>(
    ['Stop', project => saying(project, ['x'], { prompt_id: 'p2' })],
    ['Stop', project => saying(project, [DONE, 'Summary.'])],
    [
      'Stop',
      project => stopped(project, 'x', { background_tasks: [{ type: 'subagent', status: 'running' }] }),
    ],
    ['Stop', project => stopped(project, 'x', { agent_id: 'a1' })],
    ['Stop', project => stopped(project, 'x', { session_id: 's2' })],
    ['PreToolUse', project => base(project, { tool_name: 'Grep', tool_input: { pattern: 'x' } })],
    ['PreToolUse', project => base(project, { tool_name: 'Bash', tool_input: { command: 'rm -rf ~/x' } })],
    ['UserPromptSubmit', project => base(project, { prompt: '<task-notification>x', prompt_id: 'p1' })],
    ['SessionStart', project => base(project, { source: 'compact' })],
  ),
);

const flags = fc.record({
  max: fc.constantFrom(0, 4, 9),
  least: fc.integer({ min: 0, max: 3 }),
  policy: fc.constantFrom('reject', 'warn', 'accept'),
});

/** All that is the same however often it is done. */
function remembered(project: Repo) {
  takeTallies(project.dir);
  const found = findSession(project.dir, 's1')?.state;
  const { startedAt: _, runId: __, tally: ___, ...kept } = found ?? { startedAt: '', runId: '', tally: '' };
  const runs = readdirSync(project.path('.ralph/runs')).sort();
  const ledger = runs.flatMap(id =>
    project
      .read(`.ralph/runs/${id}/events.jsonl`)
      .replaceAll(project.dir, '')
      .replaceAll(id, '')
      .trimEnd()
      .split('\n')
      .map(line => ({ ...JSON.parse(line), at: '', prev: '' }))
      .map(event =>
        event.type === 'run-ended' ? { ...event, result: { ...event.result, totalDuration: 0 } } : event,
      ),
  );
  return { found: found !== undefined, kept, ledger };
}

test.each(SHELLS)(
  '%s: whatever happens, the session and its ledger are as if the program had done it all',
  async (...shell) => {
    let spared = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 3, maxLength: 14 }),
        flags,
        async (steps, { max, least, policy }) => {
          const args = `--completion-promise DONE --max-iterations ${max} --min-tool-calls ${least} --on-promise-no-work ${policy}`;
          const gate = await loop(shell, args);
          const { project: alone } = await loop(shell, args);
          for (const [event, input] of steps) {
            const { answer, asked } = await gate(event, input(gate.project));
            if (!asked) spared++;
            const env = { CLAUDE_PROJECT_DIR: alone.dir };
            const wanted = await runHook('auto', event, JSON.stringify(input(alone)), env);
            expect(answer.replaceAll(gate.project.dir, '')).toBe(wanted.replaceAll(alone.dir, ''));
          }
          expect(remembered(gate.project)).toEqual(remembered(alone));
        },
      ),
      { numRuns: 25 },
    );
    expect(spared).toBeGreaterThan(25);
  },
  120_000,
);
