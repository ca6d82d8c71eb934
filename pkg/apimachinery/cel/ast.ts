/** Expressions of the Common Expression Language (CEL) as trees, with macros already spelled out. */
import type { Value } from '#apimachinery/cel/values.js';

interface Node {
  /** Where it is in the text, in UTF-16 units; errors point there. */
  readonly offset: number;
  /** Of the tree below and including it. */
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

/** What macros over lists and maps become: `accu = init; for (variable of range) if (condition) accu = step; result`. */
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

/** The variable that folds accumulate in. */
export const accumulator = '__result__';

/** Names of the operators' functions, as error messages have them. */
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
