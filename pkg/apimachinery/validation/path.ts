/**
 * Where a field is, as failures name it: `spec.containers[0].ports[1].name`, `data[key]`. Paths are built on every
 * validation but printed only on failure, hence the lazy string.
 */
export class FieldPath {
  readonly #parent: FieldPath | undefined;
  readonly #step: string;

  private constructor(parent: FieldPath | undefined, step: string) {
    this.#parent = parent;
    this.#step = step;
  }

  /** A path that starts at the object's root. */
  static of(...names: string[]): FieldPath {
    let path: FieldPath | undefined;
    for (const name of names) path = new FieldPath(path, path === undefined ? name : `.${name}`);
    return path ?? new FieldPath(undefined, '');
  }

  /** The named field of the message at this path. */
  child(...names: string[]): FieldPath {
    let path: FieldPath = this;
    for (const name of names) path = new FieldPath(path, `.${name}`);
    return path;
  }

  /** The element of the list at this path. */
  index(position: number): FieldPath {
    return new FieldPath(this, `[${position}]`);
  }

  /** The value of the map at this path. */
  key(key: string): FieldPath {
    return new FieldPath(this, `[${key}]`);
  }

  toString(): string {
    const text = (this.#parent?.toString() ?? '') + this.#step;
    return text.startsWith('.') ? text.slice(1) : text;
  }
}
