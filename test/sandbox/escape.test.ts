/**
 * What must not be possible from inside, and what must stay possible: the same for every sandbox that works here.
 * Each attack is a real command in a real sandbox with the rules that a run would have.
 */
import { chmodSync, existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { ADAPTERS } from '../../src/agents/registry.ts';
import { defaultSettings } from '../../src/config/settings.ts';
import type { SandboxSettings } from '../../src/config/settings-shape.ts';
import { isProblem } from '../../src/domain/text/problem.ts';
import { planSpec } from '../../src/opening/sandbox-spec.ts';
import { startConfined } from '../../src/platform/process.ts';
import { projectPaths } from '../../src/store/paths.ts';
import { internet } from '../rig/internet.ts';
import { ralph, startRalph } from '../rig/ralph.ts';
import { folder, gitEnv, type Repo, repo } from '../rig/repo.ts';
import { CANDIDATES, type Candidate, closeProviders, REQUIRED } from './providers.ts';

const CLAUDE = ADAPTERS[0]!;

interface Ran {
  readonly code: number | null;
  readonly output: string;
  readonly bytes: number;
}

interface Inside {
  readonly project: Repo;
  readonly home: Repo;
  /** What the sandbox said it stopped. */
  readonly denials: readonly string[];
  run(
    command: string,
    options?: { readonly input?: string; readonly env?: Record<string, string> },
  ): Promise<Ran>;
  start(command: string): Promise<Started>;
}

interface Started {
  until(text: string): Promise<void>;
  stop(how?: 'gently' | 'at-once'): void;
  readonly done: Promise<Ran>;
}

interface Rules {
  readonly settings?: Partial<SandboxSettings>;
  readonly env?: Readonly<Record<string, string>>;
  /** Where the work is, when it is not the project. */
  cwd?(project: Repo): string;
}

async function enter({ provider, container }: Candidate, rules: Rules = {}): Promise<Inside> {
  const home = folder('ralph home ');
  const project = repo({ 'README.md': '# test\n', '.claude/settings.json': '{}\n', '.gitignore': '.env\n' });
  project.write('.env', 'KEY=project secret\n');
  project.write('.ralph/.gitignore', '*\n');
  home.write('.ssh/id', 'home secret');
  project.write('.ralph/settings.json', '{"mine":true}');
  const cwd = rules.cwd?.(project) ?? project.dir;
  const env = { ...gitEnv(), HOME: home.dir, LANG: 'C.UTF-8', ...rules.env };
  const settings = {
    ...defaultSettings('run').sandbox,
    denyRead: ['**/.env'],
    ...rules.settings,
    ...(container.image !== undefined && { image: container.image }),
  };
  const paths = projectPaths(project.dir);
  const planned = await planSpec({ settings, agents: [CLAUDE.needs], project: paths, cwd, env });
  if (isProblem(planned)) throw new Error(planned.what);
  const denials: string[] = [];
  const world = { cwd, env, container };
  const opened = await provider.open({ ...planned.spec, container }, world, what => void denials.push(what));
  if (isProblem(opened)) throw new Error(opened.what);
  onTestFinished(() => opened.close());

  const start = async (
    command: string,
    input?: string,
    more: Record<string, string> = {},
  ): Promise<Started> => {
    const chunks: Buffer[] = [];
    const listeners = new Set<() => void>();
    const keep = (chunk: Buffer) => {
      chunks.push(chunk);
      for (const listener of listeners) listener();
    };
    const said = () => Buffer.concat(chunks).toString('utf8');
    const child = await startConfined<'test'>(opened, {
      argv: ['sh', '-c', command],
      cwd,
      env: { ...env, ...more },
      stdout: keep,
      stderr: keep,
      grace: 2_000,
      ...(input !== undefined && { input }),
    });
    const done = child.done.then(({ end }) => ({
      code: end.kind === 'exited' ? end.code : null,
      output: said(),
      bytes: chunks.reduce((sum, chunk) => sum + chunk.length, 0),
    }));
    return {
      done,
      stop: how => child.stop('test', how),
      until: text =>
        new Promise((resolve, reject) => {
          const look = () => said().includes(text) && resolve();
          listeners.add(look);
          look();
          void done.then(({ output }) => reject(new Error(`it ended without "${text}": ${output}`)));
        }),
    };
  };
  const run: Inside['run'] = async (command, { input, env: more } = {}) =>
    (await start(command, input, more)).done;
  return { project, home, denials, run, start };
}

/** Command lines of all processes that name `token`, in whatever namespace they are. */
function processesWith(token: string): readonly string[] {
  return readdirSync('/proc').flatMap(pid => {
    try {
      if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return [];
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      return command.includes(token) ? [`${pid} ${command.slice(0, 120)}`] : [];
    } catch {
      return [];
    }
  });
}

let tokens = 0;
/** A number of seconds to sleep that nobody else sleeps. */
const longSleep = () => `${90_000 + (process.pid % 10_000)}.${++tokens}`;

/** A request as a program makes it that honours the proxy of its environment, or one that does not. */
const VIA_PROXY = `const {request}=require('http');const u=new URL(process.argv[1]);const p=process.env.HTTP_PROXY;
if(!p){console.log('NO PROXY');process.exit(0)}const q=new URL(p);
const auth=q.username?{'proxy-authorization':'Basic '+Buffer.from(decodeURIComponent(q.username)+':'+decodeURIComponent(q.password)).toString('base64')}:{};
request({host:q.hostname,port:q.port,path:u.href,headers:{host:u.host,...auth,...JSON.parse(process.argv[2]||'{}')}},r=>{let s='';r.on('data',d=>s+=d).on('end',()=>console.log(r.statusCode,s))}).on('error',e=>console.log('FAILED',e.code)).end();`;
const DIRECT = `const s=require('net').connect(+process.argv[2],process.argv[1],()=>{console.log('REACHED');process.exit()});s.setTimeout(3000,()=>{console.log('TIMEOUT');process.exit()});s.on('error',e=>{console.log('FAILED',e.code)})`;
const node = (script: string, ...args: readonly string[]) =>
  [process.execPath, '-e', script, ...args].map(word => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');

/** A server of the outside, and what it was asked. */
async function outside(): Promise<{ readonly port: number; readonly heard: string[] }> {
  const heard: string[] = [];
  const server = createServer((request, response) => {
    heard.push(`${request.headers.host} ${request.headers['x-key'] ?? ''}`.trim());
    response.end('the outside');
  });
  await new Promise<void>(resolve => server.listen(0, '0.0.0.0', resolve));
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, heard };
}

afterAll(closeProviders);

test.each(REQUIRED)('%s works here, as this machine must', name => {
  expect(CANDIDATES.find(candidate => candidate.name === name)?.missing).toBeUndefined();
});

describe.each(CANDIDATES)('$name', candidate => {
  const { missing } = candidate;
  const attack = test.skipIf(missing !== undefined);
  test.runIf(missing !== undefined)(`is not tried: ${missing}`, ({ skip }) => skip(missing));

  attack('writes in the project, and nowhere else', async () => {
    const { run, project, home, denials } = await enter(candidate);
    const { output } = await run(
      'echo in > "a file" && cat "a file"; echo x > /etc/ralph-escape; echo x > ~/.bashrc; echo x > ../ralph-escape; rm -f /usr/bin/env; echo end',
    );
    expect(output).toContain('in\n');
    expect(output).toContain('end\n');
    expect(project.read('a file')).toBe('in\n');
    const there = [
      '/etc/ralph-escape',
      home.path('.bashrc'),
      join(project.dir, '../ralph-escape'),
      '/usr/bin/env',
    ];
    expect(there.map(path => existsSync(path))).toEqual([false, false, false, true]);
    if (candidate.name === 'srt') await expect.poll(() => denials).toContain('write /etc/ralph-escape');
  });

  attack('leaves what decides what runs outside as it is', async () => {
    const { run, project } = await enter(candidate);
    const config = project.read('.git/config');
    const hooks = readdirSync(project.path('.git/hooks'));
    await run(
      `echo x > .ralph/settings.json; rm -rf .ralph; echo x > .claude/settings.json; mv .claude c2; mkdir .claude; echo x > .claude/settings.json;
       echo x > .git/hooks/pre-commit; git config core.hooksPath evil; git config alias.status '!touch /tmp/x';
       mv .git g2; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit; rm -rf .git/hooks; ln -s /tmp .git/hooks; true`,
    );
    expect(project.read('.ralph/settings.json')).toBe('{"mine":true}');
    expect(project.read('.claude/settings.json')).toBe('{}\n');
    expect(project.read('.git/config')).toBe(config);
    expect(lstatSync(project.path('.git/hooks')).isDirectory()).toBe(true);
    expect(readdirSync(project.path('.git/hooks'))).toEqual(hooks);
    expect(project.git('status', '--short')).toBe('');
  });

  attack('does not see what is secret', async () => {
    const { run } = await enter(candidate);
    const { output } = await run(
      'cat ~/.ssh/id .env; ls -la ~/.ssh; cp .env b; cat b; cat /proc/*/environ | tr "\\0" "\\n"',
      {
        env: {},
      },
    );
    expect(output).not.toContain('home secret');
    expect(output).not.toContain('project secret');
  });

  attack('reaches the host that is allowed, and no other by name, by address or past the proxy', async () => {
    const { port, heard } = await outside();
    const net = await internet({ 'good.test': port, 'evil.test': port });
    const tcp = createTcpServer(socket => socket.end('raw')).listen(0, '0.0.0.0');
    onTestFinished(() => void tcp.close());
    const settings = { allowDomains: ['good.test'] };
    const { run, denials } = await enter(candidate, { settings, env: { HTTP_PROXY: net.url } });
    const ask = async (url: string) => (await run(node(VIA_PROXY, url))).output.trim();
    const knock = async (host: string, at: number) =>
      (await run(node(DIRECT, host, String(at)))).output.trim();

    expect(await ask('http://good.test/')).toBe('200 the outside');
    expect(await ask('http://evil.test/')).toMatch(/^403/);
    expect(await ask('http://good.test.evil.test/')).toMatch(/^403/);
    expect(await ask(`http://127.0.0.1:${port}/`)).toMatch(/^403/);
    expect(await knock('127.0.0.1', port)).toMatch(/^FAILED/);
    expect(await knock('127.0.0.1', (tcp.address() as AddressInfo).port)).toMatch(/^FAILED/);
    expect(await knock('192.0.2.1', 80)).toMatch(/^FAILED/);
    expect(await knock('good.test', 80)).toMatch(/^FAILED/);
    expect(net.asked).toEqual(['good.test:80']);
    expect(heard).toEqual(['good.test']);
    expect(denials.join('\n')).toContain('connect to evil.test:80');
  });

  attack('without a network reaches nothing at all', async () => {
    const { port, heard } = await outside();
    const net = await internet({ 'good.test': port });
    const settings = { network: 'none', allowDomains: ['good.test'] } as const;
    const { run } = await enter(candidate, { settings, env: { HTTP_PROXY: net.url } });
    expect((await run(node(VIA_PROXY, 'http://good.test/'))).output).toMatch(/^(403|NO PROXY|FAILED)/);
    expect((await run(node(DIRECT, '127.0.0.1', String(port)))).output).toMatch(/^FAILED/);
    expect([net.asked, heard]).toEqual([[], []]);
  });

  attack('with an open network reaches what you reach', async () => {
    const { port } = await outside();
    const { run } = await enter(candidate, { settings: { network: 'open' } });
    expect((await run(node(DIRECT, '127.0.0.1', String(port)))).output).toMatch(/^REACHED/);
  });

  attack('leaves no process behind when it ends', async () => {
    const { run } = await enter(candidate);
    const token = longSleep();
    const { code, output } = await run(
      `sleep ${token} & (setsid sleep ${token} >/dev/null 2>&1 &) ; nohup setsid sh -c 'trap "" TERM INT HUP; while :; do sleep ${token}; done' >/dev/null 2>&1 & echo started; exit 5`,
    );
    expect([code, output]).toEqual([5, 'started\n']);
    expect(processesWith(token)).toEqual([]);
  });

  attack('is ended at once with all it started, whatever it ignores', async () => {
    const { start } = await enter(candidate);
    const token = longSleep();
    const { until, stop, done } = await start(
      `trap '' TERM INT HUP; (setsid sh -c 'trap "" TERM; sleep ${token}' &); echo ready; sleep ${token}`,
    );
    await until('ready');
    await expect.poll(() => processesWith(token)).not.toEqual([]);
    stop('at-once');
    await done;
    expect(processesWith(token)).toEqual([]);
  });

  attack('hears that it should stop, and may say its last words', async () => {
    const { start } = await enter(candidate);
    const { until, stop, done } = await start(
      `trap 'echo last words; exit 3' TERM; echo ready; sleep ${longSleep()} & wait`,
    );
    await until('ready');
    stop('gently');
    expect(await done).toMatchObject({ code: 3, output: 'ready\nlast words\n' });
  });

  attack('is killed when it will not stop', async () => {
    const { start } = await enter(candidate);
    const token = longSleep();
    const { until, stop, done } = await start(`trap '' TERM; echo ready; while :; do sleep ${token}; done`);
    await until('ready');
    stop('gently');
    await done;
    expect(processesWith(token)).toEqual([]);
  });

  attack('hands on exit codes, input and output whole', async () => {
    const { run } = await enter(candidate);
    for (const code of [0, 1, 7, 126, 255]) expect((await run(`exit ${code}`)).code).toBe(code);
    expect((await run('no-such-command-here')).code).toBe(127);
    expect((await run('kill -9 $$')).code ?? 137).toBe(137);
    const input = `${'prompt "quoted" $HOME \u{1f600}\n'.repeat(40_000)}`;
    expect((await run('cat | wc -c', { input })).output.trim()).toBe(String(Buffer.byteLength(input)));
    expect((await run('head -c 30000000 /dev/zero')).bytes).toBe(30_000_000);
    expect((await run('echo out; echo err >&2')).output.split('\n').sort()).toEqual(['', 'err', 'out']);
  });

  attack('commits everything, and nothing of the sandbox among it', async () => {
    const { run, project } = await enter(candidate);
    const { code, output } = await run(
      'echo new > "new file" && git add -A && git commit -qm work && git status --short',
    );
    expect([code, output]).toEqual([0, '']);
    const changed = project.git('show', '--name-status', '--format=', 'HEAD').trim().split('\n');
    expect(changed).toEqual(['A\tnew file']);
  });

  attack('commits in a worktree, and leaves the main checkout alone', async () => {
    const place = (project: Repo) => {
      project.git('worktree', 'add', '-q', '-b', 'side', '.ralph/worktrees/side');
      return project.path('.ralph/worktrees/side');
    };
    const { run, project } = await enter(candidate, { cwd: place });
    const { code, output } = await run(
      `echo x > ${JSON.stringify(project.path('README.md'))}; echo x > ${JSON.stringify(project.path('.git/hooks/post-commit'))}; echo "gitdir: /tmp" > .git;
       echo new > new && git add -A && git commit -qm side && git log --format=%s -1`,
    );
    expect([code, output.trim().split('\n').at(-1)]).toEqual([0, 'side']);
    expect(project.read('README.md')).toBe('# test\n');
    expect(existsSync(project.path('.git/hooks/post-commit'))).toBe(false);
    expect(project.git('log', '--format=%s', '-1', 'side').trim()).toBe('side');
  });

  attack('has a folder for temporary files that is there, and is gone afterwards', async () => {
    const { run } = await enter(candidate);
    const { output } = await run(
      'echo x > "$TMPDIR/file" && cat "$TMPDIR/file" && mktemp >/dev/null && echo made; echo "$IS_SANDBOX"',
    );
    expect(output).toBe('x\nmade\n1\n');
  });
});

describe.skipIf(CANDIDATES[0]?.missing !== undefined)('srt alone', () => {
  const candidate = CANDIDATES[0]!;

  test('keeps a key from the inside that the host it is for gets all the same', {
    tags: 'promise',
  }, async () => {
    const { port, heard } = await outside();
    const net = await internet({ 'good.test': port, 'other.test': port });
    const settings = {
      allowDomains: ['good.test', 'other.test'],
      secrets: [{ env: 'API_KEY', hosts: ['good.test'] }],
    };
    const env = { HTTP_PROXY: net.url, API_KEY: 'the real key' };
    const { run } = await enter(candidate, { settings, env });
    const { output } = await run('echo "$API_KEY"; cat /proc/*/environ | tr "\\0" "\\n" | grep API_KEY');
    expect(output).not.toContain('the real key');
    const send = (host: string) => `${node(VIA_PROXY, `http://${host}/`)} "{\\"x-key\\":\\"$API_KEY\\"}"`;
    await run(send('good.test'));
    await run(send('other.test'));
    expect(heard[0]).toBe('good.test the real key');
    expect(heard[1]).not.toContain('the real key');
  });
});

describe.skipIf(CANDIDATES[1]?.missing !== undefined)('container alone', () => {
  const { container } = CANDIDATES[1]!;
  const provider = 'container';

  /** A project whose agent is a script in it: a container sees nothing else. */
  function withAgent(script: string): Repo {
    const project = repo({ agent: `#!/bin/sh\ncat > /dev/null\n${script}\n` });
    chmodSync(project.path('agent'), 0o755);
    const { image, engine = [], args: engineArgs } = container;
    const sandbox = { provider, image, engine: engine.join(' '), engineArgs };
    project.settings({ agent: { command: './agent' }, guardrails: [{ command: 'test -e made' }], sandbox });
    return project;
  }

  test('agent and checks run inside, through the real bin', async () => {
    const done = '<response>DONE</response>';
    const project = withAgent(`touch made; echo x > /etc/ralph-box; echo "$RALPH_SANDBOX ${done}"`);
    const { code, stdout } = await ralph(['run', '-p', `Say ${done}`], { cwd: project.dir });
    expect([code, existsSync('/etc/ralph-box')]).toEqual([0, false]);
    expect(stdout).toContain('container');
    expect(stdout).toContain('- Sandbox: container (docker), network allowlist (nothing)');
  });

  test('Ralph killed: the container is gone, though the client could not say so', async () => {
    const token = longSleep();
    // The watchdog asks the client, which hands that on: an agent that will not hear leaves only the container's own end.
    const project = withAgent(`trap '' TERM INT; echo started; sleep ${token}`);
    const run = startRalph(['run', '-p', 'go'], { cwd: project.dir });
    await run.until('started');
    await expect.poll(() => processesWith(`sleep ${token}`)).not.toEqual([]);
    run.process.kill('SIGKILL');
    await expect.poll(() => processesWith(`sleep ${token}`)).toEqual([]);
  });

  test('a turn that runs too long is ended with its container', async () => {
    const token = longSleep();
    const project = withAgent(`trap '' TERM; echo started; sleep ${token}`);
    const args = ['run', '-p', 'go', '-m', '1', '--iteration-timeout', '3'];
    const { code, stdout } = await ralph(args, { cwd: project.dir });
    expect(stdout).toContain('started');
    expect([code, processesWith(`sleep ${token}`)]).toEqual([1, []]);
  });

  test('its share of the machine is limited', async () => {
    const settings = { limits: { memory: '64m', pids: 40 } };
    const { run } = await enter(CANDIDATES[1]!, { settings });
    const { output } = await run('i=0; while [ $i -lt 100 ]; do sleep 5 & i=$((i+1)); done; echo all');
    expect(output).not.toContain('all');
    expect(output).toMatch(/fork|Resource temporarily/);
  });
});
