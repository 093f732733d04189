/** Stands in for `width.ts` in a browser, which has no columns: a sentence is only cut where it would be far too long. */
export function stringWidth(text: string): number {
  return text.length;
}
