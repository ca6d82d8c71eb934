/**
 * The cache's self-check: compares a digest of its content with that of the store at one revision. A difference is a
 * defect of this program or of the store; it is counted and logged, and the cache is filled again.
 */
import { createHash } from 'node:crypto';
import { prefixEnd, type Revision, type Store } from '#storage/store.js';

/** Input of the digest. */
export interface Digestible {
  readonly key: string;
  readonly revision: Revision;
  readonly stored: Buffer;
}

/** A digest of keys, revisions and bytes, added in key order. */
export class Digest {
  readonly #hash = createHash('sha1');
  count = 0;

  add({ key, revision, stored }: Digestible): void {
    this.#hash.update(`${key}\0${revision}\0${stored.length}\0`);
    this.#hash.update(stored);
    this.count++;
  }

  /** Ends the digest: `<number of objects>:<hash>`. */
  finish(): string {
    return `${this.count}:${this.#hash.digest('hex')}`;
  }
}

/** Small enough that decoding and digesting a page delay no other work. */
const pageSize = 250;

/** The digest of everything below `prefix` in the store at `revision`. Throws StoreErrors. */
export async function storeDigest(
  store: Store,
  options: { readonly prefix: string; readonly revision: Revision; readonly signal?: AbortSignal },
): Promise<string> {
  const { prefix, ...rest } = options;
  const digest = new Digest();
  const end = prefixEnd(prefix);
  let start = prefix;
  for (;;) {
    const page = await store.range({ ...rest, start, end, limit: pageSize });
    for (const { key, modRevision, value } of page.kvs) digest.add({ key, revision: modRevision, stored: value });
    const last = page.kvs[page.kvs.length - 1];
    if (last === undefined || page.count <= page.kvs.length) return digest.finish();
    start = `${last.key}\0`;
  }
}
