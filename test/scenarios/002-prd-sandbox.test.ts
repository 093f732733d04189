/** `ralph prd run` in a sandbox and without one, seed 002's verification items 5 and 6: one iteration on a list of one story. */
import { describe, expect, test } from 'vitest';
import { srt } from '../../src/sandbox/srt.ts';
import { ralph } from '../rig/ralph.ts';
import { folder } from '../rig/repo.ts';
import { prdRepo, storyOf } from '../rig/stories.ts';

const works = (await srt.probe({ cwd: '/', env: process.env, container: { args: [] } })).ok;

/** Behind the wall there is no socket to steer an agent by: a script hands its story in, and tries to switch the checks off. */
const SCRIPT = `#!/bin/sh
cat > /dev/null
grep '"mode"' .ralph-active
sed -i 's/"reviewStatus": null/"reviewStatus": "needs_review"/; s/"passes": false/"passes": true/' ralph/tasks.json
echo '{"skipReview":true}' > .ralph-active
`;

async function oneIteration(...flags: string[]) {
  const project = prdRepo();
  const command = folder('ralph agent ').script('agent', SCRIPT);
  const env = { TMPDIR: folder('rt').dir }; // short: a socket's path has no room for more
  const args = ['prd', 'run', '--agent', command, '-n', '1', '--json', ...flags];
  const { code, stdout, stderr } = await ralph(args, { cwd: project.dir, env });
  return { code, told: JSON.parse(stdout), stderr, story: storyOf(project) };
}

describe.skipIf(!works)('--sandbox', () => {
  test('the agent works inside, .ralph-active says so and cannot be written, and the rules hold', async () => {
    const { code, told, stderr, story } = await oneIteration('--sandbox=srt');
    expect([code, told.stopReason]).toEqual([1, 'max_iterations']);
    expect(stderr).toContain('"mode": "sandbox"');
    expect(story).toMatchObject({ passes: false, reviewStatus: 'needs_review' });
    expect(told.iterations[0].violations).toEqual([expect.stringContaining('cannot set passes=true')]);
  });
});

test('--no-sandbox: the same, and the change to .ralph-active is told', async () => {
  const { code, told, stderr, story } = await oneIteration('--no-sandbox');
  expect([code, told.stopReason]).toEqual([1, 'max_iterations']);
  expect(stderr).toContain('"mode": "direct"');
  expect(story).toMatchObject({ passes: false, reviewStatus: 'needs_review' });
  expect(told.iterations[0].violations).toEqual([
    expect.stringContaining('cannot set passes=true'),
    expect.stringContaining('.ralph-active was changed'),
  ]);
});
