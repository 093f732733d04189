/** The schema of a fleet's database, as the steps that lead to it. A step that was released is never changed; another follows it. */

export interface Migration {
  /** 1, 2, 3 … */
  readonly version: number;
  readonly name: string;
  /** The oldest schema whose programs still work with the database after this step: of a Ralph that knows no later one. */
  readonly minVersion: number;
  /** Statements, separated by semicolons. All steps that are missing run in one transaction. */
  readonly sql: string;
}

export const MIGRATIONS: readonly Migration[] = [];
