/**
 * The API server with what a cluster needs around it: it is ready when its own objects exist and its authorizers know
 * the roles.
 *
 * Order: server and caches → authorizers → the cluster's own objects → ready; then, until the end, its endpoints, the
 * repair of ranges and the compaction of the store.
 */

import { setMaxListeners } from 'node:events';
import type { AddressInfo } from 'node:net';
import { aborted } from '#apimachinery/async/aborted.js';
import { deferred } from '#apimachinery/async/deferred.js';
import { ipFamily } from '#apimachinery/net/ip.js';
import type { Aggregation } from '#apiserver/aggregation/aggregation.js';
import { builtInVersions, type LocalVersion } from '#apiserver/aggregation/registration/local-services.js';
import { RangeRepair } from '#apiserver/allocators/range-repair.js';
import { ApiServer, type ApiServerDependencies, type ApiServerOptions } from '#apiserver/apiserver.js';
import { ApiService } from '#apiserver/bootstrap/api-service.js';
import { publishAuthentication } from '#apiserver/bootstrap/authentication-config-map.js';
import { bootstrapCluster, bootstrapNamespaces } from '#apiserver/bootstrap/bootstrap.js';
import { keepFlowSchemaStatus } from '#apiserver/bootstrap/flow-schema-status.js';
import type { AuthenticationParts } from '#apiserver/config/authentication.js';
import type { AuthorizationParts } from '#apiserver/config/authorization.js';
import type { ServiceNetwork } from '#apiserver/config/service-network.js';
import { DefinitionController } from '#apiserver/customresources/definition-controller.js';
import { type FollowedCertificate, followCertificate } from '#apiserver/follow-certificate.js';
import type { ApiHandler } from '#apiserver/http/exchange.js';
import { ServerIdentity } from '#apiserver/identity/server-identity.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import { etcdRoot } from '#apiserver/options/etcd.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import { serveUntil } from '#apiserver/serve-until.js';
import { StartupChecks } from '#apiserver/startup-checks.js';
import { StorageVersions } from '#apiserver/storageversions/keep-versions.js';
import type { WorkerLink } from '#apiserver/workers/worker-link.js';
import type { Client } from '#client/client.js';
import { ApiEventRecorder } from '#client/events/recorder.js';
import { InProcessTransport } from '#client/rest/in-process-transport.js';
import { RestClient } from '#client/rest/rest-client.js';
import type { Daemon } from '#daemon/daemon.js';
import { collectWhenIdle, type IdleCollectionOptions } from '#daemon/memory/idle-collector.js';
import { compactRegularly } from '#storage/compaction.js';
import type { StorageMetrics } from '#storage/metrics.js';
import { serverLeases } from '#storage/own-keys.js';
import { pollMetrics } from '#storage/poll-metrics.js';

export interface CompleteApiServerParts extends FollowedCertificate {
  readonly options: ApiServerOptions;
  readonly dependencies: ApiServerDependencies;
  /** The store is this server's own. */
  readonly closeStore: boolean;
  readonly reader: ObjectReader;
  readonly authentication: AuthenticationParts;
  readonly authorization: AuthorizationParts;
  readonly aggregation: Aggregation;
  readonly network: ServiceNetwork;
  readonly storageMetrics: StorageMetrics;
  /** Name of the server, where the feature is on. */
  readonly identity: string | undefined;
  readonly values: ApiServerValues;
  readonly machineAddresses: readonly string[];
  readonly idleCollection?: Omit<IdleCollectionOptions, 'clock'>;
  /** The supervisor of the server, where this one is a worker of it. */
  readonly worker?: WorkerLink | undefined;
}

const bootstrapPatienceMs = 60_000;
const bootstrapRetryMs = 1000;
/** Webhooks may be asked about APIServices, too. */
const registrationPatienceMs = 10_000;
const leavePatienceMs = 2000;

