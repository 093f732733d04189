/** The page's data: one run, many of them, or a server to ask. */
import type { IterationDetail, RunReading } from '../report/run-view.ts';
import type { RunsFigures } from '../report/runs-figures.ts';

export type PageData =
  | {
      readonly kind: 'run';
      readonly run: RunReading;
      /** Of a parallel run: those that belong to it. */
      readonly children?: readonly RunReading[];
      readonly version: string;
    }
  | { readonly kind: 'all'; readonly figures: RunsFigures; readonly version: string }
  /** `canStart`: its server starts runs. */
  | { readonly kind: 'dashboard'; readonly version: string; readonly canStart: boolean };

/** null: it was left out to keep the file small. */
export type FindDetail = (iteration: number) => Promise<IterationDetail | null>;

/** The content of a data element of the page. */
export function embedded<Data>(id: string): Data | undefined {
  const text = document.getElementById(id)?.textContent;
  return text ? (JSON.parse(text) as Data) : undefined;
}
