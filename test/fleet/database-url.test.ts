import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { databaseProblem, PACKAGES } from '../../src/fleet/database.ts';
import { databaseUrl, rememberUrl, showUrl } from '../../src/fleet/database-url.ts';
import { folder } from '../rig/repo.ts';

test.each([
  ['postgres://ralph:s3cret@host:5432/db', 'postgres://ralph:***@host:5432/db'],
  ['postgresql://ralph@host/db', 'postgresql://ralph@host/db'],
  ['postgres://ralph:s3cret@/db?host=/run/pg', 'postgres://ralph:***@localhost/db?host=/run/pg'],
  ['postgres://host/db?user=a&password=s3cret', 'postgres://host/db?user=a&password=***'],
  [
    'postgres://host/db?sslpassword=s3cret&sslmode=require',
    'postgres://host/db?sslpassword=***&sslmode=require',
  ],
  ['postgres://ralph:a@s3cret@host/db', 'postgres://ralph:***@host/db'],
  // Not encoded, so that a part of it is read as something else.
  ['postgres://ralph:12/s3cret@host/db', 'postgres://***'],
  ['postgres://ralph:12?s3cret@host/db', 'postgres://***'],
  ['postgres://ralph:12#s3cret@host/db', 'postgres://***'],
  ['postgres://ralph:a/s3cret@host/db', 'postgres://***'],
  ['s3cret', 'postgres://***'],
])('%s is shown without its password', (url, shown) => {
  expect(showUrl(url)).toBe(shown);
});

test('the flag counts before the environment, the environment before what was remembered', () => {
  const env = { XDG_STATE_HOME: folder().dir };
  expect(databaseUrl({}, env)).toMatchObject({ fix: expect.stringContaining('ralph fleet up') });
  rememberUrl('postgres://kept/db', env);
  expect(statSync(join(env.XDG_STATE_HOME, 'ralph/fleet/database')).mode & 0o777).toBe(0o600);
  expect(databaseUrl({}, env)).toBe('postgres://kept/db');
  const both = { ...env, RALPH_DATABASE_URL: 'postgres://environment/db' };
  expect(databaseUrl({}, both)).toBe('postgres://environment/db');
  expect(databaseUrl({ database: 'postgres://flag/db' }, both)).toBe('postgres://flag/db');
});

test.each(['', 'mysql://u:s3cret@host/db', 'postgres:s3cret', 's3cret', 'postgres://a:b:s3cret/'])(
  '"%s" is refused without being repeated',
  database => {
    const problem = databaseUrl({ database }, {});
    expect(problem).toMatchObject({ where: '--database' });
    expect(JSON.stringify(problem)).not.toContain('s3cret');
  },
);

test.each([
  ['53100', 'could not extend file', "the server's disk is full"],
  ['53300', 'sorry, too many clients already', 'no connection left'],
  ['42501', 'permission denied for schema ralph', 'the role may not do this'],
  [
    '28000',
    'no pg_hba.conf entry for host "1.2.3.4", user "u", database "d", no encryption',
    'only over TLS',
  ],
  ['28000', 'role "nobody" does not exist', 'no such role'],
  ['57P02', 'terminating connection', 'cannot be reached'],
  ['ENOTFOUND', 'getaddrinfo ENOTFOUND db', 'cannot be reached'],
  ['CERT_HAS_EXPIRED', 'certificate has expired', 'certificate is not trusted'],
])('%s (%s) has words of its own, and no password', (code, message, words) => {
  const error = Object.assign(new Error(`${message} s3cret`.replace(/(no encryption) s3cret/, '$1')), {
    code,
  });
  const problem = databaseProblem(error, 'postgres://u:s3cret@host/d');
  expect(problem?.what).toContain(words);
  expect(JSON.stringify(problem)).not.toContain('s3cret');
});

test('what is no failure of the database has no such words', () => {
  expect(databaseProblem(new TypeError('x is not a function'), 'postgres://host/d')).toBeUndefined();
  const wrong = Object.assign(new Error('syntax error'), { code: '42601' });
  expect(databaseProblem(wrong, 'postgres://host/d')).toBeUndefined();
});

test('the packages are named as package.json pins them', () => {
  const { peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(PACKAGES).toEqual(['pg-boss', 'pg'].map(name => `${name}@${peerDependencies[name]}`));
});
