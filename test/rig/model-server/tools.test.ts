import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { concrete, type OfferedTool } from './tools.ts';

const text = { type: 'string' };
const tool = (name: string, properties: object, required: readonly string[] = []): OfferedTool => ({
  name,
  kind: 'function',
  schema: { properties, required },
});
const custom = (name: string): OfferedTool => ({ name, kind: 'custom', schema: {} });

test.each([
  [tool('Bash', { command: text, timeout: { type: 'number' } }, ['command']), { command: 'id' }],
  [tool('exec_command', { cmd: text }, ['cmd']), { cmd: 'id' }],
  [tool('shell', { command: { type: 'array' } }, ['command']), { command: ['bash', '-lc', 'id'] }],
  [
    tool('run_shell_command', { command: text, is_background: { type: 'boolean' } }, [
      'command',
      'is_background',
    ]),
    { command: 'id', is_background: false },
  ],
  [
    tool('bash', { command: text, mode: { enum: ['sync', 'async'] } }, ['command', 'mode']),
    { command: 'id', mode: 'sync' },
  ],
])('a command goes to %j', (offered, input) => {
  const call = concrete({ do: 'shell', command: 'id' }, [tool('read', { path: text }), offered]);
  expect(call).toEqual({ name: offered.name, kind: 'function', input });
});

test.each([
  [tool('Write', { file_path: text, content: text }), { file_path: '/r/a', content: 'x\n' }],
  [tool('write', { filePath: text, content: text }), { filePath: '/r/a', content: 'x\n' }],
  [tool('create', { path: text, file_text: text }), { path: '/r/a', file_text: 'x\n' }],
  [
    tool('apply_patch', { input: text }),
    { input: '*** Begin Patch\n*** Add File: /r/a\n+x\n*** End Patch\n' },
  ],
])('a file goes to %j', (offered, input) => {
  const call = concrete({ do: 'write', path: '/r/a', content: 'x\n' }, [
    tool('bash', { command: text }),
    offered,
  ]);
  expect(call).toEqual({ name: offered.name, kind: 'function', input });
});

test('a file goes to a free-text patch tool as the patch itself', () => {
  const call = concrete({ do: 'write', path: '/r/a', content: 'x\ny\n' }, [custom('apply_patch')]);
  const input = '*** Begin Patch\n*** Add File: /r/a\n+x\n+y\n*** End Patch\n';
  expect(call).toEqual({ name: 'apply_patch', kind: 'custom', input });
});

test('a client in code mode gets JavaScript', () => {
  const call = concrete({ do: 'shell', command: 'echo "a"' }, [custom('exec')]);
  const input = 'text(await tools.exec_command({"cmd":"echo \\"a\\""}))';
  expect(call).toEqual({ name: 'exec', kind: 'custom', input });
});

test('a file without any tool for files is written by a command that works', () => {
  const folder = mkdtempSync(join(tmpdir(), "ralph-it's-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'a file');
  const content = 'quotes \' " ` $HOME 🙂 no newline';
  const call = concrete({ do: 'write', path, content }, [tool('bash', { command: text })]);
  if (typeof call === 'string' || typeof call.input === 'string') throw new Error('not a function call');
  execFileSync('sh', ['-c', String(call.input.command)]);
  expect(readFileSync(path, 'utf8')).toBe(content);
});

test('an exact call is passed on as it is', () => {
  expect(concrete({ name: 'unheard_of', input: { a: 1 } }, [])).toEqual({
    name: 'unheard_of',
    kind: 'function',
    input: { a: 1 },
  });
});
