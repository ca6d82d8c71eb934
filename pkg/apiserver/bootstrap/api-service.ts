/**
 * Maintains the API's own Service and its endpoints. Every server holds a lease in the store and writes the addresses of all lease
 * holders to the endpoints. A stopping server removes itself; a dead server is removed when its lease ends, which the others watch.
 */

import { endpoints, services } from '#api/core/v1/resources.gen.js';
import type { Endpoints, Service } from '#api/core/v1/types.gen.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { type Clock, processClock, upkeepClock } from '#apimachinery/clock.js';
import { isAlreadyExists, isConflict, isNotFound } from '#apimachinery/errors/status.js';
import { ipFamily } from '#apimachinery/net/ip.js';
import type { Client } from '#client/client.js';
import type { Logger } from '#daemon/log/logger.js';
import { prefixEnd } from '#storage/sorted-map.js';
import type { Store } from '#storage/store.js';

export interface ApiServiceOptions {
  /** A client with all rights. */
  readonly client: Client;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly clusterIP: string;
  /** Node port of the Service; 0: none. */
  readonly nodePort: number;
  /** This server's address; undefined: the endpoints are not maintained. */
  readonly endpoint: { readonly ip: string; readonly port: number } | undefined;
  /** Prefix of the leases: `/registry/masterleases/`. */
  readonly leasePrefix: string;
}

const servicePort = 443;
const leaseSeconds = 15;
const renewMs = 10_000;
const rewatchMs = 1_000;

