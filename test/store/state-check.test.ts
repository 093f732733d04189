import { expect, test } from 'vitest';
import { whyUnfit } from '../../src/store/state-check.ts';

test('a state folder of somebody else, open to others, or on another machine is not used', () => {
  const fit = { folder: '/s', owner: 1, user: 1, mode: 0o40700, type: 0xef53 };
  expect(whyUnfit(fit)).toBeUndefined();
  expect(whyUnfit({ ...fit, user: 2 })?.what).toContain('belongs to somebody else');
  expect(whyUnfit({ ...fit, mode: 0o40770 })?.what).toContain('can be written by others');
  expect(whyUnfit({ ...fit, type: 0x6969 })?.what).toContain('on a disk of another machine (NFS)');
  expect(whyUnfit({ ...fit, type: -11317950 })?.what).toContain('CIFS');
});
