/** What the agent had changed before a pause is undone; what the user changes in it is the new start. */
import { describe, expect, test } from 'vitest';
import { NOTHING_YET } from '../../../src/domain/run/state.ts';
import { createPausing, type Held, recallInputs } from '../../../src/run/turns/pausing.ts';
import type { Received } from '../../../src/store/inbox.ts';
import { watchCheckInputs } from '../../../src/workspace/check-inputs.ts';
import { createTreeWatch } from '../../../src/workspace/tree-watch.ts';
import { only } from '../../rig/ledger.ts';
import { folder } from '../../rig/repo.ts';
import { functionAgent, turnWorld } from './world.ts';

const message = (kind: 'pause' | 'continue'): Received => ({ kind, id: kind });
const BROKEN = { what: 'tasks.json was changed', restored: true };

/** A run with a pause in it, in which the user does this. */
async function paused(inThePause: (log: string[]) => void = () => {}) {
  const messages = [message('pause')];
  const agents = [functionAgent('one', async () => undefined)] as const;
  const { parts, events } = turnWorld({ agents, messages });
  const log: string[] = [];
  const held: Held = {
    restore(iteration) {
      log.push(`restore ${iteration}`);
      return log.length === 1 ? [BROKEN] : [];
    },
    hold() {
      log.push('hold');
      inThePause(log);
      messages.push(message('continue'));
    },
    release: () => void log.push('release'),
  };
  const tree = createTreeWatch({ cwd: parts.cwd, env: parts.env });
  const { restore } = createPausing({ ...parts, protection: undefined }, tree, held);
  await parts.steering.pausePoint(3);
  return { log, events, restore };
}

describe('a pause', () => {
  test('begins when what the agent may not do is undone, and ends when the user’s files are taken', async () => {
    const { log, events } = await paused(log => log.push('the user'));
    expect(log).toEqual(['restore 3', 'hold', 'the user', 'release']);
    expect(events.map(({ type }) => type)).toEqual(['notice', 'paused', 'prepared', 'continued']);
  });

  test('keeps what was undone for the verdict on the turn, which hears of it once', async () => {
    const { restore } = await paused();
    expect(await restore(3, [])).toEqual([BROKEN]);
    expect(await restore(4, [])).toEqual([]);
  });

  test('puts the new start on record, for a run that is resumed later', async () => {
    const { events } = await paused();
    expect(only(events, 'prepared')).toMatchObject([{ tree: null }]);
  });
});

describe('check inputs of a run that is resumed', () => {
  function inputs() {
    const place = folder();
    place.write('package.json', '{"scripts":{"test":"node --test"}}');
    const watch = watchCheckInputs({ cwd: place.dir, env: { PATH: '/bin' }, commands: ['npm test'] });
    const start = watch.take();
    place.write('package.json', '{"scripts":{"test":"true"}}');
    return { watch, start };
  }
  const past = (isPaused: boolean) => ({ ...NOTHING_YET, time: { ...NOTHING_YET.time, isPaused } });

  test('are compared with how they were when it began', () => {
    const { watch, start } = inputs();
    expect(recallInputs(watch, past(false), { tree: null, inputs: start })).toEqual(start);
    expect(watch.changed()).toEqual(['package.json']);
  });

  test.each<[string, boolean, boolean]>([
    ['it was paused: they are the user’s', true, true],
    ['nobody knows how they were', false, false],
  ])('are taken as they are, where %s', (_, isPaused, isKnown) => {
    const { watch, start } = inputs();
    recallInputs(watch, past(isPaused), { tree: null, ...(isKnown && { inputs: start }) });
    expect(watch.changed()).toEqual([]);
  });
});
