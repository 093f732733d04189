import { expect, test } from 'vitest';
import { answerTo, remoteProblem } from '../../../src/domain/run/remote-answer.ts';

const rejected = (line: string, ...remote: readonly string[]) =>
  `${remote.map(each => `remote: ${each}        \n`).join('')}To ../r.git\n ! ${line}\nerror: failed to push some refs to '../r.git'\n`;
const NOT_READ =
  'fatal: Could not read from remote repository.\n\nPlease make sure you have the correct access rights\nand the repository exists.\n';
const http = (words: string) => `fatal: unable to access 'https://example.com/a/b.git/': ${words}\n`;

test.each([
  // As git 2.39 prints them, and the servers behind it.
  ['fetch first', 'rebuild', rejected('[rejected]        main -> main (fetch first)')],
  ['non-fast-forward', 'rebuild', rejected('[rejected]        HEAD -> main (non-fast-forward)')],
  ['stale info', 'rebuild', rejected('[rejected]        HEAD -> main (stale info)')],
  [
    'moved in between',
    'rebuild',
    rejected(
      '[remote rejected] HEAD -> main (failed to update ref)',
      "error: cannot lock ref 'refs/heads/main': is at 1ea582599c6f9fb7e01b9aa0bcb75508542709a7 but expected 90d4cb101840909bedc2c9ab27abc750bf0d4432",
    ),
  ],
  [
    'a lock that somebody holds',
    'wait',
    rejected(
      '[remote rejected] HEAD -> x (failed to update ref)',
      "error: cannot lock ref 'refs/heads/x': Unable to create '/r.git/./refs/heads/x.lock': File exists.",
    ),
  ],
  [
    'a name below another',
    'stop',
    rejected(
      '[remote rejected] HEAD -> a (failed to update ref)',
      "error: cannot lock ref 'refs/heads/a': 'refs/heads/a/b' exists; cannot create 'refs/heads/a'",
    ),
  ],
  [
    'pre-receive hook',
    'stop',
    rejected('[remote rejected] HEAD -> x (pre-receive hook declined)', 'Only the release bot pushes here'),
  ],
  [
    'a hook that says something else',
    'stop',
    rejected(
      '[remote rejected] HEAD -> x (hook declined)',
      'stale info, fetch first, no space left on device',
    ),
  ],
  [
    'protected branch',
    'stop',
    rejected(
      '[remote rejected] main -> main (protected branch hook declined)',
      'error: GH006: Protected branch update failed for refs/heads/main.',
    ),
  ],
  [
    'rules of the repository',
    'stop',
    rejected('[remote rejected] x -> x (push declined due to repository rule violations)'),
  ],
  [
    'disk full',
    'wait',
    rejected(
      '[remote rejected] HEAD -> x (unpacker error)',
      'fatal: unable to write loose object file: No space left on device',
    ),
  ],
  [
    'too large',
    'stop',
    rejected('[remote rejected] HEAD -> y (unpacker error)', 'fatal: pack exceeds maximum allowed size'),
  ],
  ['unpacking failed', 'wait', rejected('[remote rejected] HEAD -> x (unpacker error)')],
  ['shallow', 'stop', rejected('[remote rejected] HEAD -> x (shallow update not allowed)')],
  ['permission denied, ssh', 'stop', `git@example.com: Permission denied (publickey).\r\n${NOT_READ}`],
  [
    'permission denied, https',
    'stop',
    `remote: Permission to a/b.git denied to ann.\n${http('The requested URL returned error: 403')}`,
  ],
  ['auth failed', 'stop', "fatal: Authentication failed for 'https://example.com/a/b.git/'\n"],
  [
    'nobody to ask',
    'stop',
    "fatal: could not read Username for 'https://example.com': terminal prompts disabled\n",
  ],
  ['not found, ssh', 'stop', `ERROR: Repository not found.\n${NOT_READ}`],
  [
    'not found, https',
    'stop',
    "remote: Repository not found.\nfatal: repository 'https://example.com/a/b.git/' not found\n",
  ],
  [
    'a commit that is gone',
    'stop',
    'fatal: remote error: upload-pack: not our ref 1111111111111111111111111111111111111111\n',
  ],
  ['host key', 'stop', `Host key verification failed.\r\n${NOT_READ}`],
  ['certificate', 'stop', http('SSL certificate problem: certificate has expired')],
  [
    'a folder that is not mounted',
    'wait',
    `fatal: '/mnt/r.git' does not appear to be a git repository\n${NOT_READ}`,
  ],
  ['connection reset', 'wait', http('Recv failure: Connection reset by peer')],
  [
    'connection reset, ssh',
    'wait',
    `kex_exchange_identification: read: Connection reset by peer\r\n${NOT_READ}`,
  ],
  [
    'connection refused',
    'wait',
    http("Failed to connect to 127.0.0.1 port 9 after 0 ms: Couldn't connect to server"),
  ],
  ['no such host', 'wait', http('Could not resolve host: nowhere.invalid')],
  [
    'overloaded',
    'wait',
    'error: RPC failed; HTTP 503 curl 22 The requested URL returned error: 503\nfatal: the remote end hung up unexpectedly\n',
  ],
  ['asked too often', 'wait', http('The requested URL returned error: 429')],
  [
    'cut off',
    'wait',
    'fetch-pack: unexpected disconnect while reading sideband packet\nfatal: early EOF\nfatal: unpack failed\n',
  ],
  ['no answer', 'wait', ''],
] as const)('%s: %s', (_, answer, output) => {
  expect(answerTo(output)).toBe(answer);
});

test('the words of the remote come first, on one line, without secrets and marks for terminals', () => {
  const hook = rejected(
    '[remote rejected] HEAD -> x (pre-receive hook declined)',
    '\x1b[31mOnly the release bot\x1b[0m pushes here',
    'See https://ann:secret123@example.com/rules',
  );
  const { what } = remoteProblem('r.git', hook, 'exit code 1');
  expect(what).toMatch(
    /^Only the release bot pushes here; See https:\/\/ann:.*@example.com\/rules; ! \[remote rejected\] HEAD -> x \(pre-receive hook declined\)$/,
  );
  expect(what).not.toContain('secret123');
  expect(remoteProblem('r.git', '', 'it gave no answer in time').what).toBe('it gave no answer in time');
});
