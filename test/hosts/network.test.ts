import { networkInterfaces } from 'node:os';
import { expect, test } from 'vitest';

test.runIf(process.env.RALPH_HOSTS_NETWORK === 'loopback')('the agents have no network but loopback', () => {
  expect(Object.keys(networkInterfaces())).toEqual(['lo']);
});
