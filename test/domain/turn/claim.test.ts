/** What counts as a claim in an agent's own words, and what only comes near to one. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  blockedIn,
  type Claim,
  type CompletionRule,
  claimIn,
  createClaimScanner,
  createStatement,
  firstTag,
  type NearMiss,
} from '../../../src/domain/turn/claim.ts';

const promise: CompletionRule = { kind: 'promise', text: 'DONE' };
const response: CompletionRule = { kind: 'response', text: 'DONE' };
const DONE = '<promise>DONE</promise>';
const REPLY = '<response>DONE</response>';

const claim = (...texts: readonly string[]) => claimIn(texts, promise);
const reply = (...texts: readonly string[]) => claimIn(texts, response);

/** What an honest agent writes. `%` is the marker. */
const HONEST: readonly string[] = [
  'Implemented login flow %',
  '429 Too Many Requests, retry-after: 3600 %',
  'Refactored parser %',
  'Login flow OK: %',
  '%',
  '  %  ',
  'All tests pass. %',
  'Done.%',
  '**Done.** %',
  'Done! 🎉 %',
  'Is everything in place? Yes: %',
  'Are all tests green? %',
  '**%**',
  '*%*',
  '✅ %',
  '- %',
  '1. %',
  '# %',
  '| result | % |',
  '(%)',
  '%.',
  '%!',
  'Result: %',
  'Done — %',
  'All tests pass, nothing will break. %',
  'I did not change the API. %',
  'I will not stop here.\n%',
  'I will not stop here. Every test passes now.\n\n%',
  'I could not find more to do…\n%',
  'I will not stop here\n%',
  '- The docs are not part of this\n- %',
  '## Not part of this\n%',
  'Nothing is left to do when the tests are green:\n\n%',
  '% All tests pass, and nothing will break.',
  '%\n\nNot part of this: the docs.',
  '%\nThe docs were not touched.',
  'All tests pass: % I did not change the API.',
  'There are no failures left: %',
  'It runs without an error: %',
  'What failed before passes now: %',
  'All tests pass after the fix: %',
  'After the fix, all tests pass: %',
  'I used the provided helper, and all is green: %',
  'I fixed it, then I ran every test: %',
  'Before the release, every check was green: %',
  'Alle Tests laufen.\n\n%',
  'Terminé ! %',
  '全部通过。%',
  'Готово. %',
  'Final answer: %',
  '% — das war es.',
  'It uses fetch instead of axios now: %',
  'At once: %',
  'It ran once %',
  'I ran it once more, and it is green: %',
  'The server refuses bad input: %',
  'Not <promise>X</promise> but %',
  'I ran `npm test` and it is green. %',
  'The flag is `--check`: %',
  'A lone ` in the text. %',
  '```\nnpm test\n```\n%',
  '~~~\nnpm test\n~~~\n\n%',
  '````\n```\n````\n%',
  'This is one line: ```npm test```\n%',
  '```npm test``` is green\n%',
  '```\nnpm test\n\nThe end of that block is lost.\n%',
  '> Make it work.\n\n%',
  '> Make it work.\n%',
  '> ```\n> npm test\n\nIt is green. %',
  'It says "done" now, and "ok" after that: %',
  "It's all in place, and that's it: %",
  'I’m through, it’s all in place: %',
  'The user said “make it work”. %',
  'Done:\n    %',
  '- The list is done:\n\n    %',
  '1. The list is done:\n\n   %',
  'I must not say % yet.\nNow I am through:\n%',
  '`%` is the marker.\n\n%',
  '```\n%\n```\n%',
  '% is what I was asked for.',
  '%\nis what I was asked for, or is it not?',
];

