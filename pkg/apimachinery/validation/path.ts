/**
 * Where a field is, as failures name it: `spec.containers[0].ports[1].name`, `data[key]`. Paths are made on every
 * validation but printed only on failure, so a path is its last step and a link to the rest; the text comes when asked.
 */
export class FieldPath {
  readonly #parent: FieldPath | undefined;
  readonly #step: string | number;
  /** A field stands behind a dot, an element or a key in brackets. */
  readonly #inBrackets: boolean;

  private constructor(parent: FieldPath | undefined, step: string | number, inBrackets: boolean) {
    this.#parent = parent;
    this.#step = step;
    this.#inBrackets = inBrackets;
  }

  /** The object as a whole where 1.24 names it by a field without a name: `[]`. */
  static readonly ofNothing = new FieldPath(undefined, '', true);

  /** The object as a whole where 1.24 has no name for it; its fields are named as ever. */
  static readonly ofWhole = new FieldPath(undefined, '<nil>', false);

  /** A path that starts at the object's root. */
  static of(...names: string[]): FieldPath {
    let path: FieldPath | undefined;
    for (const name of names) path = new FieldPath(path, name, false);
    return path ?? new FieldPath(undefined, '', false);
  }

  /** The named field of the message at this path, or a field of that field, and so on. */
  child(name: string, second?: string, third?: string): FieldPath {
    const first = new FieldPath(this, name, false);
    if (second === undefined) return first;
    const next = new FieldPath(first, second, false);
    return third === undefined ? next : new FieldPath(next, third, false);
  }

  /** The element of the list at this path. */
  index(position: number): FieldPath {
    return new FieldPath(this, position, true);
  }

  /** The value of the map at this path. */
  key(key: string): FieldPath {
    return new FieldPath(this, key, true);
  }

  toString(): string {
    const before = this.#parent === FieldPath.ofWhole ? '' : (this.#parent?.toString() ?? '');
    if (this.#inBrackets) return `${before}[${this.#step}]`;
    return before === '' ? String(this.#step) : `${before}.${this.#step}`;
  }
}
