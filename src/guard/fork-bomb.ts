/** A function that starts itself over and over. */
import { forEachChild, type SyntaxNode } from 'unbash';

/** `f() { f | f & }`: it starts itself, in a pipe or in the background. */
export function startsItself(node: Extract<SyntaxNode, { readonly type: 'Function' }>): boolean {
  const name = node.name.value;
  let found = false;
  const calls = (inside: SyntaxNode): boolean => {
    let is = inside.type === 'Command' && inside.name?.value === name;
    forEachChild(inside, child => {
      is ||= calls(child);
    });
    return is;
  };
  const look = (inside: SyntaxNode) => {
    if (inside.type === 'Pipeline' && inside.commands.length > 1 && inside.commands.some(calls)) found = true;
    if (inside.type === 'Statement' && inside.background === true && calls(inside)) found = true;
    forEachChild(inside, look);
  };
  look(node.body);
  return found;
}
