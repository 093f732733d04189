/** The syntax tree, as far as we need to know it. */

/** A node of the tree, as far as we know it. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/** Where a node stands. */
export interface Place {
  readonly source: string;
  readonly parent: Node | undefined;
  /** The field of the parent that it is in. */
  readonly key: string;
  /** Something is decided by its truth. */
  readonly isCondition: boolean;
}

export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}
