// biome-ignore-all lint/suspicious/noExplicitAny: a forger does not care for types
/** `ralph report --bundle` and `ralph verify`, as one person writes a bundle and another one looks at it. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  allow,
  COMMITS,
  forge,
  type Proven,
  partsOf,
  proven,
  provenBeside,
  SUBMODULE,
} from '../bundle/rig.ts';
import { ralph } from '../rig/commands.ts';
import { fakeAgent } from '../rig/fake-agent.ts';
import { recordOf } from '../rig/ledger.ts';
import { BIN, testEnv } from '../rig/ralph.ts';
import { folder, gitEnv, repo } from '../rig/repo.ts';
import { approve, handIn, prdRepo, prdRun, works } from '../rig/stories.ts';

const verify = (cwd: string, ...args: string[]) => ralph(['verify', ...args], { cwd });

/** As somebody else has it: a clone in another place, without the run. */
function cloneOf({ work }: Proven): string {
  const { dir } = folder();
  execFileSync('git', ['clone', '--quiet', work.dir, join(dir, 'clone')], { env: gitEnv() });
  return join(dir, 'clone');
}

describe('an honest bundle', () => {
  test('holds on another checkout, with and without a signature, and the checks pass there again', {
    tags: ['promise', 'P-bundle'],
  }, async () => {
    const run = await proven();
    const clone = cloneOf(run);
    const plain = await verify(clone, await run.report());
    expect(plain).toMatchObject({ code: 0 });
    expect(plain.stdout).toContain('Not signed: whoever had this file can have written it anew.');
    expect(plain.stdout).toMatch(
      /^holds {10}commit: [0-9a-f]{12} holds the tree that was checked, and is HEAD here$/m,
    );
    const key = run.key('key');
    allow(run.signers, 'dev@example.invalid', key);
    const signed = await run.report('--sign-key', key);
    const args = ['--allowed-signers', run.signers, '--repo', clone];
    const again = await verify('/', signed, ...args, '--rerun', '--json');
    expect(again).toMatchObject({ code: 0 });
    const told = JSON.parse(again.stdout);
    expect(told).toMatchObject({
      holds: true,
      signed: true,
      run: { success: true },
      proof: { level: 'place' },
    });
    const why = (claim: string) =>
      told.claims.filter((each: any) => each.claim === claim).map((each: any) => each.why);
    expect(why('signature')).toEqual(['signed by dev@example.invalid']);
    expect(why('rerun')).toEqual([
      '`sh test/t.sh` passed in a clean checkout here',
      '`sh check.sh` passed in a clean checkout here',
    ]);
    expect(await verify(clone, signed, ...args, '--signer', 'dev@example.invalid')).toMatchObject({
      code: 0,
    });
    expect(await verify(clone, signed, ...args, '--signer', 'boss@example.invalid')).toMatchObject({
      code: 1,
    });
    const unknown = await verify(clone, signed);
    expect(unknown.code).toBe(1);
    expect(unknown.stdout).toMatch(/^unknown {8}signature: it is signed with SHA256:\S+; name who may sign/m);
  });

  const nobody = ['--reuid=65534', '--regid=65534', '--clear-groups'];
  const canBeNobody =
    process.getuid?.() === 0 &&
    spawnSync('setpriv', [...nobody, process.execPath, BIN, '--version']).status === 0;

  test.skipIf(!canBeNobody)('holds under another user account (needs root and setpriv)', async () => {
    const run = await proven();
    const key = run.key('key');
    allow(run.signers, 'dev@example.invalid', key);
    const signed = await run.report('--sign-key', key);
    const home = folder('ralph-nobody-').dir;
    const clone = join(home, 'clone');
    cpSync(cloneOf(run), clone, { recursive: true });
    cpSync(signed, join(home, 'run.proof'));
    cpSync(run.signers, join(home, 'signers'));
    execFileSync('chown', ['-R', '65534:65534', home]);
    const args = [
      ...nobody,
      process.execPath,
      BIN,
      'verify',
      '../run.proof',
      '--allowed-signers',
      '../signers',
      '--rerun',
    ];
    const env = testEnv({ env: { HOME: home, RALPH_CACHE_DIR: join(home, 'cache') } });
    const done = spawnSync('setpriv', args, { cwd: clone, env, encoding: 'utf8' });
    expect(done).toMatchObject({ status: 0, stderr: expect.stringContaining('Running `sh test/t.sh`') });
    expect(done.stdout).toContain('Everything that the bundle claims holds.');
  });

  test('says who reviewed a story and when', async () => {
    const work = prdRepo();
    const agent = await fakeAgent('claude', works(work, handIn()), works(work, approve()));
    await prdRun(work, agent.bin, '--check', 'true');
    const bundle = join(folder().dir, 'run.proof');
    expect(await ralph(['report', '--bundle', bundle], { cwd: work.dir })).toMatchObject({ code: 0 });
    const { predicate } = partsOf(bundle).statement;
    expect(predicate.reviews).toMatchObject([
      { story: 'US-001', verdict: 'approved', by: 'claude', iteration: 2 },
    ]);
    const { code, stdout } = await verify(work.dir, bundle);
    expect(stdout).toMatch(/^holds {10}review: US-001: approved by claude, 20/m);
    expect({ code, stdout }).toMatchObject({ code: 0 });
  });

  test.each([
    ['committed by Ralph', COMMITS],
    ['committed by hand', {}],
  ])('holds where settings of Ralph are in the commit: %s', async (_, settings) => {
    const run = await provenBeside(['.ralph/settings.json'], settings);
    if (settings !== COMMITS) run.work.git('commit', '--quiet', '--all', '--message', 'by hand');
    const { code, stdout } = await verify(cloneOf(run), await run.report(), '--rerun');
    expect(stdout).toMatch(
      / holds the tree that was checked, and \.ralph\/settings\.json beside it; it is HEAD here$/m,
    );
    expect(stdout).toMatch(/^holds {10}protected files: /m);
    expect({ code, stdout }).toMatchObject({ code: 0 });
  });

  test('of work that was not committed holds where the files are, and after a commit of them', async () => {
    const run = await proven({});
    const bundle = await run.report();
    const here = await ralph(['verify', bundle], { cwd: run.work.dir, env: run.env });
    expect(here).toMatchObject({ code: 0, stdout: expect.stringContaining('it is not committed') });
    expect((await verify(cloneOf(run), bundle)).stdout).toMatch(
      /^unknown {8}commit: no commit of this repository holds/m,
    );
    run.work.git('commit', '--quiet', '--all', '--message', 'by hand');
    expect(await verify(cloneOf(run), bundle)).toMatchObject({ code: 0 });
  });
});

