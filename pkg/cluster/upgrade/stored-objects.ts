/** Checks that these programs can read all stored objects. */
import type { CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';
import { pagesOf } from '#etcd-admin/pages.js';
import { isStoredLayout } from '#storage/layout.js';
import { isOwnKey } from '#storage/own-keys.js';
import type { KeyValue, Store } from '#storage/store.js';

export interface StoredObjects {
  readonly objects: number;
  /** Objects that only the API server can decrypt. */
  readonly encrypted: number;
  readonly unreadable: readonly { readonly key: string; readonly problem: string }[];
  /** Types that neither these programs nor a stored definition serve. `type`: `group/version Kind`. */
  readonly unknownTypes: readonly { readonly type: string; readonly objects: number }[];
}

/** Starts of encrypted values; see `pkg/storage/encryption`. */
const encryptedStarts = [orchDialect, kubernetesDialect].map(({ encryptedPrefix }) => Buffer.from(encryptedPrefix));

/**
 * @param prefix Prefix of all objects' keys, with the final slash: `/registry/`.
 * @param onProgress Called with the number of objects read so far.
 */
export async function readStoredObjects(
  store: Pick<Store, 'range'>,
  { prefix, scheme, onProgress }: { prefix: string; scheme: Scheme; onProgress?: (objects: number) => void },
): Promise<StoredObjects> {
  const reading = new Reading();
  for await (const { kvs } of pagesOf(store, prefix)) {
    for (const kv of kvs) if (!isOwnKey(kv.key.slice(prefix.length - 1))) reading.add(kv);
    onProgress?.(reading.objects);
  }
  return reading.result(scheme);
}

class Reading {
  objects = 0;
  #encrypted = 0;
  readonly #unreadable: { key: string; problem: string }[] = [];
  /** Objects by `apiVersion Kind`. */
  readonly #types = new Map<string, number>();
  /** Types that stored definitions serve. */
  readonly #defined = new Set<string>();

  add({ key, value }: KeyValue): void {
    this.objects++;
    if (encryptedStarts.some((start) => value.subarray(0, start.length).equals(start))) {
      this.#encrypted++;
      return;
    }
    try {
      if (!isStoredLayout(value)) throw new Error('not an object in JSON');
      const object = JSON.parse(value.toString()) as { readonly apiVersion?: unknown; readonly kind?: unknown };
      const { apiVersion, kind } = object;
      if (typeof apiVersion !== 'string' || typeof kind !== 'string') throw new Error('apiVersion or kind is missing');
      const type = `${apiVersion} ${kind}`;
      this.#types.set(type, (this.#types.get(type) ?? 0) + 1);
      if (kind === 'CustomResourceDefinition') this.#define(object as CustomResourceDefinition);
    } catch (error) {
      this.#unreadable.push({ key, problem: messageOf(error) });
    }
  }

  #define({ spec: { group, names, versions } }: CustomResourceDefinition): void {
    for (const { name } of versions) this.#defined.add(`${group}/${name} ${names.kind}`);
  }

  result(scheme: Scheme): StoredObjects {
    const isKnown = (type: string): boolean => {
      const [apiVersion = '', kind = ''] = type.split(' ');
      return this.#defined.has(type) || scheme.kind(apiVersion, kind) !== undefined;
    };
    const unknown = [...this.#types].filter(([type]) => !isKnown(type));
    return {
      objects: this.objects,
      encrypted: this.#encrypted,
      unreadable: this.#unreadable,
      unknownTypes: unknown.map(([type, objects]) => ({ type, objects })),
    };
  }
}
