import { describe, expect, test } from 'vitest';
import { readCheckboxes, readMarkdownTasks, tickTask } from '../../../src/domain/stories/markdown-tasks.ts';

/** The list after the open task with this number, from 0, has been ticked. */
const ticked = (source: string, nth = 0, now = source) => {
  const task = readMarkdownTasks(source).drafts.filter(({ isDone }) => !isDone)[nth];
  if (!task) throw new Error('no such task');
  return tickTask(now, task.place);
};
const titles = (source: string) => readMarkdownTasks(source).drafts.map(({ title }) => title);

describe('a task is ticked where the parser found it', () => {
  test.each([
    ['plain', '# L\n\n- [ ] one\n- [ ] two\n', 1, '# L\n\n- [ ] one\n- [x] two\n'],
    ['CRLF', '- [ ] one\r\n- [ ] two\r\n', 1, '- [ ] one\r\n- [x] two\r\n'],
    ['a lone CR', '- [ ] one\r- [ ] two\r', 1, '- [ ] one\r- [x] two\r'],
    ['mixed ends', '- [ ] one\n- [ ] two\r\n', 1, '- [ ] one\n- [x] two\r\n'],
    ['a byte order mark', '\uFEFF- [ ] one\n', 0, '\uFEFF- [x] one\n'],
    ['an id', '- [ ] US-001: one\n', 0, '- [x] US-001: one\n'],
    ['a bold id', '- [ ] **US-001** one\n', 0, '- [x] **US-001** one\n'],
    ['an id in brackets', '- [ ] [US-001] one\n', 0, '- [x] [US-001] one\n'],
    ['a bold title', '- [ ] **One**: do it\n', 0, '- [x] **One**: do it\n'],
    ['many spaces', '-   [ ]   one   two  \n', 0, '-   [x]   one   two  \n'],
    ['a tab', '\t- [ ]\tone\n', 0, '\t- [x]\tone\n'],
    ['a number', '1. [ ] one\n2) [ ] two\n', 1, '1. [ ] one\n2) [x] two\n'],
    ['a box in the title', '- [ ] draw a [ ] box\n', 0, '- [x] draw a [ ] box\n'],
    ['equal titles, the first', '- [ ] same\n- [ ] same\n', 0, '- [x] same\n- [ ] same\n'],
    ['equal titles, the second', '- [ ] same\n- [ ] same\n', 1, '- [ ] same\n- [x] same\n'],
    ['equal titles, one done', '- [x] same\n- [ ] same\n', 0, '- [x] same\n- [x] same\n'],
    ['the same in a fence', '```\n- [ ] one\n```\n- [ ] one\n', 0, '```\n- [ ] one\n```\n- [x] one\n'],
    [
      'the same in a longer fence',
      '````md\n```\n- [ ] one\n```\n- [ ] one\n````\n- [ ] one\n',
      0,
      '````md\n```\n- [ ] one\n```\n- [ ] one\n````\n- [x] one\n',
    ],
    ['the same in a comment', '<!--\n- [ ] one\n-->\n- [ ] one\n', 0, '<!--\n- [ ] one\n-->\n- [x] one\n'],
    ['after a comment in its line', '- <!-- [ ] --> [ ] one\n', 0, '- <!-- [ ] --> [x] one\n'],
    ['the same as a criterion', '- [ ] a\n  - [ ] one\n- [ ] one\n', 1, '- [ ] a\n  - [ ] one\n- [x] one\n'],
    ['the same without a box', '- one\n- [ ] one\n', 0, '- one\n- [x] one\n'],
    ['below an item without a box', '- group\n  - [ ] one\n', 0, '- group\n  - [x] one\n'],
    ['a comment that a fence opens', '```\n<!--\n```\n- [ ] one\n', 0, '```\n<!--\n```\n- [x] one\n'],
    ['no line end at the end', '- [ ] one', 0, '- [x] one'],
  ])('%s', (_, source, nth, expected) => {
    expect(ticked(source, nth)).toBe(expected);
    // What is ticked is not open any more: nobody pays for it again.
    const open = (text: string) => readMarkdownTasks(text).drafts.filter(({ isDone }) => !isDone).length;
    expect(open(expected)).toBe(open(source) - 1);
  });
});

describe('a list that has changed since', () => {
  const source = '# L\n\n- [ ] one\n- [ ] two\n- [ ] two\n';

  test('others have been ticked, whichever came first', () => {
    expect(ticked(source, 2, ticked(source, 1))).toBe('# L\n\n- [ ] one\n- [x] two\n- [x] two\n');
    expect(ticked(source, 1, ticked(source, 2))).toBe('# L\n\n- [ ] one\n- [x] two\n- [x] two\n');
  });

  test('lines came before it', () => {
    expect(ticked(source, 2, source.replace('# L', '# L\n\nWords.'))).toBe(
      '# L\n\nWords.\n\n- [ ] one\n- [ ] two\n- [x] two\n',
    );
  });

  test('an item that is not there any more, or reads otherwise, is told', () => {
    expect(ticked(source, 0, source.replace('one', 'other'))).toBeUndefined();
    expect(ticked(source, 2, '# L\n\n- [ ] two\n')).toBeUndefined();
  });

  test('one that is ticked already stays as it is', () => {
    const done = '- [x] one\n';
    expect(ticked('- [ ] one\n', 0, done)).toBe(done);
  });
});

describe('what is a task', () => {
  test.each([
    ['a comment that never ends hides the rest', '- [ ] one\n<!--\n- [ ] two\n', ['one']],
    ['a comment of one line', '- [ ] one <!-- id: 3 -->\n', ['one']],
    ['a fence that never ends hides the rest', '- [ ] one\n~~~\n- [ ] two\n', ['one']],
    ['another kind of fence does not end it', '```\n~~~\n- [ ] no\n~~~\n```\n- [ ] yes\n', ['yes']],
    ['a fence with words does not end one', '```\n```js\n- [ ] no\n```\n- [ ] yes\n', ['yes']],
    ['CRLF', '- [ ] one\r\n- [x] two\r\n', ['one', 'two']],
  ])('%s', (_, source, expected) => expect(titles(source)).toEqual(expected));

  test('the boxes of an issue are criteria, and the words are the rest', () => {
    expect(readCheckboxes('Words.\r\n<!-- hidden -->\r\n- [ ] one\r\n```\n- [ ] example\n```\n')).toEqual({
      criteria: ['one'],
      text: 'Words.\n\n```\n- [ ] example\n```',
    });
  });
});

test.each([
  ['**One**: do it', 'One: do it'],
  ['**T1** add **apples**', 'T1 add apples'],
  ['2 ** 3 ** 4', '2 ** 3 ** 4'],
  ['call __init__', 'call __init__'],
  ['keep `a` and *b*', 'keep `a` and *b*'],
])('a title is shown without asterisks: %s', (text, title) => {
  expect(titles(`- [ ] ${text}\n`)).toEqual([title]);
});
