/**
 * The arguments of /ralph-loop, as the user typed them. They are data: flags are taken out, the rest is the task, unchanged.
 * A quote in the task is a quote, a dollar sign is a dollar sign.
 */
import { closest } from './problem.ts';
import { NO_WORK_POLICIES, type NoWorkPolicy, type SessionRequest } from './session.ts';

export interface ParsedArguments {
  readonly request: Omit<SessionRequest, 'ultrawork'>;
  /** What the user must fix; then the request is not to be used. */
  readonly problems: readonly string[];
}

const FLAGS = [
  '--max-iterations',
  '--completion-promise',
  '--min-tool-calls',
  '--on-promise-no-work',
  '--check',
] as const;
type Flag = (typeof FLAGS)[number];

export function parseArguments(raw: string): ParsedArguments {
  const { task, values, problems } = takeFlags(raw);
  const last = (flag: Flag) => values.findLast(([name]) => name === flag)?.[1];
  const whole = (flag: Flag, fallback: number) => {
    const value = last(flag);
    if (value === undefined) return fallback;
    if (/^\d+$/.test(value) && Number.isSafeInteger(Number(value))) return Number(value);
    problems.push(`${flag} must be a whole number (0: no limit), not ${JSON.stringify(value)}`);
    return fallback;
  };
  const promise = last('--completion-promise');
  if (promise !== undefined && promise.trim() === '') problems.push('--completion-promise must not be empty');
  const policy = last('--on-promise-no-work') ?? 'reject';
  if (!isPolicy(policy))
    problems.push(
      `--on-promise-no-work must be one of ${NO_WORK_POLICIES.join(', ')}, not ${JSON.stringify(policy)}`,
    );
  if (task === '')
    problems.push(
      'there is no task: /ralph-loop Build a REST API for todos --completion-promise DONE --max-iterations 20',
    );
  return {
    request: {
      task,
      maxIterations: whole('--max-iterations', 0),
      completionPromise: promise ?? null,
      minToolCalls: whole('--min-tool-calls', 1),
      onPromiseNoWork: isPolicy(policy) ? policy : 'reject',
      checks: values.flatMap(([name, value]) => (name === '--check' ? [value] : [])),
    },
    problems,
  };
}

function isPolicy(value: string): value is NoWorkPolicy {
  return (NO_WORK_POLICIES as readonly string[]).includes(value);
}

interface Taken {
  readonly task: string;
  readonly values: readonly (readonly [Flag, string])[];
  readonly problems: string[];
}

/** A flag stands at the beginning or after white space; its value is the next word, which quotes may hold together. */
function takeFlags(raw: string): Taken {
  const values: (readonly [Flag, string])[] = [];
  const problems: string[] = [];
  const pattern = /(^|\s)(--[a-z][a-z-]*)(?:=|\s+|$)/g;
  let task = '';
  let from = 0;
  for (let match = pattern.exec(raw); match; match = pattern.exec(raw)) {
    const name = match[2] ?? '';
    const flag = FLAGS.find(each => each === name);
    if (!flag) {
      const near = closest(name, FLAGS);
      if (near) problems.push(`there is no ${name}; did you mean ${near}?`);
      continue; // a word of the task that looks like a flag
    }
    const value = readValue(raw, pattern.lastIndex);
    if (value === undefined) {
      problems.push(`${flag} needs a value`);
      task += raw.slice(from, match.index);
      from = pattern.lastIndex;
      continue;
    }
    values.push([flag, value.text]);
    task += raw.slice(from, match.index);
    from = value.end;
    pattern.lastIndex = value.end;
  }
  return { task: unquoted((task + raw.slice(from)).trim()), values, problems };
}

function readValue(raw: string, at: number): { readonly text: string; readonly end: number } | undefined {
  const rest = raw.slice(at);
  const quoted = /^(?:"((?:\\["\\]|[^"\\]|\\)*?)"|'([^']*)')(?=\s|$)/.exec(rest);
  if (quoted) {
    const text = quoted[1] === undefined ? (quoted[2] ?? '') : quoted[1].replace(/\\(["\\])/g, '$1');
    return { text, end: at + quoted[0].length };
  }
  const word = /^[^\s]+/.exec(rest)?.[0];
  if (word === undefined || FLAGS.some(flag => word === flag || word.startsWith(`${flag}=`)))
    return undefined;
  return { text: word, end: at + word.length };
}

/** Quotes round the whole task are the user's way to hold it together, and not part of it. */
function unquoted(task: string): string {
  const quote = task[0];
  if (task.length < 2 || (quote !== '"' && quote !== "'") || !task.endsWith(quote)) return task;
  const inner = task.slice(1, -1);
  return inner.includes(quote) ? task : inner.trim();
}
