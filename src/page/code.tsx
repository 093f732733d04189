/** Words in which what is in backticks is code. */
import type { ComponentChildren } from 'preact';

export function withCode(text: string): ComponentChildren {
  return text.split('`').map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part));
}
