/** The API server as a library: resources over a store, behind one handler, with or without a socket. */

import { setMaxListeners } from 'node:events';
import type { AddressInfo } from 'node:net';
import { customresourcedefinitions } from '#api/apiextensions/v1/resources.gen.js';
import { deferred } from '#apimachinery/async/deferred.js';
import { processClock } from '#apimachinery/clock.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';
import type { Auditor } from '#apiserver/audit/auditor.js';
import { YamlReader } from '#apiserver/bodies/yaml-reader.js';
import { buildEndpoints, type EndpointParts, externalAddress, remoteService } from '#apiserver/build/endpoints.js';
import type { ServerEnvironment } from '#apiserver/build/environment.js';
import { buildFlowControl, type FlowControlParts } from '#apiserver/build/flow-control.js';
import { buildPipeline, type RequestAccess } from '#apiserver/build/pipeline.js';
import { buildRegistry, type WriteParts } from '#apiserver/build/registry.js';
import { buildResources, type ResourceParts, type ResourceSet } from '#apiserver/build/resources.js';
import { weightsOf } from '#apiserver/build/user-weights.js';
import { isUncachedByDefault } from '#apiserver/build/watch-cache.js';
import type { ExceededBounds } from '#apiserver/customresources/exceeded-bounds.js';
import { withCrossOrigin } from '#apiserver/http/cross-origin.js';
import type { DashboardLogin } from '#apiserver/http/dashboard-login.js';
import { withDashboard } from '#apiserver/http/dashboard-pages.js';
import type { ApiHandler, PromptHandler } from '#apiserver/http/exchange.js';
import { Drain, handled } from '#apiserver/pipeline/drain.js';
import type { RegistrySettings } from '#apiserver/registry/operation.js';
import { Responder } from '#apiserver/representation/respond.js';
import type { ResourceTable } from '#apiserver/resources/resource-table.js';
import { upgradeHandler } from '#apiserver/routing/upgrade.js';
import type { Daemon } from '#daemon/daemon.js';
import type { UpgradeHandler } from '#http/server/exchange.js';
import { HttpsServer } from '#http/server/https-server.js';
import { ResponseWriter } from '#http/server/response-writer.js';
import type { ServerCapacity, ServerLimits, TLSMaterial } from '#http/server/server-options.js';

export interface ApiServerDependencies {
  readonly environment: ServerEnvironment;
  readonly access: RequestAccess;
  readonly resources: ResourceParts;
  readonly writes?: WriteParts;
  readonly endpoints?: EndpointParts;
  /** See `DashboardOptions`. */
  readonly dashboardLogin?: DashboardLogin | undefined;
  /** Awaited before connections are accepted. */
  readonly beforeListening?: (() => Promise<void>) | undefined;
  /** Frees what the dependencies hold; called once, when the server ends. */
  readonly release?: () => void;
}

export interface ListenOptions {
  readonly host: string;
  /** Port number; 0 lets the system pick one. */
  readonly port: number;
  readonly tls: TLSMaterial;
  /** Streams that one HTTP/2 connection may have open; absent or 0: 1.24's 250. */
  readonly maxConcurrentStreams?: number;
  /** Value of the Strict-Transport-Security header; empty: none. */
  readonly strictTransportSecurity?: string;
  /** Other processes may listen on the same address and port. */
  readonly sharesPort?: boolean;
  /** Called per request; true asks the client to open a new HTTP/2 connection. */
  readonly goAway?: () => boolean;
  /** Limits over all clients; absent: the server's own. */
  readonly capacity?: Partial<ServerCapacity>;
  /** Time limits of connections; absent: 1.24's. */
  readonly limits?: Partial<ServerLimits>;
}

export interface ApiServerOptions {
  /** Absent: no socket; requests come through `handler` alone. */
  readonly listen?: ListenOptions;
  readonly maxRequestsInFlight?: number;
  readonly maxMutatingRequestsInFlight?: number;
  /** Shares the sum of both limits fairly among priority levels and flows; absent: the limits act as they are. */
  readonly priorityAndFairness?: boolean;
  readonly requestTimeoutMs?: number;
  readonly minRequestTimeoutMs?: number;
  /** Whether containers may be privileged. */
  readonly allowPrivileged?: boolean;
  readonly settings?: RegistrySettings;
  /** Host, or host and port, of this server in URLs and discovery; empty: the address that it listens on. */
  readonly externalHost?: string;
  /** After the shutdown delay, refuse requests with 429 until those under way have ended. */
  readonly sendRetryAfter?: boolean;
  readonly maxBodyBytes?: number;
  /** Regular expressions of origins whose browsers may read responses. */
  readonly allowedOrigins?: readonly string[];
  /** Serves the dashboard below `/ui/`. */
  readonly hasDashboard?: boolean;
  /** Memory that all responses under way may hold together. */
  readonly responseMemoryBytes?: number;
  /** Longest time that a response waits for such memory. */
  readonly responseWaitMs?: number;
  /** A client that reads none of its response for this long is disconnected. */
  readonly stallMs?: number;
  readonly eventTTLSeconds?: number;
  /** Time for requests under way when the server closes. */
  readonly shutdownGraceMs?: number;
  /** Time before `shutdownGraceMs` during which requests are served but /readyz fails. */
  readonly shutdownDelayMs?: number;
}

