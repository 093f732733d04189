/** The tests that depend on a file come first, where the runner can say which those are. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { narrowCommand } from '../../src/proof/faults/narrow.ts';
import { ralph } from '../rig/ralph.ts';
import { folder, repo } from '../rig/repo.ts';

test.each([
  ['vitest run', 'vitest related src/a.ts --run --passWithNoTests'],
  ['npx vitest run --bail=1', 'npx vitest related src/a.ts --run --passWithNoTests --bail=1'],
  ['npx jest --ci', 'npx jest --ci --passWithNoTests --findRelatedTests src/a.ts'],
  ['go test -short ./...', 'go test -short ./src'],
  ['npm test', undefined],
  ['vitest run src/b', undefined],
  ['vitest run && npm run lint', undefined],
  ['FOO=1 vitest run', undefined],
  ['jest; rm x', undefined],
  ['pytest -x', undefined],
])('%s', (command, narrowed) => {
  expect(narrowCommand(command, 'src/a.ts')).toBe(narrowed);
});

test('a name with a space or a quote stays one word', () => {
  expect(narrowCommand('vitest run', "src/it's a.ts")).toBe(
    `vitest related 'src/it'\\''s a.ts' --run --passWithNoTests`,
  );
});

/** A runner that writes down how it is called. `related` runs one test, `run` runs it and another one, which starts a program. */
const RUNNER = `#!/bin/sh
echo "$*" >> "$LOG"
sh test/unit.sh || exit 1
[ "$1" = related ] && exit 0
node -e 0; node -e 0; node -e 0
sh test/program.sh
`;

test('red there is red, green there is tried with all tests', async () => {
  const work = repo({ 'a.js': '\n' });
  work.write(
    'a.js',
    'const n = Number(process.argv[2]);\nif (n > 10) console.log(1);\nif (n < 0) console.log(2);\n',
  );
  work.write('test/unit.sh', '[ "$(node a.js 11)" = 1 ] && [ "$(node a.js 10)" = "" ]\n');
  work.write('test/program.sh', '[ "$(node a.js -1)" = 2 ] && [ "$(node a.js 0)" = "" ]\n');
  const { dir: bin, path, script } = folder();
  const log = path('log');
  script('vitest', RUNNER);
  const { stdout } = await ralph(['mutate', '--check', 'vitest run', '--json'], {
    cwd: work.dir,
    path: [bin],
    env: { LOG: log },
  });
  expect(JSON.parse(stdout)).toMatchObject({ score: 100, survivors: [], checks: ['vitest run'] });
  const calls = readFileSync(log, 'utf8').trim().split('\n');
  const related = calls.filter(call => call === 'related a.js --run --passWithNoTests').length;
  const { mutants } = JSON.parse(stdout);
  expect(related).toBeGreaterThanOrEqual(mutants); // once without a fault, or twice, and once for each
  expect(calls.length).toBeLessThan(2 * mutants + 4);
});
