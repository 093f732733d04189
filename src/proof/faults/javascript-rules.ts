/** The faults, by the kind of node they are put into. */
import { calleeOf, isCall, isMaximum, isPlainLoop, isUnproductiveCall } from './javascript-skips.ts';
import { type Edit, type Operator, swaps, type Table } from './mutant.ts';
import { isNode, type Node, type Place } from './syntax-tree.ts';

type Rule = (node: Node, place: Place) => readonly Edit[];

const BOUNDARY = swaps('< <=, > >=');
const EQUALITY = swaps('=== !==, == !=');
const ARITHMETIC = { ...swaps('+ -, * /, & |, << >>, += -=, *= /='), '%': '*', '**': '*' };
const LOGICAL = swaps('&& ||, &&= ||=');

const boundary: Rule = (node, place) =>
  isPlainLoop(node, place) || isMaximum(node, place) ? [] : swapOperator('boundary', BOUNDARY, node, place);

const equality: Rule = (node, place) => swapOperator('equality', EQUALITY, node, place);

const arithmetic: Rule = (node, place) => {
  const { parent } = place;
  const isJoined = node.operator === '+' && parent?.type === 'BinaryExpression' && isStringish(parent);
  const isText = isJoined || isStringish(node);
  return isText ? [] : swapOperator('arithmetic', ARITHMETIC, node, place);
};

/** `a ?? b` has no opposite: it loses its second half. */
const logical: Rule = (node, place) => {
  if (node.operator !== '??') return swapOperator('logical', LOGICAL, node, place);
  return swapOperator('logical', { '??': '' }, node, place).map(edit => ({ ...edit, end: node.end }));
};

/** One side of `a && b` is always true, of `a || b` never. */
const oneSide: Rule = (node, { isCondition }) => {
  const fixed = node.operator === '&&' ? 'true' : node.operator === '||' ? 'false' : undefined;
  if (!isCondition || fixed === undefined) return [];
  return [node.left, node.right].filter(isNode).map(side => replace('fixed-condition', side, fixed, node));
};

/** A loop that never ends is noticed by every check, and takes long to be. */
const fixedCondition: Rule = node => {
  const { test } = node;
  if (!isNode(test) || test.type === 'LogicalExpression' || test.type === 'BooleanLiteral') return [];
  const values = node.type === 'WhileStatement' ? ['false'] : ['false', 'true'];
  return values.map(value => replace('fixed-condition', test, value));
};

const removedCall: Rule = (node, { source }) => {
  const call = withoutAwait(node.expression);
  if (!call || !isCall(call) || isUnproductiveCall(call, source)) return [];
  return [replace('removed-call', node, ';')];
};

const returned: Rule = node => {
  const value = node.type === 'ArrowFunctionExpression' ? node.body : node.argument;
  if (node.type === 'ReturnStatement' && !isNode(value)) return [replace('return', node, ';')];
  if (!isNode(value) || value.type === 'BlockStatement') return [];
  const other = otherValue(value);
  // A function shows what it returns and not all of itself.
  const shown = node.type === 'ReturnStatement' ? node : value;
  return other === undefined ? [] : [replace('return', value, other, shown)];
};

function otherValue(value: Node): string | undefined {
  if (value.type === 'BooleanLiteral') return String(value.value !== true);
  if (value.type === 'NumericLiteral') return value.value === 0 ? '1' : '0';
  const isNothing =
    value.type === 'NullLiteral' ||
    (value.type === 'Identifier' && value.name === 'undefined') ||
    (value.type === 'UnaryExpression' && value.operator === 'void');
  return isNothing ? undefined : 'undefined';
}

const flipped: Rule = (node, place) => [
  replace('literal', node, String(node.value !== true), shownWith(node, place)),
];

const offByOne: Rule = (node, place) => {
  const { source, parent, key } = place;
  const text = source.slice(node.start, node.end);
  const isName = key === 'key' && parent?.computed !== true;
  const isDelay =
    parent !== undefined &&
    isCall(parent) &&
    /^(?:\w+\.)?set(?:Timeout|Interval)$/.test(calleeOf(parent, source));
  if (isName || isDelay || !/^\d+(?:\.\d+)?$/.test(text)) return [];
  return [replace('literal', node, String(Number(text) + 1), shownWith(node, place))];
};

/** In the head of a loop it would run for ever. */
const counted: Rule = (node, { parent, key, source }) => {
  if (parent?.type === 'ForStatement' && key === 'update') return [];
  const start = source.indexOf(String(node.operator), node.prefix === true ? node.start : node.end - 2);
  const edit = { start, end: start + 2, from: node.start, to: node.end };
  return [{ operator: 'literal', ...edit, replacement: node.operator === '++' ? '--' : '++' }];
};

const negation: Rule = (node, { parent }) => {
  const isDoubled = [parent, node.argument].some(each => isNode(each) && each.operator === '!');
  if ((node.operator !== '!' && node.operator !== '-') || isDoubled) return [];
  const { start, end } = node;
  return [{ operator: 'negation', start, end: start + 1, replacement: '', from: start, to: end }];
};

export const RULES: Readonly<Record<string, readonly Rule[]>> = {
  BinaryExpression: [boundary, arithmetic, equality],
  AssignmentExpression: [arithmetic, logical],
  LogicalExpression: [logical, oneSide],
  ExpressionStatement: [removedCall],
  IfStatement: [fixedCondition],
  WhileStatement: [fixedCondition],
  ConditionalExpression: [fixedCondition],
  ReturnStatement: [returned],
  ArrowFunctionExpression: [returned],
  BooleanLiteral: [flipped],
  NumericLiteral: [offByOne],
  UpdateExpression: [counted],
  UnaryExpression: [negation],
};

function replace(operator: Operator, node: Node, replacement: string, shown = node): Edit {
  return { operator, start: node.start, end: node.end, replacement, from: shown.start, to: shown.end };
}

function swapOperator(
  kind: Operator,
  table: Table,
  { left, right, operator, start: from, end: to }: Node,
  { source }: Place,
): readonly Edit[] {
  const replacement = table[String(operator)];
  if (replacement === undefined || !isNode(left) || !isNode(right)) return [];
  const gap = source
    .slice(left.end, right.start)
    .replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, comment => ' '.repeat(comment.length));
  const start = left.end + gap.indexOf(String(operator));
  return [{ operator: kind, start, end: start + String(operator).length, replacement, from, to }];
}

/** A sum with text in it is no sum. */
function isStringish(node: unknown): boolean {
  if (!isNode(node)) return false;
  if (node.type === 'StringLiteral' || node.type === 'TemplateLiteral') return true;
  const joins = node.operator === '+' || node.operator === '+=';
  return joins && (isStringish(node.left) || isStringish(node.right));
}

/** A number alone says little: with what it belongs to, where that is short. */
function shownWith(node: Node, { parent }: Place): Node {
  return parent && parent.end - parent.start <= 60 ? parent : node;
}

function withoutAwait(expression: unknown): Node | undefined {
  if (!isNode(expression)) return undefined;
  const isWaiting = expression.type === 'AwaitExpression' || expression.type === 'YieldExpression';
  return isWaiting ? withoutAwait(expression.argument) : expression;
}
