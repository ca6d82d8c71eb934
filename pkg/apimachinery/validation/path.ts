/**
 * The path of a field in failures: `spec.containers[0].ports[1].name`, `data[key]`. Validation creates many paths but
 * prints them only on failure, so a path is a link to its parent and its last step; the text is formatted on demand.
 */
export class FieldPath {
  readonly #parent: FieldPath | undefined;
  readonly #step: string | number;
  /** A field follows a dot; an index or key is in brackets. */
  readonly #inBrackets: boolean;

  private constructor(parent: FieldPath | undefined, step: string | number, inBrackets: boolean) {
    this.#parent = parent;
    this.#step = step;
    this.#inBrackets = inBrackets;
  }

  /** The whole object where 1.24 uses a field without name: `[]`. */
  static readonly ofNothing = new FieldPath(undefined, '', true);

  /** The whole object where 1.24 has no name for it; its fields have their usual paths. */
  static readonly ofWhole = new FieldPath(undefined, '<nil>', false);

  /** A path from the object's root. */
  static of(...names: string[]): FieldPath {
    let path: FieldPath | undefined;
    for (const name of names) path = new FieldPath(path, name, false);
    return path ?? new FieldPath(undefined, '', false);
  }

  /** The named field of the message at this path, optionally followed by nested fields. */
  child(name: string, second?: string, third?: string): FieldPath {
    const first = new FieldPath(this, name, false);
    if (second === undefined) return first;
    const next = new FieldPath(first, second, false);
    return third === undefined ? next : new FieldPath(next, third, false);
  }

  /** An element of the list at this path. */
  index(position: number): FieldPath {
    return new FieldPath(this, position, true);
  }

  /** An entry of the map at this path. */
  key(key: string): FieldPath {
    return new FieldPath(this, key, true);
  }

  toString(): string {
    const before = this.#parent === FieldPath.ofWhole ? '' : (this.#parent?.toString() ?? '');
    if (this.#inBrackets) return `${before}[${this.#step}]`;
    return before === '' ? String(this.#step) : `${before}.${this.#step}`;
  }
}
