/** The API server as a library: resources over a store, behind one handler, with or without a socket. */
import { setMaxListeners } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import { customresourcedefinitions } from '#api/apiextensions/v1/resources.gen.js';
import { schemeFor } from '#api/scheme.js';
import { strategyFor } from '#api/strategies.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { deferred } from '#apimachinery/async/deferred.js';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import { SharedCancellation } from '#apimachinery/cancellation.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { serviceUnavailable } from '#apimachinery/errors/status.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import type { ResourceInfo, Scheme } from '#apimachinery/schema/scheme.js';
import type { AdmissionPlugin } from '#apiserver/admission/admission.js';
import type { Aggregation } from '#apiserver/aggregation/aggregation.js';
import type { RemoteService } from '#apiserver/aggregation/remote-service.js';
import type { Auditor } from '#apiserver/audit/auditor.js';
import type { Authenticator } from '#apiserver/authentication/authenticator.js';
import type { Authorizer } from '#apiserver/authorization/authorizer.js';
import { parseAhead, smallBodyBytes } from '#apiserver/bodies/parse-ahead.js';
import { YamlReader } from '#apiserver/bodies/yaml-reader.js';
import { ConversionMetrics } from '#apiserver/customresources/conversion-metrics.js';
import { CustomResources } from '#apiserver/customresources/follow-definitions.js';
import type { HealthCheck } from '#apiserver/discovery/health.js';
import type { RequestContext } from '#apiserver/http/context.js';
import type { ApiHandler, ApiResponse, PromptHandler } from '#apiserver/http/exchange.js';
import { RequestMetrics } from '#apiserver/http/metrics.js';
import { MessageSender } from '#apiserver/http/websocket.js';
import { StorageObjectReader } from '#apiserver/objects/storage-object-reader.js';
import { type Endpoint, Pipeline } from '#apiserver/pipeline/pipeline.js';
import { AdmissionMetrics } from '#apiserver/registry/admit.js';
import { ManagedFields } from '#apiserver/registry/managed-fields.js';
import type { RegistryContext } from '#apiserver/registry/operation.js';
import { CompressedLists } from '#apiserver/representation/compressed-lists.js';
import { Responder } from '#apiserver/representation/respond.js';
import { RecentFrames } from '#apiserver/representation/watch-events.js';
import { Codec } from '#apiserver/resources/codec.js';
import type { ConnectEndpoint, VirtualResource } from '#apiserver/resources/endpoints.js';
import { ResourceTable } from '#apiserver/resources/resource-table.js';
import { serveResources } from '#apiserver/resources/serve-resources.js';
import type { ResourceStorages } from '#apiserver/resources/storages.js';
import type { WriteHook } from '#apiserver/resources/write-hook.js';
import { plainPaths } from '#apiserver/routing/plain-paths.js';
import { ResourceRouter } from '#apiserver/routing/router.js';
import { upgradeHandler } from '#apiserver/routing/upgrade.js';
import type { StorageVersionBarrier } from '#apiserver/storageversions/write-barrier.js';
import type { WebhookClient } from '#apiserver/webhooks/webhook-client.js';
import type { Daemon } from '#daemon/daemon.js';
import type { Logger } from '#daemon/log/logger.js';
import type { FeatureGateName } from '#daemon/options/groups/feature-gate-table.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import type { Tracer } from '#daemon/tracing/tracer.js';
import { ByteBudget } from '#http/server/byte-budget.js';
import type { UpgradeHandler } from '#http/server/exchange.js';
import { HttpsServer, type ServerLimits, type TLSMaterial } from '#http/server/https-server.js';
import { ResponseWriter } from '#http/server/response-writer.js';
import type { ResourceStorage } from '#storage/resource-storage.js';
import type { Store } from '#storage/store.js';

