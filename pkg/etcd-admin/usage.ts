/** Measures a store: bytes and objects by resource and by namespace. */
import { pagesOf } from '#etcd-admin/pages.js';
import type { Revision, Store } from '#storage/store.js';

export interface Usage {
  /** Measured at this revision. */
  readonly revision: Revision;
  readonly total: Share;
  /** Largest first. */
  readonly resources: readonly Share[];
  /** Largest first, without cluster-scoped objects. */
  readonly namespaces: readonly Share[];
}

export interface Share {
  readonly name: string;
  readonly objects: number;
  /** Size of stored keys and values, without etcd's overhead and without old versions. */
  readonly bytes: number;
  readonly largest: { readonly key: string; readonly bytes: number };
}

interface Sum {
  objects: number;
  bytes: number;
  largest: { readonly key: string; readonly bytes: number };
}

/**
 * Reads all objects, page by page, at one revision.
 * @param onPage Called with the number of objects read so far.
 */
export async function measureUsage(
  store: Pick<Store, 'range'>,
  prefix: string,
  onPage: (objects: number) => void,
): Promise<Usage> {
  const count = new UsageCount(prefix);
  let revision: Revision = 0n;
  for await (const page of pagesOf(store, prefix)) {
    ({ revision } = page);
    for (const { key, value } of page.kvs) count.add(key, Buffer.byteLength(key) + value.length);
    onPage(count.objects);
  }
  return count.usage(revision);
}

/** Keys are `PREFIX[GROUP/]RESOURCE/[NAMESPACE/]NAME`; groups of custom resources, and only those, have a dot. */
class UsageCount {
  readonly #prefix: string;
  readonly #total = emptySum();
  readonly #resources = new Map<string, Sum>();
  readonly #namespaces = new Map<string, Sum>();

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  get objects(): number {
    return this.#total.objects;
  }

  add(key: string, bytes: number): void {
    const parts = key.slice(this.#prefix.length).split('/');
    const depth = parts[0]?.includes('.') === true ? 2 : 1;
    const resource = parts.slice(0, depth).reverse().join('.');
    addTo(this.#total, key, bytes);
    addTo(sumOf(this.#resources, resource), key, bytes);
    const [namespace, name] = parts.slice(depth);
    if (namespace !== undefined && name !== undefined) addTo(sumOf(this.#namespaces, namespace), key, bytes);
  }

  usage(revision: Revision): Usage {
    return {
      revision,
      total: { name: '', ...this.#total },
      resources: largestFirst(this.#resources),
      namespaces: largestFirst(this.#namespaces),
    };
  }
}

function emptySum(): Sum {
  return { objects: 0, bytes: 0, largest: { key: '', bytes: 0 } };
}

function sumOf(sums: Map<string, Sum>, name: string): Sum {
  const sum = sums.get(name) ?? emptySum();
  sums.set(name, sum);
  return sum;
}

function addTo(sum: Sum, key: string, bytes: number): void {
  sum.objects++;
  sum.bytes += bytes;
  if (bytes > sum.largest.bytes) sum.largest = { key, bytes };
}

function largestFirst(sums: ReadonlyMap<string, Sum>): Share[] {
  return [...sums].map(([name, sum]) => ({ name, ...sum })).sort((a, b) => b.bytes - a.bytes);
}
