/** What a turn needs around it, in memory: real parts, functions as agents, and a clock that the test sets. */
import { onTestFinished } from 'vitest';
import { defaultSettings } from '../../../src/config/settings.ts';
import type { Settings } from '../../../src/config/settings-shape.ts';
import type { Emit, RunEvent } from '../../../src/domain/run/event.ts';
import { fold, NOTHING_YET, type RunState } from '../../../src/domain/run/state.ts';
import { createDisk } from '../../../src/platform/disk.ts';
import { createMeter } from '../../../src/run/meter.ts';
import { createSteering } from '../../../src/run/steering.ts';
import { createStopRequest } from '../../../src/run/stop.ts';
import { createRoster } from '../../../src/run/turns/agent-pool.ts';
import type { ChosenAgent } from '../../../src/run/turns/choose-agent.ts';
import type { RunContext } from '../../../src/run/turns/context.ts';
import { type AgentFunction, type AgentTraits, defineAgent } from '../../../src/run/turns/define-agent.ts';
import { adapterOf } from '../../../src/run/turns/function-agent.ts';
import { DONE_RULES, limitsOf, standstillLimits } from '../../../src/run/turns/goal.ts';
import { hooksOfRun } from '../../../src/run/turns/run-hooks.ts';
import type { Received } from '../../../src/store/inbox.ts';
import { projectPaths, runPaths } from '../../../src/store/paths.ts';
import { folder } from '../../rig/repo.ts';

export const NOW = Date.UTC(2026, 10, 15, 12);
export const MINUTE = 60_000;

/** Both clocks, moved by hand. */
export function handClock() {
  let passed = 0;
  return {
    now: () => NOW + passed,
    ticks: () => passed,
    pass(ms: number): void {
      passed += ms;
    },
  };
}

/** A ledger in memory: what is emitted is kept, and folded into the past. */
export function recorder(clock = handClock()) {
  const events: RunEvent[] = [];
  let past: RunState = NOTHING_YET;
  const emit: Emit = event => {
    events.push(event);
    past = fold(past, { ...event, time: clock.now() });
  };
  return {
    clock,
    events,
    emit,
    past: () => past,
    notices: () => events.flatMap(event => (event.type === 'notice' ? [event.text] : [])),
  };
}

/** An agent that is a function, as a run has chosen it. */
export function functionAgent(name: string, run: AgentFunction, traits?: AgentTraits): ChosenAgent {
  const agent = defineAgent(name, run, traits);
  return {
    ...{ adapter: adapterOf(agent), name, command: name, prefix: [], flags: [], prices: {} },
    why: 'it was given',
    function: agent,
  };
}

export interface WorldOptions {
  readonly settings?: Partial<Settings>;
  readonly agents: readonly [ChosenAgent, ...ChosenAgent[]];
  readonly clock?: ReturnType<typeof handClock>;
  readonly messages?: Received[];
}

/** All that a run has around it. */
export function turnWorld({ agents, settings, clock = handClock(), messages = [] }: WorldOptions) {
  const { events, emit, past, notices } = recorder(clock);
  const home = folder();
  const project = projectPaths(home.dir, { XDG_STATE_HOME: home.path('state') });
  const paths = runPaths(project, 'r1');
  const stop = createStopRequest();
  const own = { ...defaultSettings('run'), ...settings };
  const steering = createSteering({
    ...{ emit, clock, stop, past },
    store: {
      messages: () => [...messages],
      removeMessage: id =>
        void messages.splice(
          messages.findIndex(each => each.id === id),
          1,
        ),
    },
  });
  onTestFinished(() => steering.close());
  const parts: RunContext = {
    ...{ settings: own, agent: agents[0], cwd: home.dir, clock, emit, past, project, paths, steering },
    env: { PATH: '/bin' },
    ...{ stop, abort: stop.abort, stopping: stop.stopping },
    goal: { ...DONE_RULES.run(own), limits: limitsOf(own) },
    ...{
      runId: 'r1',
      flags: {},
      protection: undefined,
      included: undefined,
      isLane: false,
      isExposed: false,
    },
    standstill: standstillLimits(own),
    flushed: async () => {},
    restoreOwn: async () => ({ restored: [], lost: [] }),
    disk: createDisk(),
    hooks: hooksOfRun({ command: 'run', settings: own, paths, cwd: home.dir, sandboxed: true }),
    secure() {},
    roster: createRoster(agents),
    meter: createMeter(clock, past()),
    random: () => 1,
  };
  return { parts, events, notices, home, stop, messages, clock };
}
