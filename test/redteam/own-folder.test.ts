/** Ralph's own folder in the project: the inside can write there, and Ralph writes there from outside. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Arena, attacks } from './rig.ts';

const EVERYWHERE = { plain: true, contained: true, sandboxed: true } as const;

/** Files of the user's that have the names of Ralph's. */
const NAMES = ['changes.diff', 'agent.jsonl', 'agent.stderr.log', 'prompt.md', 'progress.md', 'run.json'];
const MINE = 'token=ghp_0123456789abcdefghijABCDEFGHIJ012345\n';

interface Victim {
  readonly folder: string;
  isUntouched(): boolean;
}

function victim({ outside }: Arena): Victim {
  const folder = join(outside, 'victim');
  const files = [...NAMES, 'events.jsonl', 'checks/true.log', '0002/prompt.md', 'runs/mine'];
  for (const name of files) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), MINE);
  }
  const all = () =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(entry => !entry.isDirectory())
      .map(entry => join(entry.parentPath, entry.name))
      .sort()
      .map(path => [path, readFileSync(path, 'utf8')]);
  const before = JSON.stringify(all());
  return { folder, isUntouched: () => JSON.stringify(all()) === before };
}

/** Two iterations of an agent that does this in the first; `$R` is the folder of the run, `$V` the user's. */
async function linked(arena: Arena, script: string, flags: readonly string[] = []): Promise<boolean> {
  const project = arena.project();
  const { folder, isUntouched } = victim(arena);
  const agent = arena.agent(
    `cat > /dev/null; V='${folder}'; R=$(echo .ralph/runs/*); echo "$RANDOM$$" >> work; ${script}\ntrue`,
  );
  const checks = flags.length > 0 ? flags : ['--check', 'true'];
  const args = ['loop', 'Make it', '--agent', agent, ...checks, '--max-iterations', '2'];
  const { stdout, stderr } = await arena.ralph(args, { cwd: project.dir });
  if (!stdout.includes('max_iterations')) throw new Error(stdout + stderr);
  return isUntouched();
}

const PLACES = ['.ralph', '.ralph/runs', '$R', '$R/iterations', '$R/iterations/0001'];

/** In place of each file that Ralph writes; whoever opens a pipe waits for ever. */
function standing(iterations: readonly string[], what: string, more = ''): string {
  const files = [...NAMES, 'checks/true.log'].flatMap(name =>
    iterations.map(number => `iterations/${number}/${name}`),
  );
  const all = [...files, 'hook-notes.jsonl', 'progress.md'].map(name => `"$R/${name}"`);
  return `for f in ${all.join(' ')}${more}; do mkdir -p "$(dirname "$f")"; rm -rf "$f"; ${what}; done`;
}

attacks('Where Ralph writes', [
  {
    name: 'The agent puts a link in place of `.ralph`, or of a folder in it',
    held: EVERYWHERE,
    async attempt(arena) {
      for (const place of PLACES)
        if (!(await linked(arena, `mv "${place}" moved$$; ln -s "$V" "${place}"`))) return false;
      return true;
    },
  },
  {
    name: 'A link waits at a file that Ralph will write in this iteration or the next',
    held: EVERYWHERE,
    async attempt(arena) {
      const links = ['0001', '0002'].flatMap(number => [
        `mkdir -p "$R/iterations/${number}"`,
        ...NAMES.map(name => `ln -sf "$V/${name}" "$R/iterations/${number}/${name}"`),
      ]);
      return linked(arena, `${links.join('; ')}; ln -sf "$V/progress.md" "$R/progress.md"`);
    },
  },
  {
    name: 'A named pipe waits at a file that Ralph will write in this iteration or the next',
    held: EVERYWHERE,
    attempt: arena => linked(arena, standing(['0001', '0002'], 'mkfifo "$f"')),
  },
  {
    name: 'A folder stands where Ralph will write a file, or a file where it needs a folder',
    held: EVERYWHERE,
    async attempt(arena) {
      const folders = '"$R/iterations/0001/checks" "$R/iterations/0002" "$R/iterations"'.split(' ');
      for (const place of folders)
        if (!(await linked(arena, `mkdir -p "$R/iterations/0001"; rm -rf ${place}; echo x > ${place}`)))
          return false;
      return linked(arena, standing(['0001', '0002'], 'mkdir -p "$f/x"', ' .ralph/ralph-progress.md'));
    },
  },
  {
    name: 'A check puts a link in place of the folder of its log, or of the progress',
    held: EVERYWHERE,
    async attempt(arena) {
      const check = (place: string) =>
        `V='${join(arena.outside, 'victim')}'; R=$(echo .ralph/runs/*); mv "${place}" m$$; ln -s "$V/${place.split('/').at(-1)}" "${place}"; true`;
      for (const place of ['$R/progress.md', '$R/iterations/0001/checks'])
        if (!(await linked(arena, '', ['--check', check(place), '--check', 'true']))) return false;
      return true;
    },
  },
  {
    name: 'The prompt of the user becomes a named pipe, or grows without end',
    held: EVERYWHERE,
    async attempt(arena) {
      for (const how of ['rm PROMPT.md; mkfifo PROMPT.md', 'truncate -s 1500M PROMPT.md']) {
        const project = arena.project({ 'PROMPT.md': 'Make it' });
        const agent = arena.agent(`cat > /dev/null; ${how}`);
        const args = ['run', '--prompt-file', 'PROMPT.md', '--agent', agent, '--maximum-iterations', '3'];
        const { code, stdout, stderr } = await arena.ralph(args, { cwd: project.dir });
        if (code === 0 || !`${stdout}${stderr}`.includes('PROMPT.md')) return false;
      }
      return true;
    },
  },
  {
    name: 'A hook of git puts a link in place of the progress',
    quick: true,
    held: EVERYWHERE,
    async attempt(arena) {
      const hook = `#!/bin/sh\nln -sf '${join(arena.outside, 'victim')}/progress.md' "$(echo .ralph/runs/*)/progress.md"\n`;
      const project = arena.project();
      const { isUntouched } = victim(arena);
      project.settings({ scm: { command: 'git', tasks: ['commit'] } });
      writeFileSync(project.path('.git/hooks/post-commit'), hook, { mode: 0o755 });
      const agent = arena.agent('cat > /dev/null; echo x >> work');
      const args = ['loop', 'Make it', '--agent', agent, '--check', 'true', '--max-iterations', '1'];
      await arena.ralph(args, { cwd: project.dir });
      return isUntouched();
    },
  },
]);
