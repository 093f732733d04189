/** What a command would print, for the few commands of which that can be known: it is how text becomes a command. */
import { type Call, operands, UNKNOWN } from './call.ts';

export function printed(call: Call): string | undefined {
  const { name, args, input, cwd } = call;
  switch (name) {
    case 'echo': {
      const text = args.filter(word => !/^-[neE]+$/.test(word)).join(' ');
      return `${args.some(word => /^-[nE]*e/.test(word)) ? unescaped(text) : text}\n`;
    }
    case 'printf':
      return formatted(args[0] === '--' ? args.slice(1) : args);
    case 'cat':
    case 'tee':
      return name === 'tee' || operands(call).every(word => word === '-') ? input : undefined;
    case 'base64':
    case 'base32':
      return /^-(?:d|D|-decode)/.test(args.find(word => word.startsWith('-')) ?? '')
        ? decoded(input, 'base64')
        : undefined;
    case 'xxd':
      return args.some(word => /^-.*r/.test(word)) ? decoded(input, 'hex') : undefined;
    case 'rev':
      return input
        ?.split('\n')
        .map(line => [...line].reverse().join(''))
        .join('\n');
    case 'pwd':
      return cwd;
    case 'which':
    case 'command':
      return operands(call).at(-1);
    case 'dirname':
      return operands(call)[0]?.replace(/\/[^/]*\/?$/, '') || '/';
    case 'mktemp':
      return `/tmp/${UNKNOWN}`;
    case 'git':
      return args.join(' ') === 'rev-parse --show-toplevel' ? (cwd ?? UNKNOWN) : undefined;
    default:
      return undefined;
  }
}

function decoded(input: string | undefined, as: 'base64' | 'hex'): string | undefined {
  return input === undefined ? undefined : Buffer.from(input.replace(/\s+/g, ''), as).toString('utf8');
}

/** Letters that are written by their numbers. */
export function unescaped(text: string): string {
  return text.replace(
    /\\(?:x([0-9a-fA-F]{1,2})|0?([0-7]{1,3})|u([0-9a-fA-F]{1,4})|(.))/g,
    (_, hex, octal, unicode, plain) => {
      if (hex ?? unicode) return String.fromCharCode(Number.parseInt(hex ?? unicode, 16));
      if (octal) return String.fromCharCode(Number.parseInt(octal, 8));
      return { n: '\n', t: '\t', r: '\r' }[plain as string] ?? plain;
    },
  );
}

/** The format is used again while there are values left. */
function formatted([format = '', ...values]: readonly string[]): string {
  const pattern = unescaped(format);
  let at = 0;
  let text = '';
  do {
    text += pattern.replace(/%(?:[-+ #0-9.]*)([a-zA-Z%])/g, (_, kind) => {
      if (kind === '%') return '%';
      const value = values[at++] ?? '';
      return kind === 'b' ? unescaped(value) : value;
    });
  } while (at > 0 && at < values.length && text.length < LONGEST);
  return text;
}

const LONGEST = 100_000;
