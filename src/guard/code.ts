/** Programs in other languages on a command line: the shell commands in them, and the harm they do by themselves. */
import { skipped } from '../domain/text/wrappers.ts';
import { type Call, isStdin, operands, values } from './call.ts';
import { unescaped } from './printed.ts';

const LANGUAGES: readonly { readonly name: RegExp; readonly flags: readonly string[] }[] = [
  { name: /^(?:python[\d.]*|pypy\d*)$/, flags: ['c'] },
  { name: /^(?:node|nodejs|bun|deno|tsx)$/, flags: ['e', 'p', 'eval', 'print'] },
  { name: /^perl[\d.]*$/, flags: ['e', 'E'] },
  { name: /^ruby[\d.]*$/, flags: ['e'] },
  { name: /^php[\d.]*$/, flags: ['r'] },
  { name: /^(?:lua|luajit|Rscript)$/, flags: ['e'] },
  { name: /^osascript$/, flags: ['e'] },
];

/** The program text that it is given, on its command line or on its stdin. */
export function codeOf(call: Call): string | undefined {
  const { name, args, input } = call;
  if (/^(?:g|m|n)?awk$/.test(name)) return awkCode(call);
  if (name === 'deno' && args[0] === 'eval') return operands(call)[1];
  const language = LANGUAGES.find(each => each.name.test(name));
  if (!language) return undefined;
  // Perl and Ruby take it among other flags: -ne, -pie.
  const given = args.flatMap((word, at) =>
    /^-[a-zA-Z0]*[eEcrp]$/.test(word) && !word.startsWith('--') ? [args[at + 1] ?? ''] : [],
  );
  const code = [...given, ...values(call, ...language.flags)].join('\n');
  if (code !== '') return code;
  return isStdin(operands(call)[0] ?? '-') ? input : undefined;
}

const AWK = { valued: '-v -F --assign --field-separator' };

/** `-f FILE` and `-e TEXT` instead of the first operand. */
function awkCode(call: Call): string | undefined {
  const [text] = values(call, 'e', 'source');
  const [file] = values(call, 'f', 'file');
  if (file === undefined) return text ?? skipped(call.args, AWK)[0];
  return isStdin(file) ? call.input : undefined;
}

/** A call that passes text to a shell or starts a program; awk has pipes. */
const STARTS =
  /\b(?:os\.(?:system|popen|exec\w*|spawn\w*)|subprocess|popen|system|exec(?:Sync|File|FileSync|v|vp|l|lp)?|spawn(?:Sync)?|child_process|shell_exec|passthru|proc_open|Kernel\.|IO\.popen|qx|do shell script|Deno\.Command|Bun\.\$|os\.execute)\b|%x\W|\bopen\b[^;\n]*\||`|\|&?\s*(?:getline\b|")/;
const LITERAL =
  /'''([\s\S]*?)'''|"""([\s\S]*?)"""|'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"|`((?:\\.|[^`\\])*)`|(?:\bq[qxw]?|%[xqQ])\s*[({[<|/!]([^)}\]>|/!]{0,400}(?:[/!|][^)}\]>]{0,400})?)[)}\]>|/!]/g;
const LIST = /[[(]\s*((?:(?:'[^']*'|"[^"]*")\s*,\s*)+(?:'[^']*'|"[^"]*")\s*,?)\s*[\])]/g;

export const startsOthers = (code: string) => STARTS.test(code);

/** What of a program would be run by a shell: its texts, where it starts something at all. A mention is no call. */
export function shellTextsIn(call: Call): readonly string[] {
  const code = codeOf(call);
  if (code === undefined || !startsOthers(code)) return [];
  const texts = [...code.matchAll(LITERAL)].map(
    found => found.slice(1).find(text => text !== undefined) ?? '',
  );
  const lists = [...code.matchAll(LIST)].map(found =>
    [...(found[1] ?? '').matchAll(/'([^']*)'|"([^"]*)"/g)]
      .map(each => quoted(each[1] ?? each[2] ?? ''))
      .join(' '),
  );
  const first = [...code.matchAll(FIRST)].map(found => found[1] ?? found[2] ?? '');
  const plain = texts.map(text => text.replace(/\\(["'`\\])/g, '$1'));
  return [...plain, ...plain.flatMap(decodings), ...lists, ...numbered(code)].filter(isCommand).concat(first);
}

/** What a text is when it is decoded, or turned round. */
function decodings(text: string): readonly string[] {
  const open = text.replace(/\s*\|\s*$/, '');
  return [
    ...(open === text ? [] : [open]),
    ...(text.includes('\\') ? [unescaped(text)] : []),
    ...(/^(?:[0-9a-f]{2}){4,}$/i.test(text) ? [Buffer.from(text, 'hex').toString()] : []),
    ...(/^[\w+/=-]{8,}$/.test(text) ? [Buffer.from(text, 'base64').toString()] : []),
    ...(text.length > LONGEST_TURNED ? [] : [[...text].reverse().join('')]),
  ].flatMap(each => [each, ...[...each.matchAll(LITERAL)].flatMap(found => found.slice(1).filter(Boolean))]);
}

const LONGEST_TURNED = 1_000;

/** A text as a list of the numbers of its letters. */
function numbered(code: string): readonly string[] {
  return [...code.matchAll(/(?:\b\d{2,3}\s*,\s*){4,}\d{2,3}\b/g)].map(([list]) =>
    String.fromCharCode(...list.split(',', LONGEST_TURNED).map(Number)),
  );
}

/** What is the first argument of such a call is a command, even if it is one word. */
const FIRST =
  /\b(?:system|popen|execute|exec(?:Sync)?|shell_exec|passthru)\s*\(\s*(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)")/g;

function quoted(word: string): string {
  return /^[\w@%+=:,./*~-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Words of prose, format strings and names are no commands, and must not be refused as broken ones. */
function isCommand(text: string): boolean {
  return /^\s*[\w./~=-]+(?:\s|$)/.test(text) && !/[\n]{3}/.test(text) && /\s|\//.test(text.trim());
}
