/** Calling people who have turned to something else, through the real bin. */
import { readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { init, result, writesFile } from '../rig/claude-stream.ts';
import { fakeAgent, type Handler } from '../rig/fake-agent.ts';
import { ralph } from '../rig/ralph.ts';
import { type Repo, repo } from '../rig/repo.ts';

/** A server that answers with these statuses, one after the other, and keeps what it was sent. */
async function hookServer(...statuses: readonly number[]) {
  const bodies: unknown[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', chunk => {
      body += chunk;
    });
    request.on('end', () => {
      bodies.push(JSON.parse(body));
      response.writeHead(statuses[bodies.length - 1] ?? 200).end();
    });
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { bodies, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/T0/s3cret-path` };
}

const works = writesFile('a', '1', '<promise>COMPLETE</promise>');

async function stopped(project: Repo, notify: unknown, flags: readonly string[] = []) {
  project.write('.ralph/settings.json', JSON.stringify(notify === undefined ? {} : { notify }));
  const agent = await fakeAgent('claude', works);
  return ralph(['loop', 'Do it', '--check', 'true', '--agent', 'claude', ...flags], {
    cwd: project.dir,
    path: [agent.bin],
    env: { MY_API_TOKEN: 'tok-12345678' },
  });
}

const DONE = {
  version: 1,
  occasion: 'stopped',
  command: 'loop',
  agent: 'claude',
  iteration: 1,
  success: true,
  stopReason: 'all_checks_passed',
  message: expect.stringMatching(
    /^Done: every check passes and the agent says it is complete\. Proof: the checks passed in your folder; /,
  ),
  proof: expect.stringMatching(/^the checks passed in your folder; not tried in a clean checkout · /),
};

test('a command gets the notification on stdin and in its environment', { tags: 'promise' }, async () => {
  const project = repo();
  const { code } = await stopped(project, {
    command:
      'cat > told.json; printf "%s|%s|%s" "$RALPH_OCCASION" "$RALPH_STOP_REASON" "$RALPH_RUN_ID" > told.env',
  });
  expect(code).toBe(0);
  const told = JSON.parse(project.read('told.json'));
  expect(told).toMatchObject(DONE);
  expect(project.read('told.env')).toBe(`stopped|all_checks_passed|${told.runId}`);
});

test('--notify gives the command alone', async () => {
  const project = repo();
  expect((await stopped(project, undefined, ['--notify', 'cat > told.json'])).code).toBe(0);
  expect(JSON.parse(project.read('told.json'))).toMatchObject(DONE);
});

test('a webhook is tried again after an answer that may pass', async () => {
  const { bodies, url } = await hookServer(503, 200);
  const { code, stderr } = await stopped(repo(), { webhook: url });
  expect([code, stderr]).toEqual([0, expect.not.stringContaining('webhook')]);
  expect(bodies).toEqual([expect.objectContaining(DONE), bodies[0]]);
});

test('a webhook that refuses is reported once, without the secret part of its address, and changes nothing', async () => {
  const { bodies, url } = await hookServer(404);
  const project = repo();
  const { code, stderr } = await stopped(project, { webhook: url });
  expect([code, bodies.length]).toEqual([0, 1]);
  expect(stderr).toContain(`the webhook at ${new URL(url).host} could not be reached: it answered 404`);
  expect(stderr).not.toContain('s3cret-path');
  const [run = ''] = readdirSync(project.path('.ralph/runs'));
  expect(project.read(`.ralph/runs/${run}/run.json`)).not.toContain('s3cret-path');
});

test('a command that fails is told with what it said, its secrets taken out', async () => {
  const { code, stderr } = await stopped(repo(), 'echo "no display $MY_API_TOKEN" >&2; exit 3');
  expect(code).toBe(0);
  expect(stderr).toContain('the notify command failed (exit code 3) no display [redacted]');
});

test('only on the occasions that were asked for', async () => {
  const project = repo();
  await stopped(project, { command: 'touch told', on: ['stuck'] });
  expect(project.git('status', '--porcelain')).not.toContain('told');
});

test('bad settings are all told at once', async () => {
  const { code, stderr } = await stopped(repo(), { webhook: 'ftp://x', on: ['stoped'], bel: true });
  expect(code).toBe(2);
  for (const words of ['http:// or https://', 'did you mean stopped?', 'did you mean bell?'])
    expect(stderr).toContain(words);
});

test('a wait for a limit is told when it begins, a short retry is not', async () => {
  const project = repo();
  const fails =
    (message: string, status: number): Handler =>
    async turn => {
      await turn.line(init);
      await turn.line(result({ is_error: true, result: message, api_error_status: status }));
      turn.exit(1);
    };
  const agent = await fakeAgent('claude', fails('limit, try again in 200ms', 429), works);
  await ralph(
    [
      'loop',
      'Do it',
      '--check',
      'true',
      '--agent',
      'claude',
      '--notify',
      'cat >> told.jsonl; echo >> told.jsonl',
    ],
    {
      cwd: project.dir,
      path: [agent.bin],
    },
  );
  const told = project
    .read('told.jsonl')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line));
  expect(told.map(each => each.occasion)).toEqual(['waiting', 'stopped']);
  expect(told[0]).toMatchObject({ iteration: 1, until: expect.any(Number), success: null });
});
