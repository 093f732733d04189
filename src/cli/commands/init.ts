/** `ralph init`: seed 001's dialogue, with proposals from the project. Nothing is written before the last answer. */
import { relative } from 'node:path';
import { createInterface, type Interface } from 'node:readline/promises';
import { PREFERRED } from '../../agents/registry.ts';
import { loadSettings } from '../../config/load.ts';
import { defaultSettings } from '../../config/settings.ts';
import { FAIL_ACTIONS } from '../../domain/checks/check.ts';
import { defined } from '../../domain/text/fields.ts';
import { isProblem } from '../../domain/text/problem.ts';
import { markerOf } from '../../domain/turn/claim.ts';
import { containerOf } from '../../opening/sandbox-spec.ts';
import { errorLine } from '../../platform/error-words.ts';
import { ensureFolder, writeAtomic } from '../../platform/files.ts';
import { joinWords } from '../../platform/shell.ts';
import { duration } from '../../report/numbers.ts';
import { phrase } from '../../report/phrases.ts';
import { isExecutable } from '../../run/turns/choose-agent.ts';
import { DONE_RULES } from '../../run/turns/goal.ts';
import { missingCommands } from '../../run/turns/missing-commands.ts';
import { chooseProvider } from '../../sandbox/choose.ts';
import { keepOutOfGit } from '../../store/mirror.ts';
import { newRunPaths, type ProjectPaths, projectPaths } from '../../store/paths.ts';
import { proposeChecks, proposeOnly, proposeProtect, proposeSetup } from '../../workspace/propose-checks.ts';
import { type Call, type CliCommand, orThrow, refuse } from '../command.ts';
import type { Output } from '../output.ts';
import { untilStopped } from '../signals.ts';

export const init: CliCommand = {
  declare: command =>
    command
      .option('--here', 'make this folder a project of its own, not the root of its repository')
      .option('-y, --yes', 'ask nothing: take what is proposed'),
  help: '\nExamples:\n  ralph init\n  ralph init --yes\n  ralph init --here -C packages/api\n',
  async run({ cwd, root: top, env, options, output }) {
    const root = options.here === true ? cwd : top;
    const project = projectPaths(root);
    const place = { root, env };
    if (options.yes !== true && !(process.stdin.isTTY && process.stdout.isTTY)) {
      const fix = '`ralph init --yes` takes what it finds; docs/reference/settings.md lists the keys';
      refuse('ralph init', 'this command asks questions and needs a terminal', fix);
    }
    const sandbox = sandboxWords(place); // it takes a moment, and meanwhile there is something to do
    const write = async (first: FirstSettings) => {
      const { failing: _, ...settings } = first;
      ensureFolder(project.folder);
      keepOutOfGit(project); // so that the folder can be added as it is
      writeAtomic(project.settings, `${JSON.stringify(settings, null, 2)}\n`, 0o644);
      const file = options.cwd === undefined ? relative(cwd, project.settings) : project.settings;
      for (const words of await sandbox) output.answer(`${words}\n`);
      const next = `${output.us ?? 'ralph'} run ${joinWords(['-p', firstPrompt(first)])}`;
      output.answer(`\nSettings written to ${file}\nNext: ${next}\n`);
    };
    try {
      if (options.yes === true)
        await write(await untilStopped(abort => proposedSettings(project, { ...place, abort }, output)));
      else await inDialogue(project, place, output, write);
      return 0;
    } catch (error) {
      if (!(error instanceof Left)) throw error;
      output.error('\nNothing was written.\n');
      return 130;
    }
  },
};

async function inDialogue(
  project: ProjectPaths,
  place: Omit<Place, 'abort'>,
  output: Output,
  write: (first: FirstSettings) => Promise<void>,
): Promise<void> {
  const dialogue = openDialogue();
  try {
    if (!(await mayWrite(project, dialogue, output))) return;
    await write(await askAll(dialogue, { ...place, abort: dialogue.left }, output));
  } finally {
    dialogue.close();
  }
}

/** Nothing where none works: `ralph doctor` says why. */
async function sandboxWords({ root, env }: Omit<Place, 'abort'>): Promise<readonly string[]> {
  const container = containerOf(defaultSettings('run').sandbox);
  const found = await chooseProvider('auto', { cwd: root, env, container });
  if (isProblem(found) || !found.provider) return [];
  return [`\nA sandbox works here (${found.what}): with --sandbox agent and checks run in it.`];
}

interface FirstSettings extends Readonly<Record<string, unknown>> {
  readonly completionResponse?: string;
  /** Not a setting: the guardrails that fail now. */
  readonly failing: readonly string[];
}

/** A first task that can be given as it stands, where the project has one. */
function firstPrompt({ failing, completionResponse }: FirstSettings): string {
  const task = failing.length === 0 ? 'What to do' : `Make this pass: ${failing.join(', ')}`;
  return `${task}. When it is done, say ${tagWith(completionResponse)}`;
}

/** The tag that a prompt asks for. */
function tagWith(completionResponse?: string): string {
  const { rule } = DONE_RULES.run({ ...defaultSettings('run'), ...defined({ completionResponse }) });
  return markerOf(rule);
}

