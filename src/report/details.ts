/** Gathers what an iteration consists of from the ledger and the files beside it. */
import { type CheckResult, slugsOf } from '../domain/checks/check.ts';
import { knownEntry, type RawEntry } from '../domain/run/ledger-entry.ts';
import { withCheck } from '../domain/run/state.ts';
import type { IterationPaths, RunPaths } from '../store/paths.ts';
import { partOf } from './changes.ts';
import { BEFORE, type IterationDetail, type Part } from './run-view.ts';
import { createTranscript, type Transcript } from './transcript.ts';

const PROMPT = 100_000;
const DIFF = 200_000;
const OUTPUT = 50_000;
const ERRORS = 10_000;

export interface DetailFold {
  add(entry: RawEntry): void;
  /** Passes on the iteration that is still running, or that was the last. */
  end(): void;
}

/** Calls `done` with each iteration when it is over; `only` saves the work for the others. */
export function createDetailFold(
  paths: RunPaths,
  done: (detail: IterationDetail) => void,
  only?: number,
): DetailFold {
  let commands: readonly string[] = [];
  let current: Current | undefined;
  const end = () => {
    if (current) done(detailOf(paths, commands, current));
    current = undefined;
  };
  const begin = (number: number) => {
    if (current?.number === number) return;
    end();
    if (only === undefined || only === number) current = newCurrent(number);
  };
  return {
    end,
    add(entry) {
      const known = knownEntry(entry);
      if (!known) return;
      if (known.type === 'run-started') {
        commands = known.checks;
        const before = detailOf(paths, [], newCurrent(BEFORE));
        if (only === BEFORE || (only === undefined && before.diff)) done(before);
      }
      if (known.type === 'iteration-started' || known.type === 'iteration-ended') begin(known.iteration);
      if (!current) return;
      if (known.type === 'agent-started') current.isWork = known.purpose === 'work';
      if (known.type === 'agent' && current.isWork) current.transcript.add(known.event);
      if (known.type === 'check-ended') current.checks = withCheck(current.checks, known.result);
    },
  };
}

interface Current {
  readonly number: number;
  readonly transcript: Transcript;
  checks: readonly CheckResult[];
  /** Whether the agent works on the task, and does not write a commit message. */
  isWork: boolean;
}

function newCurrent(number: number): Current {
  return { number, transcript: createTranscript(), checks: [], isWork: true };
}

function detailOf(paths: RunPaths, commands: readonly string[], current: Current): IterationDetail {
  const { number, transcript, checks } = current;
  const files = paths.iteration(number);
  return {
    number,
    prompt: partOf(files.prompt, PROMPT),
    passages: transcript.passages(),
    passagesLeft: transcript.left(),
    diff: partOf(files.diff, DIFF),
    checks: checks.map(check => ({
      index: check.index,
      command: check.command,
      output: outputOf(files, slugsOf(commands)[check.index], check),
    })),
    errors: partOf(files.agentErrors, ERRORS),
  };
}

/** From the run's own folder, whatever the ledger says of a log: a ledger can be changed to point anywhere. */
function outputOf(files: IterationPaths, slug: string | undefined, check: CheckResult): Part {
  const log = slug === undefined ? undefined : partOf(files.check(slug), OUTPUT, 'tail');
  return log ?? { text: check.output, left: 0, file: '' };
}
