// Going back to the best iteration: 200 seeded agents that repair as published feedback loops do, with and without. Model agents, real decisions.
import { loadSource } from './hook-server.mjs';

const AGENTS = 200;
const TESTS = 15;
const MOST = 10;
/** How many of the failing tests a turn repairs: 45 % of assertion errors, most of it in the first two rounds. */
const REPAIRS = [0.45, 0.45, 0.15];
/** Behind them a turn is as likely to break something: so often, and so much of what passes. */
const BREAKS = { chance: 0.3, share: 0.25 };

export async function best(folder) {
  const rules = await loadSource(folder, 'src/domain/run/best.ts');
  const [back, last] = [{ patience: 2 }, undefined].map(goBack =>
    sum(Array.from({ length: AGENTS }, (_, seed) => run(rules, seed + 1, goBack))),
  );
  return [
    row(
      'K1',
      'runs that end at their best',
      back.atBest,
      99,
      `${back.atBest} %`,
      `${last.atBest} % with --keep last`,
      '%',
      true,
    ),
    row(
      'K2',
      'iterations that begin worse than the best',
      back.lost / last.lost,
      0.75,
      each(back.lost),
      `${each(last.lost)} a run`,
    ),
    row(
      'K3',
      'failing tests that a run leaves',
      back.left / last.left,
      0.75,
      each(back.left),
      `${each(last.left)} a run`,
    ),
    row(
      'K4',
      'iterations of a run',
      back.iterations / last.iterations,
      1,
      each(back.iterations),
      `${each(last.iterations)}`,
    ),
    row(
      'K5',
      'runs that are done',
      back.done / last.done,
      0.95,
      `${back.done}`,
      `${last.done} of ${AGENTS}`,
      'x',
      true,
    ),
  ];
}

function row(id, what, value, limit, ours, floor, unit = 'x', atLeast = false) {
  return { id, what, value, limit, ours, floor, unit, atLeast };
}

const each = total => (total / AGENTS).toFixed(2);

function run({ bestAfter, nextReturn, endsWorse }, seed, goBack) {
  const chance = random(seed);
  let tests = Array.from({ length: TESTS }, () => chance() < 7 / 15);
  let [known, kept, lost] = [undefined, tests, 0];
  const seen = [];
  const failing = list => list.filter(passes => !passes).length;
  for (let number = 1; number <= MOST; number++) {
    if (seen.length > 0 && failing(tests) > Math.min(...seen)) lost++;
    tests = turn(tests, number, chance);
    const failures = failing(tests);
    seen.push(failures);
    const check = { index: 0, command: 'test', passed: failures === 0, tests: TESTS, failures };
    known = bestAfter(known, { number, checks: [check], clean: [], judged: { snapshot: tests.join() } });
    if (known.at.number === number) kept = tests;
    if (failures === 0) break;
    const next = number < MOST && nextReturn({ best: known }, goBack);
    if (next === 'stuck') break;
    if (next !== 'restore') continue;
    tests = kept;
    known = { ...known, worse: [], returns: known.returns + 1 };
  }
  if (failing(tests) > 0 && endsWorse({ best: known }, goBack)) tests = kept;
  const left = failing(tests);
  return { atBest: left === Math.min(...seen), lost, left, iterations: seen.length, done: left === 0 };
}

function turn(tests, number, chance) {
  const repairs = REPAIRS[Math.min(number, REPAIRS.length) - 1];
  const breaks = number >= REPAIRS.length && chance() < BREAKS.chance;
  return tests.map(passes => (passes ? !(breaks && chance() < BREAKS.share) : chance() < repairs));
}

function sum(runs) {
  const total = key => runs.reduce((all, each) => all + Number(each[key]), 0);
  const [atBest, lost, left, iterations, done] = ['atBest', 'lost', 'left', 'iterations', 'done'].map(total);
  return { atBest: (atBest / runs.length) * 100, lost, left, iterations, done };
}

/** mulberry32: the same agents on every machine. */
function random(seed) {
  let state = seed * 0x9e3779b9;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
