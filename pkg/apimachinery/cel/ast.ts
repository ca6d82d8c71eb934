/** Syntax trees of Common Expression Language (CEL) expressions, after macro expansion. */
import type { Value } from '#apimachinery/cel/values.js';

export function constant(value: Value, offset: number): Expr {
  return { kind: 'const', value, offset, depth: 1 };
}

export function accumulated(offset: number): Expr {
  return { kind: 'ident', name: accumulator, offset, depth: 1 };
}

export function call(fn: string, args: readonly Expr[], offset: number, target?: Expr): Expr {
  const below = args.reduce((depth, arg) => Math.max(depth, arg.depth), target?.depth ?? 0);
  return { kind: 'call', fn, target, args, offset, depth: below + 1 };
}

/** Joins terms with the operators between them, one fewer, into a balanced tree. */
export function join(fn: string, terms: readonly Expr[], offsets: readonly number[]): Expr {
  const [first] = terms;
  if (first === undefined) throw new Error('terms are never none');
  return terms.length === 1 ? first : joinBetween({ fn, terms, offsets }, 0, offsets.length - 1);
}

interface Terms {
  readonly fn: string;
  readonly terms: readonly Expr[];
  readonly offsets: readonly number[];
}

function joinBetween(all: Terms, from: number, to: number): Expr {
  const middle = Math.trunc((from + to + 1) / 2);
  const { fn, terms, offsets } = all;
  const left = middle === from ? terms[middle] : joinBetween(all, from, middle - 1);
  const right = middle === to ? terms[middle + 1] : joinBetween(all, middle + 1, to);
  if (left === undefined || right === undefined) throw new Error('there is one term more than offsets');
  return call(fn, [left, right], offsets[middle] ?? 0);
}

interface Node {
  /** Position in the text in UTF-16 units, for errors. */
  readonly offset: number;
  /** Depth of the tree, including this node. */
  readonly depth: number;
}

export interface Const extends Node {
  readonly kind: 'const';
  readonly value: Value;
}

export interface Ident extends Node {
  readonly kind: 'ident';
  readonly name: string;
}

export interface Select extends Node {
  readonly kind: 'select';
  readonly operand: Expr;
  readonly field: string;
  /** `has(operand.field)`. */
  readonly test: boolean;
}

export interface Call extends Node {
  readonly kind: 'call';
  readonly fn: string;
  readonly target: Expr | undefined;
  readonly args: readonly Expr[];
}

export interface ListLiteral extends Node {
  readonly kind: 'list';
  readonly elements: readonly Expr[];
}

export interface MapLiteral extends Node {
  readonly kind: 'map';
  readonly entries: readonly { readonly key: Expr; readonly value: Expr }[];
}

export interface MessageLiteral extends Node {
  readonly kind: 'message';
  readonly name: string;
}

/** A macro over a list or map: `accu = init; for (variable of range) if (condition) accu = step; result`. */
export interface Fold extends Node {
  readonly kind: 'fold';
  readonly variable: string;
  readonly range: Expr;
  readonly init: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}

export type Expr = Const | Ident | Select | Call | ListLiteral | MapLiteral | MessageLiteral | Fold;

/** The accumulator variable of folds. */
export const accumulator = '__result__';

/** Function names of operators, as in error messages. */
export const operators = {
  conditional: '_?_:_',
  and: '_&&_',
  or: '_||_',
  not: '!_',
  negate: '-_',
  index: '_[_]',
  equals: '_==_',
  notEquals: '_!=_',
  add: '_+_',
  in: '@in',
  notStrictlyFalse: '@not_strictly_false',
} as const;

export const binaryOperators: Readonly<Record<string, string>> = {
  '==': operators.equals,
  '!=': operators.notEquals,
  '<': '_<_',
  '<=': '_<=_',
  '>': '_>_',
  '>=': '_>=_',
  in: operators.in,
  '+': operators.add,
  '-': '_-_',
  '*': '_*_',
  '/': '_/_',
  '%': '_%_',
};
