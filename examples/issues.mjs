// @ts-check
// Works on every open issue with the label "ralph", each on a branch of its own, and opens a pull request for what is proven.
// Run it in a clone, for example every night: node examples/issues.mjs "npm test"
import { execFileSync } from 'node:child_process';
import { anyOf, checkFails, createReport, runLoop, timeReaches } from '@ralph-loop/ralph';

const [check = 'npm test'] = process.argv.slice(2);
const run = (command = '', args = [''], cwd = '.') => execFileSync(command, args, { cwd, encoding: 'utf8' });
const issues = JSON.parse(run('gh', ['issue', 'list', '--label', 'ralph', '--json', 'number,title,body']));

/** @type {import('@ralph-loop/ralph').CheckFunction} */
const isSmall = async ({ cwd }) => {
  const files = run('git', ['status', '--porcelain'], cwd).split('\n').length - 1;
  return { passed: files <= 20, output: `${files} files have changed: nobody reviews more than 20` };
};

for (const { number, title, body } of issues) {
  const result = await runLoop(
    {
      task: `${title}\n\n${body}`,
      checks: [check, isSmall],
      protect: ['test/**'],
      worktree: `issue-${number}`,
      settings: { scm: { command: 'git', tasks: ['commit', 'push -u origin HEAD'] } },
    },
    { stopWhen: anyOf(checkFails(4), timeReaches(3600)) },
  );
  console.log(`#${number} ${result.stopReason} after ${result.iterations.length} iterations`);
  if (!result.success || result.branch === null) continue;
  const report = await createReport('.', { run: result.runId });
  run('gh', ['pr', 'create', '--head', result.branch, '--title', title, '--body', report]);
}
