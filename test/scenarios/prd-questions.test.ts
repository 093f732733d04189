/** A story asks the user: it waits, the others continue, and the answer is in every later prompt of it. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { story } from '../domain/stories/stories.ts';
import { type FakeAgent, fakeAgent } from '../rig/fake-agent.ts';
import { ledgerOf, only, runsOf } from '../rig/ledger.ts';
import { ralph, startRalph } from '../rig/ralph.ts';
import type { Repo } from '../rig/repo.ts';
import { approve, handIn, modesOf, prdRepo, prdRun, storyOf, UNCHANGED, works } from '../rig/stories.ts';

const QUESTION = 'Which date format?';
const ANSWER = 'ISO 8601, as in the API';
const asks = (made: Repo, words = `I stop here. <question>${QUESTION}</question>`) =>
  works(made, UNCHANGED, { words });
const say = (made: Repo, ...args: string[]) => ralph(args, { cwd: made.dir });
const two = () => prdRepo(story('US-001', { notes: '' }), story('US-002', { notes: '' }));
const start = (made: Repo, agent: FakeAgent, ...args: string[]) =>
  startRalph(['prd', 'run', '--agent', 'claude', ...args], { cwd: made.dir, path: [agent.bin] });

describe('a question', () => {
  test('makes its story wait while another one is built; the answer is in its next prompts', {
    tags: ['promise', 'P-prd-questions'],
  }, async () => {
    const made = two();
    const agent = await fakeAgent(
      'claude',
      asks(made),
      works(made, handIn('US-002'), {
        async also() {
          const given = await say(made, 'answer', 'US-001', ANSWER);
          expect([given.code, given.stdout]).toEqual([
            0,
            expect.stringContaining('in the next prompt of that story'),
          ]);
        },
      }),
      works(made, approve('US-002')),
      works(made, handIn()),
      works(made, approve()),
    );
    const { code, result, stderr } = await prdRun(made, agent.bin, '--notify', 'cat >> .ralph/told');
    expect(code, stderr).toBe(0);
    expect(modesOf(result)).toEqual([
      'implement US-001',
      'implement US-002',
      'review US-002',
      'implement US-001',
      'review US-001',
    ]);
    const prompts = agent.calls.map(({ input }) => input);
    expect(prompts[0]).toContain('<question>your question</question>');
    expect(prompts.map(prompt => prompt.includes(`- Question: ${QUESTION}\n  Answer: ${ANSWER}`))).toEqual([
      false,
      false,
      false,
      true,
      true,
    ]);
    const ledger = ledgerOf(made);
    expect(only(ledger, 'question-asked')).toMatchObject([{ story: 'US-001', question: QUESTION }]);
    expect(only(ledger, 'question-answered')).toMatchObject([{ story: 'US-001', answer: ANSWER }]);
    expect(stderr).toContain(`US-001 asks: ${QUESTION} Answer: \`ralph answer US-001 "…"\``);
    expect(made.read('.ralph/told')).toContain('"occasion":"question"');
    const report = await say(made, 'report', '--format', 'md');
    expect(report.stdout).toContain(`US-001 asks: ${QUESTION}`);
    expect((await say(made, 'log')).stdout).toContain(`Answer to US-001: ${ANSWER}`);
  });

  test('that nobody answers in time blocks the run; an answer is kept until it is resumed', async () => {
    const made = prdRepo();
    const agent = await fakeAgent('claude', asks(made), works(made, handIn()), works(made, approve()));
    const { code, result } = await prdRun(made, agent.bin, '--max-question-wait', '0');
    expect([code, result.stopReason]).toEqual([1, 'blocked']);
    expect(result.detail).toContain(`US-001 asks: ${QUESTION} To continue: ralph answer US-001`);
    expect((await say(made, 'status')).stdout).toContain(`US-001 asks: ${QUESTION}`);
    const shown = (await say(made, 'prd', 'status')).stdout.replace(/\s+/g, ' ');
    expect(shown).toMatch(/❗ US-001 .* waits for your answer/);
    expect(shown).toContain(`? US-001 asks: ${QUESTION} Answer: ralph answer US-001 "…"`);
    const told = JSON.parse((await say(made, 'prd', 'status', '--json')).stdout);
    expect(told.questions).toEqual([
      { story: 'US-001', question: QUESTION, run: runsOf(made)[0], answer: 'ralph answer US-001 "…"' },
    ]);
    const wrong = await say(made, 'answer', 'US-007', 'no');
    expect([wrong.code, wrong.stdout]).toEqual([
      1,
      expect.stringContaining(`US-007 has no open question. US-001 asks: ${QUESTION}`),
    ]);
    const given = await say(made, 'answer', 'US-001', ANSWER);
    expect([given.code, given.stdout]).toEqual([0, expect.stringContaining('ralph resume')]);
    const resumed = await ralph(['resume'], { cwd: made.dir, path: [agent.bin] });
    expect(resumed.code, resumed.stderr).toBe(0);
    expect(agent.calls[1]?.input).toContain(`Answer: ${ANSWER}`);
    expect(storyOf(made).passes).toBe(true);
    expect((await say(made, 'prd', 'status')).stdout).not.toContain('asks');
  });

  test('of a run that cannot be resumed takes no answer: nobody would read it', async () => {
    const made = prdRepo();
    const agent = await fakeAgent('claude', asks(made));
    await prdRun(made, agent.bin, '--max-question-wait', '0');
    rmSync(join(made.dir, 'ralph/tasks.json'));
    const given = await say(made, 'answer', 'US-001', ANSWER);
    expect([given.code, given.stdout]).toEqual([
      1,
      expect.stringContaining('start a new run: ralph prd run'),
    ]);
  });

  test('survives SIGKILL: the resumed run still waits, and the answer ends the wait', async () => {
    const made = prdRepo();
    const agent = await fakeAgent('claude', asks(made), works(made, handIn()), works(made, approve()));
    const first = start(made, agent);
    await first.until('Answer: `ralph answer US-001');
    first.process.kill('SIGKILL');
    await first.finished;
    const again = startRalph(['resume'], { cwd: made.dir, path: [agent.bin] });
    await again.until('Resumed');
    expect((await say(made, 'answer', runsOf(made)[0] ?? '', 'US-001', ANSWER)).code).toBe(0);
    expect((await again.finished).code).toBe(0);
    expect(only(ledgerOf(made), 'question-asked').length).toBe(1);
    expect(agent.calls.length).toBe(3);
    expect(agent.calls[1]?.input).toContain(`Answer: ${ANSWER}`);
  });

  test('while the run waits for its answer: the run can be cancelled', async () => {
    const made = prdRepo();
    const agent = await fakeAgent('claude', asks(made));
    const run = start(made, agent);
    await run.until('Answer: `ralph answer US-001');
    expect((await say(made, 'cancel')).code).toBe(0);
    expect((await run.finished).stdout).toContain('cancelled');
  });
});

describe('no question', () => {
  test.each([
    ['one that is only quoted', '`<question>x</question>`'],
    ['an empty one', '<question> </question>'],
  ])('is %s', async (_, words) => {
    const made = prdRepo();
    const agent = await fakeAgent('claude', asks(made, words), works(made, handIn()), works(made, approve()));
    const { code } = await prdRun(made, agent.bin, '--max-question-wait', '0');
    expect([code, only(ledgerOf(made), 'question-asked')]).toEqual([0, []]);
  });

  test('is the echo of a prompt by an agent of plain text', async () => {
    const made = prdRepo();
    made.write(
      'ralph/prompt.md',
      'Ask like this:\n<question>What do you want to know?</question>\nThen stop.\n',
    );
    made.git('commit', '--quiet', '--all', '--message', 'the prompt');
    const agent = await fakeAgent('worker', async turn => {
      await turn.print(turn.input);
      turn.exit();
    });
    const run = await ralph(
      ['prd', 'run', '--agent', 'worker', '-n', '1', '--json', '--max-question-wait', '0'],
      { cwd: made.dir, path: [agent.bin] },
    );
    expect(JSON.parse(run.stdout).stopReason).toBe('max_iterations');
    expect(only(ledgerOf(made), 'question-asked')).toEqual([]);
    expect(agent.calls[0]?.input).toContain('in a tag named question');
  });

  test('is that of a reviewer, or of a story that is done', async () => {
    const made = prdRepo();
    const words = `<question>${QUESTION}</question>`;
    const agent = await fakeAgent('claude', works(made, handIn()), works(made, approve(), { words }));
    const { code } = await prdRun(made, agent.bin, '--max-question-wait', '0');
    expect([code, only(ledgerOf(made), 'question-asked')]).toEqual([0, []]);
  });
});

test('an agent does not answer itself', async () => {
  const made = prdRepo();
  const agent = await fakeAgent(
    'claude',
    works(made, UNCHANGED, {
      words: `<question>${QUESTION}</question>`,
      also: turn => turn.shell(`${process.execPath} ${process.cwd()}/dist/bin/ralph.cjs answer US-001 yes`),
    }),
  );
  const { code, result } = await prdRun(made, agent.bin, '--max-question-wait', '0');
  expect([code, result.stopReason]).toEqual([1, 'blocked']);
  expect(only(ledgerOf(made), 'question-answered')).toEqual([]);
});

/** Steps of the run in which it is stopped, by the event that has just been printed; `n`: the how manieth of its kind. */
const STOPS = [
  ['SIGKILL', 'turn-ended', 1],
  ['SIGKILL', 'question-asked', 1],
  ['SIGTERM', 'judged', 1],
  ['SIGHUP', 'iteration-ended', 1],
  ['SIGKILL', 'question-answered', 1],
  ['SIGHUP', 'question-answered', 1],
  ['SIGKILL', 'agent-started', 2],
  ['SIGINT', 'turn-ended', 2],
] as const;