/** What only talks about the marker. */
const MISSES: readonly (readonly [NearMiss, readonly string[]])[] = [
  [
    'fenced',
    [
      '```\n%\n```',
      '```\n%',
      '```\nnpm test\n%',
      '```xml\n%\n```\n',
      '~~~text\n%\n~~~',
      '````\n```\n%\n```\n````',
      '```\n%\n~~~\n',
      '> ```\n> %\n> ```',
      '- ```\n  %\n  ```',
      '1. Print this:\n   ```\n   %\n   ```',
      'Print this:\n\n    %\n',
      '    %',
      '\t%',
      'Print this:\n\n    echo\n\n    %',
      '- Print this:\n\n      %',
      'First:\n```\na\n```\nThen:\n```\n%\n```',
    ],
  ],
  [
    'quoted',
    [
      '`%`',
      '`echo %` ends it',
      '``%``',
      '`` a ` b % ``',
      'Print `echo\n%` at last.',
      '"%"',
      "'%'",
      '“%”',
      '‘%’',
      '«%»',
      '« % »',
      '„%“',
      '»%«',
      'The rule says “%”.',
      'The rule says "print % at last".',
      "The rule says 'print % at last'.",
      'The rule says “print % at last”.',
      '"""\n%\n"""',
      '> %',
      '> Print this:\n> %',
      '- > %',
      '<code>%</code>',
      '<pre>\n%\n</pre>',
      '<blockquote>Print %</blockquote>',
      '<!-- % -->',
      '~~%~~',
    ],
  ],
  [
    'negated',
    [
      'This is not %',
      'I must not say % yet',
      'I cannot say %.',
      'I can’t output %',
      "I don't think that I may print %.",
      'I am unable to print %.',
      'The tests fail, so no %',
      'No % from me.',
      'I stop here without saying %.',
      'I refuse to say %.',
      "I'm withholding % for now",
      'Saying % now would be a lie.',
      '% is premature.',
      '% would not be true.',
      'I did not finish, so I never wrote\nthe marker % here.',
      'I am done with the first part, and % is not\nyet true.',
      '- I am not at the point of %',
      'I cannot say it, i.e. %',
      'The tests are neither written nor green: %',
      'I hold off on saying %.',
      'This is far from %',
      'I cant say %',
      'It isnt time for %',
      'Nor is it %',
      'Noch nicht: %',
      'Pas encore : %',
      'Todavia no: %',
      'Non ancora: %',
      'Nog niet: %',
    ],
  ],
  [
    'postponed',
    [
      'I will output % when every test passes.',
      'This is not finished yet. I will output % then.',
      'I’ll print % at last.',
      'I am going to print %.',
      'When the tests pass, I print %.',
      'I can only write % once tests pass',
      'I print % once the tests pass.',
      'I continue until I can say %.',
      'If the tests pass: %',
      'As soon as the tests pass: %',
      '% comes later.',
      '% will follow.',
      'Only then I print %.',
      'I print % after the tests.',
      'Two tests must pass before I may print %.',
      '% at the end.',
      'One test is left: then I will write\n% here.',
      'After the tests pass, %',
      'After the tests pass: %',
      'After the last check is green, %.',
      'Following a green run, %',
      'Before the release, %',
      'Pending the review: %',
      'Later: %',
      'TODO: %',
      'Whenever the checks are green: %',
      'Provided that the checks pass, %',
      'Assuming nothing breaks, %',
      'As long as the tests pass: %',
      'In case the build is green: %',
      'The moment it is green, %',
      'By the time the tests pass: %',
      'Subject to the tests passing: %',
      'I plan to print % tomorrow',
      'I want to say %',
      'I’d say %',
      'I print % as long as the tests pass.',
    ],
  ],
  [
    'asked',
    [
      'Should I say %',
      'Should I say %?',
      'May I print % now?',
      '%?',
      'Done (%)?',
      'I wonder whether % is right',
    ],
  ],
  [
    'unread',
    [
      'Das kann ich noch sagen, aber %',
      'Sobald die Tests laufen, sage ich %',
      'Das wäre zu früh: %',
      'Quand les tests passeront : %',
      'Cuando se complete: %',
      'Ainda não: %',
      'Quando os testes passarem: %',
      'Quando i test passano: %',
      '我不能说 %',
      '测试通过后再说%',
      'まだです：%',
      'テストが pass したら % と言います',
      'Я не могу сказать %',
      'Когда тесты пройдут: %',
      '아직 % 아닙니다',
      'لا أستطيع أن أقول %',
    ],
  ],
];

describe('a marker that stands for itself', () => {
  test.each(HONEST)('counts: %j', text => {
    expect(claim(text.replaceAll('%', DONE))).toEqual({ found: true });
    expect(reply(text.replaceAll('%', REPLY).replaceAll('promise>', 'response>'))).toEqual({ found: true });
  });

  test.each(MISSES.flatMap(([nearMiss, texts]) => texts.map(text => [nearMiss, text] as const)))(
    'does not count when it is %s: %j',
    (nearMiss, text) => {
      expect(claim(text.replaceAll('%', DONE))).toEqual({ found: false, nearMiss, said: 'DONE' });
      expect(reply(text.replaceAll('%', REPLY))).toEqual({ found: false, nearMiss, said: 'DONE' });
    },
  );
});

