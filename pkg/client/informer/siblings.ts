import type { ObjectKey } from '#client/informer/informer.js';

/** Names that are remembered at most. */
const maxNames = 256;

/** The object that was seen last under a name that begins alike: objects of one controller are alike in most parts. */
export class Siblings<T> {
  readonly #byName = new Map<string, T>();

  get(key: ObjectKey): T | undefined {
    return this.#byName.get(stemOf(key));
  }

  set(key: ObjectKey, object: T): void {
    const name = stemOf(key);
    if (!this.#byName.has(name) && this.#byName.size === maxNames) {
      const [oldest] = this.#byName.keys();
      if (oldest !== undefined) this.#byName.delete(oldest);
    }
    this.#byName.set(name, object);
  }
}

/** `default/web-6d4cf56db6` of `default/web-6d4cf56db6-x7k2p`. */
function stemOf(key: ObjectKey): string {
  const dash = key.lastIndexOf('-');
  return dash > key.indexOf('/') ? key.slice(0, dash) : key;
}
