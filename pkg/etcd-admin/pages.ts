/** Reads a whole range at one revision, page by page. */
import { prefixEnd } from '#storage/sorted-map.js';
import type { KeyValue, Revision, Store } from '#storage/store.js';

export interface Page {
  readonly kvs: readonly KeyValue[];
  /** The same for all pages. */
  readonly revision: Revision;
}

/** Objects per page: the largest may have more than a megabyte. */
const pageSize = 200;

/** Reads all keys with that prefix; yields at least one page. Rejects with the store's errors. */
export async function* pagesOf(store: Pick<Store, 'range'>, prefix: string): AsyncGenerator<Page> {
  const end = prefixEnd(prefix);
  let start = prefix;
  let revision: Revision | undefined;
  for (;;) {
    const page = await store.range({ start, end, limit: pageSize, ...(revision === undefined ? {} : { revision }) });
    revision ??= page.revision;
    yield { kvs: page.kvs, revision };
    const last = page.kvs.at(-1);
    if (last === undefined || page.kvs.length < pageSize) return;
    start = `${last.key}\0`;
  }
}
