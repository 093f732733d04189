/** The guard in the real CLIs under `ralph loop`: a call is refused, the model is told why, the work goes on, the ledger has it. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { RunEvent } from '../../src/domain/run/event.ts';
import { type HostName, hostCommand } from '../rig/hosts/host.ts';
import { type HostSession, hostSession } from '../rig/hosts/session.ts';
import type { Step } from '../rig/model-server/script.ts';
import { startRalph } from '../rig/ralph.ts';
import { ralphIn } from './in-session.ts';

const COMPLETE = '<promise>COMPLETE</promise>';
const shell = (command: string): Step => ({ tools: [{ do: 'shell', command }] });

interface Ended {
  readonly code: number | null;
  readonly stderr: string;
  readonly session: HostSession;
  readonly ledger: readonly RunEvent[];
  /** What the model was sent, request by request. */
  readonly bodies: readonly string[];
}

interface How {
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly flags?: readonly string[];
  /** Before the loop starts. */
  readonly before?: (session: HostSession) => Promise<unknown>;
}

async function loop(name: HostName, steps: readonly Step[], how: How = {}): Promise<Ended> {
  const session = await hostSession(name, { steps });
  onTestFinished(() => session.close());
  const { repo, env, home } = session.place;
  mkdirSync(join(home, 'precious'));
  await how.before?.(session);
  const agent = { command: hostCommand(name), adapter: name, flags: how.flags ?? session.flags };
  mkdirSync(join(repo, '.ralph'), { recursive: true });
  writeFileSync(join(repo, '.ralph/settings.json'), JSON.stringify({ agent, ...how.settings }));
  const args = ['loop', 'Make made.txt', '--check', 'cat made.txt', '--max-iterations', '2', '--json'];
  const { code, stderr } = await startRalph(args, { cwd: repo, env: { ...env, ...session.env } }).finished;
  const runs = join(repo, '.ralph/runs');
  const [run = ''] = readdirSync(runs);
  const lines = readFileSync(join(runs, run, 'events.jsonl'), 'utf8')
    .trimEnd()
    .split('\n');
  const requests = session.server.requests.filter(request => request.kind === 'step');
  return {
    code,
    stderr,
    session,
    ledger: lines.map(line => JSON.parse(line)),
    bodies: requests.map(request => request.body),
  };
}

const refusals = (ledger: readonly RunEvent[]) =>
  ledger.flatMap(event =>
    event.type === 'violation' && event.violation.refused ? [event.violation.what] : [],
  );

/** Gemini CLI and OpenCode take no hooks for one process: there the plugin guards. */
const PLUGIN: Readonly<Partial<Record<HostName, How>>> = {
  gemini: { before: session => ralphIn(session, ['plugin', 'install', 'gemini']) },
  opencode: {
    async before(session) {
      await ralphIn(session, ['plugin', 'install', 'opencode']);
      const { place } = session;
      // Else it would look for a network to install its own package.
      const lock = {
        name: 'opencode',
        lockfileVersion: 3,
        packages: { '': { dependencies: { '@opencode-ai/plugin': '*' } } },
      };
      await place.writeHome('.config/opencode/package-lock.json', lock);
      await place.writeHome('.config/opencode/node_modules/.keep', '');
    },
  },
};

describe.each(['claude', 'codex', 'qwen', 'copilot', 'gemini', 'opencode'] as const)('%s', name => {
  test('is refused what is dangerous, told why, and goes on with the rest', async () => {
    const steps = [
      shell('rm -rf ~/precious'),
      shell('bash -c "rm${IFS}-rf $HOME/precious"'),
      shell('git reset --hard'),
      shell('echo made > made.txt'),
      { text: COMPLETE },
    ];
    const { code, ledger, bodies, session } = await loop(name, steps, PLUGIN[name]);
    expect(code).toBe(0);
    expect(existsSync(join(session.place.home, 'precious'))).toBe(true);
    expect(bodies[1]).toContain("Ralph's guard refused this");
    expect(bodies[1]).toContain('it deletes what is outside the project');
    expect(refusals(ledger)).toHaveLength(2);
    expect(ledger).toContainEqual(
      expect.objectContaining({ type: 'notice', text: expect.stringContaining('git-reset-hard') }),
    );
  });
});

describe('claude', () => {
  test('a file that it must not write is refused, too, and one that it may is written', async () => {
    const session: { repo?: string } = {};
    const before = async ({ place }: HostSession) => {
      session.repo = place.repo;
    };
    const steps: Step[] = [
      { tools: [{ name: 'Write', input: { file_path: '.git/hooks/pre-commit', content: 'x' } }] },
      { tools: [{ name: 'Write', input: { file_path: 'test/a.test.ts', content: 'x' } }] },
      shell('echo made > made.txt'),
      { text: COMPLETE },
    ];
    const { code, ledger } = await loop('claude', steps, { before, settings: { protect: ['test/**'] } });
    expect(code).toBe(0);
    expect(refusals(ledger)).toEqual([
      expect.stringContaining('write-git'),
      expect.stringContaining('write-protected'),
    ]);
    expect(existsSync(join(session.repo ?? '', 'test/a.test.ts'))).toBe(false);
  });

  test('asks the run itself once it has told its version, and is refused and told as before', async () => {
    const steps = [
      shell('echo one > one.txt'),
      { text: 'not yet' },
      shell('rm -rf ~/precious'),
      shell('git clean -fd'),
      shell('echo made > made.txt'),
      { text: COMPLETE },
    ];
    const { code, ledger, bodies, session } = await loop('claude', steps);
    expect(code).toBe(0);
    expect(existsSync(join(session.place.home, 'precious'))).toBe(true);
    expect(refusals(ledger)).toHaveLength(1);
    expect(bodies[3]).toContain("Ralph's guard refused this");
    expect(bodies[4]).toContain("Ralph's guard let this pass, with a warning");
    expect(ledger).toContainEqual(
      expect.objectContaining({
        type: 'agent',
        event: expect.objectContaining({ version: expect.any(String) }),
      }),
    );
    expect(JSON.stringify(ledger)).not.toContain('did not reach');
  });

  test('the warning reaches the model, and the call runs', async () => {
    const steps = [shell('git clean -fd && echo made > made.txt'), { text: COMPLETE }];
    const { code, bodies } = await loop('claude', steps);
    expect(code).toBe(0);
    expect(bodies[1]).toContain("Ralph's guard let this pass, with a warning");
  });

  test('with the guard off nothing is judged, and the start says so', async () => {
    const steps = [shell('rm -rf ~/precious; echo made > made.txt'), { text: COMPLETE }];
    const { ledger, session } = await loop('claude', steps, { settings: { guard: { enabled: false } } });
    expect(existsSync(join(session.place.home, 'precious'))).toBe(false);
    expect(ledger).toContainEqual(expect.objectContaining({ text: 'The guard is off.' }));
  });
});
