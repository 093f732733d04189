/** A list of any length of which only what can be seen is in the document. Rows may be of any height and may grow. */
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useReducer, useRef } from 'preact/hooks';

interface WindowedProps {
  readonly label: string;
  /** One for each row; heights are remembered by it. */
  readonly keys: readonly number[];
  /** How high a row is that was never seen. */
  readonly guess: number;
  readonly row: (at: number) => ComponentChildren;
  /** The row to bring into view. */
  readonly wanted: number | undefined;
  readonly onShown: () => void;
}

const BEYOND = 600;
/** So many rows are all in the document: they can be searched and printed. */
const FEW = 200;

export function Windowed({ label, keys, guess, row, wanted, onShown }: WindowedProps) {
  const list = useRef<HTMLOListElement>(null);
  const heights = useRef(new Map<number, number>());
  const [, repaint] = useReducer((count: number) => count + 1, 0);
  useScrolling(repaint);

  const heightOf = (key: number) => heights.current.get(key) ?? guess;
  const { first, last, before, after } =
    keys.length <= FEW
      ? { first: 0, last: keys.length, before: 0, after: 0 }
      : seen(keys, heightOf, list.current?.getBoundingClientRect().top ?? 0);

  useLayoutEffect(() => {
    let changed = false;
    for (const item of list.current?.querySelectorAll<HTMLElement>(':scope > li[data-key]') ?? []) {
      const key = Number(item.dataset.key);
      const height = item.getBoundingClientRect().height;
      if (Math.abs(heightOf(key) - height) > 0.5) {
        heights.current.set(key, height);
        changed = true;
      }
    }
    if (changed) repaint(undefined);
  });
  useGrowth(list, repaint);
  useEffect(() => {
    const at = wanted === undefined ? -1 : keys.indexOf(wanted);
    if (at === -1 || !list.current) return;
    const top = keys.slice(0, at).reduce((sum, key) => sum + heightOf(key), 0);
    scrollTo({ top: scrollY + list.current.getBoundingClientRect().top + top - 80 });
    repaint(undefined);
    const focus = () => list.current?.querySelector<HTMLElement>(`li[data-key="${wanted}"] button`)?.focus();
    const timer = setTimeout(() => {
      focus();
      onShown();
    }, 50);
    return () => clearTimeout(timer);
  }, [wanted]);

  return (
    <ol class="windowed" ref={list} aria-label={label}>
      {before > 0 && <li aria-hidden="true" class="spacer" style={{ height: `${before}px` }} />}
      {keys.slice(first, last).map((key, at) => (
        <li key={key} data-key={key} aria-setsize={keys.length} aria-posinset={first + at + 1}>
          {row(first + at)}
        </li>
      ))}
      {after > 0 && <li aria-hidden="true" class="spacer" style={{ height: `${after}px` }} />}
    </ol>
  );
}

/** Which rows can be seen, and how much there is above and below them. */
function seen(keys: readonly number[], heightOf: (key: number) => number, top: number) {
  const from = -top - BEYOND;
  const to = -top + innerHeight + BEYOND;
  let offset = 0;
  let first = keys.length;
  let last = keys.length;
  let before = 0;
  let end = 0;
  keys.forEach((key, at) => {
    const next = offset + heightOf(key);
    if (next >= from && first === keys.length) {
      first = at;
      before = offset;
    }
    if (offset <= to) {
      last = at + 1;
      end = next;
    }
    offset = next;
  });
  if (first >= last) first = Math.max(0, last - 1);
  return { first, last, before, after: offset - end };
}

function useScrolling(repaint: (nothing: undefined) => void): void {
  useEffect(() => {
    let asked = 0;
    const ask = () => {
      cancelAnimationFrame(asked);
      asked = requestAnimationFrame(() => repaint(undefined));
    };
    addEventListener('scroll', ask, { passive: true });
    addEventListener('resize', ask);
    ask();
    return () => {
      cancelAnimationFrame(asked);
      removeEventListener('scroll', ask);
      removeEventListener('resize', ask);
    };
  }, []);
}

/** A row that is opened grows without anything being drawn anew. */
function useGrowth(
  list: { readonly current: HTMLElement | null },
  repaint: (nothing: undefined) => void,
): void {
  useEffect(() => {
    if (!list.current) return;
    const observer = new ResizeObserver(() => repaint(undefined));
    observer.observe(list.current);
    return () => observer.disconnect();
  }, []);
}
