/** What a reader does not see: escape sequences, control characters, marks of no width. */

/**
 * CSI; OSC, DCS, SOS, PM and APC up to their end, or to the end of the line where they have none; any other escape.
 * Only the ESC forms: the one-character C1 forms are dropped alone, since garbled text is full of them and its words should stay.
 */
export const ESCAPE_SEQUENCE =
  /\x1b(?:\[[0-?]*[ -/]*[@-~]?|[\]PX^_][^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?|[ -/]*[0-~]?)/g;

/** Whether any of these signs is. Made when it is first asked for: to look up a property of all signs takes a while. */
export function holdsInvisible(text: string): boolean {
  return patterns().one.test(text);
}

let made: { readonly one: RegExp; readonly all: RegExp } | undefined;

function patterns() {
  const one = '[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\p{Default_Ignorable_Code_Point}]';
  // What makes a picture of a sign stays behind one.
  const behind = '(?<!\\p{Extended_Pictographic}(?=[\\ufe0e\\ufe0f]))';
  made ??= { one: new RegExp(one, 'u'), all: new RegExp(behind + one, 'gu') };
  return made;
}

/** Most text holds none of these, and is looked through in no time. */
const UNUSUAL = /[^\t\n\x20-\x7e]/;

/** What stands to be read: `\n`, tabs, and everything that has a shape. */
export function visible(text: string): string {
  if (!UNUSUAL.test(text) || !holdsInvisible(text)) return text;
  return text.replace(ESCAPE_SEQUENCE, '').replace(patterns().all, '');
}
