/** Checks that cannot be started are found before the first turn, and what only a shell can judge is left to it. */
import { describe, expect, test } from 'vitest';
import { missingCommands } from '../../../src/run/turns/missing-commands.ts';
import { folder } from '../../rig/repo.ts';

function problems(command: string): readonly string[] {
  const place = folder();
  place.write('package.json', '{"scripts":{"test":"node --test","lint":"biome"}}');
  for (const name of ['bin/npm', 'bin/make', 'check.sh']) place.script(name, '');
  place.write('plain.sh', '');
  const found = missingCommands([command], { cwd: place.dir, env: { PATH: place.path('bin') } });
  return found.map(({ where, what, fix }) => `${where}: ${what}; ${fix}`);
}

describe('said before the first turn', () => {
  test.each<[string, string]>([
    [
      'nosuch --all',
      'check `nosuch --all`: there is no such command: nosuch; install it, or change the check',
    ],
    ['CI=1 nosuch', 'check `CI=1 nosuch`: there is no such command: nosuch; install it, or change the check'],
    [
      'nosuch && make',
      'check `nosuch && make`: there is no such command: nosuch; install it, or change the check',
    ],
    [
      './no.sh',
      'check `./no.sh`: there is no such command: ./no.sh; create it; if the agent is to write it, check with `sh ./no.sh`',
    ],
    ['./plain.sh', 'check `./plain.sh`: ./plain.sh may not be executed; chmod +x ./plain.sh'],
    ['npm run tset', 'check `npm run tset`: package.json has no script tset; did you mean test?'],
    [
      'npm run-script lnit',
      'check `npm run-script lnit`: package.json has no script lnit; did you mean lint?',
    ],
  ])('%s', (command, problem) => {
    expect(problems(command)).toEqual([problem]);
  });
});

describe('left to the shell, or to the agent', () => {
  test.each([
    'make test',
    './check.sh',
    'npm run lint',
    'npm test', // no script is named
    'npm run deploy-everything', // far from every script: the agent may be meant to write it
    'cd sub && nosuch', // in another folder there may be one
    'test -f out.txt',
    '! nosuch',
    '"$TOOL" run',
    '$(which nosuch)',
    '',
  ])('%s', command => {
    expect(problems(command)).toEqual([]);
  });
});

test('whoever asks says where the command stands', () => {
  const [problem] = missingCommands(['nosuch'], { cwd: '/', env: { PATH: '' } }, () => 'setup');
  expect(problem?.where).toBe('setup');
});
