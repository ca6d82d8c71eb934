/** Ranges of sizes and costs. Numbers saturate at the largest 64-bit number, as in the original. */

export interface Range {
  readonly min: number;
  readonly max: number;
}

export const unlimited = 2 ** 64;

export function exactly(value: number): Range {
  return { min: value, max: value };
}

export function plus(a: Range, b: Range): Range {
  return { min: Math.min(a.min + b.min, unlimited), max: Math.min(a.max + b.max, unlimited) };
}

export function times(a: Range, b: Range): Range {
  return { min: Math.min(a.min * b.min, unlimited), max: Math.min(a.max * b.max, unlimited) };
}

/** Rounds up. */
export function scaled({ min, max }: Range, factor: number): Range {
  return { min: Math.min(Math.ceil(min * factor), unlimited), max: Math.min(Math.ceil(max * factor), unlimited) };
}

export function union(a: Range, b: Range): Range {
  return { min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) };
}

/** Costs in units of about 50 ns. Source: github.com/google/cel-go v0.10, common/cost.go. */
export const costs = {
  select: 1,
  list: 10,
  map: 30,
  perCharacter: 0.1,
  perPatternCharacter: 0.25,
} as const;
