// A remote, whoever submits, scripted agents, and workers with homes of their own.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { bin, env, node, script } from './measure.mjs';

export function makeWorld(folder, postgres) {
  const remote = join(folder, 'remote.git');
  const project = join(folder, 'project');
  const git = (cwd, ...args) =>
    execFileSync('git', ['-c', 'user.name=B', '-c', 'user.email=b@example.invalid', ...args], {
      cwd,
      stdio: 'pipe',
    });
  mkdirSync(project);
  git(folder, 'init', '--quiet', '--bare', '--initial-branch=main', remote);
  git(project, 'init', '--quiet', '--initial-branch=main');
  git(project, 'commit', '--quiet', '--allow-empty', '--message', 'start');
  git(project, 'remote', 'add', 'origin', remote);
  git(project, 'push', '--quiet', 'origin', 'main');
  const [block, beat] = [join(folder, 'block'), join(folder, 'beat')];
  script(join(folder, 'bin/claude'), agentScript(block, beat));
  const shared = {
    ...env,
    PATH: `${join(folder, 'bin')}:${env.PATH}`,
    ...{ IS_SANDBOX: '1', RALPH_DATABASE_URL: postgres.url, GIT_AUTHOR_NAME: 'B', GIT_COMMITTER_NAME: 'B' },
    ...{ GIT_AUTHOR_EMAIL: 'b@example.invalid', GIT_COMMITTER_EMAIL: 'b@example.invalid' },
  };
  const started = new Set();
  let homes = 0;
  return {
    ...{ postgres, block, beat },
    ralph: (...args) =>
      execFileSync(node, [bin, ...args], {
        cwd: project,
        env: { ...shared, HOME: project },
        encoding: 'utf8',
      }),
    /** `prefix`: what it is started with. */
    worker(prefix, ...args) {
      const home = join(folder, `home-${++homes}`);
      mkdirSync(home);
      const flags = ['worker', '--name', `bench-${homes}`, '--sandbox', 'none', '--quiet', ...args];
      const [program, ...words] = [...prefix, node, bin, ...flags];
      const child = spawn(program, words, {
        cwd: home,
        env: { ...shared, HOME: home },
        stdio: 'ignore',
      });
      const over = new Promise(resolve => child.once('exit', resolve));
      started.add(child);
      return { child, over };
    },
    end() {
      for (const child of started) child.kill('SIGKILL');
    },
  };
}

/** While the file `block` is there, a turn does not end, and writes its name to `beat` again and again: process ids are another matter in a namespace. */
function agentScript(block, beat) {
  const model = 'claude-opus-5-5';
  const usage = {
    input_tokens: 100,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 20,
  };
  const text = 'It is done. <promise>COMPLETE</promise>';
  const said = { id: 'm', role: 'assistant', model, content: [{ type: 'text', text }], usage };
  const records = [
    { type: 'system', subtype: 'init', session_id: 'bench', model },
    { type: 'assistant', message: said, parent_tool_use_id: null },
    {
      type: 'result',
      subtype: 'success',
      is_error: false,
      num_turns: 1,
      result: text,
      total_cost_usd: 0.1,
      usage,
    },
  ].map(record => `'${JSON.stringify(record)}'`);
  return `#!/bin/sh
case "$*" in *stream-json*) ;; *) echo 'Commit what was done'; exit ;; esac
cat >/dev/null
printf '%s\\n' ${records[0]}
name=$(date +%s%N)
while [ -e '${block}' ]; do echo "$name" > '${beat}'; sleep 0.02; done
echo done > work.txt
printf '%s\\n' ${records[1]} ${records[2]}
`;
}
