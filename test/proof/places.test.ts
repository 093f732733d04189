/** What a check is promised holds wherever it runs: in place, in a session, in a clean checkout, in a copy with a fault, on another machine. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runHook } from '../../src/hooks/main.ts';
import { COMMITS, type Proven, proven } from '../bundle/rig.ts';
import { ralph } from '../rig/ralph.ts';
import { folder, gitEnv, type Repo, repo } from '../rig/repo.ts';

const CLAIM = "cat > /dev/null\necho '<promise>COMPLETE</promise>'\n";

/** One iteration of an agent that does this and says that it is done. */
async function loop(work: Repo, script: string, ...flags: string[]) {
  const agent = folder();
  agent.write('agent.sh', `#!/bin/sh\n${CLAIM}${script}\n`);
  execFileSync('chmod', ['+x', agent.path('agent.sh')]);
  const args = ['loop', 'Fix it', '--agent', agent.path('agent.sh'), '--max-iterations', '1', '--json'];
  const { code, stdout, stderr } = await ralph([...args, ...flags], { cwd: work.dir });
  return { code, stderr, result: JSON.parse(stdout) };
}

const events = async (work: Repo) =>
  (await ralph(['log', '--json'], { cwd: work.dir })).stdout
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line));

const checks = (...commands: string[]) => commands.flatMap(command => ['--check', command]);

test('in a clean checkout: a check that changes what the next one rests on is void', {
  tags: 'promise',
}, async () => {
  const work = repo({ '.gitignore': '*.local\n', 'build.sh': 'true\n', 'check.sh': 'test -e impl.local\n' });
  const script = `touch impl.local; echo 'test -e impl.local || echo true > check.sh' > build.sh`;
  const { code, result } = await loop(
    work,
    script,
    ...checks('sh build.sh', 'sh check.sh'),
    ...['--proof', 'clean'],
  );
  expect(code).toBe(1);
  expect(result.detail ?? '').not.toContain('Done');
  const ended = (await events(work)).filter(
    ({ type, result: check }) => type === 'check-ended' && check.clean,
  );
  expect(ended.map(({ result: check }) => check.voided)).toEqual([
    expect.stringContaining('check.sh, which the checks rest on'),
    expect.stringContaining('a check before it is void'),
  ]);
});

test('in place: a look at the files that fails proves nothing', async () => {
  const work = repo({ '.gitattributes': '*.txt working-tree-encoding=UTF-16\n' });
  const { code, result } = await loop(work, 'printf x > a.txt', ...checks('test -e a.txt'));
  expect([code, result.success]).toEqual([1, false]);
});

describe('in a session', () => {
  const TEST = 'test/a.test.sh';
  const SWAP = `cp -p ${TEST} kept; : > ${TEST}; sh ${TEST}; end=$?; cat kept > ${TEST}; exit $end\n`;

  async function stopped(files: Readonly<Record<string, string>>, ...commands: string[]) {
    const project = repo({ [TEST]: 'exit 1\n', ...files });
    project.settings({ protect: ['test/**'] });
    const hook = async (event: string, more: object) => {
      const input = JSON.stringify({ session_id: 's', prompt_id: 'p1', cwd: project.dir, ...more });
      const env = { ...process.env, CLAUDE_PROJECT_DIR: project.dir };
      return JSON.parse((await runHook('claude', event, input, env)) || '{}');
    };
    const flags = commands.map(command => `--check "${command}"`).join(' ');
    const command_args = `x --completion-promise DONE --min-tool-calls 0 ${flags}`;
    await hook('UserPromptExpansion', { command_name: 'ralph:ralph-loop', command_args });
    return { project, answer: await hook('Stop', { last_assistant_message: '<promise>DONE</promise>' }) };
  }

  test('a check that changes a protected file and puts it back is void', { tags: 'promise' }, async () => {
    const { answer } = await stopped({ 'swap.sh': SWAP }, 'sh swap.sh');
    expect(answer.reason).toContain(`${TEST} was changed and put back`);
    expect(answer.reason).toContain('It counts as failed whatever its exit code');
  });

  test('a check that changes what the next one rests on is on the ledger', async () => {
    const { project, answer } = await stopped(
      { 'check.sh': 'exit 1\n' },
      'echo true > check.sh',
      'sh check.sh',
    );
    expect(answer.systemMessage).toContain('PROMISE_ACCEPTED');
    const judged = (await events(project)).find(({ type }) => type === 'judged');
    expect(judged.inputsChanged).toEqual(['check.sh']);
  });
});

