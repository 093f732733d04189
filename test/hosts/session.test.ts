/** The in-session loop in the real Claude Code: seed 003's five acceptance tests, and the bugs that loops like it have had. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runHost } from '../rig/hosts/run.ts';
import { type HostSession, hostSession } from '../rig/hosts/session.ts';
import type { Step } from '../rig/model-server/script.ts';
import { folder } from '../rig/repo.ts';

const PLUGIN = join(import.meta.dirname, '../../plugins/claude');
const DONE = '<promise>DONE</promise>';
const work: Step = { tools: [{ do: 'shell', command: 'echo worked >> work.txt' }] };

interface Ended {
  readonly session: HostSession;
  /** Calls of the model. */
  readonly turns: number;
  /** What the hooks showed the user. */
  readonly said: string;
  /** What the model was sent last. */
  readonly sent: readonly string[];
  readonly code: number | null;
  /** Whether a loop is still there. */
  readonly left: boolean;
}

async function loop(
  command: string,
  steps: readonly Step[],
  env: Readonly<Record<string, string>> = {},
  flags: readonly string[] = [],
): Promise<Ended> {
  const session = await hostSession('claude', { steps });
  onTestFinished(() => session.close());
  const argv = session.host.argv(session.place, [...session.flags, '--plugin-dir', PLUGIN, ...flags]);
  const { code, stdout } = await runHost(argv, {
    place: session.place,
    env: { ...session.env, ...env },
    stdin: command,
  });
  const requests = session.server.requests.filter(request => request.kind !== 'side');
  return {
    session,
    turns: requests.length,
    said: stdout,
    sent: requests.map(request => request.lastUserText),
    code,
    left: existsSync(join(session.place.repo, '.claude/ralph-loop.local.md')),
  };
}

function ledger(session: HostSession): readonly { readonly type: string; readonly [key: string]: unknown }[] {
  const runs = join(session.place.repo, '.ralph/runs');
  return readdirSync(runs).flatMap(id =>
    readFileSync(join(runs, id, 'events.jsonl'), 'utf8')
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line)),
  );
}

describe("seed 003's acceptance tests", () => {
  test('1. stops on promise: work, then the promise, ends with PROMISE_ACCEPTED', async () => {
    const { turns, said, left, session } = await loop('/ralph:ralph-loop Do it --completion-promise DONE', [
      work,
      { text: `Done. ${DONE}` },
    ]);
    expect([turns, left]).toEqual([2, false]);
    expect(said).toContain('PROMISE_ACCEPTED');
    expect(ledger(session).at(-1)).toMatchObject({
      type: 'run-ended',
      result: { stopReason: 'promise_accepted' },
    });
  });

  test('2. blocks exit without promise: the task comes back with what was missing', async () => {
    const { turns, sent, left } = await loop('/ralph:ralph-loop Do it --completion-promise DONE', [
      work,
      { text: 'I am done' },
      { text: DONE },
    ]);
    expect([turns, left]).toEqual([3, false]);
    expect(sent[2]).toContain(
      `you did not output the completion promise ${DONE}. Continue working on the original task below.`,
    );
    expect(sent[2]).toContain('Original task:\nDo it');
  });

  test('3. max iterations: never a promise, ends after N with MAX_ITERATIONS_REACHED', async () => {
    const { turns, said, left } = await loop(
      '/ralph:ralph-loop Do it --completion-promise DONE --max-iterations 3',
      [{ text: 'still at it', repeat: 'forever' }],
    );
    expect([turns, left]).toEqual([3, false]);
    expect(said).toContain('MAX_ITERATIONS_REACHED');
  });

  test('4. bypass rejected: the promise at once and no tool call is not believed', async () => {
    const { turns, sent, left } = await loop('/ralph:ralph-loop Do it --completion-promise DONE', [
      { text: DONE },
      work,
      { text: DONE },
    ]);
    expect([turns, left]).toEqual([3, false]);
    expect(sent[1]).toContain('Promise detected, but no tool calls/work were performed');
  });

  test('5. detector: a promise in the final message ends the loop, also before another block or a thought', async () => {
    const { turns, left } = await loop('/ralph:ralph-loop Do it --completion-promise DONE', [
      work,
      { text: `${DONE}\n\nHere is what I did.` },
    ]);
    expect([turns, left]).toEqual([2, false]);
  });
});

