import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { story, storyList } from '../domain/stories/stories.ts';
import { init, result, speaks, text, toolResult, toolUse } from '../rig/claude-stream.ts';
import { ralph } from '../rig/commands.ts';
import { fakeAgent } from '../rig/fake-agent.ts';
import { BIN } from '../rig/ralph.ts';
import { folder, repo } from '../rig/repo.ts';
import { approve, handIn, prdRepo, prdRun, reject, works } from '../rig/stories.ts';
import { DIFF, type WrittenRun, writeRun } from '../rig/written-run.ts';

const REPORT = (cwd: string, ...args: string[]) => ralph(['report', ...args], { cwd });

/** What the file holds as data, as the page will read it. */
function embedded(html: string, id: string) {
  const found = new RegExp(`<script type="application/json" id="${id}">(.*?)</script>`).exec(html);
  return JSON.parse(found?.[1] ?? 'null');
}

function changeLedger({ paths, journal }: WrittenRun, change: (text: string) => string): void {
  journal.close();
  writeFileSync(paths.events, change(readFileSync(paths.events, 'utf8')));
}

describe('a real run', () => {
  test('is told in every format, and they agree', { tags: 'promise' }, async () => {
    const { dir, path } = folder();
    mkdirSync(path('tmp'));
    const { stdout } = await ralph(['demo', '--pace', '0', '--json'], {
      cwd: dir,
      env: { TMPDIR: path('tmp') },
    });
    const { runId } = JSON.parse(stdout);
    const project = path(
      join('tmp', readdirSync(path('tmp')).find(name => name.startsWith('ralph-demo-')) ?? ''),
    );

    const { code, stdout: md } = await REPORT(project);
    expect(code).toBe(0);
    expect(md).toContain('Done: the agent says so and every check passes.');
    expect(md).toContain('- Stop reason: promise_accepted (exit code 0)');
    expect(md).toMatch(
      /\| 1 \|.*0\/1 \| `guardrail "node --test" failed with exit code 1; the agent says that it is done` \|/,
    );

    expect(md).toMatch(/\| 2 \|.*1\/1 \| done \|/);

    const json = JSON.parse((await REPORT(project, '--format', 'json')).stdout);
    expect(json).toMatchObject({
      id: runId,
      state: 'done',
      integrity: { trust: { kind: 'intact' }, torn: 0 },
    });
    expect(
      json.view.iterations.map((each: { checks: { passed: boolean }[] }) => each.checks[0]?.passed),
    ).toEqual([false, true]);

    const junit = (await REPORT(project, '--format', 'junit')).stdout;
    expect(junit).toContain('<testcase classname="ralph.check" name="node --test"');
    expect(junit).toContain('failures="0"');

    const sarif = JSON.parse((await REPORT(project, '--format', 'sarif')).stdout);
    expect(sarif.version).toBe('2.1.0');
    expect(sarif.runs[0].results).toEqual([]);

    await REPORT(project, '-o', 'run.html');
    const html = readFileSync(join(project, 'run.html'), 'utf8');
    expect(embedded(html, 'data').run.view).toEqual(json.view);
    const details = embedded(html, 'details');
    expect(Object.keys(details)).toEqual(['1', '2']);
    expect(details[1].prompt.text).toContain('cart.js');
    expect(details[1].checks[0].output.text).toContain('not ok');
    expect(details[2].passages.some((each: { kind: string }) => each.kind === 'tool')).toBe(true);
  });
});