export class ApiService {
  readonly #options: ApiServiceOptions;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: ApiServiceOptions) {
    this.#options = options;
  }

  /** Creates the Service if it is missing, and updates its endpoints. */
  async ensure(signal: AbortSignal): Promise<void> {
    await this.#ensureService(signal);
    await this.#renew(signal);
  }

  /** Maintains Service, lease and endpoints until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#options.endpoint === undefined) return;
    await Promise.all([this.#keep(signal), this.#followOthers(signal)]);
  }

  async #keep(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    while (!signal.aborted) {
      await upkeepClock(clock).sleep(renewMs, signal);
      if (signal.aborted) break;
      try {
        await this.ensure(signal);
      } catch (err) {
        if (!signal.aborted) log.warn({ err }, 'could not renew the Service, lease and endpoints of this server');
      }
    }
  }

  /**
   * Removes servers from the endpoints when their lease ends. Without this watch, that would happen at the next renewal, up to
   * ten seconds later, as in 1.24.
   */
  async #followOthers(signal: AbortSignal): Promise<void> {
    const { clock, leasePrefix, log, store } = this.#options;
    const range = { start: leasePrefix, end: prefixEnd(leasePrefix) };
    while (!signal.aborted) {
      try {
        const fromRevision = (await store.currentRevision(signal)) + 1n;
        for await (const message of store.watch({ ...range, fromRevision, signal })) {
          if (message.type !== 'events' || !message.events.some(({ type }) => type === 'delete')) continue;
          await this.#writeLeaseHolders(signal);
        }
      } catch (err) {
        if (signal.aborted) return;
        log.info({ err }, "watch of the other servers' leases failed, trying again");
      }
      await processClock(clock).sleep(rewatchMs, signal);
    }
  }

  /** Removes this server from the endpoints, except the last one: like in 1.24, clients then wait for its restart. */
  async leave(signal: AbortSignal): Promise<void> {
    const { store, leasePrefix, endpoint } = this.#options;
    if (endpoint === undefined) return;
    const key = leasePrefix + endpoint.ip;
    const { kvs } = await store.range({ start: key, end: `${key}\0`, signal });
    if (kvs[0] !== undefined) await store.delete(key, kvs[0].modRevision, { signal });
    const ips = await this.#leaseHolders(signal);
    if (ips.length > 0) await this.#writeEndpoints(ips, endpoint.port, signal);
  }

  async #ensureService(signal: AbortSignal): Promise<void> {
    const { client, clusterIP, nodePort, endpoint } = this.#options;
    const { dialect } = client;
    const desired: Service = {
      metadata: {
        name: dialect.apiServiceName,
        namespace: dialect.namespaces.default,
        labels: { component: 'apiserver', provider: dialect.product },
      },
      spec: {
        type: nodePort > 0 ? 'NodePort' : 'ClusterIP',
        clusterIP,
        sessionAffinity: 'None',
        ports: [
          {
            name: 'https',
            protocol: 'TCP',
            port: servicePort,
            ...(endpoint === undefined ? {} : { targetPort: endpoint.port }),
            ...(nodePort > 0 ? { nodePort } : {}),
          },
        ],
      },
    };
    const own = client.resource<Service>(services);
    const scope = { namespace: dialect.namespaces.default, signal };
    try {
      await own.get(dialect.apiServiceName, scope);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await own.create(desired, scope).catch((failure: unknown) => {
        if (!isAlreadyExists(failure)) throw failure;
      });
    }
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const { store, leasePrefix, endpoint } = this.#options;
    if (endpoint === undefined) return;
    const key = leasePrefix + endpoint.ip;
    const value = Buffer.from(JSON.stringify(endpoint));
    const options = { ttlSeconds: leaseSeconds, signal };
    const held = await store.range({ start: key, end: `${key}\0`, signal });
    const kv = held.kvs[0];
    if (kv === undefined) await store.create(key, value, options);
    else await store.update(key, value, kv.modRevision, options);
    await this.#writeLeaseHolders(signal);
  }

  /** Writes one state at a time, so that an older one never replaces a newer one. */
  #writeLeaseHolders(signal: AbortSignal): Promise<void> {
    const written = this.#writing.then(() => this.#writeLeaseHoldersNow(signal));
    this.#writing = written.catch(() => undefined);
    return written;
  }

  /** Writes the addresses; includes this server even without its lease, since it runs. */
  async #writeLeaseHoldersNow(signal: AbortSignal): Promise<void> {
    const { endpoint } = this.#options;
    if (endpoint === undefined) return;
    const ips = await this.#leaseHolders(signal);
    await this.#writeEndpoints(ips.includes(endpoint.ip) ? ips : [...ips, endpoint.ip].sort(), endpoint.port, signal);
  }

  /** Addresses of all lease holders. */
  async #leaseHolders(signal: AbortSignal): Promise<string[]> {
    const { store, leasePrefix } = this.#options;
    const { kvs } = await store.range({ start: leasePrefix, end: prefixEnd(leasePrefix), signal });
    return kvs.map(({ key }) => key.slice(leasePrefix.length)).sort();
  }

  async #writeEndpoints(ips: readonly string[], port: number, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const { dialect } = client;
    const metadata = { name: dialect.apiServiceName, namespace: dialect.namespaces.default };
    const named = { name: 'https', port, protocol: 'TCP' };
    await put<Endpoints>(
      client,
      endpoints,
      {
        metadata: { ...metadata, labels: { [dialect.labels.skipMirror]: 'true' } },
        subsets: [{ addresses: ips.map((ip) => ({ ip })), ports: [named] }],
      },
      ({ subsets = [] }) => JSON.stringify(subsets),
      signal,
    );
    await put<EndpointSlice>(
      client,
      endpointslices,
      {
        metadata: { ...metadata, labels: { [dialect.labels.serviceName]: dialect.apiServiceName } },
        addressType: ipFamily(ips[0] ?? '') === 6 ? 'IPv6' : 'IPv4',
        endpoints: ips.map((ip) => ({ addresses: [ip], conditions: { ready: true } })),
        ports: [named],
      },
      (slice) => JSON.stringify([(slice.endpoints ?? []).map(({ addresses }) => addresses), slice.ports]),
      signal,
    );
  }
}

/** Creates the object, or updates it if its `essence` differs. */
async function put<T extends Endpoints | EndpointSlice>(
  client: Client,
  type: Parameters<typeof client.resource<T>>[0],
  desired: T,
  essence: (object: T) => string,
  signal: AbortSignal,
): Promise<void> {
  const own = client.resource<T>(type);
  const { name = '', namespace = '' } = desired.metadata;
  try {
    const existing = await own.get(name, { namespace, signal });
    if (essence(existing) === essence(desired)) return;
    const metadata = { ...existing.metadata, labels: { ...existing.metadata.labels, ...desired.metadata.labels } };
    await own.update({ ...desired, metadata }, { namespace, signal });
  } catch (error) {
    if (isConflict(error)) return;
    if (!isNotFound(error)) throw error;
    await own.create(desired, { namespace, signal }).catch((failure: unknown) => {
      if (!isAlreadyExists(failure)) throw failure;
    });
  }
}