/** What is the same in every file that is written. */
const ALWAYS = { outputTruncateChars: 5000, streamAgentOutput: true };

async function proposedSettings(project: ProjectPaths, place: Place, output: Output): Promise<FirstSettings> {
  const { files } = loadSettings(project, 'run');
  if (files[0] !== undefined) refuse(files[0], 'it is there already', 'change it, or `ralph init` asks');
  const command = installedAgent(place);
  if (command === undefined) refuse('agent', 'none is installed', '`ralph doctor` says how to install one');
  output.answer(`Agent: ${command}\n`);
  const tried = await tryAll(proposeChecks(place.root), place, output);
  const guardrails = tried.map(each => ({ command: each.command, failAction: 'APPEND' }));
  if (guardrails.length === 0)
    output.answer('No guardrail was found: without one, Ralph has to believe the agent.\n');
  const [protect, setup] = [proposeProtect(place.root), proposeSetup(place.root)];
  if (protect.length > 0)
    output.answer(
      `Protected: ${protect.join(', ')}: the agent may add tests, and not change those that are there.\n`,
    );
  if (setup !== undefined) output.answer(`Setup of a fresh checkout: ${setup}\n`);
  const only = proposeOnly(place.root).map(glob => `--only '${glob}'`);
  if (only.length > 0)
    output.answer(`For the highest level of proof: ${only.join(' ')} --proof sealed --sandbox\n`);
  return {
    maximumIterations: 10,
    ...ALWAYS,
    agent: { command, flags: [] },
    guardrails,
    ...(protect.length > 0 && { protect }),
    ...(setup !== undefined && { setup }),
    failing: failingOf(tried),
  };
}

/** Those that can be run; each is run once, and what it did is said. */
async function tryAll(
  commands: readonly string[],
  place: Place,
  output: Output,
): Promise<readonly TriedCheck[]> {
  const found: TriedCheck[] = [];
  for (const command of commands) {
    const tried = await tryCheck(command, place);
    output.answer(`  ${command}: ${tried.words}${tried.runs ? '' : ' Left out.'}\n`);
    if (tried.runs) found.push(tried);
  }
  return found;
}

function failingOf(tried: readonly TriedCheck[]): readonly string[] {
  return tried.filter(({ fails }) => fails).map(({ command }) => command);
}

/** The user pressed Ctrl-C or Ctrl-D. */
class Left extends Error {}

interface Dialogue {
  ask(question: string): Promise<string>;
  readonly left: AbortSignal;
  close(): void;
}

function openDialogue(): Dialogue {
  const lines: Interface = createInterface({ input: process.stdin, output: process.stdout });
  const leaving = new AbortController();
  const leave = () => leaving.abort();
  lines.once('SIGINT', leave);
  lines.once('close', leave);
  process.once('SIGTERM', leave);
  return {
    left: leaving.signal,
    async ask(question) {
      try {
        return (await lines.question(question, { signal: leaving.signal })).trim();
      } catch (error) {
        if (leaving.signal.aborted) throw new Left();
        throw error;
      }
    },
    close() {
      lines.off('close', leave);
      process.off('SIGTERM', leave);
      lines.close();
    },
  };
}

async function mayWrite(project: ProjectPaths, dialogue: Dialogue, output: Output): Promise<boolean> {
  const { files, fromFiles, problems } = loadSettings(project, 'run');
  if (files.length === 0) return true;
  output.answer(`${JSON.stringify(fromFiles, null, 2)}\n`);
  const overlay = files.length > 1 ? ' (with local overlay from settings.local.json)' : '';
  output.answer(`Loaded from ${files[0]}${overlay}\n`);
  for (const problem of problems) output.answer(`  ${problem.where}: ${problem.what}\n`);
  return isYes(await dialogue.ask('Overwrite? (y/N): '));
}

async function askAll({ ask }: Dialogue, place: Place, output: Output): Promise<FirstSettings> {
  const installed = installedAgent(place);
  if (installed !== undefined) output.answer(`${installed} is installed: Enter takes it.\n`);
  const command = await askUntil(
    ask,
    'Agent command (e.g., claude, codex, amp, or other LLM CLI): ',
    answer => answer || installed,
  );
  const flags = commaList(await ask('Agent flags (comma-separated, optional): '));
  const maximumIterations = await askUntil(ask, 'Maximum iterations [10]: ', answer => {
    const number = answer === '' ? 10 : Number(answer);
    return Number.isSafeInteger(number) && number > 0 ? number : undefined;
  });
  const other = '<response>TEXT</response>';
  output.answer(
    `When it is done, the agent says ${tagWith()}: Enter keeps that.\nWith another text only ${other} counts.\n`,
  );
  const completionResponse = (await ask('Completion response [DONE]: ')) || 'DONE';
  const proposed = await askProposed(ask, place, output);
  const guardrails = [
    ...proposed.map(({ command: each }) => ({ command: each, failAction: 'APPEND' })),
    ...(await askGuardrails(ask, place, output)),
  ];
  const kept = await askKept(ask, place);
  const scm = isYes(await ask('Configure SCM? (y/N): ')) ? await askScm(ask) : undefined;
  return {
    maximumIterations,
    completionResponse,
    ...ALWAYS,
    agent: { command, flags },
    guardrails,
    ...kept,
    ...(scm && { scm }),
    failing: failingOf(proposed),
  };
}

