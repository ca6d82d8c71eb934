/** An object that is answered but not stored: the result of a dry run, or the last state of one just removed. */

import type { ApiObjectShape } from '#api/meta/object.js';
import type { Steps } from '#apimachinery/async/steps.js';
import { withoutNulls } from '#apimachinery/codec/json/nulls.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { parseJSONSteps } from '#apimachinery/codec/json/text-steps.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';
import { splice } from '#storage/layout.js';
import type { Entry } from '#storage/resource-storage.js';
import type { Revision } from '#storage/store.js';

const lineFeed = Buffer.from('\n');

export class TransientEntry implements Entry {
  readonly key: string;
  readonly revision: Revision;
  readonly stored: Buffer;
  readonly #encoded = new Map<string, Buffer>();
  readonly #type: TypeInfo | undefined;

  /** Revision 0: the object has no version. `type`: that of the stored object, where it may have lists that are null. */
  constructor(key: string, stored: Buffer, revision: Revision, type?: TypeInfo) {
    this.#type = type;
    this.key = key;
    this.stored = stored;
    this.revision = revision;
  }

  get size(): number {
    return this.json().length;
  }

  json(): Buffer {
    return this.revision === 0n ? this.stored : splice(this.stored, this.revision);
  }

  jsonBytes(): Buffer {
    return this.json();
  }

  line(): Buffer {
    return Buffer.concat([this.json(), lineFeed]);
  }

  object(): ApiObjectShape {
    return this.#shaped(parseJSONText(this.json().toString()));
  }

  outline(): ApiObjectShape {
    return this.object();
  }

  /** The same in steps. */
  *objectSteps(): Steps<ApiObjectShape> {
    return this.#shaped(yield* parseJSONSteps(this.json().toString()));
  }

  #shaped(value: unknown): ApiObjectShape {
    const object = value as ApiObjectShape;
    return this.#type === undefined ? object : withoutNulls(this.#type, object);
  }

  encoded(name: string, make: (entry: Entry) => Buffer): Buffer {
    const bytes = this.#encoded.get(name) ?? make(this);
    this.#encoded.set(name, bytes);
    return bytes;
  }

  encodedBytes(name: string, make: (entry: Entry) => Buffer): Buffer {
    return this.encoded(name, make);
  }

  keeps(name: string): boolean {
    return this.#encoded.has(name);
  }

  attributes<T>(make: (entry: Entry) => T): T {
    return make(this);
  }

  once<T>(use: (entry: Entry) => T): T {
    return use(this);
  }
}