describe('the promise', () => {
  test.each<[string, Claim]>([
    ['<promise>done</promise>', { found: false, nearMiss: 'case', said: 'done' }],
    ['<Promise>DONE</Promise>', { found: false, nearMiss: 'case', said: 'DONE' }],
    ['<promise> DONE </promise>', { found: false, nearMiss: 'spaces', said: ' DONE ' }],
    ['<promise>\nDONE\n</promise>', { found: false, nearMiss: 'spaces', said: '\nDONE\n' }],
    ['<promise>DONE!</promise>', { found: false, nearMiss: 'other-text', said: 'DONE!' }],
    ['<promise>DO NE</promise>', { found: false, nearMiss: 'other-text', said: 'DO NE' }],
    ['<promise>INCOMPLETE</promise>', { found: false, nearMiss: 'other-text', said: 'INCOMPLETE' }],
    ['<promise></promise>', { found: false, nearMiss: 'other-text', said: '' }],
    ['<promise>DONE', { found: false, nearMiss: 'unclosed' }],
    ['<promise>DONE<promise>', { found: false, nearMiss: 'unclosed' }],
    ['<promise>the <promise>DONE</promise>', { found: true }],
    ['<promise><promise>DONE</promise></promise>', { found: true }],
    ['It goes into the `<promise>` tag.', { found: false }],
    ['DONE', { found: false }],
    ['I am DONE</promise>', { found: false }],
    ['UNDONE', { found: false }],
    [REPLY, { found: false }],
    ['', { found: false }],
  ])('%j', (words, expected) => {
    expect(claim(words)).toEqual(expected);
  });

  test('may hold more than one word, and signs that mean something in a pattern', () => {
    const rule: CompletionRule = { kind: 'promise', text: 'a.*(b)$ [c]' };
    expect(claimIn(['<promise>a.*(b)$ [c]</promise>'], rule).found).toBe(true);
    expect(claimIn(['<promise>aXX(b)$ [c]</promise>'], rule).found).toBe(false);
  });

  test('counts in any message, and the last near miss is the one to hear of', () => {
    expect(claim(DONE, 'I will not stop.')).toEqual({ found: true });
    expect(claim(`I will say ${DONE}.`, '<promise>done</promise>')).toMatchObject({ nearMiss: 'case' });
  });

  test('is not looked for where there is none', () => {
    expect(claimIn([DONE], undefined)).toEqual({ found: false });
  });
});

describe('the response of ralph run', () => {
  test.each<[string, boolean]>([
    ['All good. <response>done</response> Bye.', true],
    ['<RESPONSE>Done</Response>', true],
    ['<response>\n  DONE\n</response>', true],
    ['<response>\n\nDONE\n\n</response>', true],
    ['İİİİ, which is longer in small letters <response>DONE</response>', true],
    ['<response>NOT DONE</response>', false],
    ['<response>DONE</response> and <response>NO</response>', true],
    ['<response>NO</response> and <response>DONE</response>', false],
    ['the <response> tag comes later: <response>DONE</response>', true],
    ['`<response>MESSAGE</response>` is the form.\n\n<response>DONE</response>', true],
    ['DONE', false],
    ['<response>DONE', false],
    ['INCOMPLETE <promise>DONE</promise>', false],
  ])('%j is a claim: %s', (words, found) => {
    expect(reply(words).found).toBe(found);
  });

  test('is the first one over several messages too', () => {
    expect(reply('<response>LATER</response>', '<response>DONE</response>').found).toBe(false);
  });

  test('does not continue in the next message', () => {
    expect(reply('<response>DO', 'NE</response>')).toEqual({ found: false, nearMiss: 'unclosed' });
  });
});

/** Sentences of an honest agent, some with words that matter next to a marker. */
const paragraph = fc.constantFrom(
  'All tests pass.',
  'I did not change the API, and nothing will break.',
  'Should I look at the docs as well?',
  '## What I did',
  'I ran `npm test`, as you said: "run the tests".',
  '```\nnpm test\n```',
  '> Make it work.',
);

describe('whatever is around it', () => {
  const texts = [...HONEST, ...MISSES.flatMap(([, of]) => of)].filter(
    text => !/^(?:~~~|`{3,}|> `{3})/.test(text),
  );

  test('honest paragraphs before and after change nothing', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...texts),
        fc.array(paragraph, { maxLength: 4 }),
        fc.array(paragraph, { maxLength: 4 }),
        (text, before, after) => {
          const words = text.replaceAll('%', DONE);
          expect(claim([...before, words, ...after].join('\n\n'))).toEqual(claim(words));
        },
      ),
    );
  });

  test('in code it never counts', () => {
    const indent = (text: string) => text.replace(/^/gm, '    ');
    const wraps = [
      (text: string) => `\`\`\`\`\`\n${text}\n\`\`\`\`\``,
      (text: string) => `~~~~~ md\n${text}\n~~~~~`,
      indent,
      (text: string) => `\`\`\`\`\` ${text.replace(/\s+/g, ' ')} \`\`\`\`\``,
    ];
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...texts), { minLength: 1, maxLength: 3 }),
        fc.constantFrom(...wraps),
        fc.array(paragraph, { maxLength: 2 }),
        (parts, wrap, before) => {
          const words = [...before, wrap(parts.join('\n\n').replaceAll('%', DONE))].join('\n\n');
          expect(claim(words)).toMatchObject({
            found: false,
            nearMiss: expect.stringMatching(/fenced|quoted|other-text/),
          });
        },
      ),
    );
  });

  test('it is the same wherever the words are cut into pieces', () => {
    const word = fc.constantFrom(
      '<response>',
      '</response>',
      'DONE',
      '<promise>',
      '</promise>',
      DONE,
      '`',
      '<',
      '>',
      ' ',
      '\n',
      '\n\n',
      '```',
      'not',
      '. ',
      '?',
      '"',
      '    ',
      'Done',
      'é😀',
    );
    fc.assert(
      fc.property(
        fc.constantFrom(response, promise),
        fc.array(word, { maxLength: 20 }),
        fc.array(fc.nat(), { maxLength: 8 }),
        (rule, words, places) => {
          const text = words.join('');
          const cuts = [0, ...places.map(place => place % (text.length + 1)), text.length].sort(
            (a, b) => a - b,
          );
          const scanner = createClaimScanner(rule);
          for (const [index, end] of cuts.slice(1).entries()) scanner.feed(text.slice(cuts[index], end));
          expect(scanner.claim()).toEqual(claimIn([text], rule));
        },
      ),
    );
  });
});

