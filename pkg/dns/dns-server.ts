/**
 * The cluster's DNS server on a node: follows services and endpoints, and answers over UDP and TCP. It forwards other
 * names immediately, and answers the cluster's once its caches are complete.
 */

import type { Registry } from 'prom-client';
import { services } from '#api/core/v1/resources.gen.js';
import type { Service } from '#api/core/v1/types.gen.js';
import { trimEndpointSlice } from '#api/discovery/v1/endpointslice/trim.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { aborted } from '#apimachinery/async/abort.js';
import { deferred } from '#apimachinery/async/deferred.js';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Informer, InformerFactory } from '#client/informer/informer.js';
import type { Daemon } from '#daemon/daemon.js';
import { Lifetime } from '#daemon/lifetime.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Exchange, Upstream } from '#dns/forward/exchange.js';
import { Forwarder } from '#dns/forward/forwarder.js';
import { labelsOf } from '#dns/message/names.js';
import { maxMessageBytes } from '#dns/message/numbers.js';
import { type Query, readQuery } from '#dns/message/query.js';
import { type Content, udpBytes, writeResponse } from '#dns/message/response.js';
import { DnsMetrics, type Transport } from '#dns/metrics/dns-metrics.js';
import { RecordTable } from '#dns/records/table.js';
import { ClusterZone } from '#dns/records/zone.js';
import { Resolver } from '#dns/resolver.js';
import { type Listener, listenTcp, listenUdp } from '#dns/server/listeners.js';

/** The node's own resolver configuration. */
export interface HostResolvers {
  readonly upstreams: readonly Upstream[];
  readonly searches: readonly string[];
}

export interface DnsServerOptions {
  /** Started and stopped by the caller. */
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Registry;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly randomId: () => number;
  readonly exchange: Exchange;
  /** `cluster.local`. */
  readonly domain: string;
  readonly addresses: readonly string[];
  readonly port: number;
  /** Assigns the addresses to the machine; resolves when they can be used. */
  readonly prepare?: () => Promise<void>;
  readonly hostResolvers: () => Promise<HostResolvers>;
  /** Namespace of the pod with this address, if known and if the pod searches its namespace's domain. */
  readonly namespaceOf?: (address: string) => string | undefined;
}

/** Short, because records come from memory and clients should notice changes soon. */
const ttlSeconds = 5;
/** Interval for checking the node's resolvers and the addresses. */
const lookMs = 10_000;
const retryMs = 1000;

export class DnsServer implements Daemon {
  readonly name = 'dns';
  readonly #options: DnsServerOptions;
  readonly #services: Informer<Service>;
  readonly #slices: Informer<EndpointSlice>;
  readonly #table: RecordTable;
  readonly #forwarder: Forwarder;
  readonly #resolver: Resolver;
  readonly #metrics: DnsMetrics;
  readonly #domain: readonly string[];
  readonly #life = new Lifetime('the name server');
  #searches: readonly (readonly string[])[] = [];
  /** Either all listeners or none. */
  #listeners: readonly Listener[] = [];

  constructor(options: DnsServerOptions) {
    const { addresses, clock, domain, exchange, informers, log, randomId } = options;
    const { dialect } = informers.client;
    this.#options = options;
    this.#services = informers.informer(services);
    this.#slices = informers.informer(endpointslices, { transform: trimEndpointSlice });
    this.#metrics = new DnsMetrics(options.metrics, dialect, `dns://:${options.port}`);
    this.#table = new RecordTable(dialect.labels.serviceName);
    this.#domain = labelsOf(domain);
    const zone = new ClusterZone({ table: this.#table, domain, ttl: ttlSeconds, serverAddresses: addresses });
    this.#forwarder = new Forwarder({ clock, log, metrics: this.#metrics, exchange, randomId });
    this.#resolver = new Resolver({
      zone,
      clock,
      forwarder: this.#forwarder,
      metrics: this.#metrics,
      ttl: ttlSeconds,
      hasSynced: () => this.#services.hasSynced() && this.#slices.hasSynced(),
      namespaceOf: options.namespaceOf ?? (() => undefined),
      hostSearches: () => this.#searches,
    });
  }

  /** UDP ports, once ready; TCP uses the same ones, unless any free port was requested. */
  get ports(): readonly number[] {
    return this.#listeners.map(({ port }) => port);
  }

  start(signal: AbortSignal): Promise<void> {
    return this.#life.run(signal, (stopping) => this.#run(stopping));
  }

  /** Ready when it listens and its caches are complete. */
  ready(): Promise<void> {
    return this.#life.ready();
  }

