/** What a program gives a run, as settings and as what no settings file can hold. */
import { readValue } from '../config/kinds.ts';
import type { SettingsCommand, SettingsLayer } from '../config/setting.ts';
import { SETTINGS } from '../config/settings.ts';
import type { OwnCheck } from '../domain/checks/check.ts';
import type { Problem } from '../domain/text/problem.ts';
import type { SetUpRequest } from '../opening/set-up.ts';
import { chooseGiven } from '../run/turns/choose-agent.ts';
import type { FunctionAgent } from '../run/turns/define-agent.ts';
import { adapterOf } from '../run/turns/function-agent.ts';
import type { CheckInput, CommandCheck, FunctionCheck, RunConfig, RunOptions } from './config.ts';

export interface GivenChecks {
  /** What the settings hold of them. */
  readonly listed: readonly CommandCheck[];
  readonly own: readonly OwnCheck[];
  /** The names of those that are functions. */
  readonly functions: readonly string[];
  readonly problems: readonly Problem[];
}

export function readChecks(checks: readonly CheckInput[]): GivenChecks {
  const all = checks.map(normalize);
  const own = all.filter(({ isOwn }) => isOwn).map(({ check }) => check);
  const functions = all.filter(({ check }) => check.call).map(({ check }) => check.command);
  // A second one of the same name would never be called.
  const twice = new Set(functions.filter((name, at) => functions.indexOf(name) !== at));
  return {
    listed: all.map(({ check: { call: _, ...listed } }) => listed),
    own,
    functions,
    problems: [...twice].map(name => ({ where: 'checks', what: `two of them are called ${name}` })),
  };
}

interface Normalized {
  readonly check: OwnCheck;
  /** The settings cannot say all of it. */
  readonly isOwn: boolean;
}

function normalize(input: CheckInput, at: number): Normalized {
  if (typeof input === 'string') return { check: { command: input }, isOwn: false };
  if (typeof input === 'function') return normalize({ name: input.name, check: input }, at);
  if (!isFunctionCheck(input)) return { check: input, isOwn: Object.keys(input).length > 1 };
  const { name, check: call, ...rest } = input;
  return { check: { command: `${name === '' ? `check ${at + 1}` : name}()`, call, ...rest }, isOwn: true };
}

function isFunctionCheck(input: CommandCheck | FunctionCheck): input is FunctionCheck {
  return 'check' in input;
}

/** Settings from a call, checked by the same kinds as the files. */
export function settingsLayer(
  command: SettingsCommand,
  { settings, checks, maxIterations: maximumIterations, ...rest }: RunConfig,
  listed: readonly CommandCheck[],
): SettingsLayer {
  const named =
    checks &&
    (command === 'run' ? { guardrails: listed } : { checks: listed.map(({ command: each }) => each) });
  const layer: Record<string, unknown> = {};
  const problems: Problem[] = [];
  for (const [key, value] of Object.entries({ ...settings, ...rest, ...named, maximumIterations })) {
    if (value === undefined) continue;
    const kind = SETTINGS.find(row => row.key === key)?.kind;
    const read = kind ? readValue(kind, value) : value;
    const found = kind ? kind.check(read, key) : [{ where: key, what: 'there is no such setting' }];
    problems.push(...found);
    if (found.length === 0) layer[key] = read;
  }
  return { layer, problems };
}

/** The agent of a program; undefined: the settings say who works. */
export function agentOf({ agent }: RunOptions): SetUpRequest['agent'] {
  if (!agent) return undefined;
  if ('adapter' in agent)
    return (settings, world) => chooseGiven(agent.adapter, agent.command, settings, world);
  return () => functionAgent(agent);
}

function functionAgent(agent: FunctionAgent) {
  const { name } = agent;
  const adapter = adapterOf(agent);
  const nothing = { prefix: [], flags: [], prices: {} };
  return { ...nothing, adapter, name, command: name, why: 'it was given', function: agent };
}

/** What only the program itself can give again, by name. */
export function programOf({ agent }: RunOptions, { own }: GivenChecks): readonly string[] {
  const name = agent && ('adapter' in agent ? agent.adapter.name : agent.name);
  return [
    ...(name === undefined ? [] : [`the agent ${name}`]),
    ...own.map(({ command }) => `the check ${command}`),
  ];
}