describe('a run with stories', () => {
  test('says how much of what the agent reads is not the user’s own', async () => {
    const project = repo();
    const agent = await fakeAgent('claude', speaks('no'));
    const task = 'Make it green. '.repeat(20);
    const args = ['loop', task, '--check', 'false', '--max-iterations', '2'];
    await ralph(args, { cwd: project.dir, path: [agent.bin] });
    const { iterations } = JSON.parse((await REPORT(project.dir, '--format', 'json')).stdout).view;
    const sizes = agent.calls.map(({ input }) => ({
      chars: input.length,
      added: input.length - task.length,
    }));
    expect(iterations.map((each: { prompt: unknown }) => each.prompt)).toEqual(sizes);
    const mean = (of: (size: { chars: number; added: number }) => number) =>
      Math.round(sizes.reduce((sum, size) => sum + of(size), 0) / sizes.length / 4);
    const [all, added] = [mean(size => size.chars), mean(size => size.added)];
    expect((await REPORT(project.dir)).stdout).toContain(
      `- Prompt: ~${all} tokens, ~${added} of them added by Ralph, on average`,
    );
  });

  test('tells where each story stands and how it came there, and what a verified one cost', async () => {
    const project = prdRepo();
    const step = (edit: Parameters<typeof works>[1]) => works(project, edit);
    const agent = await fakeAgent('claude', step(handIn()), step(reject()), step(handIn()), step(approve()));
    expect((await prdRun(project, agent.bin)).code).toBe(0);
    const { stories, view } = JSON.parse((await REPORT(project.dir, '--format', 'json')).stdout);
    expect(stories).toEqual([
      {
        id: 'US-001',
        title: 'Title of US-001',
        status: 'approved',
        reviews: 2,
        feedback: expect.any(String),
      },
    ]);
    expect(
      view.moves.map((move: { iteration: number; status: string; feedback: string }) => [
        move.iteration,
        view.iterations[move.iteration - 1].mode,
        move.status,
        move.feedback,
      ]),
    ).toEqual([
      [1, 'implement', 'needs_review', ''],
      [2, 'review', 'changes_requested', 'handle the empty list'],
      [3, 'review-fix', 'needs_review', ''],
      [4, 'review', 'approved', ''],
    ]);
    const figures = JSON.parse((await REPORT(project.dir, '--all', '--format', 'json')).stdout);
    expect(figures).toMatchObject({ done: 1, storiesVerified: 1, reviewsPerStory: 2 });
    expect(figures.costPerStory).toBeCloseTo(0.04);
  });

  test('does not read a list from elsewhere, whatever the ledger calls it', async () => {
    const { dir, path } = folder();
    writeFileSync(path('elsewhere.json'), JSON.stringify(storyList(story('US-001'))));
    const run = writeRun(dir, {
      iterations: 1,
      ends: 'max_iterations',
      also: () => [
        { type: 'stories-updated', iteration: 1, hash: '../../../../elsewhere', done: 0, total: 0 },
      ],
    });
    const { stories, view } = JSON.parse((await REPORT(dir, run.id, '--format', 'json')).stdout);
    expect([stories, view.storyList]).toEqual([[], '../../../../elsewhere']);
  });
});

describe('what an agent changes', () => {
  test('is kept with every iteration, new files too, and shown', async () => {
    const { dir, read } = repo({ 'a.txt': 'one\n' });
    const agent = await fakeAgent('claude', async turn => {
      await turn.line(init);
      await turn.line(toolUse('t', 'Write', { file_path: 'a.txt' }));
      await turn.write('a.txt', 'two\n');
      await turn.write('b.txt', 'new\n');
      await turn.line(toolResult('t', 'written'));
      await turn.line(text('<promise>COMPLETE</promise>'));
      await turn.line(result());
      turn.exit();
    });
    const args = ['loop', 'Do it', '--agent', 'claude', '--check', 'true', '--json'];
    const { stdout } = await ralph(args, { cwd: dir, path: [agent.bin] });
    const { runId } = JSON.parse(stdout);
    expect(read(`.ralph/runs/${runId}/iterations/0001/changes.diff`)).toMatch(/-one\n\+two\n[\s\S]*\+new\n/);
    await REPORT(dir, '-o', 'run.html');
    expect(embedded(read('run.html'), 'details')[1].diff.text).toContain('+two');
  });
});

