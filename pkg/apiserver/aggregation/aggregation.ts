/** Serves versions of groups through extension API servers. Every worker has its own instance. */

import type { Registry } from 'prom-client';
import { apiservices } from '#api/apiregistration/v1/resources.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { ApiServices } from '#apiserver/aggregation/api-services.js';
import { AvailabilityController } from '#apiserver/aggregation/availability-controller.js';
import { type ClientIdentity, ClientIdentityHolder } from '#apiserver/aggregation/client-identity.js';
import { Connections } from '#apiserver/aggregation/connections.js';
import { DocumentClient } from '#apiserver/aggregation/document-client.js';
import { availabilityMetrics } from '#apiserver/aggregation/metrics.js';
import { AggregationProxy, type ServiceAddresses, type UserHeaderNames } from '#apiserver/aggregation/proxy.js';
import type { LocalVersion } from '#apiserver/aggregation/registration/local-services.js';
import { RegistrationController } from '#apiserver/aggregation/registration/registration-controller.js';
import { RemoteDocuments } from '#apiserver/aggregation/remote-documents.js';
import { type RemoteService, rootOf } from '#apiserver/aggregation/remote-service.js';
import { userHeaders } from '#apiserver/aggregation/user-headers.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import { authority, type ServicePlace } from '#apiserver/service-routing/address.js';
import type { Backend } from '#apiserver/streaming/backend.js';
import { openRequest } from '#apiserver/streaming/http-proxy.js';
import type { Client } from '#client/client.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Tracer } from '#daemon/tracing/tracer.js';
import type { Dial } from '#http/client/dial.js';

export interface AggregationOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Registry;
  readonly reader: ObjectReader;
  readonly addresses: ServiceAddresses;
  readonly identity: ClientIdentity;
  /** Calls `changed` for each new identity, until the signal aborts. */
  readonly followIdentity: (changed: (next: ClientIdentity) => void, signal: AbortSignal) => Promise<void>;
  readonly rejectRedirects: boolean;
  readonly requestTimeoutMs: number;
  readonly userHeaders: UserHeaderNames;
  /** Absent: nothing is traced. */
  readonly tracer?: Pick<Tracer, 'call'> | undefined;
  /** Opens connections to extension API servers; absent: directly. */
  readonly dial?: Dial | undefined;
}

export interface RegistrationWork {
  /** Resolves when each built-in version was reconciled once. */
  readonly settled: Promise<void>;
  /** Resolves when the controller has ended. */
  readonly over: Promise<void>;
}

export class Aggregation {
  readonly apiServices = new ApiServices();
  readonly proxy: AggregationProxy;
  readonly documents: RemoteDocuments;
  readonly #options: AggregationOptions;
  readonly #identity: ClientIdentityHolder;
  readonly #connections: Connections;

  constructor(options: AggregationOptions) {
    this.#options = options;
    this.#identity = new ClientIdentityHolder(options.identity);
    this.#connections = new Connections(this.#identity, options.dial);
    const { apiServices } = this;
    apiServices.listen((name) => {
      if (apiServices.remotes.get(name) === undefined) this.#connections.forget(name);
    });
    this.proxy = new AggregationProxy({ ...options, apiServices, connections: this.#connections });
    const resolve = (place: ServicePlace) => options.addresses.resolve(place);
    const client = new DocumentClient({ ...options, connections: this.#connections, resolve });
    this.documents = new RemoteDocuments({ ...options, apiServices, client, proxy: this.proxy });
  }

  /** Resolves when all APIServices are cached; follows them until the signal aborts. */
  async start(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#connections.close(), { once: true });
    await this.#options.reader.follow(apiservices, this.apiServices, signal);
  }

  /** Reloads the client certificate when its files change, until the signal aborts. */
  async followIdentity(signal: AbortSignal): Promise<void> {
    await this.#options.followIdentity((next) => this.#identity.replace(next), signal);
  }

  /** Registers an APIService for each version that this server serves itself, until the signal aborts. */
  keepLocal(client: Client, builtIn: ReadonlyMap<string, LocalVersion>, signal: AbortSignal): RegistrationWork {
    const { apiServices } = this;
    const { reader, clock, log } = this.#options;
    const controller = new RegistrationController({ apiServices, builtIn, reader, client, clock, log });
    return { settled: controller.settled(), over: controller.run(signal) };
  }

  /** Updates the conditions of APIServices until the signal aborts. */
  async keepAvailability(client: Client, signal: AbortSignal): Promise<void> {
    const { reader, clock, log, metrics, dialect, addresses } = this.#options;
    const checkOptions = { dialect, clock, addresses, connections: this.#connections };
    const controller = new AvailabilityController({
      apiServices: this.apiServices,
      reader,
      client,
      clock,
      log,
      metrics: availabilityMetrics(metrics),
      check: (remote, ending) => checkDiscovery(checkOptions, remote, ending),
    });
    this.#identity.listen(() => controller.checkAll());
    await controller.run(signal);
  }
}

interface DiscoveryCheckOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly addresses: ServiceAddresses;
  readonly connections: Connections;
}

/** Number of concurrent attempts: a Service may have several servers, and one success is enough. */
const attempts = 5;
const responseMs = 5000;

/**
 * Requests a version's resource list from an extension API server. Returns undefined as soon as one attempt succeeds, or the last
 * failure with the message of 1.24.
 */
async function checkDiscovery(
  options: DiscoveryCheckOptions,
  remote: RemoteService,
  signal: AbortSignal,
): Promise<Error | undefined> {
  const cancel = new AbortController();
  const all = AbortSignal.any([signal, cancel.signal]);
  let last: Error | undefined;
  const failures = Array.from({ length: attempts }, async () => {
    try {
      await attempt(options, remote, all);
    } catch (error) {
      last = error instanceof Error ? error : new Error(messageOf(error));
      throw last;
    }
  });
  try {
    await Promise.any(failures);
    return undefined;
  } catch {
    return last;
  } finally {
    cancel.abort();
  }
}

async function attempt(options: DiscoveryCheckOptions, remote: RemoteService, signal: AbortSignal): Promise<void> {
  const { clock, addresses, connections, dialect } = options;
  const { tls, dial } = connections.channel(remote);
  const backend: Backend = { ...(await addresses.resolve(remote.service)), tls, dial };
  const path = rootOf(remote);
  const url = `https://${authority(backend)}${path}`;
  const timeout = new AbortController();
  const timer = clock.setTimer(() => timeout.abort(), responseMs);
  try {
    const response = await openRequest({
      backend,
      method: 'GET',
      path,
      // Members of this group have all rights on extension servers.
      headers: userHeaders({ name: dialect.users.aggregator, groups: [dialect.groups.masters] }),
      signal: AbortSignal.any([signal, timeout.signal]),
    });
    // Ignore errors of the body, which is not read.
    response.on('error', () => undefined);
    response.destroy();
    const { statusCode = 0 } = response;
    if (statusCode < 200 || statusCode > 299) throw new Error(`bad status from ${url}: ${statusCode}`);
  } catch (error) {
    if (timeout.signal.aborted) throw new Error(`timed out waiting for ${url}`);
    throw new Error(`failing or missing response from ${url}: ${messageOf(error)}`, { cause: error });
  } finally {
    timer.cancel();
  }
}
