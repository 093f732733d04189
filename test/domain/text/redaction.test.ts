import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRedactor, createStreamRedactor, redactDeep } from '../../../src/domain/text/secrets.ts';

const SECRET = 'Zq8-first/secret+v"lue9';
const ENV = { MY_API_TOKEN: SECRET, DATABASE_URL: 'postgres://app:p4ss/w@rd1@db.example/x', PATH: '/bin' };
const redact = createRedactor(ENV);

const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('a value of the environment is found', () => {
  test.each<[string, string]>([
    ['as it is', SECRET],
    ['in JSON', JSON.stringify({ a: SECRET })],
    ['in JSON in JSON', JSON.stringify(JSON.stringify({ a: SECRET }))],
    ['in an address', `https://x.example/?q=${encodeURIComponent(SECRET)}`],
    ['in a form', new URLSearchParams({ q: SECRET }).toString()],
    ['in base64', base64(SECRET)],
    ['in base64 behind a user', base64(`someone:${SECRET}`)],
    ['in base64 behind another user', base64(`me:${SECRET}`)],
    ['in base64 for addresses', Buffer.from(`a:${SECRET}:b`).toString('base64url')],
    ['in hex', Buffer.from(SECRET).toString('hex')],
    ['in colours', `\x1b[31m${SECRET.slice(0, 9)}\x1b[0m${SECRET.slice(9)}`],
    ['with marks of no width', SECRET.replace('s', 's\u200b')],
    ['on two lines', `${SECRET.slice(0, 9)}\n    ${SECRET.slice(9)}`],
    ['on Windows lines', `${SECRET.slice(0, 9)}\r\n${SECRET.slice(9)}`],
    ['in HTML', SECRET.replace('"', '&quot;')],
  ])('%s', (_, text) => {
    const clean = redact(`before ${text} behind`);
    expect(clean).toContain('[redacted]');
    expect(clean).toMatch(/^before .*behind$/s);
    expect(clean).not.toContain(SECRET.slice(0, 9));
    expect(clean).not.toContain(base64(SECRET).slice(3, 12));
  });

  test.each([
    ['the address itself', ENV.DATABASE_URL],
    ['its password alone', 'FATAL: password "p4ss/w@rd1" is wrong'],
    ['another one', 'mysql://root:sw0rdfish@10.0.0.1:3306/x'],
    ['a short one', 'redis://:pw@cache'],
  ])('a password in an address: %s', (_, text) => {
    expect(redact(text)).toContain('[redacted]');
    expect(redact(text)).not.toMatch(/p4ss|rd1|sw0rdfish|:pw@/);
  });

  test('by the numbers of its bytes, in octal with a nought', () => {
    const octal = [...Buffer.from('müñ-sécret-99')].map(each => `\\0${each.toString(8).padStart(3, '0')}`);
    expect(createRedactor({ MY_TOKEN: 'müñ-sécret-99' })(octal.join(''))).toBe('[redacted]');
  });

  test('a password of seven letters, as a word', () => {
    const short = createRedactor({ DB_PASSWORD: 'hunter2' });
    expect(short('password=hunter2; xhunter2x')).toBe('password=[redacted]; xhunter2x');
  });
});

/** Each letter in each of these ways; a printer breaks lines wherever it likes. */
describe('a value of which each letter is written by its number is found', () => {
  const hex = (letter: string) => letter.charCodeAt(0).toString(16).padStart(2, '0');
  const FORMS: Readonly<Record<string, (letter: string) => string>> = {
    percent: letter => `%${hex(letter)}`,
    'percent twice': letter => `%25${hex(letter)}`,
    backslash: letter => `\\x${hex(letter)}`,
    unicode: letter => `\\u00${hex(letter)}`,
    entity: letter => `&#${letter.charCodeAt(0)};`,
    'entity in hex': letter => `&#x${hex(letter)};`,
  };
  const all = Object.entries(FORMS);
  const written = (text: string, form: (letter: string) => string) => Array.from(text, form).join('');
  const broken = (text: string, at: number, end: string) => text.slice(0, at) + end + text.slice(at);
  const isClean = (text: string) =>
    /^before \W*\[redacted\]\W* behind$/.test(redact(`before ${text} behind`));

  test.each(all)('%s, on two lines, wherever it is cut', (_, form) => {
    const text = written(SECRET, form);
    const cuts = Array.from({ length: text.length - 1 }, (_, at) => at + 1);
    const seen = cuts.filter(at => !isClean(broken(text, at, at % 2 ? '\n' : '\r\n  ')));
    expect(seen.map(at => broken(text, at, '|'))).toEqual([]);
  });

  test('in two ways mixed', () => {
    for (const [one, first] of all)
      for (const [other, second] of all) {
        const text = Array.from(SECRET, (letter, at) => (at % 2 ? first : second)(letter)).join('');
        expect({ one, other, text: isClean(text) }).toEqual({ one, other, text: true });
      }
  });

  test.each<[string, (text: string) => string]>([
    ['base64 of an address', text => base64(encodeURIComponent(text))],
    ['hex of an address', text => Buffer.from(encodeURIComponent(text)).toString('hex')],
    ['base64, in an address', text => encodeURIComponent(base64(text))],
    ['base64, each letter by its number', text => written(base64(text), letter => `%${hex(letter)}`)],
    [
      'hex in JSON in JSON',
      text => JSON.stringify(written(Buffer.from(text).toString('hex'), x => `\\u00${hex(x)}`)),
    ],
    ['base64 on lines', text => base64(text).replace(/.{5}/g, '$&\n')],
  ])('%s', (_, write) => {
    expect(redact(`before ${write(SECRET)} behind`)).toMatch(/^before .{0,3}\[redacted\].{0,6} behind$/s);
  });
});

