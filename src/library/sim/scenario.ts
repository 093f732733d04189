/** What a scripted agent does: data, so that a scenario can be read without running it. */

export interface Scenario {
  /** The first turn whose `when` is in the prompt is played; the last one needs none. */
  readonly turns: readonly ScriptedTurn[];
  /** The nth call plays the nth turn instead, later ones the last. */
  readonly inOrder?: true;
  /** What it answers when it is asked for a commit message. */
  readonly commitMessage: string;
}

export interface ScriptedTurn {
  readonly when?: string;
  readonly steps: readonly Step[];
}

export type Step =
  | { readonly say: string }
  | {
      readonly todo: readonly {
        readonly content: string;
        readonly status: 'pending' | 'in_progress' | 'completed';
      }[];
    }
  | { readonly read: string }
  | { readonly replace: string; readonly old: string; readonly new: string }
  | { readonly shell: string }
  | { readonly write: string; readonly content: string }
  /** Ends the turn as a client does at its rate limit, which resets after so many seconds. */
  | { readonly limit: number }
  /** Never says another word. */
  | { readonly hang: true }
  /** Gone, without an end to its stream. */
  | { readonly crash: number }
  /** Prints so many megabytes of a tool's output. */
  | { readonly flood: number }
  /** Reads its own prompt aloud: in its thoughts and in a tool's output, which are not its own words. */
  | { readonly echo: true };

/** `call` counts from 0. */
export function chooseTurn(scenario: Scenario, prompt: string, call = 0): ScriptedTurn {
  if (scenario.inOrder) return scenario.turns[Math.min(call, scenario.turns.length - 1)] ?? { steps: [] };
  return scenario.turns.find(turn => turn.when === undefined || prompt.includes(turn.when)) ?? { steps: [] };
}
