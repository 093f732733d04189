/** `ralph init`: seed 001's dialogue. Nothing is written before the last answer. */
import { relative } from 'node:path';
import { createInterface, type Interface } from 'node:readline/promises';
import { loadSettings } from '../../config/load.ts';
import { FAIL_ACTIONS } from '../../domain/check.ts';
import { ensureFolder, writeAtomic } from '../../platform/files.ts';
import { type ProjectPaths, projectPaths } from '../../store/paths.ts';
import { type CliCommand, refuse } from '../command.ts';
import type { Output } from '../output.ts';

export const init: CliCommand = {
  declare(command) {
    command
      .option('--here', 'make this folder a project of its own, not the root of its repository')
      .addHelpText('after', '\nExamples:\n  ralph init\n  ralph init --here -C packages/api\n');
  },
  async run({ cwd, root, options, output }) {
    if (!process.stdin.isTTY || !process.stdout.isTTY) {
      const fix = 'write .ralph/settings.json by hand; docs/reference/settings.md lists the keys';
      refuse('ralph init', 'this command asks questions and needs a terminal', fix);
    }
    const project = projectPaths(options.here === true ? cwd : root);
    const dialogue = openDialogue();
    try {
      if (!(await mayWrite(project, dialogue, output))) return 0;
      const settings = await askAll(dialogue);
      ensureFolder(project.folder);
      writeAtomic(project.settings, `${JSON.stringify(settings, null, 2)}\n`, 0o644);
      output.answer(`\nSettings written to ${relative(cwd, project.settings)}\n`);
      return 0;
    } catch (error) {
      if (!(error instanceof Left)) throw error;
      output.error('\nNothing was written.\n');
      return 130;
    } finally {
      dialogue.close();
    }
  },
};

/** The user pressed Ctrl-C or Ctrl-D. */
class Left extends Error {}

interface Dialogue {
  ask(question: string): Promise<string>;
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

async function askAll({ ask }: Dialogue): Promise<Record<string, unknown>> {
  const command = await askUntil(
    ask,
    'Agent command (e.g., claude, codex, amp, or other LLM CLI): ',
    answer => answer || undefined,
  );
  const flags = commaList(await ask('Agent flags (comma-separated, optional): '));
  const maximumIterations = await askUntil(ask, 'Maximum iterations [10]: ', answer => {
    const number = answer === '' ? 10 : Number(answer);
    return Number.isSafeInteger(number) && number > 0 ? number : undefined;
  });
  const completionResponse = (await ask('Completion response [DONE]: ')) || 'DONE';
  const guardrails = await askGuardrails(ask);
  const scm = isYes(await ask('Configure SCM? (y/N): ')) ? await askScm(ask) : undefined;
  return {
    maximumIterations,
    completionResponse,
    outputTruncateChars: 5000,
    streamAgentOutput: true,
    agent: { command, flags },
    guardrails,
    ...(scm && { scm }),
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

async function askGuardrails(ask: Ask): Promise<readonly Record<string, string>[]> {
  const guardrails: Record<string, string>[] = [];
  for (;;) {
    const command = await ask('Add guardrail command (leave blank to finish): ');
    if (command === '') return guardrails;
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
