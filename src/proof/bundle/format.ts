/** What a bundle holds: an in-toto statement with a predicate of our own. One table: the types, the check of what is read, the JSON Schema. */
import {
  amount,
  choice,
  either,
  integer,
  type Kind,
  list,
  named,
  object,
  text,
  type ValueOf,
  yesNo,
} from '../../config/kinds.ts';

export const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1';
export const PAYLOAD_TYPE = 'application/vnd.in-toto+json';
const PREDICATE = 'urn:ralph-loop:proof:v';
export const PREDICATE_TYPE = `${PREDICATE}1`;

/** The number of a predicate of ours; undefined: it is something else. */
export function versionOf(predicateType: unknown): number | undefined {
  const [, number] = new RegExp(`^${PREDICATE}(\\d{1,6})$`).exec(String(predicateType)) ?? [];
  return number === undefined ? undefined : Number(number);
}

function orNull<Value>(kind: Kind<Value>): Kind<Value | null> {
  return {
    words: `${kind.words}, or null`,
    schema: { anyOf: [kind.schema, { type: 'null' }] },
    check: (value, where) => (value === null ? [] : kind.check(value, where)),
  };
}

function matching(pattern: RegExp, words: string): Kind<string> {
  return {
    words,
    schema: { type: 'string', pattern: pattern.source },
    check: (value, where) =>
      typeof value === 'string' && pattern.test(value) ? [] : [{ where, what: `must be ${words}` }],
  };
}

/** Whatever git calls an object: SHA-1 or SHA-256. */
const oid = matching(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, 'the name of a git object');
const sha256 = matching(/^[0-9a-f]{64}$/, 'a SHA-256');
const lineHash = matching(/^[0-9a-f]{32}$/, 'the hash of a line of the ledger');
const time = matching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, 'a time in UTC');
/** Of a file in the tree: it leads nowhere else, and is one line for git. */
const path = matching(
  /^(?!\/)(?!(?:.*\/)?\.{1,2}(?:\/|$))[^\u0000-\u001f]+$/,
  'a path that stays inside of the project',
);

const words = text({ empty: true });
const count = integer({ min: 0 });
const need = <K extends Kind>(kind: K, help: string) => ({ kind, required: true, help }) as const;

const check = object({
  command: need(text(), 'As it was configured.'),
  passed: need(yesNo, 'Green, and not void.'),
  exitCode: need(integer({ min: 0 }), '128 + n when signal n ended it.'),
  timedOut: need(yesNo, 'It was ended by its time limit.'),
  seconds: need(amount({ min: 0 }), 'How long it took.'),
  clean: need(yesNo, 'In a clean checkout of the tree.'),
  setup: need(yesNo, 'It made that checkout ready, and is no check.'),
  ungated: need(yesNo, 'Red before the first iteration, and excused for it.'),
  flaked: need(count, 'How often it failed before it passed.'),
  voided: need(orNull(words), 'Why it counts for nothing.'),
  log: need(orNull(sha256), 'Of all that it printed, as it was kept.'),
});

const survivor = object({
  file: need(words, 'Where no check noticed a fault.'),
  line: need(count, 'Counted from 1.'),
  change: need(words, 'What the fault was.'),
});

const left = object({
  left: need(integer({ min: 1 }), 'So many lines are left out here.'),
  after: need(lineHash, 'The hash that the first of them carries: that of the line before.'),
  last: need(lineHash, 'The hash of the last of them.'),
});

