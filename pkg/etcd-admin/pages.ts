/** Reads a whole range at one revision, page by page. */
import { type KeyValue, prefixEnd, type Revision, type Store } from '#storage/store.js';

export interface Page {
  readonly kvs: readonly KeyValue[];
  /** Of all pages. */
  readonly revision: Revision;
}

/** Objects asked for at a time: the largest may have more than a megabyte. */
const pageSize = 200;

/** All keys with that beginning; yields at least one page. Rejects with what the store says. */
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
