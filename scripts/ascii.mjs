/** Text that needs two bytes a character takes twice the memory. What is not ASCII stands in strings and patterns: an escape means the same there. */
export function ascii(code) {
  return code.replace(/[^\0-\x7f]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
