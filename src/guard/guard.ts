/**
 * The guard: what a tool call would do, judged before it happens. A seat belt, not a wall: it stops accidents and careless
 * commands, and nobody who is set on getting past it.
 */

import type { GuardOrders } from '../domain/session/hook-orders.ts';
import { matchesText } from '../domain/text/glob.ts';
import { type Call, line, UNKNOWN, UNSET } from './call.ts';
import { type Surroundings, type Where, whereIs } from './place.ts';
import { CATEGORIES, type Rule, type Scene } from './rule.ts';
import { FILE_RULES } from './rules/files.ts';
import { GIT_RULES } from './rules/git.ts';
import { NETWORK_RULES } from './rules/network.ts';
import { SERVICE_RULES } from './rules/services.ts';
import { SYSTEM_RULES } from './rules/system.ts';
import { readShell, type ShellWorld } from './shell.ts';

export interface GuardWorld extends Surroundings, ShellWorld, Pick<GuardOrders, 'allow' | 'deny'> {}

export interface Finding extends Pick<Rule, 'category' | 'tier' | 'why' | 'instead'> {
  /** The name of the rule; `unreadable` when nothing could be judged. */
  readonly rule: string;
  /** The command or path that it is about. */
  readonly what: string;
}

/** More than a tool call ever needs; it would only keep the agent waiting. */
const LONGEST = 1_000_000;

/** Everything that is wrong with a shell command, the worst first. Never throws; what it cannot judge it blocks. */
export function judgeCommand(script: string, world: GuardWorld): readonly Finding[] {
  try {
    if (script.length > LONGEST) return [unreadable(script, 'it is too long to be judged')];
    const { calls, trouble, bombs } = readShell(script, world);
    const findings = calls.flatMap(call => judgeCall(call, world));
    if (bombs) findings.push(BOMB(script));
    if (trouble !== undefined) findings.push(unreadable(script, trouble));
    return sorted(findings.filter(finding => !world.allow.includes(finding.rule)));
  } catch (error) {
    return [
      unreadable(script, `the guard failed: ${error instanceof Error ? error.message : String(error)}`),
    ];
  }
}

/** A tool that writes or deletes a file. */
export function judgeWrite(path: string, world: GuardWorld): readonly Finding[] {
  return judgePath(world, { name: 'tee', args: ['--', path] });
}

/** A tool that reads one. */
export function judgeRead(path: string, world: GuardWorld): readonly Finding[] {
  return judgePath(world, { name: 'cat', args: ['--', path] });
}

function judgePath(world: GuardWorld, words: Pick<Call, 'name' | 'args'>): readonly Finding[] {
  const what = words.args.at(-1) ?? '';
  const call: Call = {
    ...words,
    written: '',
    cwd: world.cwd,
    place: 'here',
    assigned: [],
    writes: [],
    reads: [],
    input: undefined,
    from: [],
    into: [],
  };
  return sorted(judgeCall(call, world).map(finding => ({ ...finding, what })));
}

function judgeCall(call: Call, world: GuardWorld): Finding[] {
  const shown = line(call);
  if (world.allow.some(pattern => matchesText(shown, pattern))) return [];
  const scene: Scene = { call, around: world, where: path => whereOf(path, call, world) };
  const found = [...rulesOf(nameOf(call)), ...GENERAL].filter(
    rule =>
      !world.allow.includes(rule.id) &&
      !((call.file !== undefined || call.isGuess) && rule.tier === 'warn') &&
      rule.matches(scene),
  );
  const what = shownCall(call);
  const findings = found.map(({ id: rule, category, tier, why, instead }) => ({
    rule,
    category,
    tier,
    what,
    why,
    instead,
  }));
  const denied = world.deny.find(pattern => matchesText(shown, pattern));
  return denied === undefined ? findings : [...findings, settingsFinding(call, denied)];
}

/** The files of a container are its own; of another machine only paths from the root can be distinguished. */
function whereOf(path: string, call: Call, world: GuardWorld): Where {
  if (call.place === 'container') return 'unknown';
  if (call.place === 'here') return whereIs(path, call.cwd, world);
  return /^[/~]/.test(path) ? whereIs(path, undefined, { ...world, root: '' }) : 'unknown';
}

/** What each looks for is in `rules/`, a row each; a name there is a name in the settings. */
export const RULES: readonly Rule[] = [
  ...FILE_RULES,
  ...GIT_RULES,
  ...NETWORK_RULES,
  ...SYSTEM_RULES,
  ...SERVICE_RULES,
];

const GENERAL = RULES.filter(rule => rule.of === undefined);

/** Looked for when it is asked: a hook asks for few names, and a table of all of them takes longer to make. */
function rulesOf(name: string): readonly Rule[] {
  return RULES.filter(({ of }) => of?.includes(name) === true && of.split(' ').includes(name));
}

/** Versions and variants of a program are one program to a rule. */
function nameOf({ name }: Call): string {
  if (name.includes(UNKNOWN) || name.includes(UNSET)) return UNKNOWN;
  return name
    .replace(/^(python|perl|ruby|php|pip)[\d.]+$/, (_, base) => (base === 'python' ? 'python3' : base))
    .replace(/^mkfs\..*$/, 'mkfs');
}

const MOST_SHOWN = 160;

function shownCall(call: Call): string {
  const into = call.writes.filter(path => !call.args.includes(path)).map(path => `> ${path}`);
  const text = [line(call) || call.written, ...into]
    .join(' ')
    .trim()
    .replace(/[\uFFFB\uFFFC]/g, '…')
    .replace(/\s+/g, ' ');
  const cut = text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
  return call.file === undefined ? cut : `${cut} (in ${call.file})`;
}

/** The worst first, and of each command only that. */
function sorted(findings: readonly Finding[]): readonly Finding[] {
  const worst = findings.toSorted((a, b) => Number(a.tier === 'warn') - Number(b.tier === 'warn'));
  return worst.filter(({ what }, index) => worst.findIndex(other => other.what === what) === index);
}

function unreadable(script: string, why: string): Finding {
  const instead = 'Write it plainly, in smaller steps.';
  return { rule: 'unreadable', category: 12, tier: 'block', what: script.slice(0, MOST_SHOWN), why, instead };
}

const BOMB = (script: string): Finding => ({
  rule: 'fork-bomb',
  category: 3,
  tier: 'block',
  what: script.slice(0, MOST_SHOWN),
  why: 'it starts itself again and again until nothing runs any more',
  instead: 'Start a fixed number of processes.',
});

function settingsFinding(call: Call, pattern: string): Finding {
  const why = `the settings of this project refuse it (guard.deny: ${pattern})`;
  const instead = 'Do it another way, or leave it to the user.';
  return { rule: 'denied', category: 18, tier: 'block', what: shownCall(call), why, instead };
}

/** One sentence: what, why, and the safer way. */
export function sentenceOf({ what, why, instead, category, rule }: Finding): string {
  return `\`${what}\`: ${why} (${CATEGORIES[category]}; rule ${rule}). ${instead}`;
}