/** What the server needs from the rest of the process. */
export interface ApiServerDependencies {
  readonly dialect: Dialect;
  /** Also what authenticator, authorizer and admission read from. Started and closed by the server. */
  readonly storages: ResourceStorages;
  readonly clock: Clock;
  /** The one that the storages have, too. */
  readonly turns: TurnQueue;
  readonly log: Logger;
  readonly metrics: Registry;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly newUID: () => string;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  /** In the order in which they run. */
  readonly admission?: readonly AdmissionPlugin[];
  /** Who asks webhooks, also those of admission. Closed by the server. */
  readonly webhooks: Pick<WebhookClient, 'post' | 'close'>;
  readonly hooks?: readonly WriteHook[];
  /** Absent: the kinds' own. */
  readonly strategyFor?: (resource: ResourceDeclaration) => Strategy;
  readonly virtualResources?: readonly VirtualResource[];
  /** By group and name: resources whose objects are made up when they are read, such as `core/componentstatuses`. */
  readonly unstored?: ReadonlyMap<string, ResourceStorage>;
  /** What these and others hold that ends with the server; called once. */
  readonly release?: () => void;
  readonly connects?: readonly ConnectEndpoint[];
  /** Versions that other servers serve; absent: there are none. */
  readonly aggregation?: Aggregation;
  readonly healthChecks?: readonly HealthCheck[];
  /** Plain paths of other rooms (`/openid/v1/jwks`, `/.well-known/…`), by their exact path. */
  readonly paths?: Readonly<Record<string, (context: RequestContext) => Promise<ApiResponse>>>;
  /** Awaited before connections are accepted. */
  readonly beforeListening?: (() => Promise<void>) | undefined;
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer | undefined;
  /** True when the feature gate is on; absent: as the release has them. */
  readonly gate?: (name: string) => boolean;
  /** Records requests; absent: nobody does. */
  readonly audit?: ((codec: Codec) => Auditor) | undefined;
  /** False for versions and resources that are turned off; absent: none is. */
  readonly isEnabled?: (info: ResourceInfo) => boolean;
  /** What writes have to wait for; absent: nothing. */
  readonly barrier?: StorageVersionBarrier | undefined;
}

export interface ListenOptions {
  readonly host: string;
  /** 0: the system picks one. */
  readonly port: number;
  readonly tls: TLSMaterial;
  /** Streams that one HTTP/2 connection may have open; absent or 0: 1.24's 250. */
  readonly maxConcurrentStreams?: number;
  /** Value of the Strict-Transport-Security header; empty: none. */
  readonly strictTransportSecurity?: string;
  /** True for a request whose HTTP/2 connection is to be made anew. */
  readonly goAway?: () => boolean;
  /** Times that connections have; absent: 1.24's. */
  readonly limits?: Partial<ServerLimits>;
}

export interface ApiServerOptions {
  /** Absent: no socket; requests come through `handler` alone. */
  readonly listen?: ListenOptions;
  readonly maxRequestsInFlight?: number;
  readonly maxMutatingRequestsInFlight?: number;
  readonly requestTimeoutMs?: number;
  readonly minRequestTimeoutMs?: number;
  /** Whether containers may be privileged. */
  readonly allowPrivileged?: boolean;
  readonly maxBodyBytes?: number;
  /** Memory that answers under way may hold together. */
  readonly responseMemoryBytes?: number;
  /** Longest time that an answer waits for such memory. */
  readonly responseWaitMs?: number;
  /** A client that takes nothing of its answer for so long is cut off. */
  readonly stallMs?: number;
  readonly eventTTLSeconds?: number;
  /** Time for requests under way when the server closes. */
  readonly shutdownGraceMs?: number;
  /** Time before that in which everything is still served, and only /readyz fails. */
  readonly shutdownDelayMs?: number;
}

const defaults = {
  maxRequestsInFlight: 400,
  maxMutatingRequestsInFlight: 200,
  requestTimeoutMs: 60_000,
  minRequestTimeoutMs: 1_800_000,
  allowPrivileged: true,
  maxBodyBytes: 3 * 1024 * 1024,
  responseMemoryBytes: 256 * 1024 * 1024,
  responseWaitMs: 10_000,
  stallMs: 60_000,
  eventTTLSeconds: 3600,
  shutdownGraceMs: 5000,
  shutdownDelayMs: 0,
} as const;

