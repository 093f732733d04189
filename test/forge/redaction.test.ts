/** Secrets of the environment, wherever they turn up: none of them is in what Ralph writes at a forge or pushes there. */
import { expect, test } from 'vitest';
import { agentOf, loopEnded } from '../rig/ended-run.ts';
import { check, createForge, type Fake, word } from '../rig/forge.ts';
import { ralph } from '../rig/ralph.ts';
import { repo } from '../rig/repo.ts';

/** By where they turn up. */
const SECRETS = {
  TITLE_TOKEN: 'of-the-title-9f27c1',
  ISSUE_TOKEN: 'of-the-issue-3b81aa',
  COMMAND_TOKEN: 'of-the-command-77d0e4',
  OUTPUT_TOKEN: 'of-the-output-c52b19',
  QUESTION_TOKEN: 'of-the-question-e0a4f6',
  AGENT_TOKEN: 'of-the-agent-18cc3d',
  CI_TOKEN: 'of-the-ci-check-d94f02',
  LOG_TOKEN: 'of-the-ci-log-60b7ee',
  REVIEW_TOKEN: 'of-the-review-a3391c',
} as const;

/** What Ralph has written, by where it stands. */
function written({ state, bare }: Fake): Readonly<Record<string, string>> {
  const own = ({ user }: { readonly user: { readonly login: string } }) => user.login === state.me;
  const [pull] = state.pulls;
  const proof = bare.git('for-each-ref', '--format=%(refname)', 'refs/ralph/proofs').trim();
  return {
    title: pull?.title ?? '',
    body: pull?.body ?? '',
    comments: JSON.stringify([...state.comments, ...state.threads].filter(own)),
    requests: state.requests.join('\n'),
    refs: bare.git('for-each-ref'),
    messages: bare.git('log', '--all', '--format=%an %ae %B'),
    proof: bare.git('show', `${proof}:run.proof`),
  };
}

test('no secret is in what is written at a forge', async () => {
  const work = repo({ 'README.md': '# test\n', '.gitignore': '.ralph/\n' });
  const forge = await createForge(work);
  const { TITLE_TOKEN, ISSUE_TOKEN, COMMAND_TOKEN, OUTPUT_TOKEN, ...others } = SECRETS;
  forge.issue(12, `Use ${ISSUE_TOKEN}\n\n- [ ] ${ISSUE_TOKEN} works`, { title: `Use ${TITLE_TOKEN}` });
  const ci = check(`test ${others.CI_TOKEN}`, 'failure', 77);
  forge.state.checks = commit => (commit === forge.tip('main') ? [] : [ci]);
  forge.state.logs.set(77, `not ok ${others.LOG_TOKEN}\n`);
  forge.state.reviews.push(word('alice', `use ${others.REVIEW_TOKEN}`, { state: 'CHANGES_REQUESTED' }));
  const agent = agentOf(`
case "$(cat)" in
  *"Answer: blue"*) echo new >> new.txt;;
  *) echo "<question>Which, ${others.QUESTION_TOKEN}?</question>"; exit 0;;
esac
echo "I use ${others.AGENT_TOKEN}"`);
  const checks = ['--check', `: ${COMMAND_TOKEN}; echo ${OUTPUT_TOKEN}; test -f new.txt`];
  const args = ['watch', '--once', '--ready', '--poll', '0.05', '--ci-rounds', '1', '--agent', agent];
  const env = { ...forge.env, ...SECRETS };
  const watch = () => ralph([...args, ...checks], { cwd: work.dir, env });
  const asked = await watch();
  forge.state.comments.push(word('alice', 'blue', { issue: 12 }));
  const { code, stdout, stderr } = await watch();
  expect([code, forge.state.pulls.length], stdout + stderr).toEqual([1, 1]);
  expect(forge.spoken(12)).toEqual(['working on', 'a question', 'the pull', 'needs you']);
  const places = Object.entries({
    ...written(forge),
    screen: asked.stdout + asked.stderr + stdout + stderr,
  });
  const found = Object.entries(SECRETS).map(([name, value]) => [
    name,
    places.filter(([, text]) => text.includes(value)).map(([place]) => place),
  ]);
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(found.map(([name]) => [name, []])));
});

test('what the agent says in a commit of its own is not pushed with a secret in it', async () => {
  const work = repo({ 'README.md': '# test\n', '.gitignore': '.ralph/\n' });
  const forge = await createForge(work);
  const script = 'echo new > new.txt; git add new.txt; git commit -qm "with of-a-commit-5de0b2"';
  await loopEnded(work, { script });
  const env = { ...forge.env, COMMIT_TOKEN: 'of-a-commit-5de0b2' };
  const { code, stderr } = await ralph(['pr'], { cwd: work.dir, env });
  expect([code, stderr, forge.tip('ralph/login'), forge.state.pulls]).toEqual([
    ...[2, expect.stringMatching(/the message of commit [0-9a-f]{12} holds a secret/), undefined, []],
  ]);
  const branch = 'ralph/login';
  const reworded = work.git('commit-tree', `${branch}^{tree}`, '-p', `${branch}^`, '-m', 'without it').trim();
  work.git('update-ref', `refs/heads/${branch}`, reworded);
  const again = await ralph(['pr'], { cwd: work.dir, env });
  expect([again.code, forge.state.pulls.length], again.stderr).toEqual([0, 1]);
});
