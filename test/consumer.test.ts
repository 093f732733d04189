/** A project of somebody else's, built and run against the package as it is published: strict TypeScript, CommonJS, a bundle. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { gitEnv, repo } from './rig/repo.ts';

const ROOT = join(import.meta.dirname, '..');
const consumer = mkdtempSync(join(tmpdir(), 'ralph consumer '));
const at = (file: string) => join(consumer, file);
afterAll(() => rmSync(consumer, { recursive: true, force: true }));

/** Everything that a program would use of the library, with the types that it would write itself. */
const PROGRAM = `
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  anyOf, checkFails, createLoop, createReport, defineAdapter, defineAgent, iterationsReach, listRuns, LoopConfigError,
  type CheckFunction, type LoopResult, openRun, readLedger, runLoop, type StopReason, type SuccessReason,
} from '@ralph-loop/ralph';

const agent = defineAgent('worker', async ({ cwd, iteration }) => {
  writeFileSync(join(cwd, 'made'), String(iteration));
  return { text: '<promise>COMPLETE</promise>', toolCalls: 1, cost: 0.1 };
}, { reports: { cost: 'turn' } });
const isMade: CheckFunction = async ({ cwd, signal }) => ({ passed: !signal.aborted && cwd !== '', output: 'fine' });
defineAdapter({ name: 'mine', read: line => [{ kind: 'text', text: line }] });

function why(result: LoopResult): SuccessReason | StopReason {
  if (result.success) { const reason: SuccessReason = result.stopReason; return reason; }
  return result.stopReason;
}
async function main(): Promise<void> {
  const config = { task: 'x', checks: ['test -f made', isMade], maxCost: 1, settings: { sandbox: { network: 'none' } } } as const;
  const options = { agent, stopWhen: anyOf(checkFails(3), iterationsReach(5)) };
  await using loop = createLoop(config, options);
  const running = loop.run();
  for await (const event of loop.events) if (event.type === 'check-ended' && !event.result.passed) throw new Error();
  const result = await running;
  await using run = await openRun('.', result.runId);
  const { lines, isIntact } = await readLedger('.', result.runId);
  const html = await createReport('.', { format: 'html' });
  const refused = await runLoop({ checks: [] }, { agent }).catch((error: unknown) => error);
  console.log(why(result), isIntact, lines.at(-1)?.type, (await listRuns('.')).length, run.overview().state);
  console.log(html.length > 10_000, refused instanceof LoopConfigError && refused.problems.length);
}
void main();
`;
const EXPECTED = 'all_checks_passed true run-ended 1 done\ntrue 2\n';

const tsconfig = (options: object) =>
  JSON.stringify({
    compilerOptions: {
      ...{ target: 'es2023', lib: ['es2023', 'esnext.disposable'], types: ['node'], strict: true },
      ...{ exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, verbatimModuleSyntax: true },
      ...{ skipLibCheck: false, ...options },
    },
    files: ['program.ts'],
  });
const tsc = (name: string) =>
  execFileSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', at(name)], {
    cwd: consumer,
    encoding: 'utf8',
  });
const runIn = (dir: string, file: string) =>
  execFileSync(process.execPath, [file], {
    cwd: dir,
    encoding: 'utf8',
    env: gitEnv(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });

beforeAll(() => {
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', consumer], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  );
  writeFileSync(at('package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }));
  // Nothing is downloaded: the package has no dependencies.
  const install = [
    'install',
    '--offline',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    at(packed.filename),
  ];
  execFileSync('npm', install, { cwd: consumer, stdio: 'ignore' });
  mkdirSync(at('node_modules/@types'), { recursive: true });
  for (const name of ['@types/node', 'undici-types'])
    symlinkSync(join(ROOT, 'node_modules', name), at(`node_modules/${name}`));
  writeFileSync(at('program.ts'), PROGRAM);
});

test('strict TypeScript with nodenext compiles, declarations of the package included, and runs', () => {
  writeFileSync(at('nodenext.json'), tsconfig({ module: 'nodenext', outDir: 'out' }));
  expect(tsc('nodenext.json')).toBe('');
  expect(runIn(repo().dir, at('out/program.js'))).toBe(EXPECTED);
});

test('so does what is left to a bundler, and the bundle runs', async () => {
  writeFileSync(
    at('bundler.json'),
    tsconfig({ module: 'esnext', moduleResolution: 'bundler', noEmit: true }),
  );
  expect(tsc('bundler.json')).toBe('');
  await build({
    ...{ entryPoints: [at('program.ts')], outfile: at('bundle.mjs'), bundle: true, platform: 'node' },
    ...{ format: 'esm', target: 'node20', logLevel: 'silent' },
  });
  expect(runIn(repo().dir, at('bundle.mjs'))).toBe(EXPECTED);
});

test('CommonJS gets it by a dynamic import', () => {
  writeFileSync(
    at('main.cjs'),
    "import('@ralph-loop/ralph').then(({ sentenceOf }) => console.log(sentenceOf('max_iterations')));",
  );
  expect(runIn(consumer, at('main.cjs'))).toBe('Stopped: the maximum number of iterations was reached.\n');
});

test('the bin of the installed package answers', () => {
  const bin = at('node_modules/.bin/ralph');
  expect(execFileSync(bin, ['--help'], { cwd: consumer, encoding: 'utf8' })).toContain('ralph loop');
});
