/** `ralph watch --fleet` is killed at each request that it sends: an issue gets one unit, one pull request and each comment once. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { agentOf } from '../rig/ended-run.ts';
import { fleetRig } from '../rig/fleet.ts';
import { createForge, word } from '../rig/forge.ts';
import { describeWithPostgres, sharedPostgres } from '../rig/postgres.ts';
import { startRalph } from '../rig/ralph.ts';
import { folder } from '../rig/repo.ts';
import { IS_CAMPAIGN } from '../rig/thorough.ts';

/** Asks first, works with the answer, then with the review. */
const AGENT = `
prompt=$(cat)
case "$prompt" in
  *"Answer: blue"*) echo new > new.txt;;
  *) echo "<question>Which colour?</question>"; exit 0;;
esac
case "$prompt" in *"reviewers ask"*) echo answered > answered.txt;; esac`;

const LAST = 90;
const COUNT = IS_CAMPAIGN ? LAST : 3;
const places = (when: 'before' | 'after') =>
  fc
    .sample(
      fc.shuffledSubarray(
        Array.from({ length: LAST }, (_, at) => at + 1),
        { minLength: COUNT, maxLength: COUNT },
      ),
      1,
    )[0]
    ?.map(nth => [nth, when] as const) ?? [];

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
    let process = startRalph(args, options);
    const answer = () => {
      const asked = forge.said(12).some(text => text.includes('Which colour?'));
      const isAnswered = forge.said(12).some(text => text === 'alice: blue');
      if (asked && !isAnswered) forge.state.comments.push(word('alice', 'blue', { issue: 12 }));
    };
    const kill = async (count: number) => {
      if (count !== nth) return;
      process.process.kill('SIGKILL');
      await process.finished;
    };
    forge.state.arrives = count => (when === 'before' ? kill(count) : undefined);
    forge.state.done = async count => {
      answer();
      if (when === 'after') await kill(count);
    };
    let { code } = await process.finished;
    for (let again = 0; again < 3 && code !== 0; again++) {
      process = startRalph(args, options);
      ({ code } = await process.finished);
    }
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

  test.each([...places('before'), ...places('after')])(
    'at request %i, %s it is done',
    { timeout: 240_000 },
    async (nth, when) => expect(await killedAt(nth, when)).toEqual(ONCE),
  );
});
