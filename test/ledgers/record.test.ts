/**
 * Ledgers as the program writes them today, one of each command: kept in `test/ledgers/recorded/`, where other tests read them in no time.
 * Here each is made once more by the real program: where the kinds of its lines differ, `npm run record:ledgers` writes it anew.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { agentFolder, SHAPES } from '../chaos/shapes.ts';
import { laneRig, plain, rigFor } from '../rig/lanes.ts';
import { ralph } from '../rig/ralph.ts';
import { type Repo, repo } from '../rig/repo.ts';
import { type LedgerName, recordedPath, typesIn } from './recorded.ts';

const CHECK = ['--check', 'test -f README.md'];

const RECORD: Readonly<Record<LedgerName, () => Promise<Repo>>> = {
  run: () => recordShape('runWithPush'),
  loop: () => recordShape('loopInWorktree'),
  'loop-commit': () => recordShape('loopWithCommits'),
  'loop-back': () => recordShape('loopGoingBack'),
  prd: () => recordShape('stories'),
  'prd-parallel': async () => {
    const rig = laneRig([plain('US-001'), plain('US-002'), plain('US-003', { dependsOn: ['US-001'] })]);
    for (const id of ['US-001', 'US-002'])
      rig.does(id, 'implement', `grep -q ${id} shared.txt 2>/dev/null || echo ${id} >> shared.txt`);
    for (const id of ['US-001', 'US-002'])
      rig.does(
        id,
        'merge-fix',
        `{ grep -v '^[<=>]' shared.txt; echo ${id}; } | sort -u > new; mv new shared.txt`,
      );
    return finish(rig.project, ['prd', 'run', '--agent', 'claude', '--parallel', '2', ...CHECK], rig.options);
  },
  tasks: async () => {
    const rig = rigFor(
      repo({ 'README.md': '#\n', '.gitignore': '.ralph/\n', 'tasks.md': '- [ ] One\n- [ ] Two\n' }),
    );
    return finish(
      rig.project,
      ['loop', '--agent', 'claude', '--tasks', 'tasks.md', '--parallel', '2', ...CHECK],
      rig.options,
    );
  },
  'best-of': async () => {
    const rig = rigFor(repo({ 'README.md': '#\n', '.gitignore': '.ralph/\n' }), { LANE_CHOICE: 'A2' });
    return finish(
      rig.project,
      ['loop', 'Write it', '--agent', 'claude', '--best-of', '2', ...CHECK],
      rig.options,
    );
  },
  session: recordSession,
};

test.each(Object.keys(RECORD) as LedgerName[])('%s', async name => {
  const project = await RECORD[name]();
  const made = ledgerOf(project);
  const path = recordedPath(name);
  if (process.env.RALPH_GENERATE) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, made);
  }
  const hint = `${name} is written differently now: npm run record:ledgers`;
  expect(typesIn(made), hint).toEqual(typesIn(readFileSync(path, 'utf8')));
});

/** Of a parallel run that of the whole, not those of its lanes. */
function ledgerOf(project: Repo): string {
  const [id = ''] = project
    .git('-c', 'core.excludesFile=/dev/null', 'ls-files', '-o', '--', '.ralph/runs/*/events.jsonl')
    .trim()
    .split('\n')
    .map(path => path.replaceAll('"', '').split('/')[2] ?? '')
    .sort((one, other) => one.length - other.length);
  return project
    .read(`.ralph/runs/${id}/events.jsonl`)
    .replaceAll(project.dir, '/project')
    .replaceAll(/\/(?:tmp|var)\/[\w./-]*ralph-[\w-]+/g, '/tmp/ralph');
}

async function finish(
  project: Repo,
  args: readonly string[],
  options: Parameters<typeof ralph>[1],
): Promise<Repo> {
  const { code, stderr } = await ralph(args, options);
  expect(code, stderr).toBe(0);
  return project;
}

function recordShape(name: keyof typeof SHAPES): Promise<Repo> {
  const shape = SHAPES[name];
  const project = shape.make();
  const path = [agentFolder('lists' in shape ? shape.lists : undefined)];
  return finish(project, shape.args, { cwd: project.dir, path, env: { IS_SANDBOX: '1' } });
}

/** A loop in a session: sent back twice, then accepted. */
async function recordSession(): Promise<Repo> {
  const project = repo();
  const ids = { session_id: 's1', prompt_id: 'p1', cwd: project.dir };
  const hook = async (event: string, input: Readonly<Record<string, unknown>>) => {
    const { code, stderr } = await ralph(['hook', 'claude', event], {
      cwd: project.dir,
      env: { CLAUDE_PROJECT_DIR: project.dir },
      input: JSON.stringify({ ...ids, hook_event_name: event, ...input }),
    });
    expect([code, stderr]).toEqual([0, '']);
  };
  await hook('UserPromptExpansion', {
    command_name: 'ralph:ralph-loop',
    command_args: 'Write it --completion-promise DONE --check "test -f README.md"',
  });
  await hook('PreToolUse', { tool_name: 'Glob', tool_input: { pattern: '*' } });
  for (const words of ['Not yet.', '<promise>done</promise>', '<promise>DONE</promise>'])
    await hook('Stop', { last_assistant_message: words });
  return project;
}
