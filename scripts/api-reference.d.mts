export interface ApiEntry {
  readonly name: string;
  readonly doc: string;
}
export function apiEntries(): readonly ApiEntry[];
export function apiReference(): string;
