/** A place in a text; all numbers count from zero. */
export interface Mark {
  /** Characters before it. */
  readonly index: number;
  readonly line: number;
  readonly column: number;
}