describe('on another machine', () => {
  function cloneOf({ work }: Proven): string {
    const clone = join(folder().dir, 'clone');
    execFileSync('git', ['clone', '--quiet', work.dir, clone], { env: gitEnv() });
    return clone;
  }

  test('a check that changes a protected file is void', async () => {
    const run = await proven(COMMITS, ...checks('test -e .git || echo : > test/t.sh'));
    const { code, stdout } = await ralph(['verify', await run.report(), '--rerun'], { cwd: cloneOf(run) });
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^does not hold +rerun: .* is void in a clean checkout: it changed .*test\/t\.sh/m,
    );
  });

  test('the environment leads into the checkout, and not into the clone', async () => {
    const run = await proven(COMMITS, ...checks('sh "${LIB:-.}/check.sh"'));
    const clone = cloneOf(run);
    writeFileSync(join(clone, 'check.sh'), 'exit 1\n');
    const { code, stdout } = await ralph(['verify', await run.report(), '--rerun'], {
      cwd: clone,
      env: { LIB: clone },
    });
    expect({ code, stdout }).toMatchObject({ code: 0 });
  });
});

describe('in a copy with a fault', () => {
  const SHIP = 'ship() {\n  if [ "$1" -ge 100 ]; then\n    echo 0\n  else\n    echo 5\n  fi\n}\n';
  const TEST =
    'cd "$(dirname "$0")/.." || exit 1\n. ./ship.sh\n[ "$(ship 100)" = 0 ] && [ "$(ship 99)" = 5 ]\n';

  function shop(): Repo {
    const work = repo({ 'ship.sh': 'ship() { :; }\n', 'test/t.sh': TEST });
    work.write('ship.sh', SHIP);
    return work;
  }

  test('a path into the project leads into the copy', async () => {
    const work = shop();
    const { stdout } = await ralph(['mutate', '--check', `sh "${work.path('test/t.sh')}"`, '--json'], {
      cwd: work.dir,
    });
    const { mutants, survivors } = JSON.parse(stdout);
    expect(mutants).toBeGreaterThan(2);
    expect(survivors.length).toBeLessThan(mutants);
  });

  test('no secret is printed', async () => {
    const env = { SHOP_API_KEY: 'k3y-f0r-the-shop-0815' };
    const { stderr } = await ralph(['mutate', '--check', 'echo "$SHOP_API_KEY"; exit 1'], {
      cwd: shop().dir,
      env,
    });
    expect(stderr).toContain('exit code 1');
    expect(stderr).not.toContain(env.SHOP_API_KEY);
  });

  test('a check that changes a protected file there proves nothing', async () => {
    const work = repo({ 'ship.sh': 'ship() { :; }\n', 'test/t.sh': TEST });
    const knows = 'test "$(git config user.name)" != "Ralph simulate" || echo "exit 1" > test/t.sh';
    const script = `cat > ship.sh <<'X'\n${SHIP}X`;
    const flags = [...checks('sh test/t.sh', knows), '--protect', 'test/**', '--mutate'];
    const { result } = await loop(work, script, ...flags);
    expect(result.mutation ?? null).toBeNull();
    const mutated = (await events(work)).find(({ type }) => type === 'mutated');
    expect(mutated.failed).toContain('changed what is protected (test/t.sh');
  });
});

test('in a new worktree: what `setup` prints is redacted', async () => {
  const work = repo();
  const env = { SHOP_API_KEY: 'k3y-f0r-the-shop-0815' };
  work.settings({ setup: 'echo "no $SHOP_API_KEY"; exit 3' });
  const args = ['loop', 'Fix it', '--agent', 'true', '--worktree', ...checks('true')];
  const { code, stderr } = await ralph(args, { cwd: work.dir, env });
  expect(code).toBe(2);
  expect(stderr).toContain('failed with exit code 3 in the new checkout: no ');
  expect(stderr).not.toContain(env.SHOP_API_KEY);
});