test.each(STOPS)(
  'a run with a question, stopped by %s at %s %i, answered and resumed, ends as any other',
  async (signal, type, n) => {
    const made = prdRepo();
    const agent = await fakeAgent('claude', turn => {
      if (!turn.input.includes(`Answer: ${ANSWER}`)) return asks(made)(turn);
      return works(made, storyOf(made).reviewStatus === 'needs_review' ? approve() : handIn())(turn);
    });
    const options = { cwd: made.dir, path: [agent.bin] };
    const run = startRalph(['prd', 'run', '--agent', 'claude', '--events', '-'], options);
    const isAnswered = type === 'question-answered' || n > 1;
    if (isAnswered) {
      await run.until('"type":"question-asked"');
      expect((await say(made, 'answer', 'US-001', ANSWER)).code).toBe(0);
    }
    await run.until(new RegExp(`("type":"${type}"[^]*){${n}}`));
    run.process.kill(signal);
    await run.finished;
    if (only(ledgerOf(made), 'run-ended').at(-1)?.result.success !== true) {
      const [id = ''] = runsOf(made);
      const open = JSON.parse((await say(made, 'prd', 'status', '--json')).stdout).questions;
      if (open.length > 0) expect((await say(made, 'answer', id, 'US-001', ANSWER)).code).toBe(0);
      const resumed = startRalph(['resume'], options);
      if (!isAnswered && open.length === 0) {
        await resumed.until('Answer: `ralph answer US-001');
        expect((await say(made, 'answer', 'US-001', ANSWER)).code).toBe(0);
      }
      const { code, stdout, stderr } = await resumed.finished;
      expect(code, stdout + stderr).toBe(0);
    }
    const ledger = ledgerOf(made);
    expect(only(ledger, 'question-asked').length).toBe(1);
    expect(only(ledger, 'question-answered')).toMatchObject([{ story: 'US-001', answer: ANSWER }]);
    expect(only(ledger, 'run-ended').at(-1)?.result).toMatchObject({ stopReason: 'all_stories_approved' });
    expect(storyOf(made).passes).toBe(true);
    // An agent whose Ralph was killed while it was being started gets no prompt at all.
    const prompts = agent.calls.map(({ input }) => input).filter(input => input !== '');
    expect(prompts.filter(prompt => !prompt.includes(ANSWER)).length).toBe(1);
  },
);
