/** A project in which every name and every text wants to do something to the terminal: no command lets any of it through. */
import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ralph } from '../rig/commands.ts';
import { type Repo, repo } from '../rig/repo.ts';
import { writeRun } from '../rig/written-run.ts';

const NASTY = 'a\x1b]0;x\x07\x1b[2J\x9b31m\u202eb\x08c';
const NO_LETTER = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]/;

function hostile(): Repo {
  const file = `src/${NASTY}.ts`;
  const project = repo({ 'README.md': '# test\n', [file]: 'export const f = (x: number) => x > 1;\n' });
  writeFileSync(project.path(file), 'export const f = (x: number) => x > 2 && x < 5;\n');
  project.write(`.claude/ralph-loop.${NASTY}.local.md`, `---\niteration: "${NASTY}"\n---\nx`);
  project.settings({ [NASTY]: NASTY, protect: NASTY });
  writeRun(project.dir, {
    ...{ iterations: 2, agent: NASTY, model: NASTY, checks: [NASTY], prompt: NASTY, ends: 'max_iterations' },
    ...{ words: () => NASTY, tools: () => [[NASTY, NASTY, NASTY]], violations: () => [NASTY] },
    ...{ isGreen: () => false, diff: () => `diff --git a/${NASTY} b/${NASTY}\n+${NASTY}\n` },
  });
  return project;
}

const READERS = [
  'status',
  'session status',
  'doctor',
  'log',
  'explain',
  'show',
  'mutate --check true --max 1',
];

test('what commands print is letters, whatever the project holds and whatever was typed', async () => {
  const { dir: cwd } = hostile();
  const asked = READERS.flatMap(each => [each.split(' '), [...each.split(' '), '--json']]);
  const typed = [
    [NASTY],
    ['prd', NASTY],
    ['run', `--${NASTY}`],
    ['status', NASTY],
    ['report', '--format', NASTY],
  ];
  for (const args of [...asked, ...typed]) {
    const { stdout, stderr } = await ralph(args, { cwd });
    expect([args, (stdout + stderr).match(NO_LETTER)?.[0]]).toEqual([args, undefined]);
  }
});

test('the data of JSON are what they were', async () => {
  const { dir: cwd } = hostile();
  const { stdout } = await ralph(['show', '--json'], { cwd });
  expect(JSON.parse(stdout).diff).toContain(NASTY);
});
