/**
 * The arguments of /ralph-loop, as the user typed them. They are data: flags are taken out, the rest is the task, unchanged.
 * What stands in quotes is one word and holds no flag; a quote within a word is a quote, a dollar sign is a dollar sign. Behind `--`, at the
 * beginning of the task or before a word that looks like a flag, everything is the task; elsewhere it is a dash.
 */
import { closest } from '../text/problem.ts';
import { NO_WORK_POLICIES, type NoWorkPolicy, type SessionRequest } from './session.ts';

export interface ParsedArguments {
  readonly request: Omit<SessionRequest, 'ultrawork'>;
  /** What the user must fix; then the request is not to be used. */
  readonly problems: readonly string[];
  /** What was understood otherwise than it was written. */
  readonly notes: readonly string[];
}

export const SESSION_FLAGS = [
  '--max-iterations',
  '--completion-promise',
  '--min-tool-calls',
  '--on-promise-no-work',
  '--check',
] as const;
export type SessionFlag = (typeof SESSION_FLAGS)[number];
export type FlagValue = readonly [SessionFlag, string];

/** The user wants to know, not to begin. */
export function asksForHelp(raw: string): boolean {
  return /^\s*(?:--help|-h)(?:\s|$)/.test(raw);
}

export function parseArguments(raw: string): ParsedArguments {
  const { task, values, problems } = takeFlags(raw);
  const parsed = requestOf(task, values);
  return { ...parsed, problems: [...problems, ...parsed.problems] };
}

/** The same from words that somebody else has taken apart. */
export function requestOf(task: string, values: readonly FlagValue[]): ParsedArguments {
  const problems: string[] = [];
  const last = (flag: SessionFlag) => values.findLast(([name]) => name === flag)?.[1];
  const whole = (flag: SessionFlag, fallback: number) => {
    const value = last(flag);
    if (value === undefined) return fallback;
    if (/^\d+$/.test(value) && Number.isSafeInteger(Number(value))) return Number(value);
    problems.push(
      `${flag} must be a whole number (0: no limit), not ${JSON.stringify(value)}. ${examplesOf(flag)}`,
    );
    return fallback;
  };
  const promise = promiseOf(last('--completion-promise'));
  if (promise.problem !== undefined) problems.push(promise.problem);
  const policy = last('--on-promise-no-work') ?? 'reject';
  if (!isPolicy(policy))
    problems.push(
      `--on-promise-no-work must be one of ${NO_WORK_POLICIES.join(', ')}, not ${JSON.stringify(policy)}`,
    );
  const checks = values.flatMap(([name, value]) => (name === '--check' ? [value] : []));
  if (checks.some(check => check.trim() === '')) problems.push('--check must not be empty');
  if (task.trim() === '')
    problems.push(
      'there is no task: /ralph-loop Build a REST API for todos --completion-promise DONE --max-iterations 20',
    );
  return {
    request: {
      task,
      maxIterations: whole('--max-iterations', 0),
      completionPromise: promise.text ?? null,
      minToolCalls: whole('--min-tool-calls', 1),
      onPromiseNoWork: isPolicy(policy) ? policy : 'reject',
      checks,
    },
    problems,
    notes: promise.note === undefined ? [] : [promise.note],
  };
}

/** Seed 000 shows them with each error. */
const EXAMPLES: Readonly<Record<SessionFlag, string>> = {
  '--max-iterations': '--max-iterations 10, --max-iterations 0 (no limit)',
  '--completion-promise': '--completion-promise DONE, --completion-promise "All tests passing"',
  '--min-tool-calls': '--min-tool-calls 1',
  '--on-promise-no-work': '--on-promise-no-work warn',
  '--check': '--check "npm test"',
};

function examplesOf(flag: SessionFlag): string {
  return `Valid examples: ${EXAMPLES[flag]}`;
}

function isPolicy(value: string): value is NoWorkPolicy {
  return (NO_WORK_POLICIES as readonly string[]).includes(value);
}

/** As much as the search for a tag keeps in mind. */
const LONGEST_PROMISE = 10_000;

interface Promised {
  readonly text?: string;
  readonly problem?: string;
  readonly note?: string;
}

/** What could never be matched is refused; a tag that was written out is taken off. */
function promiseOf(given: string | undefined): Promised {
  if (given === undefined) return {};
  const [, inner] = /^\s*<promise>([\s\S]*)<\/promise>\s*$/i.exec(given) ?? [];
  const text = inner ?? given;
  if (text.trim() === '')
    return { problem: `--completion-promise must not be empty. ${examplesOf('--completion-promise')}` };
  if (/<\/?promise>/i.test(text))
    return {
      problem: `--completion-promise ${JSON.stringify(text.slice(0, 60))} holds a promise tag, and could never match: give the text alone, such as DONE`,
    };
  if (text.length > LONGEST_PROMISE)
    return { problem: `--completion-promise must not have more than ${LONGEST_PROMISE} characters` };
  if (inner === undefined) return { text };
  return {
    text,
    note: `The promise is ${text}: Ralph puts the tag around it, so --completion-promise needs the text alone.`,
  };
}

