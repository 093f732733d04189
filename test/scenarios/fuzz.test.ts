/**
 * Run folders, state folders, settings, session files and story lists, damaged at random: every command answers with a sentence and a
 * documented exit code. The commands run in one process that lives on; a sample runs as a user would start it.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Answer, answerTo } from '../rig/commands.ts';
import { changed, pathsOf } from '../rig/damage.ts';
import { ralph, testEnv } from '../rig/ralph.ts';
import { folder, writeScript } from '../rig/repo.ts';
import { prdRepo } from '../rig/stories.ts';
import { IS_THOROUGH } from '../rig/thorough.ts';

const KINDS = [
  'flip',
  'cut',
  'value',
  'deep',
  'delete',
  'folder',
  'link',
  'empty',
  'swap',
  'garbage',
] as const;

const damage = fc.record({
  file: fc.nat(),
  kind: fc.constantFrom(...KINDS, 'value', 'value'),
  at: fc.nat(),
  value: fc.oneof(
    fc.constantFrom(null, -1, 1e300, 0, '', 'x', [], {}, [null], true, '../../..', { length: -1 }),
    fc.jsonValue({ maxDepth: 2 }),
  ),
});
type Damage = typeof damage extends fc.Arbitrary<infer T> ? T : never;

const example = fc.record({ damages: fc.array(damage, { minLength: 1, maxLength: 3 }), first: fc.nat() });

/** A project with a run of each command, a session and settings, and the state folder that belongs to it. */
async function makeProject() {
  const project = prdRepo();
  const home = folder('ralph-fuzz-').dir;
  const state = join(home, 'state');
  const env = { HOME: home, XDG_STATE_HOME: state };
  const says = `echo '<response>DONE</response> <promise>COMPLETE</promise>'`;
  const agent = writeScript(join(home, 'worker'), `cat > /dev/null\n${says}`);
  project.settings({ maxTime: 5, protect: ['README.md'] });
  const run = (...args: string[]) => ralph(args, { cwd: project.dir, env });
  await run('run', '-p', 'say it', '--agent', '/bin/true', '-m', '1');
  await run('run', '-p', 'say it', '--agent', agent, '-m', '1');
  await run('loop', 'do it', '--agent', agent, '--check', 'false', '--max-iterations', '1');
  await run('prd', 'run', '--agent', agent, '-n', '1');
  await run('session', 'start', '--session', 's1', 'Tidy up', '--check', 'true');
  const pristine = join(home, 'pristine');
  cpSync(project.dir, join(pristine, 'project'), { recursive: true });
  cpSync(state, join(pristine, 'state'), { recursive: true });
  const restore = () => {
    for (const name of ['.ralph', '.claude', 'ralph', '.ralph-active']) {
      const from = join(pristine, 'project', name);
      rmSync(project.path(name), { recursive: true, force: true });
      if (existsSync(from)) cpSync(from, project.path(name), { recursive: true });
    }
    // Not Ralph's own git directories: they are many files, and nothing in them is damaged here.
    const isGit = (path: string) => path.endsWith('/ralph/git');
    for (const name of readdirSync(join(state, 'ralph')))
      if (name !== 'git') rmSync(join(state, 'ralph', name), { recursive: true, force: true });
    cpSync(join(pristine, 'state'), state, { recursive: true, filter: path => !isGit(path) });
  };
  const below = (folder: string) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(name => join(folder, name));
  const files = [...['.ralph', '.claude', 'ralph'].map(project.path).filter(existsSync), state]
    .flatMap(below)
    .filter(path => statSync(path).isFile() && !path.includes('/git/'))
    .sort();
  return {
    dir: project.dir,
    env,
    files,
    restore,
    ids: readdirSync(project.path('.ralph/runs')).sort(),
  };
}

