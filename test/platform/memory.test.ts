import { describe, expect, test } from 'vitest';
import { createByteStore } from '../../src/platform/byte-store.ts';
import { giveBack } from '../../src/platform/memory.ts';

describe('giving back', () => {
  test('leaves nothing of a large buffer', () => {
    const buffer = Buffer.allocUnsafeSlow(64 * 1024);
    giveBack(buffer);
    expect([buffer.length, buffer.buffer.byteLength]).toEqual([0, 0]);
  });

  test.each([
    ['a small one, which may share its memory with others', Buffer.from('small')],
    ['a part of a larger one', Buffer.allocUnsafeSlow(64 * 1024).subarray(0, 32 * 1024)],
  ])('leaves alone %s', (_, buffer) => {
    const { length } = buffer;
    giveBack(buffer);
    expect(buffer.length).toBe(length);
  });

  test('frees the memory without waiting for the collector', () => {
    const { rss } = process.memoryUsage();
    for (let at = 0; at < 1_000; at++) giveBack(Buffer.alloc(1024 * 1024, at));
    expect(process.memoryUsage().rss - rss).toBeLessThan(100 * 1024 * 1024);
  });
});

describe('a byte store', () => {
  test('holds what was pushed, however it was cut, until it is cleared', () => {
    const store = createByteStore();
    const text = 'a€😀'.repeat(10_000);
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += 7) store.push(bytes, at, Math.min(at + 7, bytes.length));
    expect([store.length(), store.text() === text, store.text(4)]).toEqual([bytes.length, true, 'a€']);
    store.clear();
    expect([store.length(), store.text(), store.latin1()]).toEqual([0, '', '']);
  });

  test('keeps a copy', () => {
    const store = createByteStore();
    const lent = Buffer.from('lent');
    store.push(lent, 1, 4);
    lent.fill(0);
    expect(store.text()).toBe('ent');
  });
});