/** A word of what was typed. */
interface Word {
  readonly text: string;
  readonly isQuoted: boolean;
  /** It begins with a quotation mark, and is no quotation. */
  readonly isOpen: boolean;
  readonly start: number;
  readonly end: number;
}

interface Taken {
  readonly task: string;
  readonly values: readonly FlagValue[];
  readonly problems: readonly string[];
}

function takeFlags(raw: string): Taken {
  const words = wordsOf(raw);
  const values: FlagValue[] = [];
  const problems: string[] = [];
  const task: Word[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as Word;
    if (isDashes(word) && (task.length === 0 || /^--[a-z]/i.test(words[at + 1]?.text ?? '')))
      return { task: `${textOf(raw, task)} ${raw.slice(word.end).trim()}`.trim(), values, problems };
    const flag = flagIn(word);
    if (!flag) {
      const near = nearFlag(word);
      if (near !== undefined) problems.push(near);
      task.push(word);
      continue;
    }
    const next = words[at + 1];
    const value = flag.value === undefined && next && !flagIn(next) && !isDashes(next) ? next : undefined;
    if (value) at++;
    const text = flag.value ?? value?.text;
    if (text === undefined) problems.push(`${flag.name} needs a value. ${examplesOf(flag.name)}`);
    else if ((value ?? word).isOpen)
      problems.push(`${flag.name} begins a quote that does not end: ${text}. ${examplesOf(flag.name)}`);
    else values.push([flag.name, text]);
  }
  return { task: textOf(raw, task), values, problems };
}

function isDashes({ text, isQuoted }: Word): boolean {
  return text === '--' && !isQuoted;
}

function flagIn({
  text,
  isQuoted,
}: Word): { readonly name: SessionFlag; readonly value?: string } | undefined {
  if (isQuoted) return undefined;
  const [, given, value] = /^(--[a-z-]+)(?:=([\s\S]*))?$/.exec(text) ?? [];
  const name = SESSION_FLAGS.find(each => each === given);
  return name && { name, ...(value !== undefined && { value }) };
}

/** A word that looks like a flag may be one of the task; one that is nearly ours is not. Editors make one long dash of two. */
function nearFlag({ text, isQuoted }: Word): string | undefined {
  const [, given] = /^((?:--|[–—])[a-z][\w-]*)(?:=[\s\S]*)?$/i.exec(isQuoted ? '' : text) ?? [];
  const plain = given?.toLowerCase().replace(/^[–—]/, '--').replaceAll('_', '-');
  const near = plain === undefined ? undefined : closest(plain, SESSION_FLAGS);
  return near && `there is no ${given}; did you mean ${near}? A task with such a word in it goes in quotes.`;
}

/** The words with what stood before each, so that the task is as it was typed. One in quotes is what stands in them. */
function textOf(raw: string, words: readonly Word[]): string {
  const [only] = words;
  if (only?.isQuoted && words.length === 1) return only.text;
  const before = (at: number) => /\s*$/.exec(raw.slice(0, at))?.[0] ?? '';
  return words
    .map(({ start, end }) => before(start) + raw.slice(start, end))
    .join('')
    .trim();
}

const QUOTED = /^(?:"((?:\\[\s\S]|[^"\\])*)"|'([^']*)')(?=\s|$)/;

function wordsOf(raw: string): readonly Word[] {
  const words: Word[] = [];
  for (let start = nextWord(raw, 0); start < raw.length; ) {
    const prefix = /^--[a-z-]+=(?=["'])/.exec(raw.slice(start))?.[0] ?? '';
    const quoted = QUOTED.exec(raw.slice(start + prefix.length));
    const plain = /^\S+/.exec(raw.slice(start))?.[0] ?? '';
    const end = start + (quoted ? prefix.length + quoted[0].length : plain.length);
    const text = quoted ? prefix + unquoted(quoted) : plain;
    const isOpen = !quoted && /^(?:--[a-z-]+=)?["'“”„«]/.test(plain);
    words.push({ text, isQuoted: quoted !== null && prefix === '', isOpen, start, end });
    start = nextWord(raw, end);
  }
  return words;
}

function nextWord(raw: string, from: number): number {
  const space = /^\s*/.exec(raw.slice(from))?.[0] ?? '';
  return from + space.length;
}

/** In double quotes a backslash keeps the next quote or backslash from its meaning, and stands for itself before anything else. */
function unquoted([, double, single = '']: RegExpExecArray): string {
  return double === undefined ? single : double.replace(/\\(["\\])/g, '$1');
}