describe('what does not hold', () => {
  test('a run that was not done', async () => {
    const work = repo({ '.gitignore': '.ralph\n' });
    await ralph(['loop', 'go', '--agent', 'true', '--check', 'false', '--max-iterations', '1'], {
      cwd: work.dir,
    });
    const bundle = join(work.dir, '../x.proof');
    onTestFinished(() => rmSync(bundle, { force: true }));
    expect(await ralph(['report', '--bundle', bundle], { cwd: work.dir })).toMatchObject({ code: 0 });
    const { code, stdout } = await verify(work.dir, bundle);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^does not hold {2}result: the run ended as max_iterations/m);
    expect(stdout).toMatch(/^does not hold {2}check: `false` failed with exit code 1/m);
  });

  test('a ledger that was changed before the bundle was written', async () => {
    const run = await proven();
    const { predicate } = partsOf(await run.report()).statement;
    const events = recordOf(run.work, predicate.run.id, run.env).events;
    writeFileSync(events, readFileSync(events, 'utf8').replace('"exitCode":0', '"exitCode":0 '));
    const bundle = join(run.place, 'changed.proof');
    const written = await ralph(['report', '--bundle', bundle], { cwd: run.work.dir, env: run.env });
    expect(written).toMatchObject({ code: 1, stderr: expect.stringContaining('has been changed') });
    const { code, stdout } = await verify(run.work.dir, bundle);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^does not hold {2}ledger:/m);
    expect(stdout).not.toMatch(/^holds +(result|proof|check)/m);
  });

  test('checks that are red on this machine; and of a bundle that does not hold nothing is run', async () => {
    const run = await proven(COMMITS, '--check', 'test ! -e "$HOME/red"');
    const bundle = await run.report();
    const clone = cloneOf(run);
    const home = folder().dir;
    writeFileSync(join(home, 'red'), '');
    const red = await ralph(['verify', bundle, '--rerun'], { cwd: clone, env: { HOME: home } });
    expect(red.code).toBe(1);
    expect(red.stdout).toMatch(
      /^does not hold {2}rerun: `test ! -e "\$HOME\/red"` failed with exit code 1 in a clean checkout here/m,
    );
    const { statement } = partsOf(bundle);
    const lie: any = structuredClone(statement);
    lie.predicate.checks[0].command = `touch ${join(home, 'pwned')}`;
    writeFileSync(bundle, forge(lie, undefined));
    const lied = await ralph(['verify', bundle, '--rerun'], { cwd: clone, env: { HOME: home } });
    expect(lied).toMatchObject({ code: 1, stdout: expect.stringContaining('are not executed') });
    expect(lied.stderr).not.toContain('Running');
  });

  test.each([
    ['.ralph/lib/x.js', /^does not hold {2}commit: .* holds \.ralph\/lib\/x\.js beside .* no check/m],
    [SUBMODULE, /^unknown {8}commit: .* and the submodule sub beside it: no snapshot holds its files/m],
  ])('a commit with %s beside what was checked and the settings', async (path, words) => {
    const run = await provenBeside(['.ralph/settings.json', path]);
    const { code, stdout } = await verify(cloneOf(run), await run.report());
    expect([code, stdout]).toEqual([1, expect.stringMatching(words)]);
  });

  test('a commit that git was told to replace is the one it is', async () => {
    const run = await proven();
    const bundle = await run.report();
    const { work } = run;
    work.write('a', 'evil\n');
    work.git('commit', '--quiet', '--all', '--message', 'evil');
    work.git('replace', 'HEAD~1', 'HEAD');
    const { code, stdout } = await verify(work.dir, bundle);
    expect({ code, stdout }).toMatchObject({ code: 1 });
    expect(stdout).toContain('HEAD is another commit');
    const named = await ralph(['verify', bundle, '--commit', 'HEAD~1'], { cwd: work.dir });
    expect(named).toMatchObject({ code: 0, stdout: expect.stringContaining('is the commit that you named') });
  });

  test.each([
    ['a protected file', 'HEAD:test/t.sh'],
    ['a folder on the way to one', 'HEAD:test'],
    ['any other file', 'HEAD:check.sh'],
  ])('an object of the repository that is not what its name says: %s', async (_, name) => {
    const { work, report } = await proven();
    const bundle = await report();
    const oid = work.git('rev-parse', name).trim();
    const file = work.path(`.git/objects/${oid.slice(0, 2)}/${oid.slice(2)}`);
    const [kind, other] = name.includes('.') ? ['blob', 'exit 0\n'] : ['tree', ''];
    chmodSync(file, 0o644);
    writeFileSync(file, deflateSync(`${kind} ${other.length}\0${other}`));
    const { code, stdout } = await verify(work.dir, bundle);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      new RegExp(`^does not hold {2}commit: the object ${oid.slice(0, 12)} of this repository is not`, 'm'),
    );
  });

  test.each<[string, string, number, RegExp]>([
    [
      'on a HEAD that nobody checked',
      'git commit -qam later',
      1,
      /^does not hold {2}commit: .* HEAD is another/m,
    ],
    ['on a branch of its own', 'git checkout -qb other HEAD~1', 1, /HEAD is another commit/],
    ['on a commit with the same files', 'git commit -q --allow-empty -m later', 0, /HEAD has the same files/],
    ['on HEAD, with changes that are not committed', 'true', 0, /is HEAD here/],
  ])('an old bundle %s', async (_, script, wanted, words) => {
    const run = await proven();
    const bundle = await run.report();
    const clone = cloneOf(run);
    const user = '-c user.name=u -c user.email=u@example.invalid';
    const change = script.includes('-qam') || script === 'true' ? 'echo later >> a; ' : '';
    execFileSync('sh', ['-c', `${change}${script.replace('git ', `git ${user} `)}`], { cwd: clone });
    const { code, stdout } = await verify(clone, bundle);
    expect([code, stdout]).toEqual([wanted, expect.stringMatching(words)]);
  });
});