function inflict({ file, kind, at, value }: Damage, files: readonly string[]): void {
  const path = files[file % files.length] ?? '';
  if (!existsSync(path) || !statSync(path).isFile()) return;
  const bytes = readFileSync(path);
  const put = (content: string | Uint8Array) => writeFileSync(path, content);
  const gone = () => rmSync(path, { force: true });
  if (kind === 'flip' && bytes.length > 0)
    put(bytes.map((byte, n) => (n === at % bytes.length ? byte ^ 64 : byte)));
  if (kind === 'cut') put(bytes.subarray(0, at % (bytes.length + 1)));
  if (kind === 'empty') put('');
  if (kind === 'garbage') put(Buffer.concat([bytes, Buffer.from([0, 255, 10, at % 256])]));
  if (kind === 'deep') put(`${'['.repeat(50_000)}${']'.repeat(50_000)}\n`);
  if (kind === 'swap')
    cpSync(files.filter(existsSync)[at % files.filter(existsSync).length] ?? path, `${path}.other`, {
      recursive: true,
    });
  if (kind === 'swap' && statSync(`${path}.other`).isFile()) put(readFileSync(`${path}.other`));
  if (kind === 'value') put(withValue(bytes.toString(), at, value));
  if (kind === 'delete' || kind === 'folder' || kind === 'link') gone();
  if (kind === 'folder') mkdirSync(join(path, 'inside'), { recursive: true });
  if (kind === 'link') symlinkSync(at % 2 === 0 ? dirname(path) : path, path);
}

/** Another value somewhere in one line of JSON, or in all of it. */
function withValue(text: string, at: number, value: unknown): string {
  const lines = text.trim().startsWith('{\n') ? [text] : text.split('\n');
  const line = at % lines.length;
  try {
    const json: unknown = JSON.parse(lines[line] ?? '');
    const paths = pathsOf(json);
    const path = paths[at % paths.length];
    return path
      ? lines.with(line, JSON.stringify(changed(json, path, value))).join('\n')
      : JSON.stringify(value);
  } catch {
    return `${text}${JSON.stringify(value)}`;
  }
}

const COMMANDS = (id: string): readonly (readonly string[])[] => [
  ['status'],
  ['log', id],
  ['report', id, '--format', 'json'],
  ['resume', id, '--max-time', '2'],
  ['explain', id],
  ['prd', 'status'],
  ['report', id],
  ['session', 'status'],
  ['resume', id, '--max-time', '2', '--accept-changes'],
  ['status', '--json'],
  ['replay', id],
  ['log', id, '--json'],
  ['report', id, '--format', 'junit'],
  ['explain', id, '--json'],
  ['report', id, '--format', 'sarif'],
  ['prune', '--older-than', '1d', '--dry-run'],
  ['prd', 'status', '--json'],
  ['report', id, '--format', 'html'],
];

/** These start agents: too slow for every time. */
const SLOW = (id: string): readonly (readonly string[])[] => [
  ['resume', id, '--max-iterations', '2', '--max-time', '2', '--accept-changes'],
  ['doctor'],
];

/** Throws what was said, where it is not an answer. */
function expectSentence(argv: readonly string[], { code, stdout, stderr }: Answer): void {
  const said = stdout + stderr;
  const isCrash = /a bug in Ralph|^\s+at .*:\d+:\d+\)?$|thrown:/m.test(said);
  if (isCrash || ![0, 1, 2, 130].includes(code as number) || said.trim() === '')
    throw new Error(`ralph ${argv.join(' ')} ended with ${code}:\n${said.slice(-3000)}`);
}

const TOGETHER = 5;
const SAMPLE = 15;

test('whatever is damaged, every command answers', { timeout: 900_000 }, async () => {
  const { dir, env, files, restore, ids } = await makeProject();
  expect(ids.length).toBeGreaterThan(3);
  const whole = testEnv({ env });
  let tried = 0;
  await fc.assert(
    fc.asyncProperty(example, async ({ damages, first }) => {
      restore();
      for (const each of damages) inflict(each, files);
      const id = ids[first % ids.length] ?? '';
      const all = COMMANDS(id);
      for (let n = 0; n < TOGETHER; n++) {
        const argv = all[(first + n * 4) % all.length] ?? [];
        expectSentence(argv, await answerTo(argv, dir, whole));
      }
      if (++tried % SAMPLE !== 0) return;
      for (const argv of [all[first % all.length] ?? [], ...SLOW(id)]) {
        expectSentence(argv, await ralph(argv, { cwd: dir, env }));
      }
    }),
    // The same examples each time, but in the campaign: what it finds there is a fault of today's change here.
    IS_THOROUGH ? { numRuns: 500, endOnFailure: true } : { numRuns: 100, endOnFailure: true, seed: 1 },
  );
});
