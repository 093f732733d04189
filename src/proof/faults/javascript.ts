/** Faults for JavaScript and TypeScript, found in the syntax tree. Only places are taken from it: the text stays as it is. */
import { loadBundled } from '../../platform/package.ts';
import { RULES } from './javascript-rules.ts';
import { isSkipped } from './javascript-skips.ts';
import type { Edit, Mutator } from './mutant.ts';
import { isNode, type Node, type Place } from './syntax-tree.ts';

export const mutateJavaScript: Mutator = (source, path) => {
  const program = parse(source, path);
  if ('trouble' in program) return { trouble: String(program.trouble) };
  const found: Edit[] = [];
  // Not recursive: a sum of ten thousand terms is as deep as that.
  const waiting: (readonly [Node, Place])[] = [
    [program, { source, parent: undefined, key: '', isCondition: false }],
  ];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const [node, place] = next;
    if (isSkipped(node, place)) continue;
    for (const rule of RULES[node.type] ?? []) found.push(...rule(node, place));
    for (const [key, child] of childrenOf(node))
      waiting.push([child, { source, parent: node, key, isCondition: decides(node, key, place) }]);
  }
  return found;
};

/** Loaded when it is first needed: other commands do not pay for it. */
let parser: typeof import('@babel/parser') | undefined;

function parse(source: string, path: string): Node | { readonly trouble: string } {
  parser ??= loadBundled('babel-parser') as typeof import('@babel/parser');
  let trouble = '';
  // The old decorators are the only ones before parameters, the new ones the only ones with `accessor`.
  for (const decorators of ['decorators-legacy', 'decorators'] as const) {
    try {
      const file = parser.parse(source, {
        sourceType: /\.[cm]ts$|\.mjs$/.test(path) ? 'module' : 'unambiguous',
        plugins: [...syntaxOf(path), decorators],
        allowReturnOutsideFunction: true,
        allowAwaitOutsideFunction: true,
        allowUndeclaredExports: true,
        attachComment: false,
      });
      return file.program as unknown as Node;
    } catch (error) {
      trouble ||= error instanceof Error ? error.message : String(error);
    }
  }
  return { trouble };
}

function syntaxOf(path: string): readonly ('typescript' | 'jsx')[] {
  if (/\.[cm]?ts$/.test(path)) return ['typescript'];
  return path.endsWith('.tsx') ? ['typescript', 'jsx'] : ['jsx'];
}

/** Types and decorators hang on fields of their own. */
const NOT_CODE =
  /^(?:decorators|implements|loc|predicate|returnType|typeAnnotation|(?:super)?type(?:Arguments|Parameters))$/i;

function childrenOf(node: Node): readonly (readonly [string, Node])[] {
  return Object.entries(node)
    .filter(([key]) => !NOT_CODE.test(key))
    .flatMap(([key, value]) =>
      (Array.isArray(value) ? value : [value]).filter(isNode).map(child => [key, child] as const),
    );
}

const ASKS =
  /^(?:(?:If|While|DoWhile|For)Statement test|ConditionalExpression test|ReturnStatement argument|ArrowFunctionExpression body)$/;

function decides(node: Node, key: string, { isCondition }: Place): boolean {
  if (ASKS.test(`${node.type} ${key}`)) return true;
  const passesOn =
    node.type === 'LogicalExpression' || (node.type === 'UnaryExpression' && node.operator === '!');
  return isCondition && passesOn;
}
