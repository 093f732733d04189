// P16: how many programs a real `ralph loop` starts, with the defaults that users have: in a repository, contained, with a check. Counted from
// outside by strace; without it the rows are left out. What the agent and the check start themselves is no program of Ralph's: they start none.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { bin, node, script } from './measure.mjs';

export function programs(folder) {
  if (!isInstalled('strace')) {
    console.log('P16 is left out: it needs strace');
    return [];
  }
  const work = makeWork(folder);
  const first = work.commit();
  work.turns(1); // so that everything that is made once is there
  const [one, six] = [work.turns(1), work.turns(6)];
  const [two, four] = [work.tasks(2), work.tasks(4)];
  return [
    row('one turn', one, 16),
    row('each further iteration', perStep(one, six, 5), 9),
    row('first run in a repository, with a commit', first, 32),
    row('a lane, from its start until it has landed', perStep(two, four, 2), 60),
  ];
}

/** The target is for git; the others are there to be seen. */
function row(what, counts, limit) {
  const all = [...counts].sort(([, a], [, b]) => b - a);
  const total = all.reduce((sum, [, count]) => sum + count, 0);
  const ours = all.map(([name, count]) => `${name} ${count}`).join(', ');
  const value = counts.get('git') ?? 0;
  return { id: 'P16', what: `git in ${what}`, floor: `all programs ${total}`, ours, value, unit: '', limit };
}

function perStep(few, many, steps) {
  const names = new Set([...few.keys(), ...many.keys()]);
  const each = name => ((many.get(name) ?? 0) - (few.get(name) ?? 0)) / steps;
  return new Map([...names].map(name => [name, each(name)]).filter(([, count]) => count !== 0));
}

function makeWork(folder) {
  // By means of the shell alone. It claims in its last turn, so that a run is a whole one.
  const agent = script(
    join(folder, 'agent'),
    `#!/bin/sh
while read -r line; do :; done
read -r turn 2>/dev/null < "$TURNS" || turn=1
echo $((turn - 1)) > "$TURNS"
echo "$PWD" > "\${PWD##*/}-$RUN-$turn.txt"
[ $turn -le 1 ] && echo '<promise>COMPLETE</promise>'
echo working
`,
  );
  let count = 0;
  const run = (project, turns, words) => {
    const trace = join(folder, `trace-${++count}`);
    writeFileSync(join(folder, 'turns'), `${turns}\n`);
    const flags = ['--agent', agent, '--check', 'true', '--quiet', '--max-iterations', '50'];
    const counted = ['strace', '-f', '-qq', '-s', '400', '-e', 'trace=execve', '-e', 'status=successful'];
    const argv = [...counted, '-o', trace, node, bin, 'loop', ...words, ...flags];
    execFileSync(argv[0], argv.slice(1), {
      cwd: project,
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...envOf(folder), RUN: String(count) },
    });
    return namesIn(trace);
  };
  const project = makeProject(join(folder, 'project'), {});
  return {
    commit() {
      writeFileSync(join(project, '.ralph/settings.json'), JSON.stringify(WITH_COMMIT));
      try {
        return run(project, 1, ['Change a file.']);
      } finally {
        writeFileSync(join(project, '.ralph/settings.json'), '{}');
      }
    },
    turns: turns => run(project, turns, ['Change a file.']),
    tasks(tasks) {
      const lines = Array.from({ length: tasks }, (_, at) => `- [ ] Write file ${at} of ${tasks}\n`);
      const project = makeProject(join(folder, `tasks-${tasks}`), { 'tasks.md': lines.join('') });
      return run(project, 1, ['--tasks', 'tasks.md', '--parallel', '2']);
    },
  };
}

const WITH_COMMIT = { scm: { command: 'git', tasks: ['commit'] } };

function envOf(folder) {
  const who = { NAME: 'B', EMAIL: 'b@example.invalid' };
  const both = Object.entries(who).flatMap(([key, value]) =>
    ['AUTHOR', 'COMMITTER'].map(role => [`GIT_${role}_${key}`, value]),
  );
  const home = join(folder, 'home');
  return { PATH: process.env.PATH, HOME: home, TURNS: join(folder, 'turns'), ...Object.fromEntries(both) };
}

function makeProject(project, more) {
  mkdirSync(join(project, '.ralph'), { recursive: true });
  mkdirSync(join(project, '../home'), { recursive: true });
  const files = { '.gitignore': '.ralph/\n', 'a.txt': 'a\n', 'b/c.txt': 'c\n', ...more };
  mkdirSync(join(project, 'b'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(project, name), text);
  const env = envOf(join(project, '..'));
  for (const args of [
    ['init', '-q'],
    ['add', '-A'],
    ['commit', '-qm', 'start'],
  ])
    execFileSync('git', args, { cwd: project, env });
  return project;
}

/** How often each was started, by the last part of its path; Ralph itself and the agent are not counted. */
function namesIn(trace) {
  const counts = new Map();
  for (const [, path] of readFileSync(trace, 'utf8').matchAll(/execve\("([^"]+)"/g)) {
    const name = path.split('/').at(-1);
    if (path !== node && name !== 'agent') counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

function isInstalled(name) {
  return (process.env.PATH ?? '').split(delimiter).some(folder => existsSync(join(folder, name)));
}
