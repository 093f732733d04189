// @ts-check
// The engine alone: a verdict on evidence of your own. Run it anywhere: node examples/judge.mjs
import { judge } from '@ralph-loop/ralph';

const verdict = judge(
  {
    rule: { kind: 'promise', text: 'COMPLETE' },
    limits: { maxIterations: 10, maxFailures: 3, stuckAfter: 3 },
    success: 'all_checks_passed',
    minToolCalls: 1,
  },
  {
    outcome: { kind: 'completed' },
    claim: { found: true },
    checks: [],
    violations: [],
    treeChanged: false,
    repeats: 1,
    spent: { iterations: 1, failures: 0, toolCalls: 0, usage: { costSource: 'unknown' }, elapsed: 12 },
  },
);

console.log(JSON.stringify(verdict));
