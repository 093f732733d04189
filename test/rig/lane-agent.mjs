// An agent for parallel runs: a program of its own, so that many can work at once and outlive a test that kills Ralph. What it does for a
// story is a shell script in the folder LANE_AGENT: `US-001.implement`, `US-001.merge-fix`; without one it writes a file of its own.
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = process.env.LANE_AGENT ?? '';
const prompt = readFileSync(0, 'utf8');
const isText = !process.argv.includes('stream-json');
const print = record => process.stdout.write(`${JSON.stringify(record)}\n`);
const model = 'claude-opus-5-5';
const usage = {
  input_tokens: 100,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 20,
};
const say = content => {
  const message = { id: `m${Math.random()}`, role: 'assistant', model, content, usage };
  print({ type: 'assistant', message, parent_tool_use_id: null });
};
const shell = (script, more = {}) =>
  execFileSync('sh', ['-c', script], {
    encoding: 'utf8',
    env: { ...process.env, ...more },
    stdio: ['ignore', 'pipe', 'inherit'],
  });

if (isText) {
  process.stdout.write('Commit what was done\n');
  process.exit(0);
}
print({ type: 'system', subtype: 'init', session_id: 'lane', model });
const limit = join(folder, 'limit');
if (existsSync(limit)) {
  // It begins with whoever meets it first.
  const { seconds, kind = 'Claude AI usage limit reached' } = JSON.parse(readFileSync(limit, 'utf8'));
  const since = join(folder, 'limited-until');
  try {
    writeFileSync(since, String(Date.now() + seconds * 1000), { flag: 'wx' });
  } catch {}
  const until = Number(readFileSync(since, 'utf8')) || Date.now() + seconds * 1000;
  if (Date.now() < until) {
    appendFileSync(join(folder, 'limited.log'), `${Date.now()}\n`);
    const words = `${kind}|${Math.ceil(until / 1000)}`;
    print({
      type: 'result',
      subtype: 'success',
      is_error: true,
      num_turns: 1,
      result: words,
      total_cost_usd: 0,
      usage,
    });
    process.exit(1);
  }
}
if (prompt.startsWith('# Choose one')) {
  writeFileSync(join(folder, 'choose.prompt'), prompt);
  const choice = process.env.LANE_CHOICE ?? '';
  const words = choice === '' ? 'I cannot say.' : `It is the clearest. <choice>${choice}</choice>`;
  say([{ type: 'text', text: words }]);
  print({
    type: 'result',
    subtype: 'success',
    is_error: false,
    num_turns: 1,
    result: words,
    total_cost_usd: 0.01,
    usage,
  });
  process.exit(0);
}
const mode = /^- Mode: (\S+)/m.exec(prompt)?.[1] ?? 'task';
const story = /^- Story: (\S+)/m.exec(prompt)?.[1] ?? process.cwd().split('/').at(-1);
appendFileSync(
  join(folder, 'turns.log'),
  `${JSON.stringify({ at: Date.now(), story, mode, cwd: process.cwd(), pid: process.pid })}\n`,
);
say([{ type: 'tool_use', id: 't', name: 'Bash', input: { command: 'work' } }]);
const seconds = Number(process.env.LANE_SECONDS ?? 0);
if (seconds > 0) shell(`sleep ${seconds}`);
const script = join(folder, `${story}.${mode}`);
if (existsSync(script)) shell(readFileSync(script, 'utf8'), { STORY: story, MODE: mode });
else if (mode === 'implement' || mode === 'task') {
  mkdirSync('work', { recursive: true });
  writeFileSync(`work/${story}.txt`, `${story}\n`);
}
print({
  type: 'user',
  message: {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 't', content: 'ok', is_error: false }],
  },
  parent_tool_use_id: null,
});
// What its script wrote there is said once.
const says = join(folder, `${story}.says`);
const words = ['I have done my step.', ...(existsSync(says) ? [readFileSync(says, 'utf8')] : [])];
rmSync(says, { force: true });
// A question is asked once, and nothing is handed in.
const asks = join(folder, `${story}.asks`);
const question = existsSync(asks) ? readFileSync(asks, 'utf8') : undefined;
if (question !== undefined) {
  rmSync(asks);
  words.push(`<question>${question}</question>`);
} else if (mode !== 'task') {
  const path = 'ralph/tasks.json';
  const list = JSON.parse(readFileSync(path, 'utf8'));
  const own = list.userStories.find(each => each.id === story);
  if (own && mode === 'review') {
    Object.assign(own, { reviewStatus: 'approved', passes: true, reviewCount: own.reviewCount + 1 });
    words.push(`<review story="${story}">approved</review>`);
  } else if (own) Object.assign(own, { reviewStatus: 'needs_review', notes: `${story} was built` });
  writeFileSync(path, `${JSON.stringify(list, null, 2)}\n`);
  if (mode !== 'review') appendFileSync('ralph/progress.txt', `\n## ${story} ${mode}\n`);
}
shell(
  'git add -A && git -c user.name=Agent -c user.email=agent@example.invalid commit --quiet --allow-empty -m "step"',
);
if (mode === 'task') words.push('<promise>COMPLETE</promise>');
say([{ type: 'text', text: words.join('\n') }]);
const cost = Number(process.env.LANE_COST ?? 0.01);
print({
  type: 'result',
  subtype: 'success',
  is_error: false,
  num_turns: 1,
  result: words.join('\n'),
  total_cost_usd: cost,
  usage,
});