  close(): Promise<void> {
    return this.#life.close();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const table = this.#table;
    const ends = [
      this.#services.addHandler({
        onAdd: (service) => table.setService(service),
        onUpdate: (service) => table.setService(service),
        onDelete: (service) => table.deleteService(service),
      }),
      this.#slices.addHandler({
        onAdd: (slice) => table.setSlice(slice),
        onUpdate: (slice, old) => table.setSlice(slice, old),
        onDelete: (slice) => table.deleteSlice(slice),
      }),
    ];
    try {
      await Promise.all([this.#listen(signal), this.#followResolvers(signal), this.#tellReady(signal)]);
    } finally {
      for (const end of ends) end();
    }
  }

  async #tellReady(signal: AbortSignal): Promise<void> {
    const synced = Promise.all([this.#services.whenSynced(), this.#slices.whenSynced()]);
    await Promise.race([synced, aborted(signal)]);
    while (!signal.aborted && this.#listeners.length === 0) await this.#options.clock.sleep(retryMs / 20, signal);
    if (!signal.aborted) this.#life.becameReady();
  }

  /** Listens again after every failure, for example if the address was removed for a while. */
  async #listen(signal: AbortSignal): Promise<void> {
    const { clock, log, addresses, port, prepare } = this.#options;
    let lastError = '';
    while (!signal.aborted) {
      const failed = deferred<Error>();
      const onError = (error: Error) => failed.resolve(error);
      const open: Listener[] = [];
      try {
        await prepare?.();
        for (const address of addresses) await this.#listenAt(address, { open, onError });
        this.#listeners = open;
        lastError = '';
        log.info({ addresses, port }, 'serving DNS');
        const error = await Promise.race([failed.promise, aborted(signal)]);
        if (error !== undefined) log.error({ err: error }, 'DNS socket failed; listening again');
      } catch (error) {
        // Log each problem once, not every second.
        if (messageOf(error) !== lastError)
          log.error({ err: error, addresses, port }, 'cannot listen for DNS; retrying');
        lastError = messageOf(error);
      }
      this.#listeners = [];
      await Promise.all(open.map((listener) => listener.close()));
      await clock.sleep(retryMs, signal);
    }
  }

  async #listenAt(
    address: string,
    { open, onError }: { readonly open: Listener[]; readonly onError: (error: Error) => void },
  ): Promise<void> {
    const { clock, port } = this.#options;
    const responder = (transport: Transport) => (message: Buffer, source: string, respond: (answer: Buffer) => void) =>
      this.#answer(message, { source, transport }, respond);
    open.push(await listenUdp({ address, port, onError, responder: responder('udp') }));
    open.push(await listenTcp({ address, port, clock, onError, responder: responder('tcp') }));
  }

  async #followResolvers(signal: AbortSignal): Promise<void> {
    const { clock, log, addresses, hostResolvers } = this.#options;
    while (!signal.aborted) {
      try {
        const { upstreams, searches } = await hostResolvers();
        this.#searches = searches.map(labelsOf);
        // The node's resolvers include this server if nodes resolve the cluster's names.
        const others = upstreams.filter(({ address }) => !addresses.includes(address));
        const { probe, hasSeen } = this.#probes;
        if (this.#forwarder.setUpstreams(others)) await this.#forwarder.findLoops(probe, hasSeen);
      } catch (error) {
        log.error({ err: error }, "cannot read the node's resolver configuration");
      }
      await clock.sleep(lookMs, signal);
    }
  }

  get #probes() {
    const resolver = this.#resolver;
    return { probe: (token: string) => resolver.probe(token), hasSeen: (token: string) => resolver.hasSeen(token) };
  }

  #answer(
    message: Buffer,
    from: { readonly source: string; readonly transport: Transport },
    respond: (answer: Buffer) => void,
  ): void {
    const { clock, log } = this.#options;
    const startMs = clock.monotonic();
    const read = readQuery(message);
    if (read.kind === 'ignored') return;
    const { query } = read;
    const finish = (content: Content) => {
      const maxBytes = from.transport === 'udp' ? udpBytes(query) : maxMessageBytes;
      const answer = writeResponse(query, content, { maxBytes, random: this.#options.random });
      respond(answer);
      this.#metrics.answered({
        zone: this.#zoneOf(query),
        transport: from.transport,
        isIPv6: from.source.includes(':'),
        type: query.type,
        code: content.code,
        requestBytes: message.length,
        responseBytes: answer.length,
        seconds: (clock.monotonic() - startMs) / 1000,
      });
    };
    if (read.kind === 'refused') {
      finish({ code: read.code });
      return;
    }
    const content = this.#resolver.resolve(query, from.source);
    if (!(content instanceof Promise)) finish(content);
    else content.then(finish).catch((error: unknown) => log.error({ err: error }, 'cannot answer a query'));
  }

  /** The `zone` label: only the cluster's domain has its own, so clients cannot create series. */
  #zoneOf({ labels }: Query): string {
    const domain = this.#domain;
    const isOwn = domain.every((label, i) => labels[labels.length - domain.length + i] === label);
    return isOwn ? `${domain.join('.')}.` : '.';
  }
}
