import { expect, test } from 'vitest';
import { ADAPTERS, findAdapter, PREFERRED } from '../../src/agents/registry.ts';

test.each([
  ['claude', 'claude'],
  ['/usr/local/bin/codex', 'codex'],
  ['C:\\Program Files\\nodejs\\Gemini.CMD', 'gemini'],
  ['./node_modules/.bin/opencode.exe', 'opencode'],
  ['amp.js', 'amp'],
  ['qwen.cmd.exe', 'qwen'],
  ['copilot', 'copilot'],
  ['claude-wrapper', 'generic'],
  ['my.claude', 'generic'],
  ['node', 'generic'],
  ['', 'generic'],
])('the command %j is read by the adapter %s', (command, name) => {
  expect(findAdapter(command).name).toBe(name);
});

test('a named adapter wins over the name of the command', () => {
  expect(findAdapter('/opt/claude', 'codex').name).toBe('codex');
  expect(findAdapter('my-wrapper', 'claude').name).toBe('claude');
  expect(findAdapter('claude', 'generic').name).toBe('generic');
});

test('every preferred command has an adapter of its own name, best first', () => {
  expect(PREFERRED).toEqual(['claude', 'codex', 'opencode', 'gemini', 'amp']);
  expect(PREFERRED.map(command => findAdapter(command).name)).toEqual(PREFERRED);
});

test('no two adapters share a name', () => {
  expect(new Set(ADAPTERS.map(adapter => adapter.name)).size).toBe(ADAPTERS.length);
});
