import { expect, test } from 'vitest';
import { readMessages } from '../../src/store/inbox.ts';
import { projectPaths } from '../../src/store/paths.ts';
import { createRun, listRuns } from '../../src/store/run-file.ts';
import { send } from '../../src/store/send.ts';
import { folder } from '../rig/repo.ts';

test('an in-session loop is steered in its host, whose process it must not signal', () => {
  const project = projectPaths(folder().dir);
  const { file, paths } = createRun(project, { command: 'session', version: '', config: {}, now: 0 });
  const refused = { message: `${file.id} is not running.`, done: false, runId: file.id };
  for (const wanted of [undefined, file.id.slice(-4), file.id])
    expect(send(project, wanted, { kind: 'cancel', gently: false }, 1)).toEqual(refused);
  expect(readMessages(paths)).toEqual([]);
});

test('runs of the same second are listed in the order in which they began', () => {
  const project = projectPaths(folder().dir);
  const ids = [0, 5, 40, 999].map(
    ms =>
      createRun(project, { command: 'run', version: '', config: {}, now: 1_763_000_000_000 + ms }).file.id,
  );
  expect(listRuns(project)).toEqual(ids);
});
