/**
 * Writes addresses into the status of Ingresses. Several controllers with the same addresses may do so; equal data is
 * not written again.
 */
import type { LoadBalancerIngress } from '#api/core/v1/types.gen.js';
import { ingresses } from '#api/networking/v1/resources.gen.js';
import type { Ingress } from '#api/networking/v1/types.gen.js';
import { Backoff } from '#apimachinery/backoff/backoff.js';
import type { Clock } from '#apimachinery/clock.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import { ipFamily } from '#apimachinery/net/ip.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Client } from '#client/client.js';
import type { Logger } from '#daemon/log/logger.js';

export interface StatusWriterOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: () => number;
}

/** Concurrent writes. */
const maxWriting = 4;

export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #backoff: Backoff;
  /** Pending writes by key. */
  readonly #waiting = new Map<
    string,
    { readonly ingress: Ingress; readonly addresses: readonly LoadBalancerIngress[] }
  >();
  readonly #writing = new Map<string, Promise<void>>();
  /** By UID: the resourceVersion that was patched; nothing to do until the cache shows a newer one. */
  readonly #written = new Map<string, string>();
  readonly #stop = new AbortController();

  constructor(options: StatusWriterOptions) {
    this.#options = options;
    this.#backoff = new Backoff({ initialMs: 500, maxMs: 30_000, jitter: 0.5, random: options.random });
  }

  /** Sets the current Ingresses. */
  update(all: readonly Ingress[], addresses: readonly LoadBalancerIngress[]): void {
    const uids = new Set(all.map(({ metadata }) => metadata.uid ?? ''));
    for (const uid of this.#written.keys()) if (!uids.has(uid)) this.#written.delete(uid);
    this.#waiting.clear();
    for (const ingress of all) {
      const { resourceVersion = '', uid = '' } = ingress.metadata;
      if (isSaid(ingress, addresses) || this.#written.get(uid) === resourceVersion) continue;
      this.#waiting.set(keyOf(ingress), { ingress, addresses });
    }
    this.#next();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#waiting.clear();
    await Promise.all(this.#writing.values());
  }

  #next(): void {
    for (const [key, pending] of this.#waiting) {
      if (this.#writing.size >= maxWriting || this.#stop.signal.aborted) return;
      if (this.#writing.has(key)) continue;
      this.#waiting.delete(key);
      const written = this.#write(pending.ingress, pending.addresses).finally(() => {
        this.#writing.delete(key);
        this.#next();
      });
      this.#writing.set(key, written);
    }
  }

  async #write(ingress: Ingress, addresses: readonly LoadBalancerIngress[]): Promise<void> {
    const { client, clock, log } = this.#options;
    const { name = '', namespace = '', resourceVersion = '', uid = '' } = ingress.metadata;
    const { signal } = this.#stop;
    try {
      const patch = { metadata: { uid }, status: { loadBalancer: { ingress: addresses } } };
      await client.resource(ingresses).patch(name, patch, { namespace, type: 'merge', subresource: 'status', signal });
      this.#written.set(uid, resourceVersion);
      this.#backoff.reset();
    } catch (error) {
      // Deleted or replaced; the cache will show it.
      if (signal.aborted || isNotFound(error) || isConflict(error)) return;
      log.warn({ err: error, ingress: keyOf(ingress) }, 'cannot write the status of an Ingress; retrying');
      await clock.sleep(this.#backoff.nextMs(), signal);
      const key = keyOf(ingress);
      if (!signal.aborted && !this.#waiting.has(key)) this.#waiting.set(key, { ingress, addresses });
    }
  }
}

/** Converts addresses and host names to the API's form. Pure. */
export function statusAddresses(addresses: readonly string[]): LoadBalancerIngress[] {
  return [...new Set(addresses)].map((address) => (ipFamily(address) === 0 ? { hostname: address } : { ip: address }));
}

function isSaid({ status }: Ingress, addresses: readonly LoadBalancerIngress[]): boolean {
  const said = status?.loadBalancer?.ingress ?? [];
  const isSame = (a: LoadBalancerIngress, b: LoadBalancerIngress | undefined) =>
    a.ip === b?.ip && a.hostname === b?.hostname;
  return said.length === addresses.length && said.every((address, i) => isSame(address, addresses[i]));
}
