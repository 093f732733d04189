/** `ralph loop` with the real Claude Code and Codex: lies, weakened tests, and budgets, against a scripted model. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { hostCommand, type Limit } from '../rig/hosts/host.ts';
import { hostSession } from '../rig/hosts/session.ts';
import { HOSTS } from '../rig/hosts/table.ts';
import type { Step } from '../rig/model-server/script.ts';
import { startRalph } from '../rig/ralph.ts';

const COMPLETE = '<promise>COMPLETE</promise>';
const shell = (command: string): Step => ({ tools: [{ do: 'shell', command }] });

interface LoopCase {
  readonly files?: Readonly<Record<string, string>>;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const loop = (
  name: 'claude' | 'codex',
  steps: readonly Step[],
  files: Readonly<Record<string, string>>,
  ...args: string[]
) => loopWith(name, steps, { files, args });

async function loopWith(
  name: 'claude' | 'codex',
  steps: readonly Step[],
  { files = {}, args, env: more = {} }: LoopCase,
) {
  const session = await hostSession(name, { steps });
  onTestFinished(() => session.close());
  const { repo, env } = session.place;
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(join(repo, file, '..'), { recursive: true });
    writeFileSync(join(repo, file), content);
  }
  const settings = { agent: { command: hostCommand(name), adapter: name, flags: session.flags } };
  mkdirSync(join(repo, '.ralph'), { recursive: true });
  writeFileSync(join(repo, '.ralph/settings.json'), JSON.stringify(settings));
  const run = startRalph(['loop', 'Make feature.txt', ...args, '--json'], {
    cwd: repo,
    env: { ...env, ...session.env, ...more },
  });
  const { code, stdout, stderr } = await run.finished;
  const requests = session.server.requests.filter(request => request.kind === 'step');
  return { code, result: stdout.startsWith('{') ? JSON.parse(stdout) : stderr, stderr, requests, repo };
}

/** A limit as a subscription has it, that ends in so many seconds. */
function limitedFor(name: 'claude' | 'codex', seconds: number): Pick<Limit, 'step' | 'env'> {
  const at = Math.floor(Date.now() / 1000) + seconds;
  const { step, env } = HOSTS[name].limit?.() ?? { step: {} };
  const headers = { ...step.headers, 'anthropic-ratelimit-unified-reset': String(at) };
  const body = step.errorBody as { error: Record<string, unknown> } | undefined;
  const errorBody = body && { error: { ...body.error, resets_at: at } };
  return { step: { ...step, headers, ...(errorBody && { errorBody }) }, ...(env && { env }) };
}

describe.each(['claude', 'codex'] as const)('%s', name => {
  test('that lies once is sent back with the failure, in a clean context, and ends when the check is green', async () => {
    const steps = [
      shell('echo started > work.txt'),
      { text: `Finished! ${COMPLETE}` },
      shell('echo made > feature.txt'),
      { text: `Now it is done. ${COMPLETE}` },
    ];
    const { code, result, requests } = await loop(name, steps, {}, '--check', 'cat feature.txt');
    expect([code, result.stopReason, result.iterations.length]).toEqual([0, 'all_checks_passed', 2]);
    expect(result.iterations[0]).toMatchObject({
      completionTagFound: true,
      allChecksPassed: false,
      toolCalls: 1,
    });
    expect(result.totalTokens.input).toBeGreaterThan(0);
    const second = requests[2];
    const told = second?.userTexts.join('\n') ?? '';
    expect(told).toContain('You said that you were done, but the checks below fail.');
    expect(told).toContain('+started');
    expect(told).not.toContain('Finished!');
  });

  test('that weakens the test finds it put back', async () => {
    const steps = [
      shell('echo true > test/check.sh'),
      { text: COMPLETE },
      shell('echo made > feature.txt'),
      { text: COMPLETE },
    ];
    const { code, result, repo } = await loop(
      name,
      steps,
      { 'test/check.sh': 'test -e feature.txt\n' },
      '--check',
      'sh test/check.sh',
      '--protect',
      'test/**',
    );
    expect([code, result.iterations.length]).toEqual([0, 2]);
    expect(result.iterations[0].violations).toEqual([expect.stringContaining('test/check.sh')]);
    expect(readFileSync(join(repo, 'test/check.sh'), 'utf8')).toBe('test -e feature.txt\n');
  });

  test('that is limited is waited for until the time it states; the iteration is one', async () => {
    const { step, env = {} } = limitedFor(name, 4);
    const steps = [step, shell('echo made > feature.txt'), { text: COMPLETE }];
    const { code, result, stderr, requests } = await loopWith(name, steps, {
      args: ['--check', 'cat feature.txt'],
      env,
    });
    expect([code, result.stopReason, result.iterations.length]).toEqual([0, 'all_checks_passed', 1]);
    expect(result.waited).toBeGreaterThan(0);
    expect(stderr).toContain(`${name}: rate limit. Retrying in`);
    expect(requests[1]?.userTexts).toEqual(requests[0]?.userTexts);
  });

  test('whose model breaks (500, 529, a cut stream) is tried again; the iteration is one', async () => {
    const steps: Step[] = [
      { status: 500, error: 'scripted 500' },
      { status: 529, error: 'scripted overload' },
      { text: 'These words are cut in the middle.', cut: { events: 4 } },
      shell('echo made > feature.txt'),
      { text: COMPLETE },
    ];
    const { code, result, stderr } = await loopWith(name, steps, { args: ['--check', 'cat feature.txt'] });
    expect([code, result.stopReason, result.iterations.length]).toEqual([0, 'all_checks_passed', 1]);
    // Claude Code gets over a cut stream by itself.
    expect(stderr).toContain(`Retrying (attempt ${name === 'claude' ? 3 : 4})`);
  });

  test('that overspends is ended inside its turn, and its work is kept', async () => {
    const steps: Step[] = [
      shell('echo kept > work.txt'),
      { ...shell('echo more > more.txt'), usage: { input: 900_000, output: 10 } },
      { text: 'never heard', gate: 'never' },
    ];
    // Codex tells its tokens only when its turn is over: there the clock must do.
    const limit = name === 'claude' ? ['--max-tokens', '500000'] : ['--max-time', '45'];
    const { code, result, repo } = await loop(name, steps, {}, '--check', 'true', ...limit);
    expect([code, result.stopReason]).toEqual([1, name === 'claude' ? 'budget_exhausted' : 'timeout']);
    expect(readFileSync(join(repo, 'work.txt'), 'utf8')).toBe('kept\n');
  });
});
