/** What an agent says in a CI job, read by a stand-in for GitHub's runner. */
import { expect, test } from 'vitest';
import { createDisarm } from '../../src/platform/ci-commands.ts';
import { COMMANDS, obeyedIn } from '../rig/runner.ts';

const BEFORE = ['', ' ', '\t', '\u00a0', '\u0085', '\u2003', '\r', '\r\n \u0085'];
const ATTACKS = COMMANDS.filter(name => name !== 'stop-commands').flatMap(name =>
  BEFORE.flatMap(before => [`${before}::${name} name=x::y`, `x ${before}##[${name}]y`]),
);

test('no command is obeyed, whatever stands before it', () => {
  expect(obeyedIn(ATTACKS.join('\n'))).toHaveLength(ATTACKS.length);
  expect(obeyedIn(createDisarm()(ATTACKS.join('\n')))).toEqual([]);
});

test('nor in any two pieces of it', () => {
  for (const attack of ['\n::add-mask::x\n', 'x ##[error]y\n', '\n \u0085::error::z\n']) {
    for (let at = 0; at <= attack.length; at++) {
      const disarm = createDisarm();
      expect(obeyedIn(disarm(attack.slice(0, at)) + disarm(attack.slice(at)))).toEqual([]);
    }
    const disarm = createDisarm();
    expect(obeyedIn([...attack].map(disarm).join(''))).toEqual([]);
  }
});