/** Answers that wait for memory at most: what they have read meanwhile is memory too. */
const maxWaitingResponses = 100;

/** Memory for lists that were compressed once: about ten times as much of JSON. */
const compressedListBytes = 32 * 1024 * 1024;

export class ApiServer implements Daemon {
  readonly name: string;
  readonly handler: ApiHandler;
  readonly #handle: PromptHandler;
  readonly upgrade: UpgradeHandler;
  readonly scheme: Scheme;
  readonly resources = new ResourceTable();
  readonly #options: Required<Omit<ApiServerOptions, 'listen'>> & Pick<ApiServerOptions, 'listen'>;
  readonly #deps: ApiServerDependencies;
  /** Aborts when requests are broken off: not before the delay of the shutdown is over. */
  readonly #closing = new AbortController();
  #serving = false;
  #stopping = false;
  #closed: Promise<void> | undefined;
  readonly #ready = deferred();
  readonly #custom: CustomResources;
  readonly #responder: Responder;
  readonly #writer: ResponseWriter;
  readonly #metrics: RequestMetrics;
  readonly #yaml: YamlReader;
  readonly #auditor: Auditor | undefined;
  #server: HttpsServer | undefined;
  #address: AddressInfo | undefined;
  #started: Promise<void> | undefined;

  constructor(options: ApiServerOptions, dependencies: ApiServerDependencies) {
    this.#options = Object.freeze({ ...defaults, ...options });
    this.#deps = dependencies;
    // Every cache and every watch listens to it.
    setMaxListeners(0, this.#closing.signal);
    const { dialect, clock, turns, log, random, newUID } = dependencies;
    this.name = dialect.components.apiServer;
    this.scheme = schemeFor(dialect);
    const codec = new Codec(this.scheme, this.resources);
    this.#responder = new Responder(dialect, codec);
    this.#auditor = dependencies.audit?.(codec);
    this.#yaml = new YamlReader({ clock, maxBytes: this.#options.maxBodyBytes });
    const metrics = new RequestMetrics({
      registry: dependencies.metrics,
      isServed: (info) => this.resources.serves(info.group, info.version, info.resource, info.subresource),
    });
    this.#metrics = metrics;
    this.#writer = this.#makeWriter(metrics);
    const gates = new FeatureGates();
    const registry: RegistryContext = {
      dialect,
      clock,
      turns,
      log,
      random,
      newUID,
      codec,
      metrics,
      gate: dependencies.gate ?? ((name) => gates.enabled(name as FeatureGateName)),
      responder: this.#responder,
      compressed: new CompressedLists(compressedListBytes),
      frames: new RecentFrames(),
      authorizer: dependencies.authorizer,
      admission: dependencies.admission ?? [],
      admissionMetrics: new AdmissionMetrics(dependencies.metrics, () => clock.monotonic()),
      hooks: dependencies.hooks ?? [],
      managedFields: new ManagedFields({ dialect, clock, codec }),
      resources: this.resources,
      minWatchTimeoutMs: this.#options.minRequestTimeoutMs,
      messages: new MessageSender({ clock, stallMs: this.#options.stallMs }),
      allowPrivileged: this.#options.allowPrivileged,
      closing: new SharedCancellation(this.#closing.signal),
      tracer: dependencies.tracer,
    };
    const served = serveResources({
      scheme: this.scheme,
      codec,
      storages: dependencies.storages,
      unstored: dependencies.unstored ?? new Map(),
      strategyFor: dependencies.strategyFor ?? strategyFor,
      eventTTLSeconds: this.#options.eventTTLSeconds,
      gate: registry.gate,
      isEnabled: dependencies.isEnabled,
    });
    for (const resource of served) this.resources.add(resource);
    const { storages } = dependencies;
    this.#custom = new CustomResources({
      scheme: this.scheme,
      table: this.resources,
      storages,
      reader: new StorageObjectReader({ storageOf: (resource) => storages.find(resource), turns, clock, log }),
      log,
      metrics,
      webhooks: {
        dialect,
        client: dependencies.webhooks,
        newUID,
        clock,
        metrics: new ConversionMetrics(dependencies.metrics),
      },
    });
    const pipeline = new Pipeline({
      dialect,
      clock,
      log,
      newUID,
      metrics,
      authenticator: dependencies.authenticator,
      authorizer: dependencies.authorizer,
      responder: this.#responder,
      limits: {
        readOnly: this.#options.maxRequestsInFlight,
        mutating: this.#options.maxMutatingRequestsInFlight,
      },
      auditor: this.#auditor,
      tracer: dependencies.tracer,
      parseAhead: (request) =>
        request.body.length > smallBodyBytes ? parseAhead(request, { dialect, turns, yaml: this.#yaml }) : undefined,
      passesOn: ({ info, request }) =>
        (info.resourceRequest && info.subresource === 'proxy') || this.#remoteOf({ info, request }) !== undefined,
      requestTimeoutMs: this.#options.requestTimeoutMs,
    });
    const router = new ResourceRouter(registry, {
      virtual: dependencies.virtualResources ?? [],
      connects: dependencies.connects ?? [],
      definitions: this.#custom,
      barrier: dependencies.barrier,
    });
    const endpoint = this.#endpoint(router, registry);
    this.#handle = (request) => pipeline.run(request, endpoint);
    this.handler = async (request) => this.#handle(request);
    this.upgrade = upgradeHandler({
      pipeline,
      router,
      registry,
      plain: endpoint,
      proxy: dependencies.aggregation?.proxy,
    });
  }

  /** Where it listens; undefined without a socket or before it is ready. */
  get address(): AddressInfo | undefined {
    return this.#address;
  }

  /** False where definitions are turned off, and all that they define with them. */
  get servesDefinitions(): boolean {
    const { group, version, resource } = customresourcedefinitions;
    return this.resources.find(this.#deps.dialect.groupName(group), version, resource) !== undefined;
  }

  start(signal: AbortSignal): Promise<void> {
    this.#started ??= this.#run(signal).catch(async (error: unknown) => {
      this.#ready.reject(error);
      await this.close();
      throw error;
    });
    return this.#started;
  }

  ready(): Promise<void> {
    return this.#ready.promise;
  }

  /**
   * Says that it is not ready any more and serves on for a while; then ends watches, lets other requests end, closes the
   * socket and the caches. The store stays open: it is the caller's. Idempotent.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#stopping = true;
    const { shutdownDelayMs } = this.#options;
    if (this.#serving && shutdownDelayMs > 0) {
      this.#deps.log.info({ ms: shutdownDelayMs }, 'not ready any more, closing later');
      await this.#deps.clock.sleep(shutdownDelayMs);
    }
    this.#closing.abort();
    await this.#server?.close(this.#options.shutdownGraceMs, (ms, signal) => this.#deps.clock.sleep(ms, signal));
    await this.#yaml.close();
    await this.#auditor?.close();
    await this.#deps.storages.close();
    this.#ready.reject(new Error('closed before it was ready'));
  }

  /** Serves with other certificates from now on. */
  reloadTLS(tls: TLSMaterial): void {
    this.#server?.reloadTLS(tls);
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, log, storages } = this.#deps;
    const stop = () => void this.close();
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
    const caches = storages.start(this.#closing.signal);
    // Awaited below; when listening fails, that is what is told.
    caches.catch(() => undefined);
    const custom = this.servesDefinitions ? this.#custom.start(this.#closing.signal) : this.#custom.leave();
    // Ends with the caches, or is awaited below.
    custom.catch(() => undefined);
    for (const plugin of this.#deps.admission ?? []) plugin.start?.(this.#closing.signal);
    this.#closing.signal.addEventListener('abort', () => this.#deps.webhooks.close(), { once: true });
    this.#closing.signal.addEventListener('abort', () => this.#deps.release?.(), { once: true });
    const { beforeListening } = this.#deps;
    if (beforeListening !== undefined) await Promise.race([beforeListening(), caches]);
    const { listen } = this.#options;
    if (listen !== undefined && !this.#closing.signal.aborted) {
      const { upgrade } = this;
      const failure = (error: unknown) => this.#responder.failure(undefined, error);
      const { maxBodyBytes } = this.#options;
      const writer = this.#writer;
      const server = new HttpsServer({
        ...listen,
        handler: this.#handle,
        upgrade,
        failure,
        writer,
        log,
        clock,
        maxBodyBytes,
        observer: this.#metrics,
      });
      this.#server = server;
      this.#address = await server.listen();
    }
    if (listen !== undefined && this.#address !== undefined) {
      log.info({ host: listen.host, port: this.#address.port }, 'listening');
    }
    await Promise.race([Promise.all([storages.waitReady(this.#closing.signal), custom]), caches]);
    this.#ready.resolve();
    this.#serving = true;
    log.info('serving');
    await caches;
    await this.close();
  }

  #makeWriter(metrics: RequestMetrics): ResponseWriter {
    const { clock, turns } = this.#deps;
    const { requestTimeoutMs: limitMs, responseMemoryBytes: bytes, responseWaitMs: maxWaitMs, stallMs } = this.#options;
    let made: ByteBudget | undefined;
    const refused = metrics.responseMemory(() => made);
    const budget = new ByteBudget({ clock, bytes, maxWaiting: maxWaitingResponses, maxWaitMs, refused });
    made = budget;
    return new ResponseWriter({ clock, turns, budget, limitMs, stallMs });
  }

  /** The extension server that answers in this server's place; undefined: none. */
  #remoteOf(context: Pick<RequestContext, 'info' | 'request'>): RemoteService | undefined {
    const { aggregation } = this.#deps;
    if (aggregation === undefined || aggregation.apiServices.remotes.size === 0) return undefined;
    return aggregation.proxy.find(context);
  }

  #endpoint(router: ResourceRouter, { gate }: Pick<RegistryContext, 'gate'>): Endpoint {
    const { paths = {}, aggregation, healthChecks = [] } = this.#deps;
    const plain = plainPaths({
      ...this.#deps,
      gate,
      paths,
      responder: this.#responder,
      scheme: this.scheme,
      resources: this.resources,
      remote: () => aggregation?.apiServices.remotes.values() ?? [],
      foreign: aggregation?.documents,
      caughtUp: (signal) => this.#custom.caughtUp(signal),
      serverAddress: () => (this.#address === undefined ? '' : `${this.#address.address}:${this.#address.port}`),
      healthChecks: this.#checks(healthChecks),
    });
    return (context) => {
      const remote = this.#remoteOf(context);
      if (aggregation !== undefined && remote !== undefined) {
        context.audit?.passedOn();
        return aggregation.proxy.serve(context, remote);
      }
      return context.info.resourceRequest ? router.serve(context) : plain(context);
    };
  }

  /** In the order of 1.24. `others`: the checks of the program around this server. */
  #checks(others: readonly HealthCheck[]): HealthCheck[] {
    const { storages } = this.#deps;
    return [
      { name: 'ping', endpoints: ['healthz', 'livez', 'readyz'], check: () => Promise.resolve() },
      { name: 'log', endpoints: ['healthz', 'livez', 'readyz'], check: () => Promise.resolve() },
      storeCheck('etcd', storages.stores.main),
      ...storages.stores.others.map((store, i) => storeCheck(`etcd-override-${i}`, store)),
      {
        name: 'informer-sync',
        endpoints: ['readyz'],
        check: async () => {
          const waiting = storages.notReady();
          if (!this.#custom.synced) waiting.push('custom resources');
          if (waiting.length > 0) throw serviceUnavailable(`caches are not filled yet: ${waiting.join(', ')}`);
        },
      },
      ...others,
      {
        name: 'shutdown',
        endpoints: ['readyz'],
        check: async () => {
          if (this.#stopping) throw serviceUnavailable('process is shutting down');
        },
      },
    ];
  }
}

function storeCheck(name: string, store: Store): HealthCheck {
  return { name, endpoints: ['healthz', 'livez', 'readyz'], check: (signal) => store.health(signal) };
}
