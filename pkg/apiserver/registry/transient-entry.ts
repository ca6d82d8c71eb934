/** An object that is answered but not stored: the result of a dry run, or the last state of one just removed. */
import type { ApiObjectShape } from '#api/object.js';
import { splice } from '#storage/layout.js';
import type { Entry } from '#storage/resource-storage.js';
import type { Revision } from '#storage/store.js';

const lineFeed = Buffer.from('\n');

export class TransientEntry implements Entry {
  readonly key: string;
  readonly revision: Revision;
  readonly stored: Buffer;

  /** Revision 0: the object has no version. */
  constructor(key: string, stored: Buffer, revision: Revision) {
    this.key = key;
    this.stored = stored;
    this.revision = revision;
  }

  json(): Buffer {
    return this.revision === 0n ? this.stored : splice(this.stored, this.revision);
  }

  line(): Buffer {
    return Buffer.concat([this.json(), lineFeed]);
  }

  object(): ApiObjectShape {
    return JSON.parse(this.json().toString()) as ApiObjectShape;
  }

  encoded(_name: string, make: (entry: Entry) => Buffer): Buffer {
    return make(this);
  }

  attributes<T>(make: (entry: Entry) => T): T {
    return make(this);
  }
}
