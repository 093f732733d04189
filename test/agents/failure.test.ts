/** The text of an agent's own error, where it gives nothing better. */
import { expect, test } from 'vitest';
import { gaveUp, milliseconds } from '../../src/agents/events.ts';

test.each([
  ['unexpected status 401 Unauthorized: Incorrect API key', 'auth', 401],
  ['[API Error: {"error":{"code":401,"message":"no","status":"INVALID_ARGUMENT"}}]', 'auth', 401],
  ['Authentication failed with provider at http://127.0.0.1:443/v1 (HTTP 401).', 'auth', 401],
  ['exceeded retry limit, last status: 429 Too Many Requests', 'rate-limit', 429],
  ['API Error: Request rejected (429) · x', 'rate-limit', 429],
  ['500 {"type":"error"}', 'transient', 500],
  ['Last error: 500 scripted internal error', 'transient', 500],
  ['HTTP/1.1 503 Service Unavailable', 'transient', 503],
  ['We’re currently experiencing high demand, which may cause temporary errors.', 'transient', undefined],
  ['stream disconnected before completion: error sending request', 'transient', undefined],
  ['Connection error.', 'transient', undefined],
  ['[API Error: exception TypeError: fetch failed sending request]', 'transient', undefined],
  ['terminated', 'transient', undefined],
  ['[API Error: terminated]', 'transient', undefined],
  ['the job was terminated by its owner', 'crash', undefined],
  ['connect ECONNREFUSED 127.0.0.1:443', 'transient', undefined],
  ['TypeError at line 404 of index.js', 'crash', undefined],
  ['Reached 400 turns', 'crash', undefined],
  ['User cancelled (SIGINT/SIGTERM)', 'crash', undefined],
])('%j is %s', (message, cls, status) => {
  expect(gaveUp({ message })).toEqual({
    kind: 'trouble',
    retrying: false,
    trouble: { class: cls, message, ...(status !== undefined && { status }) },
  });
});

test('a status that is told wins over one that is only mentioned', () => {
  expect(gaveUp({ message: 'status 500', status: 401 })).toMatchObject({
    trouble: { class: 'auth', status: 401 },
  });
});

test('a time in seconds becomes milliseconds', () => {
  expect([milliseconds(1_788_441_600), milliseconds(1_788_441_600_000), milliseconds(undefined)]).toEqual([
    1_788_441_600_000,
    1_788_441_600_000,
    undefined,
  ]);
});
