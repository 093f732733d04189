/** `ralph watch --fleet` is killed at each request that it sends: an issue gets one unit, one pull request and each comment once. */
import { expect, test } from 'vitest';
import { agentOf } from '../rig/ended-run.ts';
import { fleetRig } from '../rig/fleet.ts';
import { createForge, word } from '../rig/forge.ts';
import { type Kill, killedAt } from '../rig/killed.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';
import { folder } from '../rig/repo.ts';
import { killPlaces } from '../rig/thorough.ts';

/** Asks first, works with the answer, then on the red check, then with the review. */
const AGENT = `
prompt=$(cat)
case "$prompt" in
  *"Answer: blue"*) echo new > new.txt;;
  *) echo "<question>Which colour?</question>"; exit 0;;
esac
case "$prompt" in
  *"are red"*) echo fixed > fixed.txt;;
  *"reviewers ask"*) echo answered > answered.txt;;
esac`;

describeWithPostgres('killed', () => {
  const postgres = sharedPostgres();

  /** Of the round for the review: the work of that is not built on what stands there, so it is put into a commit for it. */
  const LAST_BRANCH = [4, 'after', 'POST /push/done'] as const;

  test.each([...killPlaces(175, 2), LAST_BRANCH])(
    'at request %i, %s it is done',
    { timeout: 240_000 },
    async (...kill: Kill) => {
      const rig = fleetRig(await postgres().createDatabase());
      const forge = await createForge(rig.project, rig.remote);
      forge.issue(12, 'Make a file');
      forge.answers(12, 'blue');
      forge.redWithout('fixed.txt');
      forge.state.threads.push(word('alice', 'answer this', { path: 'new.txt', line: 1 }));
      rig.worker('one');
      const flags = ['--once', '--ready', '--poll', '0.05', '--check', 'test -f new.txt'];
      const args = ['watch', '--fleet', ...flags, '--agent', agentOf(AGENT)];
      const env = { ...rig.env, ...forge.env, XDG_STATE_HOME: folder('ralph-watcher-').dir };
      const { code, stdout, stderr } = await killedAt(forge, kill, args, { ...rig.options, env });
      const units = await rig.sql('select id, state from ralph.unit');
      const branch = `ralph/${units[0]?.id}`;
      expect(
        {
          ...{ code, units: units.map(({ state }) => state), ...forge.once(branch) },
          ...{ said: forge.spoken(12), labels: forge.labels(12) },
          hasAll: ['fixed.txt', 'answered.txt'].every(file => forge.has(branch, file)),
        },
        stdout + stderr,
      ).toEqual({
        ...{ code: 0, units: ['done'], pulls: [false], replies: 1, isPushedOnce: true },
        said: ['working on', 'a question', 'the pull', 'done'],
        ...{ labels: ['ralph', 'ralph:done'], hasAll: true },
      });
    },
  );
});
