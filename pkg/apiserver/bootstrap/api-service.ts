/**
 * Keeps the API's own Service and its endpoints: every server holds a lease in the store, and each writes the
 * addresses of all that hold one. A server that stops takes itself out; one that dies drops out as soon as its lease ends,
 * which the others watch.
 */

import { endpoints, services } from '#api/core/v1/resources.gen.js';
import type { Endpoints, Service } from '#api/core/v1/types.gen.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { isAlreadyExists, isConflict, isNotFound } from '#apimachinery/errors/status.js';
import { ipFamily } from '#apimachinery/net/ip.js';
import type { Client } from '#client/client.js';
import type { Logger } from '#daemon/log/logger.js';
import { prefixEnd, type Store } from '#storage/store.js';

export interface ApiServiceOptions {
  /** As a member of `system:masters`. */
  readonly client: Client;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly clusterIP: string;
  /** 0: no node port. */
  readonly nodePort: number;
  /** Where this server is reached; undefined: its endpoints are not kept. */
  readonly endpoint: { readonly ip: string; readonly port: number } | undefined;
  /** `/registry/masterleases/`. */
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

  /** Makes the Service if it is missing, and its endpoints current. */
  async ensure(signal: AbortSignal): Promise<void> {
    await this.#ensureService(signal);
    await this.#renew(signal);
  }

  /** Keeps Service, lease and endpoints until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#options.endpoint === undefined) return;
    await Promise.all([this.#keep(signal), this.#followOthers(signal)]);
  }

  async #keep(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(renewMs, signal);
      if (signal.aborted) break;
      try {
        await this.ensure(signal);
      } catch (err) {
        if (!signal.aborted) log.warn({ err }, 'Could not renew the Service, lease and endpoints of this server');
      }
    }
  }

  /**
   * Takes those out of the endpoints whose lease has ended; at its next turn alone this server would do so up to ten seconds
   * later, as in 1.24.
   */
  async #followOthers(signal: AbortSignal): Promise<void> {
    const { clock, leasePrefix, log, store } = this.#options;
    const range = { start: leasePrefix, end: prefixEnd(leasePrefix) };
    while (!signal.aborted) {
      try {
        const fromRevision = (await store.currentRevision(signal)) + 1n;
        for await (const message of store.watch({ ...range, fromRevision, signal })) {
          if (message.type !== 'events' || !message.events.some(({ type }) => type === 'delete')) continue;
          await this.#writeHeld(signal);
        }
      } catch (err) {
        if (signal.aborted) return;
        log.info({ err }, 'The leases of other servers are not watched for a moment');
      }
      await clock.sleep(rewatchMs, signal);
    }
  }

  /**
   * Takes this server out of the endpoints at once. The last one stays there: clients that wait for a server to come back
   * find it where it was, as in 1.24.
   */
  async leave(signal: AbortSignal): Promise<void> {
    const { store, leasePrefix, endpoint } = this.#options;
    if (endpoint === undefined) return;
    const key = leasePrefix + endpoint.ip;
    const { kvs } = await store.range({ start: key, end: `${key}\0`, signal });
    if (kvs[0] !== undefined) await store.delete(key, kvs[0].modRevision, { signal });
    const ips = await this.#held(signal);
    if (ips.length > 0) await this.#writeEndpoints(ips, endpoint.port, signal);
  }

  async #ensureService(signal: AbortSignal): Promise<void> {
    const { client, clusterIP, nodePort, endpoint } = this.#options;
    const { dialect } = client;
    const wanted: Service = {
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
      await own.create(wanted, scope).catch((failure: unknown) => {
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
    await this.#writeHeld(signal);
  }

  /** One after the other: what was read before a lease ended must not be written after what was read then. */
  #writeHeld(signal: AbortSignal): Promise<void> {
    const written = this.#writing.then(() => this.#writeHeldNow(signal));
    this.#writing = written.catch(() => undefined);
    return written;
  }

  /** This server is among them, whatever has become of its lease: it runs. */
  async #writeHeldNow(signal: AbortSignal): Promise<void> {
    const { endpoint } = this.#options;
    if (endpoint === undefined) return;
    const ips = await this.#held(signal);
    await this.#writeEndpoints(ips.includes(endpoint.ip) ? ips : [...ips, endpoint.ip].sort(), endpoint.port, signal);
  }

  /** Addresses of the servers that hold a lease. */
  async #held(signal: AbortSignal): Promise<string[]> {
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
      (found) => JSON.stringify(found.subsets ?? []),
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
      (found) => JSON.stringify([found.endpoints.map(({ addresses }) => addresses), found.ports]),
      signal,
    );
  }
}

/** Creates the object, or brings what `essence` looks at up to date. */
async function put<T extends Endpoints | EndpointSlice>(
  client: Client,
  type: Parameters<typeof client.resource<T>>[0],
  wanted: T,
  essence: (object: T) => string,
  signal: AbortSignal,
): Promise<void> {
  const own = client.resource<T>(type);
  const { name = '', namespace = '' } = wanted.metadata;
  try {
    const found = await own.get(name, { namespace, signal });
    if (essence(found) === essence(wanted)) return;
    const metadata = { ...found.metadata, labels: { ...found.metadata.labels, ...wanted.metadata.labels } };
    await own.update({ ...wanted, metadata }, { namespace, signal });
  } catch (error) {
    if (isConflict(error)) return;
    if (!isNotFound(error)) throw error;
    await own.create(wanted, { namespace, signal }).catch((failure: unknown) => {
      if (!isAlreadyExists(failure)) throw failure;
    });
  }
}
