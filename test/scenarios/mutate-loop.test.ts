/** `--mutate` in `ralph loop` and `ralph prd run`: faults before a run is done, survivors as feedback, and a gate where it is asked for. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { srt } from '../../src/sandbox/srt.ts';
import { partsOf } from '../bundle/rig.ts';
import { fakeAgent } from '../rig/fake-agent.ts';
import { ledgerOf, promptOf } from '../rig/ledger.ts';
import { ralph, startRalph } from '../rig/ralph.ts';
import { folder, type Repo, repo } from '../rig/repo.ts';
import { approve, handIn, prdRepo, prdRun, UNCHANGED, works } from '../rig/stories.ts';

const SHIP = `ship() {
  if [ "$1" -ge 100 ]; then
    echo 0
  else
    echo 5
  fi
}
`;
const WEAK = 'set -e\n. ./ship.sh\n[ "$(ship 200)" = 0 ]\n[ "$(ship 1)" = 5 ]\n';
const MISSING = '[ "$(ship 100)" = 0 ]\n';
const START = {
  '.gitignore': '.prompt\n.ralph\nseen\n',
  'ship.sh': 'ship() { :; }\n',
  'test/t.sh': 'true\n',
};
const SURVIVOR = {
  file: 'ship.sh',
  line: 2,
  change: '`if [ "$1" -ge 100 ]; then` changed to `if [ "$1" -gt 100 ]; then`',
};

/** What an agent does: writes the code and a weak test, and in a later turn whatever it is told. */
function agent(later: string): string {
  const { dir, write, script } = folder('ralph-agent-');
  write('ship.sh', SHIP);
  write('test.sh', WEAK);
  write('more.sh', MISSING);
  const first = `cp '${dir}/ship.sh' . && cp '${dir}/test.sh' test/t.sh`;
  const text = `cat > .prompt\nif grep -q ge ship.sh; then ${later.replaceAll('MORE', `'${dir}/more.sh'`)}; else ${first}; fi\necho '<promise>COMPLETE</promise>'`;
  return script('agent', text);
}

const LISTENS = 'grep -q "would not notice" .prompt && cat MORE >> test/t.sh';
const DEAF = 'echo more >> notes.txt';

async function loop(work: Repo, later: string, ...args: string[]) {
  const command = ['loop', 'Ship it', '--agent', agent(later), '--check', 'sh test/t.sh', '--json', ...args];
  const { code, stdout, stderr } = await ralph(command, { cwd: work.dir });
  return { code, stderr, result: stdout === '' ? undefined : JSON.parse(stdout) };
}

describe('without a gate', () => {
  test('the agent is told once what its checks would not notice, and the score is everywhere', async () => {
    const work = repo(START);
    const { code, result, stderr } = await loop(work, LISTENS, '--mutate');
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(result.iterations).toHaveLength(2);
    expect(result.mutation).toMatchObject({ score: 100, survivors: [] });
    expect(promptOf(work, result.runId, 2)).toContain(
      `Your checks would not notice this: \`ship.sh:2\`, ${SURVIVOR.change}; \`sh test/t.sh\` stayed green.`,
    );
    expect(stderr).toContain('  Mutation: 100 %');
    const told = ledgerOf(work, result.runId).filter(({ type }) => type === 'mutated');
    expect(told).toMatchObject([
      { iteration: 1, survivors: [SURVIVOR] },
      { iteration: 2, survivors: [] },
    ]);
    const report = await ralph(['report'], { cwd: work.dir });
    expect(report.stdout).toContain('Mutation: 100 %');
    const bundle = join(folder().dir, 'run.proof');
    await ralph(['report', '--bundle', bundle], { cwd: work.dir });
    expect(partsOf(bundle).statement.predicate.mutation).toEqual(result.mutation);
    const verified = await ralph(['verify', bundle], { cwd: work.dir });
    expect(verified.stdout).toMatch(
      /^holds {10}mutation: \d+ of \d+ faults in the changed lines were noticed \(100 %\)$/m,
    );
  });

  test('an agent that does not listen is done all the same, and the survivors stand in the result', async () => {
    const work = repo(START);
    const { code, result, stderr } = await loop(work, DEAF, '--mutate');
    expect(code).toBe(0);
    expect(result.iterations).toHaveLength(2);
    expect(result.mutation.survivors).toEqual([SURVIVOR]);
    expect(result.mutation.score).toBeLessThan(100);
    expect(stderr).toContain('    not noticed: `ship.sh:2` `if [');
  });

  test('on the last iteration that is allowed nobody is told: what is proven is done', async () => {
    const { code, result } = await loop(repo(START), LISTENS, '--mutate', '--max-iterations', '1');
    expect(code).toBe(0);
    expect(result.mutation.survivors).toEqual([SURVIVOR]);
  });

  test('without the flag nothing is tried', async () => {
    const work = repo(START);
    const { result } = await loop(work, LISTENS);
    expect(result.iterations).toHaveLength(1);
    expect(result.mutation).toBeUndefined();
  });
});

