import { describe, expect, test } from 'vitest';
import type { RunEvent } from '../../src/domain/run/event.ts';
import type { Style } from '../../src/report/style.ts';
import { AGENT_ENDED, AGENT_STARTED, agent, toolEnd, toolStart } from './events.ts';
import { block, formatted } from './formatted.ts';

describe('tools', () => {
  test('that end out of order say which call they belong to', () => {
    const events = [
      toolStart('a', 'Read', 'a.ts'),
      toolStart('b', 'Read', 'b.ts'),
      toolEnd('a', 'one\n'),
      toolEnd('b', 'two\n'),
    ];
    expect(formatted(events)).toEqual(
      block(`
⏺ Read(a.ts)
⏺ Read(b.ts)
✅ Result ← Read(a.ts) (1 line, 4 chars)
  ⎿  one
✅ Result ← Read (1 line, 4 chars)
  ⎿  two
`),
    );
  });

  test('that end without a start are shown without a name', () => {
    expect(formatted([toolEnd('x', 'hello\n'), toolEnd('y', 'no\n', 2)])).toEqual(
      block(`
✅ Result (1 line, 6 chars)
  ⎿  hello
❌ Error (exit 2, 1 line, 3 chars)
  ⎿  no
`),
    );
  });

  test('of a sub-agent are indented', () => {
    const events = [
      agent({ kind: 'tool-start', id: 's', name: 'Glob', summary: '*', subagent: true }),
      agent({
        kind: 'tool-end',
        id: 's',
        ok: true,
        output: { preview: '', lines: 0, chars: 0 },
        subagent: true,
      }),
      agent({ kind: 'aside', from: 'subagent', text: 'Nothing there.' }),
    ];
    expect(formatted(events)).toEqual([
      '',
      '  ⏺ Glob(*)',
      '  ✅ Result ← Glob (no output)',
      '  ↳ Nothing there.',
    ]);
  });

  test.each([
    [
      40,
      [
        '⏺ Bash(npm run build --workspace pac…)',
        '❌ Error ← Bash (exit 127, 1 line)',
        '  ⎿  sh: 1: 見つかりません見つかりま…',
      ],
    ],
    [
      80,
      [
        '⏺ Bash(npm run build --workspace packages/core && npm test -- --run --report…)',
        '❌ Error ← Bash (exit 127, 1 line, 39 chars)',
        '  ⎿  sh: 1: 見つかりません見つかりません見つかりません: not found',
      ],
    ],
  ])('fit into %i columns', (width, expected) => {
    const command = 'npm run build --workspace packages/core && npm test -- --run --reporter verbose';
    const output = `sh: 1: ${'見つかりません'.repeat(3)}: not found`;
    expect(
      formatted([toolStart('a', 'Bash', command), toolEnd('a', output, 127)], { width }).slice(1),
    ).toEqual(expected);
  });

  test('that are never ended are forgotten in the end', () => {
    const flood = Array.from({ length: 1_000 }, (_, at) => toolStart(String(at), 'Read', `${at}.ts`));
    expect(formatted([...flood, toolEnd('0', ''), toolEnd('999', '')]).slice(-2)).toEqual([
      '✅ Result (no output)',
      '✅ Result ← Read (no output)',
    ]);
  });

  test('show no more output than asked for', () => {
    const output = 'first line\nsecond line\nthird line\n';
    const shown = (over: Partial<Style>) => formatted([toolEnd('x', output)], over).slice(2);
    expect(shown({ maxOutputLines: 2 })).toEqual(['  ⎿  first line', '     second line']);
    expect(shown({ maxOutputLines: 0 })).toEqual([]);
    expect(shown({ maxOutputChars: 15 })).toEqual(['  ⎿  first line', '     seco…']);
  });
});

describe('words', () => {
  test('stream into rows, and a tool call ends the row', () => {
    const words = ['I will ', 'read the ', 'file first', '.\n', 'Then ', 'I edit.'];
    const events = [
      ...words.map(text => agent({ kind: 'text', text, delta: true })),
      toolStart('a', 'Read', 'a.ts'),
    ];
    expect(formatted(events, { width: 20 })).toEqual(
      block(`
I will read the file
first.
Then I edit.

⏺ Read(a.ts)
`),
    );
  });

  test('of another message begin a new row; usage in between does not', () => {
    const events = [
      agent({ kind: 'text', text: 'one ', delta: true, message: '1' }),
      agent({ kind: 'usage', scope: 'part', tokens: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 } }),
      agent({ kind: 'text', text: 'more', delta: true, message: '1' }),
      agent({ kind: 'text', text: 'two', delta: true, message: '2' }),
      agent({ kind: 'text', text: 'three' }),
    ];
    expect(formatted(events)).toEqual(['', 'one more', 'two', 'three']);
  });

  test('keep their own blank lines, but not those at the beginning', () => {
    expect(formatted([agent({ kind: 'text', text: '\n\nOne.\n\n- a\n- b\n' })])).toEqual([
      '',
      'One.',
      '',
      '- a',
      '- b',
    ]);
  });

  test('that are thoughts are cut short', () => {
    const text = 'I should think about this for a while and then some more.';
    expect(
      formatted([agent({ kind: 'aside', from: 'thinking', text })], { width: 24, maxOutputLines: 2 }),
    ).toEqual(['', '💭 I should think about', '   this for a while and…']);
  });

  test('of a commit message turn are left to the scm line', () => {
    const events: RunEvent[] = [
      { ...AGENT_STARTED, purpose: 'commit-message' } as RunEvent,
      agent({ kind: 'text', text: 'Fix sum' }),
      { ...AGENT_ENDED, purpose: 'commit-message' } as RunEvent,
      { type: 'scm', task: 'commit', outcome: 'done', detail: 'Fix sum' },
      { type: 'scm', task: 'push', outcome: 'failed', detail: 'fatal: no upstream\nhint: set one' },
      { type: 'scm', task: 'tag', outcome: 'nothing-to-do', detail: '' },
    ];
    expect(formatted(events)).toEqual(
      block(`
· Asking for a commit message
✅ commit: Fix sum
❌ push failed: fatal: no upstream hint: set one
· tag: nothing to do
`),
    );
  });

  test('a message of megabytes is cut and says so', () => {
    const lines = formatted([agent({ kind: 'text', text: '長い '.repeat(500_000) })]);
    expect(lines.at(-1)).toBe('… 1.5M more characters');
    expect(lines.length).toBeLessThan(1_000);
  });
});
