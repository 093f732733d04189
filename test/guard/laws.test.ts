/** Laws of the guard that hold for any text. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Finding, judgeCommand, judgeWrite, RULES } from '../../src/guard/guard.ts';
import { readShell } from '../../src/guard/shell.ts';
import { examples } from '../rig/thorough.ts';
import { readCorpus, WORLD } from './corpus.ts';

const corpus = readCorpus();
const tierOf = (findings: readonly Finding[]) => findings[0]?.tier ?? 'ok';
const judge = (command: string, world = WORLD) => tierOf(judgeCommand(command, world));

/** Pieces of which shell is made, in any order. */
const PIECES = [
  'rm',
  ' -rf ',
  '/',
  ' ',
  '\n',
  ';',
  '|',
  '&',
  '&&',
  '$(',
  ')',
  '`',
  '"',
  "'",
  '\\',
  '${',
  '}',
  '<<E\n',
  '<<<',
  '>',
  '<(',
  '{',
  'if ',
  'then ',
  'fi',
  'for x in ',
  'do ',
  'done',
  'case ',
  'esac',
  '$x',
  'x=',
  "$'",
  '((',
  '))',
  '[[',
  ']]',
  '#',
  '!',
  '~',
  '*',
  '?',
  'eval ',
  'bash -c ',
  'xargs ',
  'find . -exec ',
  'ssh h ',
  'env ',
  '-',
  '\0',
  '\uFFFC',
  '\uFFFB',
  '😀',
  '%s',
  'E\n',
];
const shellish = fc.array(fc.constantFrom(...PIECES), { maxLength: 40 }).map(parts => parts.join(''));
const anyText = fc.oneof(fc.string({ unit: 'binary', maxLength: 200 }), shellish);

test('the reader of shell never throws, whatever it is given', () => {
  fc.assert(
    fc.property(anyText, text => {
      readShell(text, WORLD);
      judgeWrite(text, WORLD);
    }),
    examples(2_000),
  );
});

describe('one command in many spellings', () => {
  const plain = corpus.filter(
    ({ command }) =>
      /^[\w ./~=:@,+-]+$/.test(command) && !/^(?:\w+=|set|time|exec|command|if|for|coproc) /.test(command),
  );

  test.each([
    ['quoted', (word: string) => `'${word}'`],
    ['double-quoted', (word: string) => `"${word}"`],
    ['ANSI-quoted', (word: string) => `$'${word}'`],
    ['with empty quotes', (word: string) => `${word.slice(0, 1)}''${word.slice(1)}`],
    ['with backslashes', (word: string) => word.replace(/^(\w)/, '\\$1')],
    [
      'in hexadecimal',
      (word: string) => `$'${[...word].map(each => `\\x${each.charCodeAt(0).toString(16)}`).join('')}'`,
    ],
  ])('%s', (_, spell) => {
    const changed = plain.flatMap(({ command, expected }) => {
      // A tilde in quotes is no home, and an assignment in quotes is none.
      const words = command.split(/ +/).map(word => (/[~=]/.test(word) ? word : spell(word)));
      const spelt = words.join(' ');
      return judge(spelt) === expected ? [] : [`${expected} ${spelt}`];
    });
    expect(changed).toEqual([]);
  });

  const bad = plain.filter(({ expected, command }) => expected === 'block' && !/^\w+=/.test(command));
  test.each([
    ['bash -c', (command: string) => `bash -c '${command}'`],
    ['eval', (command: string) => `eval '${command}'`],
    ['a subshell', (command: string) => `( ${command} )`],
    ['a substitution', (command: string) => `echo "$(${command})"`],
    ['a here-document', (command: string) => `sh <<'END'\n${command}\nEND`],
    ['a pipe', (command: string) => `echo '${command}' | sh`],
    ['base64', (command: string) => `echo ${Buffer.from(command).toString('base64')} | base64 -d | sh`],
    ['env', (command: string) => `env A=1 ${command}`],
    ['a list', (command: string) => `true && ${command}`],
    ['a function', (command: string) => `f() { ${command}; }; f`],
    ['a variable', (command: string) => `c='${command}'; eval "$c"`],
    ['a script', (command: string) => `echo '${command}' > s.sh; sh s.sh`],
    ['timeout', (command: string) => `timeout 5 ${command}`],
    ['Python', (command: string) => `python3 -c "import os; os.system('${command}')"`],
  ])('behind %s it is still refused', (_, wrap) => {
    const missed = bad
      .filter(({ command }) => judge(wrap(command)) !== 'block')
      .map(({ command }) => wrap(command));
    expect(missed).toEqual([]);
  });
});

test('more that is allowed never makes a command more dangerous, and less that is denied neither', () => {
  const rank = { ok: 0, warn: 1, block: 2 };
  const ids = RULES.map(rule => rule.id);
  const patterns = fc.array(
    fc.oneof(fc.constantFrom(...ids), fc.constantFrom('*', 'git *', 'rm *', '', 'npm publish')),
    { maxLength: 4 },
  );
  fc.assert(
    fc.property(fc.constantFrom(...corpus), patterns, patterns, ({ command }, allow, more) => {
      const before = rank[judge(command, { ...WORLD, allow })];
      expect(rank[judge(command, { ...WORLD, allow: [...allow, ...more] })]).toBeLessThanOrEqual(before);
      const denied = rank[judge(command, { ...WORLD, deny: more })];
      expect(rank[judge(command, { ...WORLD, deny: [] })]).toBeLessThanOrEqual(denied);
    }),
    examples(1_000),
  );
});

test('innocent commands one after the other are innocent together, and one that is not spoils them', () => {
  const innocent = corpus.filter(
    ({ expected, command }) =>
      expected === 'ok' && /^(?:git|npm|ls|cat|echo|grep) /.test(command) && !/[#<⏎]|\n|&$/.test(command),
  );
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...innocent), { minLength: 1, maxLength: 5 }), samples => {
      const script = samples.map(({ command }) => command).join(' && ');
      expect([script, judge(script)]).toEqual([script, 'ok']);
      expect(judge(`${script} ; rm -rf /`)).toBe('block');
    }),
    examples(500),
  );
});

test('every rule has a name of its own, and every one is met by the corpus', () => {
  const ids = RULES.map(rule => rule.id);
  expect(new Set(ids).size).toBe(ids.length);
  const met = new Set(corpus.flatMap(({ command }) => judgeAll(command)));
  expect(ids.filter(id => !met.has(id))).toEqual([]);
});

/** Each rule alone, so that none hides behind a worse one. */
function judgeAll(command: string): readonly string[] {
  const found: string[] = [];
  for (let findings = judgeCommand(command, WORLD); findings.length > 0; ) {
    found.push(...findings.map(({ rule }) => rule));
    if (found.includes('unreadable')) break;
    findings = judgeCommand(command, { ...WORLD, allow: found });
  }
  return found;
}

test.each([
  ['words', `numactl <<'E'\n${'please do not run this now '.repeat(30_000)}\nE`],
  ['a text', `mytool "${'please do not run this now '.repeat(30_000)}"`],
  ['open quotes of Perl', `perl -e '${'q('.repeat(20_000)}system'`],
  ['lines of make', `make -f - <<'X'\n${'a: b\n\techo x\n'.repeat(30_000)}X`],
])('what may be a command does not keep the agent waiting: %s', (_, command) => {
  expect(judge(command)).toBe('ok');
});
