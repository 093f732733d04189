/** The simple commands of a shell's line, as far as they can be told without running it: nothing is expanded. */

/** Words, operators, redirections and comments, in the order in which a shell would take them. */
const TOKENS =
  /'([^']*)'|"((?:\\[\s\S]|[^"\\])*)"|\\([\s\S])|(\d*(?:>>|>\||[<>]&?|<<-?|<<<|&>>?)(?:\d+|-)?)|(\n|&&|\|\||;;?|[|&()])|([ \t\r]+)|((?:[^\s'"\\;&|()<>])+)|([\s\S])/g;

export type Words = readonly string[];

/** Each with its assignments and without its redirections, in order: `cd x && A=1 npm test` has two. */
export function simpleCommands(line: string): readonly Words[] {
  const commands: string[][] = [[]];
  let word: string | undefined;
  let isTarget = false;
  let isComment = false;
  const end = () => {
    if (word !== undefined && !isTarget) commands.at(-1)?.push(word);
    if (word !== undefined) isTarget = false;
    word = undefined;
  };
  for (const token of line.matchAll(TOKENS)) {
    const [, single, double, escaped, redirection, operator, space, plain, stray] = token;
    if (isComment && operator !== '\n') continue;
    isComment = false;
    if (word === undefined && plain?.startsWith('#')) {
      isComment = true;
      continue;
    }
    if (redirection !== undefined) {
      end();
      isTarget = !/[\d-]$/.test(redirection);
    } else if (operator !== undefined) {
      end();
      isTarget = false;
      commands.push([]);
    } else if (space !== undefined) end();
    else if (escaped === '\n') continue;
    else
      word =
        (word ?? '') + (single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? plain ?? stray ?? '');
  }
  end();
  return commands.filter(words => words.length > 0);
}
