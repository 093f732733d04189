/** What a scripted agent does: data, so that a scenario can be read without running it. */

export interface Scenario {
  /** The first turn whose `when` is in the prompt is played; the last one needs none. */
  readonly turns: readonly ScriptedTurn[];
  /** What it answers when it is asked for a commit message. */
  readonly commitMessage: string;
}

export interface ScriptedTurn {
  readonly when?: string;
  readonly steps: readonly Step[];
}

export type Step =
  | { readonly say: string }
  | { readonly think: string }
  | {
      readonly todo: readonly {
        readonly content: string;
        readonly status: 'pending' | 'in_progress' | 'completed';
      }[];
    }
  | { readonly read: string }
  | { readonly replace: string; readonly old: string; readonly new: string }
  | { readonly shell: string };

export function chooseTurn(scenario: Scenario, prompt: string): ScriptedTurn {
  return scenario.turns.find(turn => turn.when === undefined || prompt.includes(turn.when)) ?? { steps: [] };
}
