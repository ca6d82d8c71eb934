/** Numeric columns indexed by small integers; they grow as needed. */

export class IntColumn {
  data: Int32Array;
  readonly #empty: number;

  constructor(empty: number) {
    this.#empty = empty;
    this.data = new Int32Array(16).fill(empty);
  }

  at(index: number): number {
    return this.data[index] ?? this.#empty;
  }

  set(index: number, value: number): void {
    if (index >= this.data.length) {
      const grown = new Int32Array(Math.max(index + 1, this.data.length * 2)).fill(this.#empty);
      grown.set(this.data);
      this.data = grown;
    }
    this.data[index] = value;
  }
}

/** The column itself if it has room for the index, else a larger copy. */
export function roomFor(data: Float64Array<ArrayBuffer>, index: number): Float64Array<ArrayBuffer> {
  if (index < data.length) return data;
  const grown = new Float64Array(Math.max(index + 1, data.length * 2));
  grown.set(data);
  return grown;
}