const defaults = {
  maxRequestsInFlight: 400,
  maxMutatingRequestsInFlight: 200,
  priorityAndFairness: false,
  requestTimeoutMs: 60_000,
  minRequestTimeoutMs: 1_800_000,
  allowPrivileged: true,
  settings: { deleteWorkers: 1, collectsGarbage: true, isUncached: isUncachedByDefault },
  maxBodyBytes: 3 * 1024 * 1024,
  allowedOrigins: [] as readonly string[],
  hasDashboard: false,
  responseMemoryBytes: 256 * 1024 * 1024,
  responseWaitMs: 10_000,
  stallMs: 60_000,
  eventTTLSeconds: 3600,
  shutdownGraceMs: 5000,
  shutdownDelayMs: 0,
  externalHost: '',
  sendRetryAfter: false,
} as const;

/** Requests of HTTP/2 connections that end one after the other, as `listen` chooses, and all while the server drains. */
function goAwayOf({ goAway }: ListenOptions, drain: Drain | undefined): Pick<ListenOptions, 'goAway'> {
  if (drain === undefined) return {};
  return { goAway: () => drain.isEnding || goAway?.() === true };
}

/** Limit of responses that wait for memory at once: each holds the data that it has already read. */
const maxWaitingResponses = 100;

export class ApiServer implements Daemon {
  readonly name: string;
  readonly handler: ApiHandler;
  readonly upgrade: UpgradeHandler;
  readonly scheme: Scheme;
  readonly resources: ResourceTable;
  readonly #handle: PromptHandler;
  readonly #options: Required<Omit<ApiServerOptions, 'listen'>> & Pick<ApiServerOptions, 'listen'>;
  readonly #deps: ApiServerDependencies;
  /** Aborts after the shutdown delay: from then on, requests are cut off. */
  readonly #closing = new AbortController();
  #serving = false;
  #stopping = false;
  #closed: Promise<void> | undefined;
  readonly #ready = deferred();
  readonly #set: ResourceSet;
  readonly #responder: Responder;
  readonly #writer: ResponseWriter;
  readonly #flowControl: FlowControlParts;
  readonly #yaml: YamlReader;
  readonly #auditor: Auditor | undefined;
  /** Absent: connections are closed at once after the shutdown delay. */
  readonly #drain: Drain | undefined;
  #server: HttpsServer | undefined;
  #address: AddressInfo | undefined;
  #started: Promise<void> | undefined;

