// @ts-check
// Builds a till in three stories: one review is rejected, one story asks a question, and Ralph runs the tests.
// Run it anywhere after `npm run build`: node examples/stories/run.mjs [folder for the report]
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const bin = process.env.RALPH_BIN ?? join(here, '../../dist/bin/ralph.cjs');
const place = mkdtempSync(join(tmpdir(), 'ralph-stories-'));
const project = join(place, 'till');
const someone = { NAME: 'Till', EMAIL: 'till@example.com' };
const env = {
  ...process.env,
  XDG_STATE_HOME: join(place, 'state'),
  GIT_AUTHOR_NAME: someone.NAME,
  GIT_AUTHOR_EMAIL: someone.EMAIL,
  GIT_COMMITTER_NAME: someone.NAME,
  GIT_COMMITTER_EMAIL: someone.EMAIL,
};

/** @param {readonly string[]} args */
const ralph = args => execFileSync(process.execPath, [bin, ...args], { cwd: project, env, encoding: 'utf8' });

function prepare() {
  cpSync(join(here, 'project'), project, { recursive: true });
  const git = (/** @type {string[]} */ ...args) => execFileSync('git', args, { cwd: project, env });
  git('init', '--quiet', '--initial-branch', 'main');
  git('add', '--all');
  git('commit', '--quiet', '--message', 'The project, its tests and its stories');
  mkdirSync(join(project, '.ralph'));
  const agent = { command: process.execPath, flags: [join(here, 'agent.mjs')] };
  writeFileSync(join(project, '.ralph/settings.json'), JSON.stringify({ agent }));
}

/** Prints what Ralph prints, and answers the question as a user would: from another terminal. @returns {Promise<number | null>} */
function build() {
  const child = spawn(process.execPath, [bin, 'prd', 'run', '--protect', 'test/**'], { cwd: project, env });
  let isAnswered = false;
  let said = '';
  const read = (/** @type {Buffer} */ chunk) => {
    process.stdout.write(chunk);
    said += chunk;
    if (isAnswered || !said.includes('US-002 asks:')) return;
    isAnswered = true;
    process.stdout.write(ralph(['answer', 'US-002', 'A comma']));
  };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  child.stdin.end();
  return new Promise(done => child.on('close', done));
}

try {
  prepare();
  const code = await build();
  if (code !== 0) throw new Error(`ralph prd run ended with exit code ${code}`);
  const { showAmount } = await import(pathToFileURL(join(project, 'src/show.js')).href);
  if (showAmount(1250) !== '12,50') throw new Error('the answer was not heeded');
  const folder = process.argv[2];
  if (folder !== undefined) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'report.html'), ralph(['report', '--format', 'html']));
    console.log(`The report: ${resolve(folder, 'report.html')}`);
  }
} finally {
  rmSync(place, { recursive: true, force: true });
}