/** As each language writes this very text. */
describe('a value with every awkward sign is found as it is written', () => {
  const AWKWARD = `tok/en'<a>&"b\\c é~*!$`;
  const hide = createRedactor({ MY_TOKEN: AWKWARD });
  test.each<[string, string]>([
    ['by Python repr', String.raw`'tok/en\'<a>&"b\\c é~*!$'`],
    ['by Python ascii', String.raw`'tok/en\'<a>&"b\\c \xe9~*!$'`],
    ['by Python json', String.raw`"tok/en'<a>&\"b\\c \u00e9~*!$"`],
    ['by Python html', 'tok/en&#x27;&lt;a&gt;&amp;&quot;b\\c é~*!$'],
    ['by Python quote', 'tok/en%27%3Ca%3E%26%22b%5Cc%20%C3%A9~%2A%21%24'],
    ['by Python urlencode', 'tok%2Fen%27%3Ca%3E%26%22b%5Cc+%C3%A9~%2A%21%24'],
    ['by PHP var_export', String.raw`'tok/en\'<a>&"b\\c é~*!$'`],
    ['by PHP json_encode', String.raw`"tok\/en'<a>&\"b\\c \u00e9~*!$"`],
    ['by PHP htmlspecialchars', 'tok/en&#039;&lt;a&gt;&amp;&quot;b\\c é~*!$'],
    ['by PHP urlencode', 'tok%2Fen%27%3Ca%3E%26%22b%5Cc+%C3%A9%7E%2A%21%24'],
    ['by Go %q', String.raw`"tok/en'<a>&\"b\\c é~*!$"`],
    ['by Go %+q', String.raw`"tok/en'<a>&\"b\\c \u00e9~*!$"`],
    ['by Go json', String.raw`"tok/en'\u003ca\u003e\u0026\"b\\c é~*!$"`],
    ['by Go html', 'tok/en&#39;&lt;a&gt;&amp;&#34;b\\c é~*!$'],
    ['by Go url', 'tok%2Fen%27%3Ca%3E%26%22b%5Cc+%C3%A9~%2A%21%24'],
    ['by a shell, quoted', String.raw`'tok/en'\''<a>&"b\c é~*!$'`],
    ['by a shell, escaped', String.raw`tok/en\'\<a\>\&\"b\\c\ é~\*\!\$`],
    ['in XML', 'tok/en&apos;&lt;a&gt;&amp;&quot;b\\c é~*!$'],
    ['by a browser’s form', 'tok%2Fen%27%3Ca%3E%26%22b%5Cc+%C3%A9%7E*%21%24'],
  ])('%s', (_, text) => {
    expect(hide(`before ${text} behind`)).toMatch(/^before ["']?\[redacted\]["']? behind$/);
  });
});

const hexPairs = (text: string) => Buffer.from(text).toString('hex').match(/../g) ?? [];
const byCode = (write: (code: number) => string) => (text: string) =>
  Array.from(text, sign => write(sign.codePointAt(0) ?? 0)).join('');
const hex = (code: number, length = 2) => code.toString(16).padStart(length, '0');
const lines = (text: string, width: number) =>
  (text.match(new RegExp(`[^]{1,${width}}`, 'g')) ?? []).join('\n');

/** Each writes a value in a way that a program undoes: every pair of them is tried. */
const WRITINGS: Readonly<Record<string, (text: string) => string>> = {
  'as it is': text => text,
  'hex with blanks': text => hexPairs(text).join(' '),
  'hex with colons, in capitals': text => hexPairs(text).join(':').toUpperCase(),
  'hex with dashes': text => hexPairs(text).join('-'),
  'hex, 0x': text =>
    hexPairs(text)
      .map(pair => `0x${pair}`)
      .join(', '),
  'hex in groups and lines': text => lines(hexPairs(text).join('').replace(/.{4}/g, '$& '), 20),
  'percent, every byte': text =>
    hexPairs(text)
      .map(pair => `%${pair}`)
      .join(''),
  'percent twice': text =>
    hexPairs(text)
      .map(pair => `%25${pair}`)
      .join(''),
  '\\x': byCode(code => `\\x${hex(code)}`),
  '\\u': byCode(code => `\\u${hex(code, 4)}`),
  '\\u{}': byCode(code => `\\u{${hex(code)}}`),
  octal: byCode(code => `\\${code.toString(8).padStart(3, '0')}`),
  'numbered entities': byCode(code => `&#${code};`),
  'numbered entities in hex, long': byCode(code => `&#X000${hex(code)};`),
  'entities in entities': byCode(code => `&amp;#${code};`),
  CSV: text => `"${text.replaceAll('"', '""')}"`,
  PowerShell: text => text.replace(/["$`]/g, '`$&'),
  base64: text => Buffer.from(text).toString('base64'),
  'base64 in lines': text => lines(Buffer.from(text).toString('base64'), 8),
  'base64 of two bytes a letter': text => Buffer.from(text, 'utf16le').toString('base64'),
  JSON: text => JSON.stringify(text),
  lines: text => lines(text, 3),
  'lines in JSON': text => JSON.stringify(lines(text, 4)),
  'colours in JSON': text => JSON.stringify(`\x1b[1m${text.slice(0, 5)}\x1b[0m${text.slice(5)}`),
  'a joiner between graphemes': text => Array.from(text).join('\u034f'),
  'a variation selector': text => Array.from(text).join('\ufe0f'),
  'a filler': text => Array.from(text).join('\u3164'),
  'a tag': text => Array.from(text).join('\u{e0041}'),
};

describe('a value is found whatever it is written as', () => {
  const VALUE = 'Zq8f"irst$se`cr&et\\v%41l+e9';
  const hide = createRedactor({ MY_TOKEN: VALUE });
  const holds = (clean: string) => /^.{0,12}\[redacted\].{0,6}$/s.test(clean);
  test.each(Object.keys(WRITINGS))('%s', name => {
    const text = WRITINGS[name]?.(VALUE) ?? '';
    expect(hide(text)).toSatisfy(holds);
    for (const before of ['%', '\\', '&', '&#', '\\n', '%5', '0', 'x="']) {
      const clean = hide(`${before}${text} behind`);
      expect(clean, before).toContain('[redacted]');
      expect(clean.length, before).toBeLessThan(60);
    }
  });

  test.each([
    ['base64', ['as it is', 'base64', 'JSON']],
    ['hex with blanks', ['as it is', 'base64', 'JSON']],
    ['percent, every byte', ['as it is', 'base64', 'JSON']],
    ['numbered entities', ['as it is', 'base64', 'JSON']],
    ['\\u', ['as it is', 'base64', 'JSON']],
    ['JSON', ['as it is', 'base64', 'JSON', 'percent, every byte', 'hex with blanks', '\\x']],
    ['lines', ['as it is', 'base64', 'JSON', 'hex with blanks']],
  ] as const)('and then once more: %s', (outer, inners) => {
    for (const inner of inners) {
      const text = WRITINGS[outer]?.(WRITINGS[inner]?.(VALUE) ?? '') ?? '';
      expect(hide(text), `${inner}, ${outer}`).toSatisfy(holds);
    }
  });

  test('behind a sign that only looks like the beginning of an escape', () => {
    for (const value of ['nabcdef12345', 'ab12cd34ef56', 'u0041bcdef99', 'x41bcdefgh99', '101bcdefgh99']) {
      const clean = createRedactor({ MY_TOKEN: value });
      for (const before of ['\\', '%', '&', '&#', '\\\\', '%25'])
        for (const text of [value, base64(value), Buffer.from(value).toString('hex')])
          expect(clean(`${before}${text} end`), `${before}${text}`).toMatch(/^\W*(?:25)?\[redacted\]=* end$/);
    }
  });
});

describe('a token is found on several lines', () => {
  const github = `ghp_${'a1B2'.repeat(9)}`;
  test.each([2, 3, 7, 11, 20, 36, 39])('%s letters each', width => {
    expect(redact(`say\n${lines(github, width)}\nNext words\n`)).toBe('say\n[redacted]\nNext words\n');
    expect(redact(`say\n  ${lines(github, width).replaceAll('\n', '\r\n  ')}\nNext`)).toContain('[redacted]');
  });
  test.each([
    `sk-ant-api03-${'aB3-x_9Z'.repeat(11)}`,
    `eyJ${'hbG9'.repeat(9)}.eyJ${'zdW7'.repeat(20)}.${'Sf1K'.repeat(10)}`,
    `github_pat_${'a1B2'.repeat(5)}c3_${'D4e5'.repeat(14)}f6G`,
  ])('%s', token => {
    for (const width of [9, 40, 64]) {
      const clean = redact(`key ${lines(token, width)}\nand more\n`);
      expect(clean).toMatch(/^key \[redacted\](?:\n[\w-]{0,19})?\nand more\n$/);
    }
  });
  test.each([
    `${github}\nNext`,
    'npm_\ninstall\nupdate\nrebuild\nlist\nprune\nlink\noutdated\n',
    'sk-learn\nPillow2\nnumpy\nscipy\nmatplotlib\npandas\nseaborn\n',
    'git\nstatus\ncommit\nrebase\n'.repeat(40),
    'ghp_\nis how one begins',
  ])('lines that follow stay: %j', text => {
    expect(redact(text)).toBe(text.replace(github, '[redacted]'));
  });
});

const word = (letters: string, length: number) =>
  fc.array(fc.constantFrom(...letters), { minLength: length, maxLength: length }).map(all => all.join(''));
const ALNUM = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

const TOKENS: readonly [string, fc.Arbitrary<string>][] = [
  ['Anthropic', word(`${ALNUM}-_`, 40).map(rest => `sk-ant-api03-${rest}`)],
  ['OpenAI', word(ALNUM, 48).map(rest => `sk-${rest}`)],
  ['OpenAI project', word(ALNUM, 48).map(rest => `sk-proj-${rest}A1`)],
  [
    'GitHub',
    word(ALNUM, 36).chain(rest => fc.constantFrom('ghp_', 'gho_', 'ghs_', 'ghu_').map(head => head + rest)),
  ],
  ['GitHub, fine-grained', word(ALNUM, 59).map(rest => `github_pat_11AAAAAAA0_${rest}`)],
  ['GitLab', word(ALNUM, 20).map(rest => `glpat-${rest}`)],
  ['Slack', word(ALNUM, 24).map(rest => `xoxb-1234567890-${rest}`)],
  ['AWS', word(ALNUM.slice(0, 26), 16).map(rest => `AKIA${rest}`)],
  ['Google', word(ALNUM, 35).map(rest => `AIza${rest}`)],
  ['npm', word(ALNUM, 36).map(rest => `npm_${rest}`)],
  ['Stripe', word(ALNUM, 24).map(rest => `sk_live_${rest}`)],
  ['JWT', word(ALNUM, 30).map(rest => `eyJ${rest}.eyJ${rest}.${rest}`)],
  [
    'PEM',
    word(ALNUM, 64).map(
      rest => `-----BEGIN RSA PRIVATE KEY-----\n${rest}\n${rest}\n-----END RSA PRIVATE KEY-----`,
    ),
  ],
  ['half a PEM', word(ALNUM, 64).map(rest => `-----BEGIN PRIVATE KEY-----\n${rest}\n${rest}`)],
  ['a header', word(ALNUM, 20).map(rest => `Authorization: Bearer ${rest}`)],
];

const WRAPPINGS: readonly ((secret: string) => string)[] = [
  secret => secret,
  secret => `key=${secret}`,
  secret => `"${secret}"`,
  secret => `Error: (${secret}) is not valid`,
  secret => `\x1b[1;31m${secret}\x1b[0m`,
  secret => JSON.stringify({ output: `first\n${secret}\nlast` }),
  secret => `+ export KEY='${secret}'`,
];

test.each(TOKENS)('a token of %s is found, however it is wrapped', (_, tokens) => {
  fc.assert(
    fc.property(tokens, fc.constantFrom(...WRAPPINGS), (token, wrap) => {
      const clean = redact(`line\n${wrap(token)}\nline`);
      const core = token.replace(/^.*?(?=[A-Za-z0-9]{16})/s, '').slice(-16);
      expect(clean).not.toContain(core.trim());
      expect(clean).toContain('[redacted]');
      expect(clean.startsWith('line\n') && clean.endsWith('\nline')).toBe(true);
    }),
  );
});

test.each([
  'commit 3f786850e387550fdab836ed7e6dc881de23001b',
  'id 123e4567-e89b-12d3-a456-426614174000',
  `<img src="data:image/png;base64,${Buffer.alloc(600, 'pixels').toString('base64')}">`,
  'http://localhost:5173/@vite/client, npm_config_registry, task-force, git@github.com:a/b.git',
  'ssh://git@github.com/a/b.git https://user@host/x?token=abc',
  'class="sk-loading-spinner-container-with-long-name"',
  'Authorization is required. The authorization: none',
  'postgres and password are words, and so is interactive',
  'sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==',
  'eyJ is how JSON begins in base64; -----BEGIN PRIVATE KEY----- is how a key does',
])('no secret: %s', text => {
  const env = {
    DB_PASSWORD: 'postgres',
    SSO_AUTH_MODE: 'interactive',
    GIT_AUTHOR_NAME: 'password and words',
  };
  expect(createRedactor(env)(text)).toBe(text);
  expect(redact(text)).toBe(text);
});

const pieces = (text: string) =>
  fc.array(fc.nat(text.length), { maxLength: 12 }).map(cuts => {
    const at = [0, ...cuts.sort((one, other) => one - other), text.length];
    return at.slice(1).map((to, index) => text.slice(at[index], to));
  });

test('a secret is found wherever a stream is cut', () => {
  const texts = [
    ...TOKENS.map(([, tokens]) => tokens),
    fc.constant(SECRET),
    fc.constant(`${SECRET.slice(0, 9)}\n  ${SECRET.slice(9)}`),
    fc.constant(base64(`me:${SECRET}`)),
    ...Object.values(WRITINGS).map(write => fc.constant(write(SECRET))),
    fc.constant('correct horse battery staple'),
  ];
  const both = createRedactor({ ...ENV, MY_PASSPHRASE: 'correct horse battery staple' });
  fc.assert(
    fc.property(
      fc.oneof(...texts).chain(secret => pieces(`some words, then ${secret} and more words\n`)),
      parts => {
        const stream = createStreamRedactor(both);
        const passed = parts.map(part => stream.push(part)).join('') + stream.end();
        expect(passed).toBe(both(parts.join('')));
        expect(passed).toContain('[redacted]');
      },
    ),
    { numRuns: 400 },
  );
});

test('a secret that is broken into lines is found, wherever the stream is cut', () => {
  const hex = Buffer.from(SECRET).toString('hex');
  for (const text of [SECRET, base64(SECRET), hex, [...'abcDEF123456ghiJKL'].join('\n')])
    for (const end of ['\n', '\r\n  '])
      for (let at = 1; at < text.length; at++) {
        const stream = createStreamRedactor(createRedactor({ ...ENV, OTHER_TOKEN: 'abcDEF123456ghiJKL' }));
        const broken = `before ${text.slice(0, at)}${end}`;
        const passed = stream.push(broken) + stream.push(`${text.slice(at)} behind`) + stream.end();
        expect({ at, passed: passed.includes('[redacted]') }).toEqual({ at, passed: true });
      }
});

test('a stream passes on what holds no secret as it is, and at once where a word ends', () => {
  const stream = createStreamRedactor(redact);
  expect(stream.push('one two\n')).toBe('one two\n');
  expect(stream.push('three fo')).toBe('three ');
  expect(stream.end()).toBe('fo');
  const long = `${'x'.repeat(100_000)} ${'word '.repeat(20_000)}`;
  const other = createStreamRedactor(redact);
  expect(other.push(long.slice(0, 50_000)) + other.push(long.slice(50_000)) + other.end()).toBe(long);
});

test('in data every text is looked at, and what names its kind stays', () => {
  const clean = redactDeep(
    { type: SECRET, list: [1, SECRET, null, { text: `a ${SECRET}` }], same: { a: 1 } },
    redact,
  );
  expect(clean).toEqual({
    type: SECRET,
    list: [1, '[redacted]', null, { text: 'a [redacted]' }],
    same: { a: 1 },
  });
  const nothing = { a: ['b'] };
  expect(redactDeep(nothing, redact)).toBe(nothing);
});

test('any text goes through, and twice is the same as once', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), text => {
      expect(redact(redact(text))).toBe(redact(text));
    }),
  );
});

test.each([
  'sk-a.',
  'ghp_\n',
  'eyJ.a\n',
  '\x1b]',
  '\\',
  '&amp;',
  '%25',
  '5a ',
  'Zq8-first/secret+\n',
  'git\nnpm_',
])('much of %j is looked through in one go', piece => {
  const text = piece.repeat(Math.ceil(200_000 / piece.length));
  expect(redact(text)).toBe(text);
});