describe('bad input', () => {
  test('is a sentence each, with exit code 2 and no stack', async () => {
    const run = await proven();
    const honest = await run.report();
    const { statement } = partsOf(honest);
    const put = (name: string, content: string | Buffer) => {
      writeFileSync(join(run.place, name), content);
      return name;
    };
    const changed = (by: (copy: any) => void) => {
      const copy = structuredClone(statement);
      by(copy);
      return forge(copy, undefined);
    };
    put('large', '');
    truncateSync(join(run.place, 'large'), 1024 ** 3);
    mkdirSync(join(run.place, 'folder'));
    execFileSync('mkfifo', [join(run.place, 'pipe')]);
    const bomb = gzipSync(Buffer.alloc(8 * 1024 * 1024));
    const zip = Buffer.concat([Buffer.from('504b0304', 'hex'), bomb]);
    const cases: Readonly<Record<string, string>> = {
      [put(
        'later',
        changed(copy => {
          copy.predicateType = 'urn:ralph-loop:proof:v2';
        }),
      )]: 'has version 2 of the format, and this Ralph knows version 1 (update Ralph',
      [put(
        'other',
        changed(copy => {
          copy.predicateType = 'https://slsa.dev/provenance/v1';
        }),
      )]: 'holds no proof of Ralph',
      large: 'is too large: 1024 MB, and a bundle has at most 32',
      [put('gzip', bomb)]: 'is compressed: a bundle is one JSON file, and nothing is unpacked',
      [put('zip', zip)]: 'is compressed',
      [put(
        'outside',
        changed(copy => {
          copy.predicate.protected[0].path = '../../etc/passwd';
        }),
      )]: 'must be a path that stays inside of the project',
      [put(
        'absolute',
        changed(copy => {
          copy.predicate.protected[0].path = '/etc/passwd';
        }),
      )]: 'must be a path that stays inside of the project',
      [put(
        'two-lines',
        changed(copy => {
          copy.predicate.protected[0].path = 'a\nHEAD:a';
        }),
      )]: 'must be a path that stays inside of the project',
      [put(
        'more',
        changed(copy => {
          copy.predicate.also = true;
        }),
      )]: 'is not part of the format',
      [put('twice', doubled(honest))]: 'is not written as Ralph writes it',
      [put('deep', `{"payload":${'['.repeat(1_000_000)}`)]: 'holds no JSON object',
      [put('empty', '')]: 'holds no JSON object',
      [put('noise', Buffer.from(Array.from({ length: 4096 }, (_, at) => (at * 7919) % 256)))]:
        'holds no JSON object',
      folder: 'is a folder',
      pipe: 'is not a file',
      'not-there': 'cannot be read: it does not exist',
    };
    for (const [name, words] of Object.entries(cases)) {
      const done = await verify(run.place, name);
      expect({ name, ...done }).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringContaining(words),
      });
      expect(done.stderr.trim().split('\n')).toHaveLength(1);
    }
  });

  test('a repository without the commit, and a folder without a repository, is a sentence too', async () => {
    const run = await proven();
    const bundle = await run.report();
    const stranger = await verify(repo().dir, bundle);
    expect(stranger).toMatchObject({ code: 1, stderr: '' });
    expect(stranger.stdout).toMatch(
      /^unknown {8}commit: this repository does not have [0-9a-f]{12}: fetch it/m,
    );
    const none = await verify(folder().dir, bundle);
    expect(none.stdout).toMatch(/^unknown {8}commit: .* is not a git repository: name a clone with --repo$/m);
    expect(await verify(run.place, bundle, '--repo', 'nowhere')).toMatchObject({ code: 2 });
    expect(await verify(run.place, bundle, '--signer', 'me')).toMatchObject({ code: 2 });
    expect(await verify(run.place, bundle, '--allowed-signers', 'nowhere')).toMatchObject({ code: 2 });
  });

  test('a repository that git cannot read, or not whole, is a sentence, and soon', async () => {
    const run = await proven();
    const bundle = await run.report();
    const sparse = folder().path('clone');
    const from = `file://${run.work.dir}`;
    run.work.git('config', 'uploadpack.allowFilter', 'true');
    run.work.git('clone', '--quiet', '--no-checkout', '--filter=blob:none', from, sparse);
    const partial = await verify(sparse, bundle);
    expect(partial.stdout).toMatch(/^unknown {8}commit: .* is a partial clone, and has not fetched all/m);
    const piped = cloneOf(run);
    rmSync(join(piped, '.git/packed-refs'), { force: true });
    execFileSync('mkfifo', [join(piped, '.git/pipe')]);
    execFileSync('ln', ['-s', 'pipe', join(piped, '.git/packed-refs')]);
    const waiting = await verify(piped, bundle);
    expect(waiting.stdout).toMatch(/^unknown {8}commit: .*\.git\/\S+ is a named pipe, and git waits for it/m);
    const damaged = cloneOf(run);
    rmSync(join(damaged, '.git/objects'), { recursive: true });
    const none = await verify(damaged, bundle);
    expect(none.stdout).toMatch(/^unknown {8}commit: .* is not a git repository/m);
  });

  test('of the writer: no run, a key that is none, a run that is not over', async () => {
    const { dir } = repo();
    expect(await ralph(['report', '--bundle', 'x'], { cwd: dir })).toMatchObject({ code: 2 });
    const run = await proven();
    const report = (...args: string[]) => ralph(['report', ...args], { cwd: run.work.dir, env: run.env });
    writeFileSync(join(run.place, 'no-key'), 'no key\n');
    chmodSync(join(run.place, 'no-key'), 0o600);
    const refused = await report('--bundle', 'x', '--sign-key', join(run.place, 'no-key'));
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('ssh-keygen did not sign') });
    expect(await report('--sign-key', 'x')).toMatchObject({ code: 2 });
    expect(await report('--bundle', 'x', '--all')).toMatchObject({ code: 2 });
    const { predicate } = partsOf(await run.report()).statement;
    const events = recordOf(run.work, predicate.run.id, run.env).events;
    writeFileSync(
      events,
      readFileSync(events, 'utf8')
        .split('\n')
        .slice(0, -2)
        .map(line => `${line}\n`)
        .join(''),
    );
    expect(await report('--bundle', 'x')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('the run has not ended'),
    });
  });
});

/** The payload with a field that is there twice: one reader would take the first, another one the last. */
function doubled(bundle: string): string {
  const envelope = JSON.parse(readFileSync(bundle, 'utf8'));
  const payload = Buffer.from(envelope.payload, 'base64')
    .toString()
    .replace('"success":true', '"success":false,"success":true');
  return JSON.stringify({ ...envelope, payload: Buffer.from(payload).toString('base64') });
}
