/** What caches give out is shared by everybody: nobody may change it. */
import { type Decode, jsonDecoder } from '#storage/cache/cache-entry.js';

/** As many objects are remembered at a time. */
const capacity = 5000;

/** Parses like a cache by itself, and tells afterwards whether somebody has changed what it made. */
export class UntouchedObjects {
  readonly #given: { readonly object: object; readonly text: string }[] = [];
  readonly #changed: string[] = [];

  readonly #parse = jsonDecoder();

  readonly decode: Decode = (json, parts) => {
    const object = this.#parse(json, parts);
    if (this.#given.length === capacity) this.#settle();
    this.#given.push({ object, text: JSON.stringify(object) });
    return object;
  };

  /** The objects that are not any more as they were, in words. */
  changed(): readonly string[] {
    this.#settle();
    return this.#changed;
  }

  #settle(): void {
    for (const { object, text } of this.#given) {
      const now = JSON.stringify(object);
      if (now !== text) this.#changed.push(`${text} became ${now}`);
    }
    this.#given.length = 0;
  }
}