describe('--mutate-min', () => {
  test('is a gate: the loop continues while the score is below it', async () => {
    const work = repo(START);
    const { code, result } = await loop(work, LISTENS, '--mutate-min', '100');
    expect(code).toBe(0);
    expect(result.mutation.score).toBe(100);
    expect(promptOf(work, result.runId, 2)).toContain(
      'and at least 100 % is asked for: nothing counts as done before.',
    );
  });

  test('is not passed by an agent that does not listen', async () => {
    const { code, result } = await loop(repo(START), DEAF, '--mutate-min', '100', '--max-iterations', '3');
    expect(code).toBe(1);
    expect(result).toMatchObject({ success: false, stopReason: 'max_iterations' });
    expect(result.mutation.survivors).toEqual([SURVIVOR]);
  });

  test('a score that is high enough passes at once, survivors or not', async () => {
    const { code, result } = await loop(repo(START), DEAF, '--mutate-min', '40');
    expect(code).toBe(0);
    expect(result.iterations).toHaveLength(1);
  });

  test('where nothing can be found out, nothing is done', async () => {
    const work = repo(START);
    work.write('seen/large', '');
    const check = 'test -e seen/large && sh test/t.sh';
    const { code, result, stderr } = await loop(
      work,
      DEAF,
      '--check',
      check,
      '--mutate-min',
      '1',
      '--setup',
      'true',
      '--max-iterations',
      '2',
    );
    expect(code).toBe(1);
    expect(stderr).toContain('No faults were tried');
    expect(promptOf(work, result.runId, 2)).toContain('That did not work: test -e seen/large');
    const open = await loop(repo(START), DEAF, '--mutate', '--setup', 'false');
    expect(open).toMatchObject({ code: 0, stderr: expect.stringContaining('No faults were tried: false') });
    expect(open.result.mutation).toBeUndefined();
  });
});

test('limits are kept: the number of faults, and the time', async () => {
  const few = await loop(repo(START), DEAF, '--mutate', '--mutate-max', '1');
  expect(few.result.mutation.mutants).toBe(1);
  const late = await loop(repo(START), DEAF, '--mutate', '--mutate-time', '1s', '--check', 'sleep 2');
  expect(late).toMatchObject({ code: 0, stderr: expect.stringContaining('No faults were tried') });
  const bad = await loop(
    repo(START),
    DEAF,
    '--mutate-time',
    'soon',
    '--mutate-min',
    '101',
    '--mutate-max',
    '0',
  );
  expect(bad.code).toBe(2);
  for (const flag of ['--mutate-time', '--mutate-min', '--mutate-max']) expect(bad.stderr).toContain(flag);
});

test('a fault that changes the work itself voids the proof', async () => {
  const work = repo(START);
  // In a file: what is in a command leads into the copy.
  work.write('reach.sh', `cmp -s ship.sh '${work.dir}/ship.sh' || echo reached > '${work.dir}/reached'\n`);
  const check = 'sh reach.sh; sh test/t.sh';
  const { code, result, stderr } = await loop(
    work,
    DEAF,
    '--mutate',
    '--check',
    check,
    '--max-iterations',
    '1',
  );
  expect(stderr).toContain('files of the work tree changed while faults were tried');
  expect(code).toBe(1);
  expect(result.stopReason).toBe('max_iterations');
});

test('a run that is killed while faults are tried is resumed, and tells the agent once', async () => {
  const work = repo(START);
  const home = folder().dir;
  const gate = join(home, 'gate');
  // With a fault in it the check waits until the test has seen it, once.
  const check = `grep -q gt ship.sh && [ ! -e '${gate}' ] && { touch '${gate}'; echo waiting; sleep 60; }; sh test/t.sh`;
  const args = [
    'loop',
    'Ship it',
    '--agent',
    agent(DEAF),
    '--check',
    check,
    '--mutate',
    '--json',
    '--mutate-time',
    '2m',
  ];
  const running = startRalph(args, { cwd: work.dir, env: { HOME: home } });
  await expect.poll(() => existsSync(gate)).toBe(true);
  running.process.kill('SIGKILL');
  await running.finished;
  const resumed = await ralph(['resume', '--json'], { cwd: work.dir, env: { HOME: home } });
  expect(resumed).toMatchObject({ code: 0 });
  const result = JSON.parse(resumed.stdout);
  expect(result.mutation.survivors).toEqual([SURVIVOR]);
  expect(result.iterations).toHaveLength(2);
});

test('ralph prd run tries faults when every story is approved, and asks for more tests then', async () => {
  const work = prdRepo();
  const put = (name: string, text: string) => () => work.write(name, text);
  const built = works(work, handIn(), { also: () => [put('ship.sh', SHIP)(), put('test/t.sh', WEAK)()] });
  const more = works(work, UNCHANGED, { also: put('test/t.sh', `${WEAK}${MISSING}`) });
  const claude = await fakeAgent('claude', built, works(work, approve()), more);
  const { code, result, stderr } = await prdRun(work, claude.bin, '--check', 'sh test/t.sh', '--mutate');
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(result.iterations).toHaveLength(3);
  expect(result.mutation).toMatchObject({ score: 100 });
  expect(claude.calls[2]?.input).toContain('Your checks would not notice this: `ship.sh:2`');
});

const srtWorks = (await srt.probe({ cwd: '/', env: process.env, container: { args: [] } })).ok;

test.skipIf(!srtWorks)(
  'in a sandbox every fault is tried, and no check gets out of it',
  async () => {
    const outside = folder();
    // What a fault makes of the repository of its copy is not obeyed outside of the sandbox.
    const plant = `git config filter.x.smudge "touch '${outside.dir}/pwned'; cat"; echo '* filter=x' > .gitattributes\n`;
    const work = repo({ ...START, 'plant.sh': plant });
    const check = `[ -e .ralph ] || sh plant.sh; touch '${outside.dir}/escaped'; sh test/t.sh`;
    const { code, result, stderr } = await loop(work, DEAF, '--check', check, '--mutate', '--sandbox=srt');
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stderr).not.toMatch(/not tried(?! in a clean checkout)/);
    expect(result.mutation.survivors).toEqual([SURVIVOR]);
    expect(readdirSync(outside.dir)).toEqual([]);
  },
  60_000,
);
