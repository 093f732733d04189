import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  type AgentFunction,
  createLoop,
  defineAgent,
  type LoopConfig,
  LoopConfigError,
  type LoopEvent,
  runLoop,
} from '../../src/index.ts';
import { gitEnv, repo } from '../rig/repo.ts';

const ROOT = join(import.meta.dirname, '../..');
const env = gitEnv();
const COMPLETE = '<promise>COMPLETE</promise>';

const REPORTS = { reports: { cost: 'turn', tokens: 'turn' } } as const;
const worker = defineAgent(
  'worker',
  async ({ cwd, iteration }) => {
    writeFileSync(join(cwd, 'made'), String(iteration));
    return { text: COMPLETE, toolCalls: 1, cost: 0.5, tokens: { input: 100, output: 10 } };
  },
  REPORTS,
);

describe('a loop as a call', () => {
  test('runs a function until the checks pass, and its result is that of --json', {
    tags: ['promise', 'P-library'],
  }, async () => {
    const { dir } = repo();
    const config: LoopConfig = { task: 'x', checks: ['test "$(cat made)" = 2'], maxIterations: 5 };
    const result = await runLoop(config, { agent: worker, cwd: dir, env });
    expect(result).toMatchObject({
      success: true,
      stopReason: 'all_checks_passed',
      totalCost: 1,
      totalTokens: { input: 200, output: 20 },
      iterations: [
        { iteration: 1, allChecksPassed: false, completionTagFound: true, toolCalls: 1, cost: 0.5 },
        { iteration: 2, allChecksPassed: true, completionTagFound: true },
      ],
    });
  });

  test('tells every event to the first who listens, also when it is over', async () => {
    const { dir } = repo();
    const loop = createLoop({ task: 'x', checks: ['true'] }, { agent: worker, cwd: dir, env });
    const read = async () => {
      const types: LoopEvent['type'][] = [];
      for await (const event of loop.events) types.push(event.type);
      return types;
    };
    await loop.run();
    const types = await read();
    expect([types[0], types.at(-1)]).toEqual(['run-started', 'run-ended']);
    expect(await read()).toEqual([]);
  });

  test('does not wait for somebody who reads slowly or not at all', async () => {
    const { dir } = repo();
    const loop = createLoop({ task: 'x', checks: ['true'] }, { agent: worker, cwd: dir, env });
    loop.events[Symbol.asyncIterator]();
    expect((await loop.run()).success).toBe(true);
  });

  test('ends at once when its signal fires, also in the middle of a turn', { tags: 'promise' }, async () => {
    const { dir } = repo();
    const stop = new AbortController();
    let ended = false;
    const sleeper = defineAgent('sleeper', ({ signal }) => {
      signal.addEventListener('abort', () => {
        ended = true;
      });
      stop.abort();
      return new Promise(() => {});
    });
    const result = await runLoop(
      { task: 'x', checks: ['true'] },
      { agent: sleeper, cwd: dir, env, signal: stop.signal },
    );
    expect([result.stopReason, ended]).toEqual(['cancelled', true]);
  });

  test('takes an agent that throws for one that failed', async () => {
    const { dir } = repo();
    const broken = defineAgent('broken', async () => {
      throw new Error('no model today');
    });
    const result = await runLoop({ task: 'x', checks: ['true'] }, { agent: broken, cwd: dir, env });
    expect(result).toMatchObject({
      stopReason: 'agent_failed',
      iterations: [{ error: 'no model today' }, {}, {}],
    });
  });

  test('keeps a budget inside a turn', async () => {
    const { dir } = repo();
    const spend: AgentFunction = ({ emit }) => {
      emit({ kind: 'usage', scope: 'total', cost: 9 });
      return new Promise(() => {});
    };
    const spender = defineAgent('spender', spend, { reports: { cost: 'step' } });
    const result = await runLoop(
      { task: 'x', checks: ['true'], maxCost: 5 },
      { agent: spender, cwd: dir, env },
    );
    expect(result).toMatchObject({ stopReason: 'budget_exhausted', totalCost: 9 });
  });

  test('ends a turn that takes too long', async () => {
    const { dir } = repo();
    const slow = defineAgent('slow', () => new Promise(() => {}));
    const result = await runLoop(
      { task: 'x', checks: ['true'], maxTime: 0.2 },
      { agent: slow, cwd: dir, env },
    );
    expect(result).toMatchObject({ stopReason: 'timeout' });
  });

  test('says all that is wrong with its configuration', async () => {
    const { dir } = repo();
    const config = {
      task: ' ',
      checks: [],
      maxIterations: 0,
      settings: { nonsense: 1 },
    } as unknown as LoopConfig;
    const refused = runLoop(config, { agent: worker, cwd: dir, env });
    await expect(refused).rejects.toThrow(LoopConfigError);
    await expect(refused).rejects.toThrow(
      /nonsense: there is no such setting[\s\S]*maximumIterations: must be[\s\S]*checks: at least one[\s\S]*task: there is none/,
    );
    expect(existsSync(join(dir, '.ralph'))).toBe(false);
  });

  test('removes its progress file when asked, and nothing else', async () => {
    const { dir } = repo();
    const loop = createLoop({ task: 'x', checks: ['true'] }, { agent: worker, cwd: dir, env });
    await loop.run();
    loop.cleanupProgress();
    expect(existsSync(join(dir, '.ralph/ralph-progress.md'))).toBe(false);
    expect(await loop.cleanupWorktree()).toBeUndefined();
  });
});