describe('what other loops get wrong', () => {
  test('arguments never reach a shell, and the task arrives as it was typed', async () => {
    const task = `Don't (carefully) $(touch pwned) \`touch pwned\` ; touch pwned & # > pwned <promise>X</promise> "quoted"`;
    const { session, sent, left } = await loop(
      `/ralph:ralph-loop ${task} --completion-promise DONE --max-iterations 2`,
      [{ text: 'x' }, { text: 'y' }],
    );
    expect(existsSync(join(session.place.repo, 'pwned'))).toBe(false);
    expect(sent[1]).toContain(`Original task:\n${task}`);
    expect(left).toBe(false);
  });

  test('a task with lines of --- and fields of the state file in it', async () => {
    const { sent } = await loop(
      '/ralph:ralph-loop one\n---\niteration: 99\n---\ntwo --completion-promise DONE --max-iterations 2',
      [{ text: 'x' }, { text: 'y' }],
    );
    expect(sent[1]).toContain('Original task:\none\n---\niteration: 99\n---\ntwo');
  });

  test('a second tag after a wrong one counts, a quoted one does not', async () => {
    const { turns, sent } = await loop('/ralph:ralph-loop Do it --completion-promise DONE', [
      work,
      { text: `I will say \`${DONE}\` later` },
      { text: `Not <promise>X</promise> but ${DONE}` },
    ]);
    expect(turns).toBe(3);
    expect(sent[2]).toContain('Your completion tag is only quoted');
  });

  test('the bare word without its tag, and a file that holds the tag, end nothing', async () => {
    const { turns } = await loop('/ralph:ralph-loop Do it --completion-promise DONE', [
      { tools: [{ do: 'shell', command: `echo '${DONE}' > notes.txt; cat notes.txt` }] },
      { text: 'DONE' },
      { text: DONE },
    ]);
    expect(turns).toBe(3);
  });

  test('a promise of several words with two spaces', async () => {
    const { turns } = await loop('/ralph:ralph-loop Do it --completion-promise "ALL  DONE"', [
      work,
      { text: '<promise>ALL DONE</promise>' },
      { text: '<promise>ALL  DONE</promise>' },
    ]);
    expect(turns).toBe(3);
  });

  test('the agent changes its folder, and the loop is not lost', async () => {
    const { turns, left } = await loop('/ralph:ralph-loop Do it --completion-promise DONE', [
      { tools: [{ do: 'shell', command: 'mkdir -p sub && cd sub' }] },
      { text: 'not yet' },
      { text: DONE },
    ]);
    expect([turns, left]).toEqual([3, false]);
  });

  test('the user learns of the host’s cap before it ends the loop', async () => {
    const { said } = await loop('/ralph:ralph-loop Do it --completion-promise DONE --max-iterations 20', [
      { text: 'x', repeat: 'forever' },
    ]);
    expect(said).toContain('CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0');
  });

  test('no program is started after a tool: calls are counted from the transcript', async () => {
    const place = folder('ralph-node-').dir;
    const log = join(place, 'log');
    const shim = `#!/bin/sh\ncase $* in *ralph-hook.cjs*) echo "$*" >> '${log}' ;; esac\nexec '${process.execPath}' "$@"\n`;
    writeFileSync(join(place, 'node'), shim, { mode: 0o755 });
    const { turns, sent, left } = await loop(
      '/ralph:ralph-loop Do it --completion-promise DONE --min-tool-calls 2',
      [work, { text: DONE }, work, { text: DONE }],
      { PATH: `${place}${delimiter}${process.env.PATH}` },
    );
    expect([turns, left]).toEqual([4, false]);
    expect(sent[2]).toContain('Promise detected, but no tool calls/work were performed');
    const started = readFileSync(log, 'utf8').trimEnd().split('\n');
    expect(started.map(line => line.split(' ').at(-1))).toEqual([
      'UserPromptExpansion',
      'PreToolUse',
      'Stop',
      'PreToolUse',
      'Stop',
    ]);
  });

  test('without the cap a loop of twenty runs to its end', async () => {
    const { turns, said } = await loop(
      '/ralph:ralph-loop Do it --completion-promise DONE --max-iterations 20',
      [{ text: 'x', repeat: 'forever' }],
      {
        CLAUDE_CODE_STOP_HOOK_BLOCK_CAP: '0',
      },
    );
    expect(turns).toBe(20);
    expect(said).toContain('MAX_ITERATIONS_REACHED');
  });
});

test('after a compaction the agent gets its task again, and the loop continues', async () => {
  const { session, left, said } = await loop(
    '/ralph:ralph-loop Do the great task --completion-promise DONE',
    [
      work,
      work,
      { ...work, usage: { input: 50_000, output: 100 } },
      { ...work, usage: { input: 98_000, output: 100 } },
      { text: 'A summary of what was done.' },
      { text: 'x' },
      { text: 'y' },
      { text: DONE, repeat: 'forever' },
    ],
    {},
    ['--autocompact', '100k'],
  );
  expect(said).toContain('compact_boundary');
  const reminded = /SessionStart hook additional context: This is a Ralph loop\. [^"]*Do the great task/;
  expect(session.server.requests.some(request => reminded.test(request.body))).toBe(true);
  expect(left).toBe(false);
});

describe('verified exit', () => {
  test('a promise with a red check is sent back with its output, and let go when it is green', async () => {
    const { turns, sent, left } = await loop(
      '/ralph:ralph-loop Do it --completion-promise DONE --check "cat made.txt"',
      [work, { text: DONE }, { tools: [{ do: 'shell', command: 'echo made > made.txt' }] }, { text: DONE }],
    );
    expect([turns, left]).toEqual([4, false]);
    expect(sent[2]).toContain('`cat made.txt` failed (exit code 1)');
    expect(sent[2]).toContain('No such file');
  });
});

describe('the other commands', () => {
  test('/cancel-ralph and /help answer without the model', async () => {
    const cancelled = await loop('/ralph:cancel-ralph', [{ text: 'never' }]);
    expect(cancelled.turns).toBe(0);
    expect(cancelled.said).toContain('No active Ralph loop found');
    const help = await loop('/ralph:help', [{ text: 'never' }]);
    expect(help.turns).toBe(0);
    expect(help.said).toContain('--completion-promise');
  });

  test('/ulw-loop puts its instruction before every continuation', async () => {
    const { sent } = await loop('/ralph:ulw-loop Do it --completion-promise DONE --max-iterations 2', [
      { text: 'x' },
      { text: 'y' },
    ]);
    expect(sent[1]).toContain('ULTRAWORK MODE');
  });

  test('a mistake in the flags starts nothing and says what to fix', async () => {
    const { turns, said, left } = await loop('/ralph:ralph-loop Do it --max-iteration 5', [
      { text: 'never' },
    ]);
    expect([turns, left]).toEqual([0, false]);
    expect(said).toContain('did you mean --max-iterations?');
  });
});
