/** `ralph watch --fleet` is killed at each request that it sends: an issue gets one unit, one pull request and each comment once. */
import { expect, test } from 'vitest';
import { agentOf } from '../rig/ended-run.ts';
import { fleetRig } from '../rig/fleet.ts';
import { createForge, watchKilled, word } from '../rig/forge.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';
import { folder } from '../rig/repo.ts';
import { killPlaces } from '../rig/thorough.ts';

/** Asks first, works with the answer, then with the review. */
const AGENT = `
prompt=$(cat)
case "$prompt" in
  *"Answer: blue"*) echo new > new.txt;;
  *) echo "<question>Which colour?</question>"; exit 0;;
esac
case "$prompt" in *"reviewers ask"*) echo answered > answered.txt;; esac`;

describeWithPostgres('killed', () => {
  const postgres = sharedPostgres();

  /** `when`: before the forge does what it is asked, or after it and before it says so. */
  async function killedAt(nth: number, when: 'before' | 'after') {
    const rig = fleetRig(await postgres().createDatabase());
    const forge = await createForge(rig.project, rig.remote);
    forge.issue(12, 'Make a file');
    forge.state.threads.push(word('alice', 'answer this', { path: 'new.txt', line: 1 }));
    rig.worker('one');
    const flags = ['--once', '--ready', '--poll', '0.05', '--check', 'test -f new.txt'];
    const args = ['watch', '--fleet', ...flags, '--agent', agentOf(AGENT)];
    const env = { ...rig.env, ...forge.env, XDG_STATE_HOME: folder('ralph-watcher-').dir };
    const options = { ...rig.options, env };
    const code = await watchKilled(forge, args, options, [nth, when]);
    const said = forge.said(12).filter(text => text.startsWith('ralph-bot'));
    const units = await rig.sql('select id, state from ralph.unit');
    const branch = `ralph/${units[0]?.id}`;
    const trees = forge.pushes(branch);
    const replies = forge.state.threads.filter(({ user }) => user.login === 'ralph-bot');
    return {
      code,
      units: units.map(({ state }) => state),
      pulls: forge.state.pulls.map(({ draft }) => draft),
      said: said.map(text => /Ralph\*\*: (\w+(?: \w+)?)/.exec(text)?.[1]),
      replies: replies.length,
      isPushedOnce: new Set(trees).size === trees.length,
      isAnswered: forge.has(branch, 'answered.txt'),
      labels: forge.labels(12),
    };
  }

  const ONCE = {
    code: 0,
    units: ['done'],
    pulls: [false],
    said: ['working on', 'a question', 'the pull', 'done'],
    replies: 1,
    isPushedOnce: true,
    isAnswered: true,
    labels: ['ralph', 'ralph:done'],
  };

  test.each(killPlaces(90, 3))('at request %i, %s it is done', { timeout: 240_000 }, async (nth, when) =>
    expect(await killedAt(nth, when)).toEqual(ONCE),
  );
});
