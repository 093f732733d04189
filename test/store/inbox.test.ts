import { mkdirSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  LONGEST_TEXT,
  parseMessage,
  readMessages,
  removeMessage,
  sendMessage,
} from '../../src/store/inbox.ts';
import { projectPaths, runPaths } from '../../src/store/paths.ts';
import { folder } from '../rig/repo.ts';

const pathsOf = () => runPaths(projectPaths(folder().dir), 'r');

test('messages come in the order in which they were sent, and each until it is removed', () => {
  const paths = pathsOf();
  sendMessage(paths, { kind: 'pause' }, 5);
  sendMessage(paths, { kind: 'tell', text: 'first' }, 1);
  sendMessage(paths, { kind: 'cancel', gently: true }, 10);
  const [one] = readMessages(paths);
  expect(readMessages(paths).map(({ kind }) => kind)).toEqual(['tell', 'pause', 'cancel']);
  removeMessage(paths, one?.id ?? '');
  removeMessage(paths, one?.id ?? '');
  expect(readMessages(paths).map(({ kind }) => kind)).toEqual(['pause', 'cancel']);
});

test('an inbox that is not there, or is no folder, is empty', () => {
  const paths = pathsOf();
  expect(readMessages(paths)).toEqual([]);
  mkdirSync(paths.state.folder, { recursive: true });
  writeFileSync(paths.state.inbox, 'x');
  expect(readMessages(paths)).toEqual([]);
});

test('what is no message is left alone, whatever it is', () => {
  const paths = pathsOf();
  sendMessage(paths, { kind: 'pause' }, 1);
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), text => {
      writeFileSync(`${paths.state.inbox}/00000000000002-0000000a.json`, text);
      writeFileSync(`${paths.state.inbox}/half-written.tmp`, text);
      return readMessages(paths).every(({ kind }) => kind === 'pause');
    }),
  );
});

test('words are bounded, and must be words', () => {
  const tell = (text: unknown) => parseMessage(JSON.stringify({ kind: 'tell', text }));
  expect(tell('x'.repeat(LONGEST_TEXT))).toMatchObject({ kind: 'tell' });
  expect(['x'.repeat(LONGEST_TEXT + 1), ' ', 7, null].map(tell)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