type Ask = Dialogue['ask'];

async function askUntil<Answer>(
  ask: Ask,
  question: string,
  read: (answer: string) => Answer | undefined,
): Promise<Answer> {
  for (;;) {
    const answer = read(await ask(question));
    if (answer !== undefined) return answer;
  }
}

/** What the project has, unless the user does not want it. */
async function askProposed(ask: Ask, place: Place, output: Output): Promise<readonly TriedCheck[]> {
  const commands = proposeChecks(place.root);
  if (commands.length === 0) return [];
  const answer = await ask(
    `This project has ${commands.join(', ')}. Run them now, and add those that work? (Y/n): `,
  );
  if (answer !== '' && !isYes(answer)) return [];
  return tryAll(commands, place, output);
}

/** The tests that the checks rest on, and what makes a checkout ready for them. */
async function askKept(ask: Ask, { root }: Place): Promise<Readonly<Record<string, unknown>>> {
  const wants = async (question: string) => /^(y(es)?)?$/i.test(await ask(`${question} (Y/n): `));
  const [protect, setup] = [proposeProtect(root), proposeSetup(root)];
  return {
    ...(protect.length > 0 &&
      (await wants(`Protect the tests that are there (${protect.join(', ')}) from the agent?`)) && {
        protect,
      }),
    ...(setup !== undefined && (await wants(`Make a fresh checkout ready with \`${setup}\`?`)) && { setup }),
  };
}

async function askGuardrails(
  ask: Ask,
  { root: cwd, env }: Place,
  output: Output,
): Promise<readonly Record<string, string>[]> {
  const guardrails: Record<string, string>[] = [];
  for (;;) {
    const command = await ask('Add guardrail command (leave blank to finish): ');
    if (command === '') return guardrails;
    for (const { what } of missingCommands([command], { cwd, env })) output.answer(`  Note: ${what}\n`);
    const failAction = await askUntil(ask, '  Fail action (APPEND|PREPEND|REPLACE): ', answer =>
      FAIL_ACTIONS.find(action => action === (answer.toUpperCase() || 'APPEND')),
    );
    const hint = await ask('  Hint (optional, guidance for agent on failure): ');
    guardrails.push({ command, failAction, ...(hint && { hint }) });
  }
}

async function askScm(ask: Ask): Promise<Record<string, unknown>> {
  const command = await askUntil(ask, '  SCM command (e.g., git): ', answer => answer || undefined);
  const tasks = commaList(await ask('  SCM tasks (comma-separated, e.g., commit,push): '));
  return { command, tasks };
}

function commaList(answer: string): readonly string[] {
  return answer
    .split(',')
    .map(item => item.trim())
    .filter(item => item !== '');
}

function isYes(answer: string): boolean {
  return /^y(es)?$/i.test(answer);
}

/** What `ralph init` proposes: an agent that is installed, and checks that the project has and that run here. */
interface Place extends Pick<Call, 'env'> {
  readonly root: string;
  /** Ends the check that runs. */
  readonly abort: AbortSignal;
}

function installedAgent({ root, env }: Omit<Place, 'abort'>): string | undefined {
  return PREFERRED.find(name => isExecutable(name, { cwd: root, env }));
}

interface TriedCheck {
  readonly command: string;
  /** It can be run; whether it passes is another question, and the agent's work. */
  readonly runs: boolean;
  readonly fails: boolean;
  /** `passes (1.2s)`. */
  readonly words: string;
}

/** Seconds. */
const PATIENCE = 120;
const CANNOT_RUN: Readonly<Record<number, string>> = {
  126: 'it may not be executed',
  127: 'there is no such command',
};

/** Runs it once, as a run would. */
async function tryCheck(command: string, { root, env, abort }: Place): Promise<TriedCheck> {
  const { proveOutside } = await import('../../opening/prove-outside.ts');
  const project = projectPaths(root, env);
  const world = {
    project,
    env,
    paths: newRunPaths(project, 'init'),
    settings: defaultSettings('run'),
    abort,
  };
  const check = { command, failAction: 'APPEND', timeout: PATIENCE } as const;
  const [ended] = orThrow(await proveOutside({ ...world, emit() {} }, [check]));
  if (!ended) throw new Left();
  const { passed, exitCode, timedOut, output } = ended;
  const time = duration(ended.duration);
  if (passed) return { command, runs: true, fails: false, words: `passes (${time})` };
  if (timedOut)
    return { command, runs: true, fails: false, words: `takes longer than ${duration(PATIENCE)}` };
  const why = CANNOT_RUN[exitCode];
  const line = phrase(errorLine(output));
  if (why !== undefined)
    return { command, runs: false, fails: true, words: `cannot be run: ${why}. ${line}`.trim() };
  return { command, runs: true, fails: true, words: `runs, and fails now (exit code ${exitCode}, ${time})` };
}