describe('a message of many megabytes', () => {
  const long = 'a < b and <promise is not one; it will not end.\n\n'.repeat(2_000);
  const scan = (...pieces: readonly string[]) => {
    const scanner = createClaimScanner(promise);
    for (const piece of pieces) scanner.feed(piece);
    return scanner.claim();
  };

  test('has its claim at the end, or in the middle', () => {
    const much = Array.from({ length: 200 }, () => long);
    expect(scan(...much, DONE)).toEqual({ found: true });
    expect(scan(...much, DONE, '\n\n', ...much)).toEqual({ found: true });
    expect(scan(...much, 'I will say ', '<prom', 'ise>DONE</prom', 'ise>.\n', ...much)).toMatchObject({
      nearMiss: 'postponed',
    });
  });

  test('still knows of the code block that it opened long ago, and of the end of one', () => {
    expect(scan('```\n', long, long, long, DONE, '\n```\n')).toMatchObject({ nearMiss: 'fenced' });
    expect(scan('```\n', long, long, long, '\n```\n', long, long, DONE)).toEqual({ found: true });
  });

  test('of one line is read, too', () => {
    const line = long.replaceAll('\n', ' ');
    expect(scan(line, line, line, DONE)).toEqual({ found: true });
    expect(scan(line, line, 'I will say ', '<promise>DO', 'NE</promise>')).toMatchObject({
      nearMiss: 'postponed',
    });
  });

  test('with a tag that never ends does not hide the one behind it', () => {
    expect(scan('<promise>', ...Array.from({ length: 5 }, () => long), DONE)).toEqual({ found: true });
  });
});

describe('a statement', () => {
  const said = (text: string) => {
    const statement = createStatement('question');
    statement.feed(text); // an agent of plain text ends without a word of it
    return statement.said();
  };

  test('is the first one that is no mention, and may be in a sentence with "not"', () => {
    expect(said('I cannot decide: <question> A or B? </question>')).toBe('A or B?');
    expect(said('`<question>x</question>` <question></question> <question>y</question>')).toBe('y');
    expect(said('```\n<question>x</question>\n```')).toBeUndefined();
    expect(blockedIn(['> <blocked>x</blocked>', 'I can not: <blocked>no key</blocked>'])).toBe('no key');
  });
});

test('the first tag of a reply is its content without the space around it', () => {
  expect(firstTag('response', 'x <Response>\n Fix it </response> <response>no</response>')).toBe('Fix it');
  expect(firstTag('response', 'none')).toBeUndefined();
});

describe('a rule with another tag beside it', () => {
  const both: CompletionRule = { ...promise, or: { kind: 'response', text: 'FINISHED' } };
  const told = (...texts: readonly string[]) => claimIn(texts, both);

  test('takes either of the two, each by its own rule', () => {
    expect(told(DONE)).toEqual({ found: true });
    expect(told('<response> finished </response>')).toEqual({ found: true });
    expect(told('<response>not yet</response>', DONE)).toEqual({ found: true });
    expect(told('<promise>not yet</promise>', '<response>FINISHED</response>')).toEqual({ found: true });
  });

  test('takes neither in the words of the other, and says what was almost one', () => {
    expect(told('<promise>FINISHED</promise>')).toEqual({
      found: false,
      nearMiss: 'other-text',
      said: 'FINISHED',
    });
    expect(told(REPLY)).toEqual({ found: false, nearMiss: 'other-text', said: 'DONE' });
    expect(told('`<response>FINISHED</response>`')).toMatchObject({ nearMiss: 'quoted' });
    expect(told('nothing')).toEqual({ found: false });
  });
});
