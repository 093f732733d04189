/** Which agent works, what it is called, and which model it gets. */
import { describe, expect, test } from 'vitest';
import { defaultSettings } from '../../../src/config/settings.ts';
import type { Settings } from '../../../src/config/settings-shape.ts';
import { isProblem, type Problem } from '../../../src/domain/text/problem.ts';
import {
  type ChosenAgent,
  chooseAgent,
  chooseFallbacks,
  chooseNamed,
} from '../../../src/run/turns/choose-agent.ts';
import { folder } from '../../rig/repo.ts';

interface Given {
  readonly installed?: readonly string[];
  readonly settings?: Partial<Settings>;
  readonly fromFiles?: Readonly<Record<string, unknown>>;
}

function place({ installed = ['claude', 'codex'], settings = {}, fromFiles = {} }: Given) {
  const home = folder();
  for (const name of installed) home.script(`bin/${name}`, '');
  home.write('bin/plain', 'not executable');
  const world = { cwd: home.dir, env: { PATH: home.path('bin') } };
  return { all: { ...defaultSettings('run'), ...settings }, fromFiles, world };
}

function chosen(given: Given): ChosenAgent {
  const { all, fromFiles, world } = place(given);
  const agent = chooseAgent(all, fromFiles, world);
  if (isProblem(agent)) throw new Error(`${agent.where}: ${agent.what}`);
  return agent;
}

function refused(given: Given): Problem {
  const { all, fromFiles, world } = place(given);
  const agent = chooseAgent(all, fromFiles, world);
  if (!isProblem(agent)) throw new Error(`${agent.name} was chosen`);
  return agent;
}

describe('who is chosen, and why', () => {
  test.each<[string, Given, string, string]>([
    ['nothing is said', {}, 'claude', 'it is the first one installed here'],
    [
      'nothing is said, and only another one is installed',
      { installed: ['codex'] },
      'codex',
      'it is the first one installed here',
    ],
    ['a flag names one', { settings: { agent: 'codex' } }, 'codex', 'it was asked for'],
    ['the settings name one', { settings: { agent: { command: 'codex' } } }, 'codex', 'the settings say so'],
    [
      'the settings say how, but not who',
      { settings: { agent: { flags: ['--verbose'] } }, installed: ['codex'] },
      'codex',
      'it is the first one installed here',
    ],
    [
      'a name of the user’s own',
      { settings: { agent: 'mine', agents: { mine: { command: 'codex' } } } },
      'mine',
      'it is mine of the settings',
    ],
    [
      'an unknown command is called by its name',
      { settings: { agent: './bin/my-agent' }, installed: ['my-agent'] },
      'my-agent',
      'it was asked for',
    ],
  ])('%s', (_, given, name, why) => {
    expect(chosen(given)).toMatchObject({ name, why });
  });

  test('a flag that names the agent of the settings keeps its flags and model', () => {
    const fromFiles = { agent: { command: 'codex', flags: ['--search'], model: 'gpt-5.5' } };
    expect(chosen({ settings: { agent: 'codex' }, fromFiles })).toMatchObject({
      flags: ['--search'],
      model: 'gpt-5.5',
    });
    expect(chosen({ settings: { agent: 'claude' }, fromFiles }).flags).toEqual([]);
  });

  test('a command of several words keeps them, and a path is made whole', () => {
    const agent = chosen({ installed: ['wrap'], settings: { agent: './bin/wrap my agent' } });
    expect(agent.command).toMatch(/^\/.*\/bin\/wrap$/);
    expect(agent.prefix).toEqual(['my', 'agent']);
  });
});

describe('who cannot be chosen, and what to do', () => {
  test.each<[string, Given, Partial<Problem>]>([
    [
      'none is installed',
      { installed: [] },
      { where: 'agent', what: expect.stringContaining('none of claude') },
    ],
    [
      'a known one is not installed',
      { settings: { agent: 'codex' }, installed: [] },
      { where: 'agent codex', fix: expect.stringContaining('install it: ') },
    ],
    ['a typing error', { settings: { agent: 'cluade' } }, { fix: 'did you mean claude?' }],
    [
      'a file that may not be executed',
      { settings: { agent: 'plain' } },
      { what: 'there is no such command', fix: 'give the name of a command or a path to one' },
    ],
  ])('%s', (_, given, problem) => {
    expect(refused(given)).toMatchObject(problem);
  });
});

describe('the model', () => {
  test('of the call wins over that of the agent', () => {
    const agent = { command: 'claude', model: 'haiku' };
    expect(chosen({ settings: { agent } }).model).toBe('haiku');
    expect(chosen({ settings: { agent, model: 'opus' } }).model).toBe('opus');
  });

  test('that the command never sees is said to be unseen', () => {
    const given = { installed: ['my-agent'], settings: { agent: 'my-agent', model: 'opus' } };
    expect(chosen(given)).toMatchObject({ unseenModel: 'opus' });
    expect(chosen(given)).not.toHaveProperty('model');
  });

  test('that flags of the user choose is his', () => {
    const agent = { command: 'claude', flags: ['--model haiku'] };
    expect(chosen({ settings: { agent, model: 'opus' } })).toMatchObject({ unseenModel: 'opus' });
  });
});

describe('prices', () => {
  const own = { '*': { input: 1, output: 2 } };

  test('of the agent win over those of all', () => {
    const better = { '*': { input: 3, output: 4 } };
    const settings = { prices: own, agent: { command: 'claude', prices: better } };
    expect(chosen({ settings }).prices).toEqual(better);
  });

  test('are only estimated where there is a limit to keep', () => {
    expect(chosen({})).not.toHaveProperty('listPrice');
    expect(chosen({ settings: { maxCost: 5, model: 'opus' } }).listPrice?.(undefined)).toMatchObject({
      input: expect.any(Number),
    });
  });
});

describe('an agent beside the agent', () => {
  const fallbacks = (given: Given) => {
    const { all, fromFiles, world } = place(given);
    return chooseFallbacks(all, fromFiles, world);
  };

  test('has its own model, never that of the call', () => {
    const [codex, haiku] = fallbacks({ settings: { model: 'opus', fallback: ['codex', 'claude:haiku'] } });
    expect(codex).not.toHaveProperty('model');
    expect(haiku).toMatchObject({ name: 'claude:haiku', model: 'haiku' });
  });

  test('is named with the flag that asked for it, when it is not there', () => {
    expect(fallbacks({ settings: { fallback: ['nosuch:x'] } })).toMatchObject([
      { where: '--fallback nosuch:x' },
    ]);
  });

  test('of a name with a colon that is the user’s own has no model', () => {
    const { all, fromFiles, world } = place({ settings: { agents: { 'a:b': { command: 'codex' } } } });
    const agent = chooseNamed('--reviewer', 'a:b', all, fromFiles, world);
    expect(agent).toMatchObject({ name: 'a:b', command: 'codex' });
    expect(agent).not.toHaveProperty('model');
  });
});