describe('the HTML', () => {
  test('asks for nothing and runs nothing but its own script', { tags: 'promise' }, async () => {
    const { dir, path } = folder();
    writeRun(dir, {
      iterations: 2,
      ends: 'max_iterations',
      words: () => '</script><script src="https://evil.example/x.js"></script><!--',
    });
    await REPORT(dir, '-o', 'run.html');
    const html = readFileSync(path('run.html'), 'utf8');
    expect(html.match(/<script/g)).toHaveLength(3);
    expect(html.match(/<\/script>/g)).toHaveLength(3);
    expect(html).toMatch(/content="default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'/);
    expect(html).not.toContain('unsafe-inline');
    expect(html.replace(/<script>.*<\/script>/s, '')).not.toMatch(/(src|href)="(?!data:)/);
    expect(embedded(html, 'details')[1].passages[0].text).toContain('</script>');
  });

  test('says the verdict and the iterations without JavaScript', async () => {
    const { dir, path } = folder();
    writeRun(dir, { iterations: 3, ends: 'all_checks_passed', checks: ['npm test <b>'] });
    await REPORT(dir, '-o', 'run.html');
    const main = /<main id="app">(.*?)<\/main>/s.exec(readFileSync(path('run.html'), 'utf8'))?.[1] ?? '';
    expect(main).toContain('<h1>Done: every check passes and the agent says it is complete.</h1>');
    expect(main).toContain('Check `npm test &lt;b&gt;` passed');
    expect(main.match(/<tr>/g)).toHaveLength(4);
  });

  test('is of a page that weighs less than 200 kB on its way', () => {
    const page = join(BIN, '../../page');
    const weight = ['page.js', 'page.css']
      .map(name => gzipSync(readFileSync(join(page, name))).length)
      .reduce((sum, bytes) => sum + bytes);
    expect(weight).toBeLessThan(200_000);
  });

  test('keeps the latest iterations whole when there is more than fits', async () => {
    const { dir, path } = folder();
    const big = `${DIFF}${'+x\n'.repeat(80_000)}`;
    writeRun(dir, { iterations: 150, ends: 'max_iterations', diff: () => big });
    await REPORT(dir, '-o', 'run.html');
    const html = readFileSync(path('run.html'), 'utf8');
    const kept = Object.keys(embedded(html, 'details')).map(Number);
    expect(kept.at(-1)).toBe(150);
    expect(kept[0]).toBeGreaterThan(1);
    expect(html.length).toBeLessThan(28 * 1024 * 1024);
    const { diff } = embedded(html, 'details')[150];
    expect([diff.text.length, diff.left]).toEqual([200_000, Buffer.byteLength(big) - 200_000]);
    expect(diff.file).toMatch(/iterations\/0150\/changes\.diff$/);
  });
});

describe('a ledger that cannot be trusted', () => {
  test('is shown, and said to have been changed', async () => {
    const { dir } = folder();
    const run = writeRun(dir, { iterations: 2, ends: 'max_iterations' });
    changeLedger(run, text => text.replace('"passed":false', '"passed":true '));
    const markdown = (await REPORT(dir)).stdout;
    expect(markdown).toMatch(/- The ledger has been changed: line \d+ does not follow/);
    const shown = (await ralph(['show'], { cwd: dir })).stdout;
    const page = (await REPORT(dir, '--format', 'html')).stdout;
    for (const text of [markdown, shown, page])
      expect(text).toContain('Not verified: its ledger has been changed. Do not believe it:');
    expect((await REPORT(dir, '--format', 'junit')).stdout).toContain('the ledger is intact');
    expect((await REPORT(dir, '--format', 'sarif')).stdout).toContain('The ledger has been changed');
    const { integrity } = JSON.parse((await REPORT(dir, '--format', 'json')).stdout);
    expect(integrity.trust.what).toHaveLength(1);
  });

  test('that was cut off in a line says so', async () => {
    const { dir } = folder();
    const run = writeRun(dir, { iterations: 2 });
    changeLedger(run, text => `${text}{"seq":99,"at":"20`);
    const { stdout } = await REPORT(dir);
    expect(stdout).toMatch(/The ledger's last line is incomplete \(\d+ bytes\)/);
    // The process that wrote it is this one, which is alive.
    expect(stdout).toContain('Running.');
  });

  test('cannot make the report show a file from elsewhere', async () => {
    const { dir, path } = folder();
    writeFileSync(path('elsewhere.txt'), 'NOT FOR THE REPORT');
    const run = writeRun(dir, { iterations: 1, ends: 'max_iterations' });
    const files = run.paths.iteration(1);
    rmSync(files.prompt);
    symlinkSync(path('elsewhere.txt'), files.prompt);
    changeLedger(run, text => text.replaceAll(/"logFile":"[^"]*"/g, '"logFile":"../../../../elsewhere.txt"'));
    await REPORT(dir, '-o', 'run.html');
    expect(readFileSync(path('run.html'), 'utf8')).not.toContain('NOT FOR THE REPORT');
  });

  test('of a run that never wrote one is a run that was cut off', async () => {
    const { dir } = folder();
    const run = writeRun(dir, { iterations: 0 });
    run.journal.close();
    rmSync(run.paths.events);
    const { code, stdout } = await REPORT(dir, '--format', 'json');
    expect(code).toBe(1);
    expect(JSON.parse(stdout).integrity.trust).toMatchObject({
      kind: 'changed',
      what: expect.arrayContaining(['there is no ledger']),
    });
  });
});

describe('secrets', () => {
  test.each(['html', 'md', 'json', 'junit', 'sarif'])('are in no %s, wherever they stood', async format => {
    const { dir } = folder();
    const secret = 'sk-very-secret-0123456789';
    const run = writeRun(dir, {
      iterations: 2,
      ends: 'max_iterations',
      checks: [`curl -H ${secret}`],
      prompt: `use ${secret}`,
      words: () => `I use ${secret}`,
      diff: () => `${DIFF}+const key = '${secret}';\n`,
      violations: () => [`${secret}.txt was changed`],
      isGreen: () => false,
    });
    writeFileSync(run.paths.iteration(2).check('curl_H_sk_very_secret_0123456789'), `denied for ${secret}`);
    const { stdout } = await ralph(['report', '--format', format], {
      cwd: dir,
      env: { ANTHROPIC_API_KEY: secret },
    });
    expect(stdout).not.toContain(secret);
    expect(stdout).toContain('[redacted]');
  });
});

describe('SARIF', () => {
  test('has violations and red checks as results, with places', async () => {
    const { dir } = folder();
    writeRun(dir, {
      iterations: 1,
      ends: 'max_iterations',
      checks: ['npm test'],
      isGreen: () => false,
      violations: () => ['test/a b.test.js was changed'],
    });
    const { runs } = JSON.parse((await REPORT(dir, '--format', 'sarif')).stdout);
    expect(
      runs[0].results.map((result: { ruleId: string; level: string; message: { text: string } }) => [
        result.ruleId,
        result.level,
        result.message.text,
      ]),
    ).toEqual([
      [
        'protected-path',
        'note',
        "Iteration 1: test/a b.test.js is protected: the agent's change was undone.",
      ],
      ['check-failed', 'error', '`npm test` failed with exit code 1.'],
    ]);
    expect(runs[0].results[0].locations[0].physicalLocation.artifactLocation.uri).toBe('test/a%20b.test.js');
  });
});

describe('all runs', () => {
  test('in figures: how many came to something, what it cost, where the time went', async () => {
    const { dir, path } = folder();
    writeRun(dir, { iterations: 2, ends: 'all_checks_passed' });
    writeRun(dir, { iterations: 4, ends: 'all_checks_passed', start: Date.parse('2026-03-02T10:00:00Z') });
    writeRun(dir, { iterations: 3, ends: 'stuck', start: Date.parse('2026-03-03T10:00:00Z') });
    const figures = JSON.parse((await REPORT(dir, '--all', '--format', 'json')).stdout);
    expect(figures).toMatchObject({
      ended: 3,
      done: 2,
      iterationsToDone: 3,
      storiesVerified: 0,
      costPerStory: null,
    });
    expect(figures.successRate).toBeCloseTo(2 / 3);
    expect(figures.runs.map((run: { stopReason: string }) => run.stopReason)).toEqual([
      'all_checks_passed',
      'all_checks_passed',
      'stuck',
    ]);
    expect((await REPORT(dir, '--all')).stdout).toContain('- Runs: 3 ended, 2 done (67 %)');
    await REPORT(dir, '--all', '-o', 'runs.html');
    expect(embedded(readFileSync(path('runs.html'), 'utf8'), 'data').kind).toBe('all');
  });
});

describe('what cannot be', () => {
  test.each([
    [
      ['-o', 'x.pdf'],
      'ralph: --output x.pdf: Ralph does not write .pdf files (end it in one of .html, .htm, .md, .json, .xml, .sarif, or name the --format)\n',
    ],
    [['--format', 'htm'], 'ralph: --format htm: unknown format (did you mean html?)\n'],
    [
      ['--all', '--format', 'junit'],
      'ralph: --format junit: not available with --all (one of html, md, json)\n',
    ],
    [['x', '--all'], 'ralph: x: cannot be combined with --all (leave one of them out)\n'],
    [['nothing-like-it'], /no such run/],
  ])('%j is refused', async (args, words) => {
    const { dir } = folder();
    writeRun(dir, { iterations: 1, ends: 'stuck' });
    const { code, stderr } = await REPORT(dir, ...args);
    expect(code).toBe(2);
    expect(stderr).toMatch(words);
  });
});

test('`ralph show` has what an agent changed that tells of no tools and takes no time', async () => {
  const project = repo({ 'README.md': '# test\n' });
  const agent = 'sh -c \'cat > /dev/null; echo new > made.txt; echo "<promise>COMPLETE</promise>"\'';
  const { code } = await ralph(['loop', 'do it', '--check', 'test -e made.txt', '--agent', agent], {
    cwd: project.dir,
  });
  expect(code).toBe(0);
  const { stdout } = await ralph(['show'], { cwd: project.dir });
  expect(stdout).toContain('made.txt');
  expect(stdout).not.toContain('No changes.');
});
