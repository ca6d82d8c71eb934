/** Makers of expressions. */
import { accumulator, type Expr } from '#apimachinery/cel/ast.js';
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

/** One term more than offsets, which are of what stands between them. The tree is as flat as can be. */
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
