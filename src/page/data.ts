/** The page's data: one run, many of them, or a server to ask. */
import { useEffect, useState } from 'preact/hooks';
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

/** What was found last, asked for again when one of `by` changes; undefined: it is on its way. */
export function useFound<Found>(find: () => Promise<Found>, by: readonly unknown[]): Found | undefined {
  const [found, setFound] = useState<Found>();
  useEffect(() => {
    let isWanted = true;
    find().then(
      one => isWanted && setFound(() => one),
      () => {},
    );
    return () => {
      isWanted = false;
    };
  }, by);
  return found;
}

/** The content of a data element of the page. */
export function embedded<Data>(id: string): Data | undefined {
  const text = document.getElementById(id)?.textContent;
  return text ? (JSON.parse(text) as Data) : undefined;
}
