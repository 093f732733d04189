/** What is shown of a run in its project: it follows the ledger, and whatever is done to it is put right and said once. */
import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RunEvent } from '../../src/domain/run/event.ts';
import { repairMirror } from '../../src/store/mirror.ts';
import { projectPaths, type RunPaths, runPaths } from '../../src/store/paths.ts';
import { createRun, listRuns, writeTask } from '../../src/store/run-file.ts';
import { openRunStore } from '../../src/store/run-store.ts';
import { anyEvent } from '../report/any-event.ts';
import { folder } from '../rig/repo.ts';
import { examples } from '../rig/thorough.ts';

const NOTICE: RunEvent = { type: 'notice', level: 'info', text: 'hello' };

function newRun(project = projectPaths(folder().dir)) {
  const { file, paths } = createRun(project, {
    ...{ command: 'loop', version: '', config: { a: 1 }, now: 0, task: 'x' },
  });
  return { project, paths, shown: `.ralph/runs/${file.id}` };
}

function openStore({ project, paths }: ReturnType<typeof newRun>) {
  const id = paths.folder.split('/').at(-1) ?? '';
  return openRunStore({ project, id, env: {}, now: () => 0, ticks: () => 0, lost() {} });
}

/** What people read is what counts. */
function expectSame({ state, mirror }: RunPaths): void {
  for (const copy of ['run', 'task', 'events'] as const)
    expect(readFileSync(mirror[copy], 'utf8')).toBe(readFileSync(state[copy], 'utf8'));
}

test('the ledger in the project is the same after every event, and is never called changed', () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 12 }), events => {
      const run = newRun();
      const store = openStore(run);
      for (const event of events) {
        store.append(event);
        expectSame(run.paths);
      }
      expect(store.restore()).toEqual([]);
      store.close();
    }),
    examples(20),
  );
});

describe('what is done to it while the run is driven', () => {
  const DONE: Readonly<Record<string, readonly [(paths: RunPaths) => void, string]>> = {
    'a line is added': [({ mirror }) => appendFileSync(mirror.events, '{}\n'), '/events.jsonl was changed'],
    'the ledger is deleted': [({ mirror }) => rmSync(mirror.events), '/events.jsonl was deleted'],
    'the ledger is a link': [
      ({ mirror, folder: at }) => {
        rmSync(mirror.events);
        symlinkSync(join(at, '../../../elsewhere'), mirror.events);
      },
      '/events.jsonl was deleted',
    ],
    'run.json is edited, of the same size': [
      ({ mirror }) => writeFileSync(mirror.run, readFileSync(mirror.run, 'utf8').replace('"a": 1', '"a": 2')),
      '/run.json was changed',
    ],
    'the task is edited': [({ mirror }) => writeFileSync(mirror.task, 'y'), '/task.md was changed'],
    'its folder is deleted': [({ folder: at }) => rmSync(at, { recursive: true }), ' was deleted'],
    'its folder is a file': [
      ({ folder: at }) => {
        rmSync(at, { recursive: true });
        writeFileSync(at, '');
      },
      ' was replaced',
    ],
  };
  test.each(Object.entries(DONE))('%s: it is put right, and said once', (_, [harm, words]) => {
    const run = newRun();
    const store = openStore(run);
    store.append(NOTICE);
    harm(run.paths);
    expect(store.restore()[0]).toBe(`${run.shown}${words}`);
    store.append(NOTICE);
    expectSame(run.paths);
    expect(store.restore()).toEqual([]);
    store.close();
    expect(existsSync(join(run.project.root, 'elsewhere'))).toBe(false);
  });

  test('what Ralph itself writes anew is nobody’s change', () => {
    const run = newRun();
    const store = openStore(run);
    writeTask(run.paths, 'another task');
    expect(store.restore()).toEqual([]);
    expectSame(run.paths);
    store.close();
  });

  test('an earlier run comes back; one that is driven by somebody is left to them', () => {
    const { project, paths } = newRun();
    rmSync(paths.live);
    const other = newRun(project);
    const run = newRun(project);
    const store = openStore(run);
    for (const each of [paths, other.paths]) rmSync(each.folder, { recursive: true });
    expect(store.restore()).toEqual([`the earlier run ${paths.folder.split('/').at(-1)} was deleted`]);
    expectSame(paths);
    expect(existsSync(other.paths.folder)).toBe(false);
    store.close();
  });

  test('links where Ralph writes in this iteration and the next are removed, at every depth', () => {
    const run = newRun();
    const store = openStore(run);
    store.append({ type: 'iteration-started', iteration: 7 });
    const [now, next] = [run.paths.iteration(7), run.paths.iteration(8)];
    const target = join(run.project.root, 'mine');
    const links = [run.paths.progress, join(now.folder, 'prompt.md'), now.check('x'), next.folder];
    mkdirSync(now.checks, { recursive: true });
    for (const link of links) symlinkSync(target, link);
    expect(store.restore()).toHaveLength(links.length);
    for (const link of links) expect(lstatSync(link, { throwIfNoEntry: false })).toBeUndefined();
    store.close();
  });
});

test('a run that a kill left behind is put right by whoever looks next', () => {
  const run = newRun();
  const store = openStore(run);
  store.append(NOTICE);
  appendFileSync(run.paths.events, '{"seq":2}\n'); // the line was written, and the kill came before its copy
  expect(repairMirror(run.paths)).toBe(`${run.shown}/events.jsonl was changed`);
  expectSame(run.paths);
  expect(repairMirror(run.paths)).toBeUndefined();
  store.close();
});

describe('a run of which only the folder in the project is there', () => {
  test('is listed and read as a copy, and nothing is written for it', () => {
    const { project, paths } = newRun();
    rmSync(paths.state.folder, { recursive: true });
    const [id = ''] = listRuns(project);
    const copy = runPaths(project, id);
    expect([copy.trust.kind, copy.events]).toEqual(['elsewhere', copy.mirror.events]);
    expect(repairMirror(copy)).toBeUndefined();
    expect(readdirSync(project.state().runs)).toEqual([]);
  });

  test('as is every run where the state folder lies in the project', () => {
    const { dir } = folder();
    const project = projectPaths(dir, { XDG_STATE_HOME: join(dir, 'state') });
    const { paths } = newRun(project);
    const copy = runPaths(project, paths.folder.split('/').at(-1) ?? '');
    expect(copy.trust).toEqual({ kind: 'elsewhere', why: 'the state folder is inside the project' });
  });
});
