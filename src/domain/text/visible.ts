/** What a reader does not see: escape sequences, control characters, marks of no width. */

/**
 * CSI; OSC, DCS, SOS, PM and APC up to their end, or to the end of the line where they have none; any other escape.
 * Only the ESC forms: the one-character C1 forms are dropped alone, since garbled text is full of them and its words should stay.
 */
export const ESCAPE_SEQUENCE =
  /\x1b(?:\[[0-?]*[ -/]*[@-~]?|[\]PX^_][^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?|[ -/]*[0-~]?)/g;

export const INVISIBLE = /[\x00-\x08\x0b-\x1f\x7f-\x9f\p{Default_Ignorable_Code_Point}]/u;
/** What makes a picture of a sign stays behind one. */
const ALL_INVISIBLE = new RegExp(
  `(?<!\\p{Extended_Pictographic}(?=[\\ufe0e\\ufe0f]))${INVISIBLE.source}`,
  'gu',
);

/** Most text holds none of these, and is looked through in no time. */
const UNUSUAL = /[^\t\n\x20-\x7e]/;

/** What stands to be read: `\n`, tabs, and everything that has a shape. */
export function visible(text: string): string {
  if (!UNUSUAL.test(text) || !INVISIBLE.test(text)) return text;
  return text.replace(ESCAPE_SEQUENCE, '').replace(ALL_INVISIBLE, '');
}
