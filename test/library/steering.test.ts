/** Clocks, limits and pauses through the library, where a test can set the clock. */
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { createLoop, defineAgent, type LoopEvent } from '../../src/index.ts';
import { sendMessage } from '../../src/store/inbox.ts';
import { projectPaths, runPaths } from '../../src/store/paths.ts';
import { repo } from '../rig/repo.ts';

const HOUR = 3_600_000;

/** A clock that a test can set; the steady one only goes forward. */
function settable() {
  let shift = 0;
  let sleep = 0;
  return {
    clock: { now: () => Date.now() + shift, ticks: () => performance.now() + sleep },
    /** Only the wall clock: somebody set it, or the machine slept. */
    set: (ms: number) => {
      shift += ms;
    },
    /** Both clocks: time went by. */
    pass: (ms: number) => {
      shift += ms;
      sleep += ms;
    },
  };
}

const limited = (resetAt: number) => ({
  kind: 'trouble' as const,
  trouble: { class: 'rate-limit' as const, message: 'limit', resetAt },
  retrying: false,
});

async function runLoop(
  run: Parameters<typeof defineAgent>[1],
  on: (event: LoopEvent, runId: string) => void,
  options: {
    readonly clock: ReturnType<typeof settable>['clock'];
    readonly settings?: Record<string, unknown>;
  },
) {
  const project = repo();
  const config = { task: 'x', checks: ['true'], ...(options.settings && { settings: options.settings }) };
  const loop = createLoop(config, { agent: defineAgent('me', run), cwd: project.dir, clock: options.clock });
  const listening = (async () => {
    let runId = '';
    for await (const event of loop.events) {
      if (event.type === 'run-started') runId = event.runId;
      on(event, project.path(`.ralph/runs/${runId}`));
    }
  })();
  const result = await loop.run();
  await listening;
  return result;
}

test('a laptop that slept through the limit goes on when it wakes', async () => {
  const time = settable();
  let calls = 0;
  const result = await runLoop(
    async turn => {
      if (++calls > 1) return { text: '<promise>COMPLETE</promise>', toolCalls: 1 };
      turn.emit(limited(time.clock.now() + 5 * HOUR));
      throw new Error('limit');
    },
    event => event.type === 'waiting' && time.set(6 * HOUR),
    time,
  );
  expect([result.stopReason, result.iterations.length, calls]).toEqual(['all_checks_passed', 1, 2]);
});

test('a clock that is set back never makes a wait longer than --max-wait', async () => {
  const time = settable();
  let calls = 0;
  const result = await runLoop(
    async turn => {
      if (++calls > 1) return { text: '<promise>COMPLETE</promise>', toolCalls: 1 };
      turn.emit(limited(time.clock.now() + 900));
      throw new Error('limit');
    },
    event => event.type === 'waiting' && time.set(-24 * HOUR),
    { clock: time.clock, settings: { maxWait: 1 } },
  );
  expect([result.stopReason, calls]).toEqual(['all_checks_passed', 2]);
  expect(result.waited).toBeGreaterThanOrEqual(0.99);
});

test('what the user takes for a pause is not counted by --max-time', async () => {
  const time = settable();
  let calls = 0;
  const result = await runLoop(
    async () => {
      if (++calls > 2) return { text: '<promise>COMPLETE</promise>', toolCalls: 1 };
      return 'not yet';
    },
    (event, folder) => {
      const inbox = runPaths(projectPaths(join(folder, '../../..')), basename(folder));
      if (event.type === 'iteration-started' && event.iteration === 1)
        sendMessage(inbox, { kind: 'pause' }, 1);
      if (event.type !== 'paused') return;
      time.pass(9 * HOUR);
      sendMessage(inbox, { kind: 'continue' }, 2);
    },
    { clock: time.clock, settings: { maxTime: 3600 } },
  );
  expect(result.stopReason).toBe('all_checks_passed');
});
