/** What was in the way of an issue: a forge that was away is no fault of it. */
import { expect, test } from 'vitest';
import { createDriver } from '../../src/forge/issue-driver.ts';
import { createStopRequest } from '../../src/run/stop.ts';

const ISSUE = { number: 12, title: '', body: '', author: '', isOpen: true, labels: [] };
const PROBLEM = { where: 'x', what: 'it answers with 503' };

test.each([
  ['is tried again where the forge was away', { ...PROBLEM, isAway: true }, undefined],
  ['needs somebody otherwise', PROBLEM, 'x: it answers with 503'],
])('what was in the way %s', async (_, problem, failure) => {
  const driver = createDriver(createStopRequest(), async () => problem);
  driver.begin(ISSUE, 7, 'follow');
  await driver.allOver();
  expect([driver.failure(12), driver.isIdle()]).toEqual([failure, false]);
});
