/**
 * The process in which @anthropic-ai/sandbox-runtime lives. It is a singleton with proxies of its own and binds things into
 * whatever its working folder is: so it gets a process to itself, started in an empty folder, that ends with Ralph.
 */
import type { SpawnSyncOptions } from 'node:child_process';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import type { SandboxManager as Manager, SandboxRuntimeConfig } from '@anthropic-ai/sandbox-runtime';
import type { FromHelper } from '../platform/helper.ts';

export type Question =
  | { readonly do: 'open'; readonly config: SrtConfig }
  | {
      readonly do: 'wrap';
      readonly id: string;
      readonly command: string;
      /** As they are now. */
      readonly files: SrtConfig['filesystem'];
    };

/** Without `allowedDomains` the network is not confined; the types of the package do not know that. */
export type SrtConfig = Omit<SandboxRuntimeConfig, 'network'> & {
  readonly network: Partial<SandboxRuntimeConfig['network']>;
};

/** Not a literal: a bundler must leave it alone, and where it is not installed Ralph says so. */
const PACKAGE = '@anthropic-ai/sandbox-runtime';
let manager: typeof Manager | undefined;

/** The package gives `which` a second, and takes a program for missing that a busy machine finds later. */
const PATIENCE = 60_000;
const processes: typeof import('node:child_process') = createRequire(__filename)('node:child_process');
const { spawnSync } = processes;
processes.spawnSync = ((program: string, args: readonly string[], options?: SpawnSyncOptions) =>
  spawnSync(program, args, {
    ...options,
    ...(options?.timeout !== undefined && { timeout: Math.max(options.timeout, PATIENCE) }),
  })) as typeof spawnSync;
syncBuiltinESMExports();

async function answer(question: Question): Promise<unknown> {
  if (question.do === 'open') return open(question.config);
  if (!manager) throw new Error('it has not been opened');
  const options = { commandId: question.id, commandText: question.id };
  const { argv } = await manager.wrapWithSandboxArgv(
    question.command,
    'bash',
    { filesystem: question.files },
    undefined,
    undefined,
    options,
  );
  return argv;
}

async function open(config: SrtConfig): Promise<void> {
  ({ SandboxManager: manager } = (await import(PACKAGE)) as { SandboxManager: typeof Manager });
  const { errors } = manager.checkDependencies();
  if (errors.length > 0) throw new Error(errors.join('; '));
  await manager.initialize(config as SandboxRuntimeConfig, undefined, true);
  let reported = 0;
  const store = manager.getSandboxViolationStore();
  store.subscribe(kept => {
    const fresh = store.getTotalCount() - reported;
    reported += fresh;
    if (fresh > 0) for (const { line } of kept.slice(-fresh)) say({ message: line });
  });
}

function say(message: FromHelper): void {
  process.send?.(message);
}

process.on('message', ({ number, question }: { readonly number: number; readonly question: Question }) => {
  answer(question).then(
    ok => say({ answer: number, ok }),
    (error: unknown) =>
      say({ answer: number, error: error instanceof Error ? error.message : String(error) }),
  );
});

process.on('disconnect', async () => {
  await manager?.reset().catch(() => {});
  process.exitCode = 0;
  process.exit();
});
