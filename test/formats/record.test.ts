/** `npm run formats`: a fixture of each format as this release writes it. Once a release is out, its fixtures are never written again. */
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SETTINGS_VERSION, yamlName } from '../../src/config/names.ts';
import { defaultSettings, SETTINGS } from '../../src/config/settings.ts';
import { VERSION } from '../../src/platform/version.ts';
import { newRunPaths, projectPaths } from '../../src/store/paths.ts';
import { ralph } from '../rig/ralph.ts';
import { repo } from '../rig/repo.ts';
import { FORMATS, fleetSteps, makeRun } from './formats.ts';

test.runIf(process.env.RALPH_FORMATS)('the formats of this release', async () => {
  const place = join(FORMATS, VERSION);
  rmSync(place, { recursive: true, force: true });
  mkdirSync(join(place, 'run'), { recursive: true });
  const write = (name: string, text: string) => writeFileSync(join(place, name), text);
  write('settings.json', `${JSON.stringify(everySetting(), null, 1)}\n`);
  write('loop.yaml', everyYaml());
  write('fleet.json', `${JSON.stringify(fleetSteps(), null, 1)}\n`);
  write('session.md', await makeSession());
  const { work, env, home, result } = await makeRun();
  const { runId } = JSON.parse(result);
  write('result.json', result);
  write('format', home.read('state/ralph/format'));
  const { state } = newRunPaths(projectPaths(work.dir, env), runId);
  for (const name of ['run.json', 'events.jsonl', 'task.md'])
    cpSync(join(state.folder, name), join(place, 'run', runId, name), { recursive: true });
  const bundle = await ralph(['report', '--bundle', join(place, 'run.proof')], { cwd: work.dir, env });
  expect(bundle).toMatchObject({ code: 0 });
});

/** Every key once, with a value that it may have. */
function everySetting(): object {
  const defaults: Readonly<Record<string, unknown>> = { ...defaultSettings('loop') };
  const rows = SETTINGS.map(({ key, kind }) => [key, defaults[key] ?? exampleOf(kind.schema)]);
  return { version: SETTINGS_VERSION, ...Object.fromEntries(rows) };
}

type Schema = Readonly<Record<string, unknown>>;

function exampleOf({ type, anyOf, enum: options, minimum, pattern }: Schema): unknown {
  if (Array.isArray(anyOf)) return exampleOf(anyOf[0] as Schema);
  if (Array.isArray(options)) return options[0];
  if (type === 'string') return String(pattern).includes('http') ? 'https://example.org/' : 'x';
  if (type === 'boolean') return true;
  if (type === 'array') return [];
  return type === 'object' ? {} : (minimum ?? 1);
}

function everyYaml(): string {
  const defaults: Readonly<Record<string, unknown>> = { ...defaultSettings('loop') };
  const rows = SETTINGS.filter(row => row.flag?.loop !== undefined).map(row => {
    const { kind } = row.yaml ?? row;
    return `  ${yamlName(row)}: ${JSON.stringify(defaults[row.key] ?? exampleOf(kind.schema))}\n`;
  });
  return `ralph_loop:\n  version: ${SETTINGS_VERSION}\n${rows.join('')}`;
}

async function makeSession(): Promise<string> {
  const work = repo();
  const input = {
    ...{ session_id: 's1', prompt_id: 'p1', cwd: work.dir, hook_event_name: 'UserPromptExpansion' },
    ...{ command_name: 'ralph:ralph-loop', command_args: 'Write it --check "test -f README.md"' },
  };
  const env = { CLAUDE_PROJECT_DIR: work.dir };
  const options = { cwd: work.dir, env, input: JSON.stringify(input) };
  expect((await ralph(['hook', 'claude', 'UserPromptExpansion'], options)).code).toBe(0);
  return work.read('.claude/ralph-loop.local.md');
}
