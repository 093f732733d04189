import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { filterEnv } from '../../../src/domain/text/secrets.ts';

const names = (env: Readonly<Record<string, string>>, hide: readonly string[], keep?: readonly string[]) =>
  Object.keys(filterEnv(env, { hide, ...(keep && { keep }) }));

test.each([
  'NPM_TOKEN',
  'GITHUB_TOKEN',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_ACCESS_KEY_ID',
  'OPENAI_API_KEY',
  'DB_PASSWORD',
  'SSH_AUTH_SOCK',
  'GOOGLE_APPLICATION_CREDENTIALS',
  'SENTRY_DSN',
  'my_secret',
  'TOKEN',
  'KEY2',
  'X_APIKEY',
  'PGPASSWORD',
  'MYSQL_PWD',
  'SSHPASS',
  'REDISCLI_AUTH',
])('%s looks like a secret', name => {
  expect(names({ [name]: 'x' }, [], [])).toEqual([]);
  expect(names({ [name]: 'x' }, [])).toEqual([name]); // outside of a sandbox looks are not judged
  expect(names({ [name]: 'x' }, [], [name.toLowerCase()])).toEqual([name]);
});

test.each([
  'PATH',
  'HOME',
  'GIT_AUTHOR_NAME',
  'TOKENIZERS_PARALLELISM',
  'KEYBOARD',
  'PASSENGER',
  'MONKEY',
  'AUTHOR',
  'PWD',
  'OLDPWD',
  'COMPASS',
  'BYPASS_CACHE',
])('%s does not', name => {
  expect(names({ [name]: 'x' }, [], [])).toEqual([name]);
});

test.each(['DATABASE_URL', 'BROKER', 'npm_config_proxy'])('%s is one for the password in it', name => {
  const env = { [name]: 'amqps://app:sw0rd-fish@mq.example/x' };
  expect([names(env, [], []), names(env, []), names(env, [], [name])]).toEqual([[], [name], [name]]);
  expect(names({ [name]: 'amqps://mq.example/x' }, [], [])).toEqual([name]);
});

test('patterns hide whole names, whatever case they have', () => {
  const env = { AWS_REGION: '1', aws_profile: '2', MY_AWS: '3', A: '4' };
  expect(names(env, ['AWS_*', 'a'])).toEqual(['MY_AWS']);
});

test('what is hidden by name stays hidden, kept or not', () => {
  expect(names({ MY_TOKEN: 'x' }, ['MY_*'], ['MY_TOKEN'])).toEqual([]);
});

test('what gives orders to Ralph is seen by nobody', () => {
  const all = { RALPH_DATABASE_URL: 'x', RALPH_DASHBOARD_TOKEN: 'x', RALPH_LANE: 'x' };
  expect(names(all, [])).toEqual(['RALPH_LANE']);
  expect(names(all, [], ['RALPH_*'])).toEqual(['RALPH_LANE']);
});

describe('settings of git in the environment', () => {
  const settings = (key: string, value: string) => ({
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: key,
    GIT_CONFIG_VALUE_0: value,
  });

  test('stay, although one of their names has KEY in it', () => {
    const env = settings('safe.directory', '*');
    expect(filterEnv(env, { hide: [], keep: [] })).toEqual(env);
  });

  test.each([
    ['http.https://github.com/.extraheader', 'AUTHORIZATION: basic eDp5'],
    ['http.extraHeader', 'Cookie: session=1'],
    ['url.https://me:hunter2@example.com/.insteadOf', 'https://example.com/'],
    ['remote.origin.url', 'https://me:hunter2@example.com/a.git'],
    ['credential.helper', '!echo password=hunter2'],
  ])('go where one of them is a secret: %s', (key, value) => {
    expect(names(settings(key, value), [], [])).toEqual([]);
  });

  test('go together: git refuses to run with some of them', () => {
    const env = { ...settings('safe.directory', '*'), HOME: '/h' };
    for (const hidden of Object.keys(env).slice(0, 3)) expect(names(env, [hidden])).toEqual(['HOME']);
  });
});

test('nothing is added and nothing is changed', () => {
  const env = fc.dictionary(fc.string(), fc.string());
  fc.assert(
    fc.property(
      env,
      fc.array(fc.string()),
      fc.option(fc.array(fc.string()), { nil: undefined }),
      (all, hide, keep) => {
        const seen = filterEnv(all, { hide, ...(keep && { keep }) });
        for (const [name, value] of Object.entries(seen)) expect(all[name]).toBe(value);
      },
    ),
  );
});