  constructor(options: ApiServerOptions, dependencies: ApiServerDependencies) {
    this.#options = Object.freeze({ ...defaults, ...options });
    this.#deps = dependencies;
    // Every cache and every watch listens to this signal.
    setMaxListeners(0, this.#closing.signal);
    const { environment, access, writes = {}, endpoints = {} } = dependencies;
    const { allowedOrigins, stallMs, allowPrivileged, settings, requestTimeoutMs } = this.#options;
    const { dialect, clock } = environment;
    this.name = dialect.components.apiServer;
    this.#yaml = new YamlReader({ clock, maxBytes: this.#options.maxBodyBytes });
    const resources = buildResources(environment, dependencies.resources, this.#options);
    this.#set = resources;
    this.scheme = resources.scheme;
    this.resources = resources.table;
    const responder = new Responder(dialect, resources.codec, resources.gate('APIResponseCompression'));
    this.#responder = responder;
    this.#auditor = access.audit?.(resources.codec);
    this.#flowControl = this.#makeFlowControl();
    this.#writer = this.#makeWriter();
    const registry = buildRegistry(environment, {
      resources,
      writes,
      responder,
      authorizer: access.authorizer,
      minWatchTimeoutMs: this.#options.minRequestTimeoutMs,
      stallMs,
      allowPrivileged,
      settings,
      closing: this.#closing.signal,
    });
    const { aggregation } = endpoints;
    const pipeline = buildPipeline(environment, {
      access,
      resources: resources.table,
      auditor: this.#auditor,
      metrics: resources.metrics,
      responder,
      yaml: this.#yaml,
      flow: this.#flowControl.flow,
      requestTimeoutMs,
      passesOn: ({ info, request }) =>
        (info.resourceRequest && info.subresource === 'proxy') ||
        remoteService(aggregation, { info, request }) !== undefined,
    });
    const { endpoint, plain, around, router } = buildEndpoints(
      environment,
      { ...endpoints, paths: { ...endpoints.paths, ...this.#flowControl.paths } },
      {
        resources,
        registry,
        storages: dependencies.resources.storages,
        externalAddress: () => externalAddress(this.#options.externalHost, this.#address),
        isStopping: () => this.#stopping,
      },
    );
    const run: PromptHandler = (request) => pipeline.run(request, endpoint);
    const handle = this.#options.hasDashboard ? withDashboard(run, { login: dependencies.dashboardLogin }) : run;
    this.#drain = this.#options.sendRetryAfter ? new Drain(this.name) : undefined;
    this.#handle = handled(
      this.#drain,
      allowedOrigins.length === 0 ? handle : withCrossOrigin(handle, { allowedOrigins, newUID: environment.newUID }),
    );
    this.handler = async (request) => this.#handle(request);
    this.upgrade = upgradeHandler({ pipeline, router, registry, plain, around, proxy: aggregation?.proxy });
  }

  /** The address that the server listens on; undefined without a socket or before the server is ready. */
  get address(): AddressInfo | undefined {
    return this.#address;
  }

  /** The definitions that add more to their objects than they may. */
  get exceeded(): ExceededBounds {
    return this.#set.definitions.exceeded;
  }

  /** False where CustomResourceDefinitions are turned off. */
  get servesDefinitions(): boolean {
    const { group, version, resource } = customresourcedefinitions;
    return this.resources.find(this.#deps.environment.dialect.groupName(group), version, resource) !== undefined;
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
   * Becomes unready and serves on for the shutdown delay; then ends watches, lets other requests end, and closes the socket
   * and the caches. The store stays open: its owner closes it. Idempotent.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#stopping = true;
    const { clock, log } = this.#deps.environment;
    const { shutdownDelayMs, requestTimeoutMs } = this.#options;
    if (this.#serving && shutdownDelayMs > 0) {
      log.info({ ms: shutdownDelayMs }, 'not ready any more, closing later');
      await clock.sleep(shutdownDelayMs);
    }
    await this.#drain?.end(clock, requestTimeoutMs);
    this.#closing.abort();
    await this.#server?.close(this.#options.shutdownGraceMs, (ms, signal) => clock.sleep(ms, signal));
    await this.#yaml.close();
    await this.#auditor?.close();
    await this.#deps.resources.storages.close();
    this.#ready.reject(new Error('closed before it was ready'));
  }

  /** New connections get these certificates. */
  reloadTLS(tls: TLSMaterial): void {
    this.#server?.reloadTLS(tls);
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { environment, resources, writes, beforeListening } = this.#deps;
    const { storages, webhooks } = resources;
    const { definitions } = this.#set;
    const closing = this.#closing.signal;
    const stop = () => void this.close();
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
    const caches = storages.start(closing);
    // Awaited below; a failure to listen takes precedence.
    caches.catch(() => undefined);
    const custom = this.servesDefinitions ? definitions.start(closing) : definitions.leave();
    // Ends with the caches, or is awaited below.
    custom.catch(() => undefined);
    for (const plugin of writes?.admission ?? []) plugin.start?.(closing);
    const flow = this.#flowControl.start(closing);
    // Ends with the caches, or is awaited below.
    flow.catch(() => undefined);
    closing.addEventListener('abort', () => webhooks.close(), { once: true });
    closing.addEventListener('abort', () => this.#deps.release?.(), { once: true });
    if (beforeListening !== undefined) await Promise.race([beforeListening(), caches]);
    await this.#listen();
    await Promise.race([Promise.all([storages.waitReady(closing), custom]), caches]);
    this.#ready.resolve();
    this.#serving = true;
    environment.log.info('serving');
    await Promise.all([caches, flow]);
    await this.close();
  }

  async #listen(): Promise<void> {
    const { clock, clusterClock = clock, log } = this.#deps.environment;
    const { listen, maxBodyBytes } = this.#options;
    if (listen === undefined || this.#closing.signal.aborted) return;
    const server = new HttpsServer({
      ...listen,
      ...goAwayOf(listen, this.#drain),
      handler: this.#handle,
      upgrade: this.upgrade,
      failure: (error) => this.#responder.failure(undefined, error),
      writer: this.#writer,
      log,
      clock: processClock(clusterClock),
      maxBodyBytes,
      observer: this.#set.metrics,
      weightOf: weightsOf(this.#deps.environment.dialect),
    });
    this.#server = server;
    this.#address = await server.listen();
    log.info({ host: listen.host, port: this.#address.port }, 'listening');
  }

  #makeFlowControl(): FlowControlParts {
    const { environment, resources } = this.#deps;
    const options = this.#options;
    return buildFlowControl(environment, {
      isFair: options.priorityAndFairness,
      limits: { readOnly: options.maxRequestsInFlight, mutating: options.maxMutatingRequestsInFlight },
      requestTimeoutMs: options.requestTimeoutMs,
      storages: resources.storages,
      metrics: this.#set.metrics,
      responses: {
        bytes: options.responseMemoryBytes,
        maxWaiting: maxWaitingResponses,
        maxWaitMs: options.responseWaitMs,
      },
    });
  }

  #makeWriter(): ResponseWriter {
    const { clock, turns } = this.#deps.environment;
    const { requestTimeoutMs: limitMs, stallMs } = this.#options;
    return new ResponseWriter({ clock, turns: turns.bulk, budget: this.#flowControl.budget, limitMs, stallMs });
  }
}
