/** The quick look for secrets may cry wolf; it may never say no where there is one. */
import { describe, expect, test } from 'vitest';
import { hideTokens } from '../../../src/domain/text/secret-formats.ts';
import { createFinder } from '../../../src/domain/text/secret-scan.ts';
import { secretNeedles } from '../../../src/domain/text/secret-values.ts';
import { createRedactor } from '../../../src/domain/text/secrets.ts';
import { visible } from '../../../src/domain/text/visible.ts';
import { generator } from '../../chaos/generator.ts';

const SECRET = 'hunter2-äöü\'"<&>/$tail';
const env = { MY_TOKEN: SECRET, DATABASE_PASSWORD: 's3cr3tpass', HOME: '/home/someone' };
const redact = createRedactor(env);
const utf8 = new TextEncoder();

function mayHold(text: string, page: number): boolean {
  const scan = redact.scan();
  const bytes = utf8.encode(text);
  for (let at = 0; at < bytes.length; at += page)
    if (scan.push(bytes.subarray(at, at + page), false)) return true;
  return scan.push(new Uint8Array(0), true);
}

const finder = createFinder(secretNeedles(env));

/** Whether it holds a secret, as those say who look for each kind in turn and do not ask the quick look first. */
function holdsOne(text: string): boolean {
  const seen = visible(text);
  return finder.find(utf8.encode(text)).length > 0 || hideTokens(seen) !== seen;
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const SECRETS = [
  `sk-ant-${LETTERS.slice(0, 20)}`,
  `sk-${LETTERS.slice(20, 56)}`,
  `ghp_${LETTERS.slice(0, 30)}`,
  `github_pat_${LETTERS.slice(0, 30)}`,
  `glpat-${LETTERS.slice(0, 22)}`,
  `xoxb-${LETTERS.slice(50, 62)}`,
  'xapp-1-A0123456789',
  'AKIAIOSFODNN7EXAMPL3',
  `AIza${LETTERS.slice(0, 35)}`,
  `ya29.${LETTERS.slice(0, 30)}`,
  `npm_${LETTERS.slice(0, 36)}`,
  `pypi-${LETTERS}`,
  `hf_${LETTERS.slice(0, 34)}`,
  `dop_v1_${'0123456789abcdef'.repeat(4)}`,
  `SG.${LETTERS.slice(0, 20)}.${LETTERS.slice(20, 40)}`,
  `sk_live_${LETTERS.slice(0, 20)}`,
  `eyJ${LETTERS.repeat(60)}.${LETTERS.repeat(70)}.abc`,
  '-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA1234567890abcdef\n-----END RSA PRIVATE KEY-----',
  'Authorization: Bearer abcdef123456',
  '"AUTHORIZATION"\u00a0:\u2003"basic QWxhZGRpbjpvcGVu"',
  'X-Api-Key: 0123456789',
  'postgres://user:hunter2@db.internal/x',
  `https://me:${'pàsswörd☃'.repeat(50)}@host`,
  `https://${'t'.repeat(30)}@host`,
  'https://x.y/?a=1&API_KEY=abcdef99',
  'https://hooks.slack.com/services/T000/B000/XXXX',
  SECRET,
  's3cr3tpass',
  `s3c\n${' '.repeat(700)}r3t\n\tpass`,
  JSON.stringify(SECRET).slice(1, -1),
  encodeURIComponent(SECRET),
  Buffer.from(SECRET).toString('base64'),
  'gh\u200bp_abcdefghijklmnopqrstuvwxyz',
  'g\u034fhp\ufe0f_abcdefghijklmnopqrstuvwxyz',
  'gh\np_abcdefg\nhijklmnopqr\nstuvwxyz0123456789',
  (Buffer.from(SECRET).toString('hex').match(/../g) ?? []).join(' '),
  Buffer.from(Buffer.from(SECRET).toString('base64')).toString('base64'),
  's3c\\u0072\\x33t&#112;%61ss',
  'npm\x1b[31m_abcdefghijklmnopqrstuvwxyz0123456789',
];

/** What coding agents print all day. */
const PLAIN = [
  'git status\nnpm test\n',
  'https://example.org/a?b=1&c=2 ',
  'the author of the auth module; authorization is missing. ',
  'sk-learn, sg. hf_x npm_config, gh_ prices: “12 €” — naïve ☃ ',
  '{"type":"assistant","message":{"content":"lorem\\n\\tipsum"}}\n',
  'password: ? token=? eyJ x ',
];

describe('a secret is never missed', () => {
  test.each(SECRETS.map(secret => [secret.slice(0, 40), secret]))('%s', (_, secret) => {
    for (const before of ['', ' ', 'x\n', '"\\n', PLAIN.join('')])
      for (const page of [1, 7, 64, 4096]) {
        const text = `${before}${secret}${before} end`;
        if (holdsOne(text)) expect(mayHold(text, page), `${page}: ${text.slice(0, 80)}`).toBe(true);
      }
    const alone = ` ${secret} https://a.b/c`;
    expect(redact(alone)).not.toBe(alone);
  });

  test('wherever it stands, and however the bytes come', () => {
    const random = generator(7);
    const one = <Value>(values: readonly Value[]) => values[Math.floor(random() * values.length)] as Value;
    let held = 0;
    for (let round = 0; round < 2_000; round++) {
      const count = 1 + Math.floor(random() * 6);
      const parts = Array.from({ length: count }, () => {
        const part = random() < 0.5 ? one(PLAIN) : one(SECRETS);
        return random() < 0.3 ? part.slice(Math.floor(random() * part.length)) : part;
      });
      const text = parts.join(random() < 0.5 ? '' : ' ');
      const page = 1 + Math.floor(random() * 5_000);
      const isFound = mayHold(text, page);
      held += isFound ? 1 : 0;
      if (!isFound) expect(holdsOne(text), text).toBe(false);
    }
    expect(held).toBeGreaterThan(500);
  });
});

test('in a long text, which is looked at two bytes by two', () => {
  const random = generator(11);
  for (const secret of SECRETS)
    for (let round = 0; round < 30; round++) {
      const words = PLAIN.join('').repeat(8);
      const at = Math.floor(random() * words.length);
      const text = `${words.slice(0, at)} ${secret} ${words.slice(at)}`;
      const bytes = utf8.encode(`${'-'.repeat(round % 3)}${text}`).subarray(round % 3);
      if (holdsOne(text)) expect(finder.mayHold(bytes), `${at}: ${secret}`).toBe(true);
      if (holdsOne(text)) expect(mayHold(text, 4096), `${at}: ${secret}`).toBe(true);
    }
});

test('what agents print all day is no reason to look closer', () => {
  expect(mayHold(PLAIN.join('').repeat(50), 4096)).toBe(false);
});