describe('the package', () => {
  test.each([
    ['function-agent.mjs', 'all_checks_passed after 3 iterations, $0.03\n'],
    ['events.mjs', 'iteration 1: I am thinking\niteration 2: I am thinking\ncancelled\n'],
    ['judge.mjs', '{"kind":"continue","feedback":[{"kind":"no-work"}]}\n'],
  ])('runs the example %s', (name, expected) => {
    const { dir } = repo();
    expect(
      execFileSync(process.execPath, [join(ROOT, 'examples', name)], { cwd: dir, encoding: 'utf8', env }),
    ).toBe(expected);
  });

  test('runs the example that works on issues, and opens pull requests for what is proven', () => {
    const { dir, path, git } = repo();
    git('init', '-q', '--bare', path('origin.git'));
    git('remote', 'add', 'origin', path('origin.git'));
    const issues = JSON.stringify([
      { number: 7, title: 'Make it', body: 'A file.' },
      { number: 8, title: 'Do nothing', body: '' },
    ]);
    const program = (name: string, script: string) =>
      writeFileSync(path(`bin/${name}`), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    mkdirSync(path('bin'));
    program('gh', `if [ "$1" = issue ]; then echo '${issues}'; else echo "$@" >>'${path('pulls')}'; fi`);
    program(
      'me',
      'case "$(cat)" in *"Make it"*) echo x >made;; esac; echo "Done. <promise>COMPLETE</promise>"',
    );
    mkdirSync(path('.ralph'));
    writeFileSync(path('.ralph/settings.json'), JSON.stringify({ agent: path('bin/me') }));
    const stdout = execFileSync(process.execPath, [join(ROOT, 'examples/issues.mjs'), 'test -f made'], {
      cwd: dir,
      encoding: 'utf8',
      env: { ...env, PATH: `${path('bin')}:${process.env.PATH}` },
    });
    expect(stdout).toMatch(/#7 all_checks_passed after 1 iterations\n#8 (?!all)\w+ after \d iterations\n/);
    expect(readFileSync(path('pulls'), 'utf8')).toMatch(
      /^pr create --head ralph\/issue-7 --title Make it --body/,
    );
    expect(git('ls-remote', 'origin')).toContain('refs/heads/ralph/issue-7');
  });

  test('has examples that agree with its types', () => {
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const { status, stdout } = spawnSync(
      process.execPath,
      [tsc, '-p', join(ROOT, 'tsconfig.examples.json')],
      { encoding: 'utf8' },
    );
    expect([status, stdout]).toEqual([0, '']);
  });

  test('starts nothing and prints nothing when it is imported', () => {
    const script = `import '@ralph-loop/ralph'; process.on('exit', () => process.exitCode = process.getActiveResourcesInfo().length)`;
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    expect([status, stdout, stderr]).toEqual([0, '', '']);
  });
});
