/** Code in which a fault says nothing about the checks: messages, logs, caches, types. Most of what annoys a reader is here. */
import { isNode, type Node, type Place } from './syntax-tree.ts';

/** A node that is skipped with everything in it. */
export function isSkipped(node: Node, place: Place): boolean {
  if (node.type.startsWith('TS')) return !TYPED_CODE.test(node.type);
  if (NEVER.has(node.type)) return true;
  if (node.type === 'ExportNamedDeclaration') return isNode(node.source);
  if (node.type === 'NewExpression') return /Error$|Exception$/.test(calleeOf(node, place.source));
  return isCall(node) && LOGGING.test(calleeOf(node, place.source));
}

/** TypeScript around code that runs. */
const TYPED_CODE =
  /^TS(?:(?:As|Instantiation|NonNull|Satisfies)Expression|TypeAssertion|ExportAssignment|Module\w+|ParameterProperty)$/;

/** What is thrown is a message; that it is thrown is the business of the condition before it. */
const NEVER = new Set(['ImportDeclaration', 'ExportAllDeclaration', 'ThrowStatement', 'Decorator', 'Import']);

/** The whole callee: `catalog.add` and `login` are no logs, and neither is `Math.log`. */
const LOGGING =
  /^(?:(?:[\w$#]+\??\.)*_?(?:console|log|logger|logging)\??\.(?:\w*(?:trace|debug|info|warn|warning|error|fatal|log|verbose|notice|dir|table|time|timeEnd|group|groupEnd))|(?:this\.)?_?(?:log|debug|trace|warn))$/i;

/** A call whose absence is no fault, or none that a check should have to notice. */
export function isUnproductiveCall(call: Node, source: string): boolean {
  const callee = calleeOf(call, source);
  return LOGGING.test(callee) || UNPRODUCTIVE.test(callee);
}

const UNPRODUCTIVE =
  /^(?:super|require|import|clearTimeout|clearInterval|clearImmediate|sleep|delay)$|cache|memo(?!r)|\.unref$/i;

export function isCall(node: Node): boolean {
  return node.type === 'CallExpression' || node.type === 'OptionalCallExpression';
}

export function calleeOf({ callee }: Node, source: string): string {
  return isNode(callee) ? source.slice(callee.start, callee.end).replace(/\s+/g, '') : '';
}

/** `for (…; i < x.length; …)`: one too far is a crash or no difference at all. */
export function isPlainLoop(node: Node, { parent, key, source }: Place): boolean {
  if (parent?.type !== 'ForStatement' || key !== 'test' || !isNode(node.right)) return false;
  return /\.(?:length|size)$/.test(source.slice(node.right.start, node.right.end));
}

/** `if (x > most) most = x` and `a > b ? a : b`: which of two equals is taken makes no difference. */
export function isMaximum(node: Node, { parent, key, source }: Place): boolean {
  if (key !== 'test' || !parent || !isNode(node.left) || !isNode(node.right)) return false;
  const text = (part: unknown) => (isNode(part) ? source.slice(part.start, part.end) : undefined);
  const sides = [text(node.left), text(node.right)].sort().join('\n');
  const both = (one: unknown, other: unknown) => [text(one), text(other)].sort().join('\n') === sides;
  if (parent.type === 'ConditionalExpression') return both(parent.consequent, parent.alternate);
  const assigned = parent.type === 'IfStatement' ? onlyAssignment(parent.consequent) : undefined;
  return assigned !== undefined && both(assigned.left, assigned.right);
}

function onlyAssignment(branch: unknown): Node | undefined {
  if (!isNode(branch)) return undefined;
  if (branch.type === 'BlockStatement') {
    const body = branch.body as readonly unknown[];
    return body.length === 1 ? onlyAssignment(body[0]) : undefined;
  }
  const { expression } = branch;
  return isNode(expression) && expression.type === 'AssignmentExpression' ? expression : undefined;
}
