/** Which keys the stored values are encrypted with, and which of them the encryption configuration still writes. */
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { pagesOf } from '#etcd-admin/pages.js';
import type { EncryptionProvider, EncryptionRule } from '#storage/encryption/encryption-config.js';
import { isOwnKey } from '#storage/own-keys.js';
import type { KeyValue, Revision, Store } from '#storage/store.js';

/** Objects of a resource under one key. */
export interface KeyUse {
  /** `secrets`; of custom resources `widgets.example.com`. */
  readonly resource: string;
  /** Provider and key, `aescbc:first` or `kms:vault`; `plain` without encryption. */
  readonly key: string;
  readonly objects: number;
  /** The first of them. */
  readonly example: string;
  /** What the configuration does with the key; absent without one. */
  readonly state?: KeyState;
}

/** `current`: new values have it. `old`: it is only read. `unreadable`: no provider has it. */
export type KeyState = 'current' | 'old' | 'unreadable';

export interface EncryptionUse {
  /** Read at this revision. */
  readonly revision: Revision;
  readonly objects: number;
  /** By resource, and the most frequent key first. */
  readonly uses: readonly KeyUse[];
}

export interface EncryptionUseOptions {
  /** Prefix of all keys, with the final slash. */
  readonly prefix: string;
  /** Of the encryption configuration. */
  readonly rules?: readonly EncryptionRule[] | undefined;
  /** Called with the number of objects read so far. */
  readonly onPage: (objects: number) => void;
}

const plain = 'plain';
/** Limit of keys per resource: values that are not ours may look like any number of keys. */
const maxKeys = 100;
const others = 'others';
/** A head with the longest name of a key. */
const maxHeadBytes = 1024;

const prefixes = [orchDialect, kubernetesDialect].map(({ encryptedPrefix }: Dialect) => encryptedPrefix);

/** Reads all objects, page by page, at one revision; keeps only counts. */
export async function readEncryptionUse(
  store: Pick<Store, 'range'>,
  { prefix, rules, onPage }: EncryptionUseOptions,
): Promise<EncryptionUse> {
  const count = new UseCount(prefix);
  let revision: Revision = 0n;
  for await (const page of pagesOf(store, prefix)) {
    ({ revision } = page);
    for (const kv of page.kvs) if (!isOwnKey(kv.key.slice(prefix.length - 1))) count.add(kv);
    onPage(count.objects);
  }
  const uses = count.uses().map((use) => (rules === undefined ? use : { ...use, state: stateOf(use, rules) }));
  return { revision, objects: count.objects, uses };
}

/** Keys are `PREFIX[GROUP/]RESOURCE/[NAMESPACE/]NAME`; groups of custom resources, and only those, have a dot. */
class UseCount {
  readonly #prefix: string;
  readonly #resources = new Map<string, Map<string, { objects: number; readonly example: string }>>();
  objects = 0;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  add({ key: path, value }: KeyValue): void {
    this.objects += 1;
    const parts = path.slice(this.#prefix.length).split('/', 2);
    const resource = parts[0]?.includes('.') === true ? `${parts[1]}.${parts[0]}` : (parts[0] ?? '');
    const keys = this.#resources.get(resource) ?? new Map<string, { objects: number; readonly example: string }>();
    this.#resources.set(resource, keys);
    const name = keyOf(value);
    const key = keys.size < maxKeys || keys.has(name) ? name : others;
    const use = keys.get(key);
    if (use === undefined) keys.set(key, { objects: 1, example: path });
    else use.objects += 1;
  }

  uses(): KeyUse[] {
    return [...this.#resources]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([resource, keys]) =>
        [...keys].sort(([, a], [, b]) => b.objects - a.objects).map(([key, use]) => ({ resource, key, ...use })),
      );
  }
}

/** The key in the head of a stored value. */
function keyOf(value: Buffer): string {
  const head = value.subarray(0, maxHeadBytes).toString();
  const prefix = prefixes.find((each) => head.startsWith(each));
  if (prefix === undefined) return plain;
  const [, provider, name] = /^([a-z]{1,20}):v1:([^:]*):/.exec(head.slice(prefix.length)) ?? [];
  return provider === undefined ? others : `${provider}:${name}`;
}

function stateOf({ resource, key }: KeyUse, rules: readonly EncryptionRule[]): KeyState {
  const providers = rules
    .filter((rule) => rule.resources.some((each) => isSame(each, resource)))
    .flatMap((rule) => rule.providers.flatMap(keysOf));
  // Resources without a rule are not encrypted.
  const [current = plain] = providers;
  if (key === current) return 'current';
  return providers.includes(key) ? 'old' : 'unreadable';
}

/** Keys in the store have no group of built-in resources. */
function isSame(configured: string, stored: string): boolean {
  return configured === stored || (!stored.includes('.') && configured.split('.', 1)[0] === stored);
}

function keysOf(provider: EncryptionProvider): string[] {
  if (provider.type === 'identity') return [plain];
  if (provider.type === 'kms') return [`kms:${provider.name}`];
  return provider.keys.map(({ name }) => `${provider.type}:${name}`);
}