export class CompleteApiServer implements Daemon {
  readonly name: string;
  readonly server: ApiServer;
  readonly #parts: CompleteApiServerParts;
  readonly #closing = new AbortController();
  readonly #ready = deferred();
  readonly #authorized = deferred();
  readonly #client: RestClient;
  /** What it serves before it has read any definition. */
  readonly #builtIn: ReadonlyMap<string, LocalVersion>;
  readonly #identity: ServerIdentity | undefined;
  readonly #versions: StorageVersions | undefined;
  readonly #startup = new StartupChecks();
  #registering: Promise<void> | undefined;
  #work: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  constructor(parts: CompleteApiServerParts) {
    this.#parts = parts;
    // All that the server keeps up listens to it.
    setMaxListeners(0, this.#closing.signal);
    const { dependencies } = parts;
    const othersServe = parts.worker?.place.othersServe === true;
    const startup = this.#startup.checks(dependencies.dialect, () => othersServe);
    const healthChecks = [...(dependencies.healthChecks ?? []), ...startup];
    this.server = new ApiServer(parts.options, {
      ...dependencies,
      healthChecks,
      // Until it can serve them, connections go to the other workers.
      ...(othersServe ? { beforeListening: () => this.#canServe() } : {}),
    });
    this.name = this.server.name;
    this.#builtIn = builtInVersions(this.server.resources.all());
    const { dialect, clock } = dependencies;
    const user = { name: dialect.users.apiServer, groups: [dialect.groups.masters] };
    const transport = new InProcessTransport({ handler: this.server.handler, user });
    this.#client = new RestClient({ transport, dialect, clock, userAgent: `${this.name}/${dialect.version}` });
    this.#identity = this.#newIdentity();
    this.#versions = this.#newVersions();
  }

  /** For daemons in the same process. */
  get handler(): ApiHandler {
    return this.server.handler;
  }

  /** Where it listens; undefined without a socket or before it is ready. */
  get address(): AddressInfo | undefined {
    return this.server.address;
  }

  /** A client with all rights, by function call. */
  get client(): Client {
    return this.#client;
  }

  start(signal: AbortSignal): Promise<void> {
    this.#work ??= this.#run(signal);
    return this.#work;
  }

  ready(): Promise<void> {
    return this.#ready.promise;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    // Whoever called `start` hears why the work ended.
    await this.#work?.catch(() => undefined);
    await this.#shutDown();
  }

  #run(signal: AbortSignal): Promise<void> {
    const { server } = this;
    return serveUntil(signal, {
      server,
      closing: this.#closing,
      work: async (closing) => {
        await Promise.all([this.#serve(closing), this.#parts.worker?.beat(closing)]);
      },
      shutDown: () => this.#shutDown(),
    });
  }

  async #serve(closing: AbortSignal): Promise<void> {
    try {
      await Promise.race([Promise.all([this.server.ready(), this.#authorize(closing)]), aborted(closing)]);
      if (closing.aborted) return;
      this.#startup.done('filled', 'definitions');
      await this.#settle(closing);
      if (!closing.aborted) await this.#keep(closing);
    } catch (error) {
      if (!closing.aborted) this.#ready.reject(error);
      throw error;
    }
  }

  /** Requests under way first, then what they need. */
  #shutDown(): Promise<void> {
    this.#closed ??= (async () => {
      this.#closing.abort();
      await this.#client.close();
      await this.server.close();
      await this.#parts.dependencies.storages.stores.close({ main: this.#parts.closeStore });
      await this.#parts.dependencies.tracer?.close();
      this.#ready.reject(new Error('closed before it was ready'));
    })();
    return this.#closed;
  }

  async #authorize(signal: AbortSignal): Promise<void> {
    const { authorization, aggregation } = this.#parts;
    await Promise.all([authorization.start(signal), aggregation.start(signal)]);
    this.#authorized.resolve();
  }

  /** Resolves when the caches are filled and the authorizers know the roles. */
  async #canServe(): Promise<void> {
    const { storages } = this.#parts.dependencies;
    await Promise.all([storages.waitReady(this.#closing.signal), this.#authorized.promise]);
  }

  /** Until the cluster can be used. */
  async #settle(signal: AbortSignal): Promise<void> {
    const { log, clock } = this.#parts.dependencies;
    const started = clock.monotonic();
    for (;;) {
      try {
        await this.#bootstrap(signal);
        break;
      } catch (err) {
        // The store may be away for a moment; what fails for longer than that is not going to work.
        if (signal.aborted || clock.monotonic() - started > bootstrapPatienceMs) throw err;
        log.warn({ err }, "Could not make the cluster's own objects yet");
        await clock.sleep(bootstrapRetryMs, signal);
      }
    }
    await this.#register(signal);
    this.#startup.done('registered');
    log.info({ ms: Math.round(clock.monotonic() - started) }, "The cluster's own objects exist");
    this.#ready.resolve();
    this.#parts.worker?.serving();
  }

  /** What is served shows as registered to whoever asks when the server is ready, unless that does not work out. */
  async #register(signal: AbortSignal): Promise<void> {
    const { aggregation, dependencies } = this.#parts;
    const { clock, log } = dependencies;
    const { settled, over } = aggregation.keepLocal(this.#client, this.#builtIn, signal);
    // Whoever keeps the server running hears of it.
    over.catch(() => undefined);
    this.#registering = over;
    const patience = new AbortController();
    const late = clock.sleep(registrationPatienceMs, AbortSignal.any([signal, patience.signal])).then(() => 'late');
    if ((await Promise.race([settled, over, late])) === 'late' && !signal.aborted) {
      log.warn('Not all APIServices of built-in groups could be registered yet');
    }
    patience.abort();
  }

  async #bootstrap(signal: AbortSignal): Promise<void> {
    const { gate = () => false } = this.#parts.dependencies;
    await bootstrapNamespaces(this.#client, signal);
    // Nothing else is written before it is known in which versions, which needs a server that is known.
    await this.#identity?.ensure(signal);
    await this.#versions?.ensure(signal);
    await bootstrapCluster({ client: this.#client, gate }, signal);
    this.#startup.done('defaults');
    await this.#publishAuthentication(signal);
    this.#startup.done('authentication');
    await this.#apiService().ensure(signal);
    this.#startup.done('service');
  }

  #publishAuthentication(signal: AbortSignal): Promise<void> {
    const { authentication, values } = this.#parts;
    const { clients, frontProxies } = authentication.authorities;
    const facts = {
      clientCA: clients?.text,
      requestHeaderCA: frontProxies?.text,
      allowedNames: values['requestheader-allowed-names'],
      usernameHeaders: values['requestheader-username-headers'],
      groupHeaders: values['requestheader-group-headers'],
      extraHeaderPrefixes: values['requestheader-extra-headers-prefix'],
    };
    const { clock } = this.#parts.dependencies;
    return publishAuthentication({ client: this.#client, clock }, facts, signal);
  }

  #newIdentity(): ServerIdentity | undefined {
    const { identity: id, values, dependencies } = this.#parts;
    if (id === undefined) return undefined;
    const { clock, log } = dependencies;
    const leaseSeconds = values['identity-lease-duration-seconds'];
    const renewMs = values['identity-lease-renew-interval-seconds'] * 1000;
    return new ServerIdentity({ id, client: this.#client, clock, log, leaseSeconds, renewMs });
  }

  #newVersions(): StorageVersions | undefined {
    const { identity: id, reader, dependencies } = this.#parts;
    const { barrier, clock, log } = dependencies;
    if (id === undefined || barrier === undefined) return undefined;
    const resources = this.server.resources.all();
    return new StorageVersions({ id, barrier, resources, reader, client: this.#client, clock, log });
  }

  /** Until the end. */
  async #keep(signal: AbortSignal): Promise<void> {
    const { reader, network, values, dependencies, storageMetrics, idleCollection, aggregation } = this.#parts;
    const { clock, turns, log, storages } = dependencies;
    const recorder = this.#recorder();
    const repair = new RangeRepair({
      ...network.options,
      reader,
      clock,
      log,
      report: ({ service, reason, message }) =>
        recorder.record({ apiVersion: 'v1', kind: 'Service', ...service }, 'Warning', reason, message),
    });
    const periodMs = values['etcd-compaction-interval'];
    const root = etcdRoot(values['etcd-prefix']);
    const service = this.#apiService();
    await Promise.all([
      repair.run(signal),
      // First of all: clients are to go elsewhere while requests under way are still answered.
      service.run(signal).then(() => this.#leave(service)),
      idleCollection === undefined ? undefined : collectWhenIdle({ ...idleCollection, clock }, signal),
      followCertificate(this.server, this.#parts, signal, () => this.#publishAuthentication(signal)),
      aggregation.followIdentity(signal),
      aggregation.documents.run(signal),
      aggregation.keepAvailability(this.#client, signal),
      this.#registering,
      this.#identity?.run(signal),
      this.#versions?.run(signal),
      keepFlowSchemaStatus({ reader, client: this.#client, clock, log }, signal),
      this.server.servesDefinitions
        ? new DefinitionController({ reader, client: this.#client, clock, turns, log }).run(signal)
        : undefined,
      ...(periodMs > 0 ? storages.stores.all : []).map((store) =>
        compactRegularly({ store, root, clock, log, metrics: storageMetrics, periodMs }, signal),
      ),
      pollMetrics(
        {
          stores: storages.stores.all,
          caches: storages.counted(),
          clock,
          log,
          metrics: storageMetrics,
          countPeriodMs: values['etcd-count-metric-poll-period'],
          sizePeriodMs: values['etcd-db-metric-poll-interval'],
        },
        signal,
      ),
      aborted(signal),
    ]);
    await recorder.close();
  }

  #recorder(): ApiEventRecorder {
    const { clock, log, random } = this.#parts.dependencies;
    return new ApiEventRecorder({ client: this.#client, source: { component: this.name }, clock, random, log });
  }

  /** Out of the endpoints, if the store answers soon. */
  async #leave(service: ApiService): Promise<void> {
    const { clock, log } = this.#parts.dependencies;
    const patience = new AbortController();
    const timer = clock.setTimer(() => patience.abort(), leavePatienceMs);
    try {
      await service.leave(patience.signal);
    } catch (err) {
      log.warn({ err }, 'Could not leave the endpoints; the lease will end by itself');
    } finally {
      timer.cancel();
    }
  }

  #apiService(): ApiService {
    const { values, network, dependencies } = this.#parts;
    const { clock, log, storages } = dependencies;
    const ip = this.#advertised();
    const port = this.address?.port;
    return new ApiService({
      client: this.#client,
      store: storages.stores.main,
      clock,
      log,
      clusterIP: network.apiServiceIP,
      nodePort: values['api-service-node-port'],
      endpoint:
        ip === undefined || port === undefined || values['endpoint-reconciler-type'] === 'none'
          ? undefined
          : { ip, port },
      leasePrefix: `${etcdRoot(values['etcd-prefix'])}${serverLeases}`,
    });
  }

  /** Endpoints cannot be loopback addresses, so with one of those another address of the machine is taken, if any. */
  #advertised(): string | undefined {
    const { values, machineAddresses } = this.#parts;
    const usable = (ip: string | undefined) =>
      ip !== undefined && ip !== '' && !/^(127\.|0\.0\.0\.0$|::1?$|169\.254\.|fe80:)/i.test(ip);
    const candidates = [
      values['advertise-address'],
      values['bind-address'],
      ...machineAddresses.filter((ip) => ipFamily(ip) === 4),
      ...machineAddresses,
    ];
    return candidates.find(usable);
  }
}
