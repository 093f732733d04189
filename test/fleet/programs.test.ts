import { expect, test } from 'vitest';
import { chooseServer } from '../../src/fleet/programs.ts';

const FOUND = [
  { bin: '/usr/lib/postgresql/17/bin', version: '17' },
  { bin: '/usr/lib/postgresql/15/bin', version: '15' },
];

test('new data is made by the first server that is found, and only the version that made it opens it', () => {
  expect(chooseServer(FOUND, undefined)).toBe('/usr/lib/postgresql/17/bin');
  expect(chooseServer(FOUND, '15')).toBe('/usr/lib/postgresql/15/bin');
  expect(chooseServer(FOUND, '16')).toMatchObject({
    what: 'the data of the fleet was made by version 16, and installed is 17, 15',
    fix: expect.stringContaining('postgresql-16'),
  });
  for (const data of [undefined, '15'])
    expect(chooseServer([], data)).toMatchObject({
      what: 'no server is installed here',
      fix: expect.stringMatching(/apt install postgresql.*brew install postgresql/),
    });
});
