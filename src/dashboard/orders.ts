/** Orders from the page: checked here, executed like the commands of the terminal. */
import { LONGEST_HINT, type Order } from '../store/steering.ts';

/** undefined: not a valid order. */
export function readOrder(body: string): Order | undefined {
  const value = parse(body);
  if (typeof value !== 'object' || value === null || !('kind' in value)) return undefined;
  switch (value.kind) {
    case 'pause':
    case 'continue':
      return { kind: value.kind };
    case 'cancel':
      return { kind: 'cancel', gently: 'gently' in value && value.gently === true };
    case 'tell': {
      const hint = 'hint' in value && typeof value.hint === 'string' ? value.hint : '';
      return hint.trim() === '' || hint.length > LONGEST_HINT ? undefined : { kind: 'tell', hint };
    }
    default:
      return undefined;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
