/** What can go wrong with an agent, each as a scenario: first the trouble, then an agent that does as it should. */
import type { Scenario, Step } from '../scenario.ts';

export const TROUBLES = ['limit', 'hang', 'lie', 'echo', 'crash', 'flood', 'tamper'] as const;
export type TroubleName = (typeof TROUBLES)[number];

export interface SimulatedProject {
  /** What the agent says when it is done: the tag of the settings. */
  readonly claim: string;
  /** A file of the project that nobody protects: it is emptied by the lie. */
  readonly victim: string | undefined;
  /** A file that should not be the agent's to change. */
  readonly guarded: string | undefined;
}

export const TITLES: Readonly<Record<TroubleName, string>> = {
  limit: 'the agent is rate-limited for two seconds',
  hang: 'the agent hangs in the middle of its turn',
  lie: 'the agent empties a file and says that it is done',
  echo: 'the agent repeats its prompt, the completion tag included',
  crash: 'the agent crashes in the middle of its turn',
  flood: 'the agent prints twenty megabytes',
  tamper: 'the agent changes a file that it should not, and says that it is done',
};

/** An agent that makes no trouble at all. */
export function createHonestScenario({ claim }: SimulatedProject): Scenario {
  return scenario([{ shell: 'true' }, { say: `Done. ${claim}` }]);
}

export function createScenario(trouble: TroubleName, project: SimulatedProject): Scenario {
  const good: readonly Step[] = [{ shell: 'true' }, { say: `Done. ${project.claim}` }];
  return scenario(STEPS[trouble](project), [...fixes(trouble, project), ...good]);
}

function scenario(...turns: readonly (readonly Step[])[]): Scenario {
  return { commitMessage: 'Simulated work', inOrder: true, turns: turns.map(steps => ({ steps })) };
}

const BEGIN: Step = { say: 'I will look at it.' };

const STEPS: Readonly<Record<TroubleName, (project: SimulatedProject) => readonly Step[]>> = {
  limit: () => [{ limit: 2 }],
  hang: () => [BEGIN, { hang: true }],
  lie: ({ claim, victim }) => [emptied(victim), { say: `All done. ${claim}` }],
  echo: () => [BEGIN, { echo: true }, { say: 'That is what I was asked to do.' }],
  crash: () => [BEGIN, { crash: 3 }],
  flood: () => [BEGIN, { flood: 20 }, { say: 'That was a lot.' }],
  tamper: ({ claim, guarded }) => [emptied(guarded), { say: `All done. ${claim}` }],
};

function emptied(path: string | undefined): Step {
  return path === undefined ? { shell: 'true' } : { write: path, content: '' };
}

/** What an honest agent does when a check is red. */
function fixes(trouble: TroubleName, { victim }: SimulatedProject): readonly Step[] {
  if (trouble !== 'lie' || victim === undefined) return [];
  return [{ shell: `git checkout HEAD -- ${quoted(victim)}` }];
}

function quoted(path: string): string {
  return `'${path.replaceAll("'", "'\\''")}'`;
}
