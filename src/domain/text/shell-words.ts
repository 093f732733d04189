/** The simple commands of a shell's line, as far as they can be known without running it: nothing is expanded. */

/** Words, operators, redirections and comments, in the order in which a shell would take them. */
const TOKENS =
  /'([^']*)'|"((?:\\[\s\S]|\$\((?:[^()"]|"[^"]{0,200}"|\([^()]*\)){0,300}\)|\$(?!\()|[^"\\$])*)"|\\([\s\S])|(\d*(?:[<>]&(?:\d+|-)|<<<|<<-?|>>|>\||[<>]&?|&>>?))|(\n|&&|\|\||;;?|[|&()])|([ \t\r]+)|((?:[^\s'"\\;&|()<>])+)|([\s\S])/g;

export type Words = readonly string[];

export interface SimpleCommand {
  /** With its assignments and without its redirections. */
  readonly words: Words;
  /** How many brackets are open around it. */
  readonly depth: number;
  /** Files that it gets on its stdin. */
  readonly reads: Words;
  /** What it gets there as text: here-documents and here-strings. */
  readonly texts: Words;
}

/** In order: `cd x && A=1 npm test` has two. */
export function simpleCommands(line: string): readonly Words[] {
  return readCommands(line)
    .map(({ words }) => words)
    .filter(words => words.length > 0);
}

export function readCommands(line: string): readonly SimpleCommand[] {
  const reading = startReading();
  const tokens = new RegExp(TOKENS);
  let isComment = false;
  for (let token = tokens.exec(line); token; token = tokens.exec(line)) {
    const [, single, double, escaped, redirection, operator, space, plain, stray] = token;
    if (isComment && operator !== '\n') continue;
    isComment = !reading.isInWord() && plain?.startsWith('#') === true;
    if (isComment || escaped === '\n') continue;
    if (redirection !== undefined) reading.redirect(redirection);
    else if (operator !== undefined) {
      reading.endCommand(operator);
      if (operator === '\n') tokens.lastIndex = reading.takeDocuments(line, tokens.lastIndex);
    } else if (space !== undefined) reading.endWord();
    else reading.add(single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? plain ?? stray ?? '');
  }
  reading.endWord();
  return reading.commands;
}

function startReading() {
  const empty = (depth: number) => ({ words: [], depth, reads: [], texts: [] }) as Open;
  const commands: Open[] = [empty(0)];
  let documents: { readonly end: string; readonly of: Open }[] = [];
  let word: string | undefined;
  let into: string | undefined;
  const last = () => commands.at(-1) ?? empty(0);
  const endWord = () => {
    if (word === undefined) return;
    if (into === undefined) last().words.push(word);
    else if (into === '<') last().reads.push(word);
    else if (into === '<<<') last().texts.push(word);
    else if (into.startsWith('<<')) documents.push({ end: word, of: last() });
    word = into = undefined;
  };
  return {
    commands,
    endWord,
    isInWord: () => word !== undefined,
    add(text: string): void {
      word = (word ?? '') + text;
    },
    redirect(sign: string): void {
      endWord();
      into = /&(\d+|-)$/.test(sign) ? undefined : sign.replace(/^\d+/, '');
    },
    endCommand(operator: string): void {
      endWord();
      into = undefined;
      const { depth } = last();
      commands.push(empty(operator === '(' ? depth + 1 : operator === ')' ? Math.max(0, depth - 1) : depth));
    },
    /** Those that begin in the line that has just ended. Returns where what follows them begins. */
    takeDocuments(text: string, from: number): number {
      let at = from;
      for (const { end, of } of documents) {
        const first = of.texts.length;
        for (let line: string | undefined; at < text.length && line !== end; ) {
          const next = text.indexOf('\n', at) + 1 || text.length + 1;
          line = text.slice(at, next - 1).replace(/^\t+/, '');
          if (line !== end) of.texts.push(line);
          at = next;
        }
        of.texts.push(of.texts.splice(first).join('\n'));
      }
      documents = [];
      return at;
    },
  };
}

interface Open extends SimpleCommand {
  readonly words: string[];
  readonly reads: string[];
  readonly texts: string[];
}
