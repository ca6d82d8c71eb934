/** What a server needs to serve versions of groups through other servers; every thread that serves has its own. */
import type { Registry } from 'prom-client';
import { apiservices } from '#api/apiregistration/v1/resources.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { ApiServices } from '#apiserver/aggregation/api-services.js';
import { AvailabilityController } from '#apiserver/aggregation/availability-controller.js';
import { type ClientIdentity, ClientIdentityHolder } from '#apiserver/aggregation/client-identity.js';
import { Connections } from '#apiserver/aggregation/connections.js';
import { checkDiscovery } from '#apiserver/aggregation/discovery-check.js';
import { DocumentClient } from '#apiserver/aggregation/document-client.js';
import { availabilityMetrics } from '#apiserver/aggregation/metrics.js';
import { AggregationProxy, type ServiceAddresses } from '#apiserver/aggregation/proxy.js';
import type { LocalVersion } from '#apiserver/aggregation/registration/local-services.js';
import { RegistrationController } from '#apiserver/aggregation/registration/registration-controller.js';
import { RemoteDocuments } from '#apiserver/aggregation/remote-documents.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import type { ServicePlace } from '#apiserver/service-routing/address.js';
import type { Client } from '#client/client.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Tracer } from '#daemon/tracing/tracer.js';

export interface AggregationOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Registry;
  readonly reader: ObjectReader;
  readonly addresses: ServiceAddresses;
  readonly identity: ClientIdentity;
  /** Tells of another identity whenever there is one, until the signal aborts. */
  readonly followIdentity: (changed: (next: ClientIdentity) => void, signal: AbortSignal) => Promise<void>;
  readonly rejectRedirects: boolean;
  readonly requestTimeoutMs: number;
  /** Absent: nothing is traced. */
  readonly tracer?: Pick<Tracer, 'call'> | undefined;
}

export interface KeptServices {
  /** Resolves when each version that is built in has been looked after once. */
  readonly settled: Promise<void>;
  /** Resolves when the work is over. */
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
    this.#connections = new Connections(this.#identity);
    const { apiServices } = this;
    apiServices.listen((name) => {
      if (apiServices.remotes.get(name) === undefined) this.#connections.forget(name);
    });
    this.proxy = new AggregationProxy({ ...options, apiServices, connections: this.#connections });
    const resolve = (place: ServicePlace) => options.addresses.resolve(place);
    const client = new DocumentClient({ ...options, connections: this.#connections, resolve });
    this.documents = new RemoteDocuments({ ...options, apiServices, client, proxy: this.proxy });
  }

  /** Resolves when all APIServices are known; follows them until the signal aborts. */
  async start(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#connections.close(), { once: true });
    await this.#options.reader.follow(apiservices, this.apiServices, signal);
  }

  /** Shows another certificate when its files are replaced, until the signal aborts. */
  async followIdentity(signal: AbortSignal): Promise<void> {
    await this.#options.followIdentity((next) => this.#identity.replace(next), signal);
  }

  /** Keeps an APIService for each version that this server serves itself, until the signal aborts. */
  keepLocal(client: Client, builtIn: ReadonlyMap<string, LocalVersion>, signal: AbortSignal): KeptServices {
    const { apiServices } = this;
    const { reader, clock, log } = this.#options;
    const controller = new RegistrationController({ apiServices, builtIn, reader, client, clock, log });
    return { settled: controller.settled(), over: controller.run(signal) };
  }

  /** Keeps the conditions of APIServices until the signal aborts: for one thread of a server. */
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
