// @ts-check
// An agent that is a function, and a check that decides. Run it in a git repository: node examples/function-agent.mjs
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineAgent, runLoop } from '@ralph-loop/ralph';

const agent = defineAgent('three-tries', async ({ iteration, cwd }) => {
  writeFileSync(join(cwd, 'answer.txt'), `${iteration * 14}\n`);
  return { text: '<promise>COMPLETE</promise>', toolCalls: 1, cost: 0.01 };
});

const result = await runLoop(
  { task: 'Write 42 into answer.txt', checks: ['grep -qx 42 answer.txt'], maxIterations: 5 },
  { agent },
);

console.log(
  `${result.stopReason} after ${result.iterations.length} iterations, $${result.totalCost?.toFixed(2)}`,
);