const predicate = object({
  run: need(
    object({
      id: need(text(), 'The run.'),
      command: need(choice(['run', 'loop', 'prd', 'session']), 'What it was started with.'),
      agent: need(words, 'Who worked.'),
      model: need(orNull(words), 'Its model, where one was named.'),
      startedAt: need(time, 'When it began.'),
      endedAt: need(time, 'When it ended.'),
      iterations: need(count, 'How many there were.'),
      success: need(yesNo, 'It ended as done.'),
      stopReason: need(words, 'Why it stopped.'),
    }),
    'The run.',
  ),
  proof: need(
    object({
      level: need(
        choice(['claimed', 'place', 'clean', 'sealed']),
        'claimed: nothing was checked. place: in the work tree. clean: once more in a clean checkout.',
      ),
      contained: need(
        choice(['sandbox', 'pid', 'cgroup', 'none']),
        'What ended processes with their turn or check.',
      ),
      sandbox: need(orNull(words), 'What agent and checks ran in.'),
      commit: need(orNull(oid), 'The commit that was handed over.'),
      tree: need(orNull(oid), 'The tree that was checked.'),
      checkInputsChanged: need(list(words), 'Files that a check rests on, changed since the run began.'),
    }),
    'What was proven and how.',
  ),
  checks: need(list(check), 'The checks as they stood at the end.'),
  protected: need(
    list(
      object({
        path: need(path, 'From the top of the work tree.'),
        kind: need(choice(['file', 'link']), 'What it is.'),
        sha256: need(sha256, 'Of its content, of a link of where it leads.'),
      }),
    ),
    'The protected files, as they were at the start and before every check.',
  ),
  inputs: need(named(words), 'What the checks rest on, each with a hash, at the start.'),
  reviews: need(
    list(
      object({
        story: need(words, 'The story.'),
        verdict: need(words, 'approved or changes_requested.'),
        by: need(words, 'The agent that reviewed it.'),
        at: need(time, 'When.'),
        iteration: need(count, 'In which iteration.'),
      }),
    ),
    'Of ralph prd.',
  ),
  violations: need(
    list(
      object({
        what: need(words, 'What was changed and may not be.'),
        restored: need(yesNo, 'It was undone.'),
        by: need(orNull(words), 'The check that did it; null: the agent.'),
        iteration: need(count, 'In which iteration.'),
      }),
    ),
    'What was done that may not be done.',
  ),
  mutation: need(
    orNull(
      object({
        score: need(orNull(count), 'The share of faults that were noticed, in percent.'),
        mutants: need(count, 'How many were tried.'),
        survivors: need(list(survivor), 'Those that no check noticed.'),
      }),
    ),
    'Whether the checks would notice a fault in the changed lines; null: that was not asked.',
  ),
  settings: need(
    {
      words: 'settings',
      schema: { type: 'object' },
      check: (value, where) =>
        typeof value === 'object' && value !== null && !Array.isArray(value)
          ? []
          : [{ where, what: 'must be an object' }],
    } satisfies Kind<Readonly<Record<string, unknown>>> as Kind<Readonly<Record<string, unknown>>>,
    'The settings that decide what counts as done.',
  ),
  versions: need(
    object({
      ralph: need(words, 'That ran it.'),
      bundle: need(words, 'The Ralph that wrote the bundle.'),
      node: need(words, 'Node.js, when the bundle was written.'),
      system: need(words, 'The same of the system.'),
    }),
    'What it was made with.',
  ),
  ledger: need(
    object({
      trust: need(
        choice(['intact', 'changed', 'elsewhere']),
        'Whether it was recorded where the bundle was written, and its lines followed from each other.',
      ),
      root: need(lineHash, 'The hash of its last line, which carries the hash of all before it.'),
      lines: need(integer({ min: 1 }), 'How many there are.'),
      entries: need(
        list(either(text(), left)),
        'Lines as they are, in order; what is left out has its number and the hash that the next line carries.',
      ),
    }),
    'The ledger, without what the agent said.',
  ),
});

const statement = object({
  _type: need(choice([STATEMENT_TYPE]), 'in-toto.'),
  subject: need(
    list(
      object({
        name: need(choice(['commit', 'tree']), 'What was handed over.'),
        digest: need(
          object({
            gitCommit: { kind: oid, help: 'Of a commit.' },
            gitTree: { kind: oid, help: 'Of a tree.' },
          }),
          'Its name in git.',
        ),
      }),
    ),
    'What was proven.',
  ),
  predicateType: need(choice([PREDICATE_TYPE]), 'The version of this format.'),
  predicate: need(predicate, 'What Ralph saw.'),
});

export type Statement = ValueOf<typeof statement>;
export type Predicate = ValueOf<typeof predicate>;
export type LeftOut = ValueOf<typeof left>;
export type BundledCheck = ValueOf<typeof check>;

/** The first thing that is not as the format says; undefined: everything is. */
export function misfitOf(value: unknown): string | undefined {
  const [first] = statement.check(value, 'statement');
  return first && `${first.where}: ${first.what.replace('unknown setting', 'is not part of the format')}`;
}

export function bundleSchema(): Readonly<Record<string, unknown>> {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Ralph proof',
    description: 'The statement in the payload of a bundle that `ralph report --bundle` writes.',
    ...statement.schema,
  };
}
