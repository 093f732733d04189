/** A check is a command that Ralph itself runs to see whether the work is right. Seed 001 calls it a guardrail. */

/** What a red check does to the next prompt of `ralph run`. */
export type FailAction = 'APPEND' | 'PREPEND' | 'REPLACE';

export const FAIL_ACTIONS = ['APPEND', 'PREPEND', 'REPLACE'] as const satisfies readonly FailAction[];

/** A check as it is run. */
export interface Check {
  readonly command: string;
  readonly failAction: FailAction;
  /** Guidance for the agent when the check is red. Never cut. */
  readonly hint?: string;
  /** Seconds after which the whole process tree is ended. 0: no limit. */
  readonly timeout: number;
  /** It is no command but a function of the program that uses the library; `command` is how it is shown. */
  readonly call?: CheckFunction;
}

/** What a program knows of a check that the settings only name. */
export type OwnCheck = Pick<Check, 'command'> & Partial<Check>;

/** What a check that is a function is given. */
export interface CheckContext {
  /** Where the work is: the project, a worktree, or a clean checkout of what is handed over. */
  readonly cwd: string;
  /** Counted from 1; 0: before the first iteration. */
  readonly iteration: number;
  /** As commands get it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** It runs in a clean checkout. */
  readonly clean: boolean;
  /** Fired when its time is up or the run ends. What it does afterwards is not waited for. */
  readonly signal: AbortSignal;
}

/** What a check that is a function has found. */
export interface CheckOutcome {
  readonly passed: boolean;
  /** What the agent should know of it; the last 2,000 characters reach its next prompt. */
  readonly output?: string;
}

/** Only an outcome with `passed: true` is green: one that throws is red, with its error as the output. */
export type CheckFunction = (context: CheckContext) => Promise<CheckOutcome> | CheckOutcome;

/** What became of a check in an iteration. */
export interface CheckResult extends Pick<Check, 'command' | 'failAction' | 'hint'> {
  /** Position in the configuration: results are reported in this order, whichever finished first. */
  readonly index: number;
  readonly passed: boolean;
  /** Red before the first iteration and excused for it: reported, but it does not gate. */
  readonly ungated?: true;
  /** Why it counts as red whatever its exit code: what it rests on did not stay as it was. */
  readonly voided?: string;
  /** It ran in a clean checkout of the tree that is handed over. */
  readonly clean?: true;
  /** It ran on what is committed, which is without these of the work tree, each with the reason. */
  readonly without?: readonly string[];
  /** It is no check: it made the clean checkout ready. */
  readonly isSetup?: true;
  /** It failed first and passed when it was run again: how often it failed. */
  readonly flaked?: number;
  /** 128 + n when signal n ended it, 127 when there is no such command. */
  readonly exitCode: number;
  readonly timedOut: boolean;
  /** Seconds. */
  readonly duration: number;
  /** What it printed, stdout and stderr as they came, cut for the prompt. */
  readonly output: string;
  readonly outputCut: boolean;
  /** How many tests its runner says that it ran; absent: it does not say, or it is none that we know. */
  readonly tests?: number;
  /** Of a red one: how many tests its runner says have failed, else how many failures it printed; absent: nothing is known to be one. */
  readonly failures?: number;
  /** Where the whole output is, relative to the project. */
  readonly logFile: string;
  /** The SHA-256 of the whole output as it was kept; absent: recorded before this was. */
  readonly logHash?: string;
}

/** What stands in the place of a check where there is no place for one. */
export const CLEAN_CHECKOUT = 'clean checkout';

/** Why no clean checkout could be made, where that is so: nothing that an agent does changes it. */
export function whyUnmade(checks: readonly CheckResult[]): string | undefined {
  return checks.find(({ isSetup, command, index }) => isSetup && index < 0 && command === CLEAN_CHECKOUT)
    ?.voided;
}

/** Every check that gates is green. */
export function isGreen(checks: readonly CheckResult[]): boolean {
  return checks.every(isFine);
}

/** The checks that gate and are red, as they are configured. */
export function redChecks(checks: readonly CheckResult[]): readonly CheckResult[] {
  return checks.filter(check => !isFine(check)).sort((a, b) => a.index - b.index);
}

/** What is void proves nothing, and is excused by nothing. */
function isFine({ passed, ungated, voided }: CheckResult): boolean {
  return voided === undefined && (passed || ungated === true);
}

/** A file-name-safe short form of a command: `./mvnw clean install -T 2C` → `mvnw_clean_install_T_2C`. */
export function slugOf(command: string): string {
  const slug = command
    .replace(/[^A-Za-z0-9]+/g, '_')
    .replace(/^_+/, '')
    .slice(0, 50)
    .replace(/_+$/, '');
  return slug === '' ? 'check' : slug;
}

/** Two commands may have the same short form; their logs must not overwrite each other. */
export function slugsOf(commands: readonly string[]): readonly string[] {
  const taken = new Set<string>();
  return commands.map(command => {
    const slug = slugOf(command);
    let name = slug;
    for (let number = 2; taken.has(name); number++) name = `${slug}_${number}`;
    taken.add(name);
    return name;
  });
}
