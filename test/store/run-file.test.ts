import { expect, test } from 'vitest';
import { findLiveRun } from '../../src/store/find-live.ts';
import { projectPaths } from '../../src/store/paths.ts';
import { createRun, listRuns } from '../../src/store/run-file.ts';
import { folder } from '../rig/repo.ts';

test('an in-session loop is steered in its host, whose process it must not signal', () => {
  const project = projectPaths(folder().dir);
  const { file } = createRun(project, { command: 'session', version: '', config: {}, now: 0 });
  expect(findLiveRun(project)).toEqual({ ended: file.id });
  expect(findLiveRun(project, file.id.slice(-4))).toEqual({ ended: file.id });
});

test('runs of the same second are listed in the order in which they began', () => {
  const project = projectPaths(folder().dir);
  const ids = [0, 5, 40, 999].map(
    ms =>
      createRun(project, { command: 'run', version: '', config: {}, now: 1_763_000_000_000 + ms }).file.id,
  );
  expect(listRuns(project)).toEqual(ids);
});
