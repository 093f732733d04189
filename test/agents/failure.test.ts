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
  [
    '[API Error: {"error":{"code":429,"message":"Resource exhausted. Please retry in 17s.","status":"RESOURCE_EXHAUSTED"}}]',
    'rate-limit',
    429,
  ],
  ['[API Error: Resource has been exhausted (e.g. check quota).]', 'rate-limit', undefined],
  [
    '[API Error: {"error":{"code":400,"message":"The input token count (1048577) exceeds the maximum number of tokens allowed (1048576)."}}]',
    'context-overflow',
    400,
  ],
  [
    '[API Error: {"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]',
    'auth',
    400,
  ],
  ['[API Error: API Key expired. Please renew the API key.]', 'auth', undefined],
  ['Selected model is at capacity. Please try a different model.', 'transient', undefined],
  ["You've reached your 5-hour limit ∙ resets 3pm", 'rate-limit', undefined],
  ['model: claude-opus-9 not_found_error', 'config', undefined],
  ['getaddrinfo ENOTFOUND api.example.com', 'transient', undefined],
  ['Internal server error', 'transient', undefined],
  ['API Error: Service Unavailable', 'transient', undefined],
  [
    'Your access token could not be refreshed because your refresh token was already used. Please log out and sign in again.',
    'auth',
    undefined,
  ],
  [
    'Your access token could not be refreshed because you have since logged out or signed in to another account. Please sign in again.',
    'auth',
    undefined,
  ],
  ['OAuth token has expired. Please obtain a new token or refresh your existing token.', 'auth', undefined],
  ['API Error: terminated', 'transient', undefined],
  [
    "There's an issue with the selected model (opus-99). It may not exist or you may not have access to it. Run --model to pick a different model.",
    'config',
    undefined,
  ],
  ['API Error: Unable to connect to API: Self-signed certificate detected', 'config', undefined],
  ['API Error: Unable to connect to API (UNABLE_TO_GET_ISSUER_CERT_LOCALLY)', 'config', undefined],
  ['fetch failed: unable to verify the first certificate', 'config', undefined],
  [
    'stream disconnected before completion: error sending request: invalid peer certificate: UnknownIssuer',
    'config',
    undefined,
  ],
  ['unable to get local issuer certificate', 'config', undefined],
  ['the certificate of attendance was printed', 'crash', undefined],
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

test.each([
  [400, 'API key not valid. Please pass a valid API key.', 'auth'],
  [400, 'The input token count (9) exceeds the maximum number of tokens allowed (8).', 'context-overflow'],
  [400, 'Resource exhausted', 'rate-limit'],
  [400, 'unknown field', 'config'],
  [404, 'OAuth token has expired', 'config'],
  [500, 'at capacity', 'transient'],
])('with status %i, %j is %s', (status, message, cls) => {
  expect(gaveUp({ message, status })).toMatchObject({ trouble: { class: cls } });
});

test('a time in seconds becomes milliseconds', () => {
  expect([milliseconds(1_788_441_600), milliseconds(1_788_441_600_000), milliseconds(undefined)]).toEqual([
    1_788_441_600_000,
    1_788_441_600_000,
    undefined,
  ]);
});
