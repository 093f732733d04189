// @ts-check
// Stands in for a coding agent: reads the prompt, does one step, says what it did. No model, no network.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const prompt = readFileSync(0, 'utf8');
const mode = /^- Mode: (\S+)/m.exec(prompt)?.[1] ?? '';
const id = /^- Story: (\S+)/m.exec(prompt)?.[1] ?? '';

const READ = `/** Cents of an amount such as 12.50. */
export function readAmount(text) {
  const found = /^(\\d+)\\.(\\d\\d)$/.exec(text);
  if (!found) throw new Error(\`no amount: \${text}\`);
  return Number(found[1]) * 100 + Number(found[2]);
}
`;

const READ_NEGATIVE = `/** Cents of an amount such as 12.50 or -3.20. */
export function readAmount(text) {
  const found = /^(-?)(\\d+)\\.(\\d\\d)$/.exec(text);
  if (!found) throw new Error(\`no amount: \${text}\`);
  const cents = Number(found[2]) * 100 + Number(found[3]);
  return found[1] === '-' ? -cents : cents;
}
`;

const NEGATIVE_TEST = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAmount } from '../src/read.js';

test('a negative amount is read', () => {
  assert.equal(readAmount('-3.20'), -320);
});
`;

/** @param {string} sign */
const show = sign => `/** An amount in cents as the customer reads it. */
export function showAmount(cents) {
  const digits = String(Math.abs(cents)).padStart(3, '0');
  return \`\${cents < 0 ? '-' : ''}\${digits.slice(0, -2)}${sign}\${digits.slice(-2)}\`;
}
`;

const TOTAL = `import { readAmount } from './read.js';

export function total(amounts) {
  return amounts.reduce((sum, text) => sum + readAmount(text), 0);
}
`;

/** @param {string} path @param {string} text */
function write(path, text) {
  mkdirSync(resolve(path, '..'), { recursive: true });
  writeFileSync(path, text);
}

/** @param {(story: Record<string, any>) => object} fields */
function changeStory(fields) {
  const list = JSON.parse(readFileSync('ralph/tasks.json', 'utf8'));
  const userStories = list.userStories.map((/** @type {Record<string, any>} */ story) =>
    story.id === id ? { ...story, ...fields(story) } : story,
  );
  write('ralph/tasks.json', `${JSON.stringify({ ...list, userStories }, null, 2)}\n`);
}

/** @param {string} notes */
function handIn(notes) {
  changeStory(() => ({ reviewStatus: 'needs_review', reviewFeedback: '', notes }));
  console.log(`I have built ${id}: ${notes}`);
}

function build() {
  if (id === 'US-001') {
    write('src/read.js', mode === 'review-fix' ? READ_NEGATIVE : READ);
    if (mode === 'review-fix') write('test/negative.test.js', NEGATIVE_TEST);
    return handIn('src/read.js');
  }
  if (id === 'US-003') {
    write('src/total.js', TOTAL);
    return handIn('src/total.js');
  }
  const answer = /^ {2}Answer: (.*)$/m.exec(prompt)?.[1];
  if (answer === undefined)
    return console.log('<question>A comma or a point before the cents on a receipt?</question>');
  write('src/show.js', show(answer.includes('comma') ? ',' : '.'));
  handIn('src/show.js, with the sign that was asked for');
}

/** Looks at what was built, not at what is said of it. @returns {Promise<string>} what is wrong with it */
async function findFault() {
  if (id !== 'US-001') return '';
  const { readAmount } = await import(pathToFileURL(resolve('src/read.js')).href);
  try {
    return readAmount('-3.20') === -320 ? '' : '"-3.20" is not read as -320';
  } catch {
    return '"-3.20" throws, and the criteria want -320';
  }
}

async function review() {
  const fault = await findFault();
  const reviewStatus = fault === '' ? 'approved' : 'changes_requested';
  changeStory(({ reviewCount }) => ({
    reviewStatus,
    passes: fault === '',
    reviewCount: reviewCount + 1,
    reviewFeedback: fault,
  }));
  console.log(`${fault || 'All criteria are met.'}\n<review story="${id}">${reviewStatus}</review>`);
}

if (mode === 'review') await review();
else build();
execFileSync('git', ['add', '--all']);
execFileSync('git', ['commit', '--quiet', '--allow-empty', '--message', `${mode} ${id}`]);
