/** Builds a complete API server from the command-line options; one function of this folder builds each part, in this order. */
import { randomUUID } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import type { Registry } from 'prom-client';
import { storageversions } from '#api/apiserverinternal/v1alpha1/resources.gen.js';
import { componentstatuses } from '#api/core/v1/resources.gen.js';
import { schemeFor } from '#api/scheme.js';
import { type Clock, datedClock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { sameAddress, specialRange } from '#apimachinery/net/special-ip.js';
import type { ResourceInfo } from '#apimachinery/schema/scheme.js';
import { tokenReviews } from '#apiserver/authentication/token-review.js';
import { accessReviews } from '#apiserver/authorization/reviews.js';
import { buildAdmission } from '#apiserver/build/admission.js';
import { buildAggregation } from '#apiserver/build/aggregation.js';
import { buildAudit } from '#apiserver/build/audit.js';
import { buildAuthentication } from '#apiserver/build/authentication.js';
import { type AuthorizationParts, buildAuthorization } from '#apiserver/build/authorization.js';
import { CompleteApiServer } from '#apiserver/build/complete-api-server.js';
import { buildDashboardLogin } from '#apiserver/build/dashboard-login.js';
import type { EndpointParts } from '#apiserver/build/endpoints.js';
import { type BeginWork, buildEnvironment, type ServerEnvironment } from '#apiserver/build/environment.js';
import { buildNodeAgents, buildResourceMetrics } from '#apiserver/build/node-agents.js';
import { buildPaths } from '#apiserver/build/paths.js';
import { Questions } from '#apiserver/build/questions.js';
import { buildServiceNetwork } from '#apiserver/build/service-network.js';
import { buildServing } from '#apiserver/build/serving.js';
import { buildStorage } from '#apiserver/build/storage.js';
import { watchCacheOptions } from '#apiserver/build/watch-cache.js';
import { buildWebhookClient } from '#apiserver/build/webhook-client.js';
import {
  type Component,
  ComponentStorage,
  localDaemon,
  storeComponent,
} from '#apiserver/componentstatus/component-storage.js';
import { newIdentity } from '#apiserver/identity/server-identity.js';
import { apiEnablement, versionsWithoutResources } from '#apiserver/options/api-enablement.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import type { VirtualResource } from '#apiserver/resources/endpoints.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import type { ResourceStorages } from '#apiserver/resources/storages.js';
import { StorageVersionBarrier } from '#apiserver/storageversions/write-barrier.js';
import type { ResolveName } from '#apiserver/streaming/allowed-addresses.js';
import { podConnects } from '#apiserver/streaming/pod-connect.js';
import { podLog } from '#apiserver/streaming/pod-log.js';
import { proxies } from '#apiserver/streaming/proxies.js';
import { tokenRequests } from '#apiserver/subresources/service-account-token.js';
import { Visibility } from '#apiserver/visibility/visibility.js';
import type { WorkerLink } from '#apiserver/workers/worker-link.js';
import type { DebugEndpoints } from '#daemon/debugging/debug-endpoints.js';
import type { Logger } from '#daemon/log/logger.js';
import type { IdleCollectionOptions } from '#daemon/memory/idle-collector.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import type { ResourceStorage } from '#storage/resource-storage.js';
import type { Store } from '#storage/store.js';

export interface ApiServerSetup {
  readonly values: ApiServerValues;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly log: Logger;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly newUID?: () => string;
  /** Absent: the etcd of the options, which is closed with the server. */
  readonly store?: Store;
  readonly metrics?: Registry;
  /** `/configz`, `/debug/…`; for a server that is a process of its own. */
  readonly debug?: DebugEndpoints;
  /** Daemons that `componentstatuses` shows beside the store; absent: those on their default ports of this machine. */
  readonly components?: readonly Component[];
  /** Addresses of the machine's interfaces: the advertised address is one of them unless an option names it. */
  readonly machineAddresses?: readonly string[];
  /** Garbage collection after busy times, for a server that is a process of its own. */
  readonly idleCollection?: Omit<IdleCollectionOptions, 'clock'>;
  /** Memory that the process may use; responses may hold a part of it unless an option sets the limit. */
  readonly memoryBytes?: number;
  /** Listen on a port that the system picks, whatever the options say. */
  readonly listenOnAnyPort?: boolean;
  /** Link to the supervisor, if this server is one of its workers. */
  readonly worker?: WorkerLink;
  /** Handlers of additional paths. */
  readonly paths?: EndpointParts['paths'];
  /** See `ServerEnvironment`. */
  readonly beginWork?: BeginWork;
  /** See `EndpointParts`. */
  readonly around?: EndpointParts['around'];
}

/** Reads the files that the options name. Throws OptionsError for options and files that it cannot use. */
export async function buildApiServer(setup: ApiServerSetup): Promise<CompleteApiServer> {
  const {
    values,
    dialect,
    clock: clusterClock,
    log,
    random,
    worker,
    machineAddresses = [],
    newUID = randomUUID,
  } = setup;
  const clock = datedClock(clusterClock);
  if (worker === undefined && values.workers > 1) {
    log.warn(
      { workers: values.workers },
      'ignoring --workers: this server does not listen, or is part of a larger process',
    );
  }
  let server: CompleteApiServer | undefined;
  const gates = new FeatureGates(values['feature-gates']);
  const gate = gates.enabled.bind(gates) as (name: string) => boolean;
  const isEnabled = apiEnablement(
    values['runtime-config'],
    schemeFor(dialect).resources,
    versionsWithoutResources(dialect),
  );

  for (const resource of watchCacheOptions(values).sized) {
    log.warn(`Dropping watch-cache-size for ${resource} - watchCache size is now dynamic`);
  }
  const metrics = setup.metrics ?? createRegistry({ dialect });
  const environment = await buildEnvironment(values, {
    ...{ dialect, clock, clusterClock, log, metrics, random, newUID },
    beginWork: setup.beginWork,
  });
  const { tracer } = environment;
  const bytesPerSecond = values['max-connection-bytes-per-sec'];
  const storage = await buildStorage(values, environment, { gate, mainStore: setup.store });
  const { reader, storages } = storage;
  const authentication = await buildAuthentication(values, environment, reader);
  const { authenticator, authorities, tokens, audiences, issuer } = authentication;
  const authorization = await buildAuthorization(values, environment, reader);
  const { authorizer } = authorization;
  const visibility = buildVisibility(environment, authorization, storages);
  const reviews: VirtualResource[] = accessReviews({
    dialect,
    authorizer,
    rules: authorization.rules,
    explainer: authorization.explainer,
  });
  const services = storage.stores.of('', 'services');
  const network = buildServiceNetwork({ values, store: services, random, dialect, metrics });
  const workers = worker?.place.workers ?? 1;
  const webhooks = buildWebhookClient(values, environment, { reader, resolveName, workers });
  const built = () => {
    if (server === undefined) throw new Error('no request comes before the server is built');
    return server;
  };
  const client = () => built().client;
  const handler = () => built().handler;
  const questions = new Questions({ environment, authorization, handler });
  const admission = await buildAdmission(values, environment, { storage, authorization, webhooks, client });
  const isOwn = (address: string, port: number) =>
    port === server?.address?.port &&
    (specialRange(address) === 'loopback' || machineAddresses.some((own) => sameAddress(own, address)));
  const nodeAgents = await buildNodeAgents(values, environment, { reader, resolve: resolveName, isOwn });
  const resourceMetrics = buildResourceMetrics(values, environment, { storages, nodeAgents });
  const aggregation = await buildAggregation(values, environment, reader);
  const { memoryBytes, listenOnAnyPort } = setup;
  const serving = await buildServing(values, environment, { authorities, memoryBytes, listenOnAnyPort, worker });
  const identity = gate('APIServerIdentity') ? newIdentity(dialect, newUID) : undefined;
  const recordsVersions = gate('StorageVersionAPI') && servesStorageVersions(dialect, isEnabled);
  const barrier = recordsVersions ? buildBarrier(environment, identity, storages) : undefined;
  const components = [
    ...storage.stores.all.map((store, i) => storeComponent(`etcd-${i}`, store)),
    ...(setup.components ?? localDaemons(clock)),
  ];
  const componentStorage = new ComponentStorage(components, schemeFor(dialect).resourceOf(componentstatuses).type);

  server = new CompleteApiServer({
    values,
    options: serving.options,
    dependencies: {
      environment,
      access: { authenticator, authorizer, audit: await buildAudit(values, environment), visibility },
      resources: {
        storages,
        gate,
        isEnabled,
        unstored: new Map<string, ResourceStorage>([
          [`${componentstatuses.group}/${componentstatuses.resource}`, componentStorage],
          ...resourceMetrics.storages,
        ]),
        webhooks,
      },
      writes: { admission, hooks: [network.allocator] },
      endpoints: {
        virtualResources: [
          tokenReviews({ dialect, tokens, audiences }),
          ...reviews,
          tokenRequests({ dialect, issuer, reader }),
        ],
        connects: [
          podLog({ reader, nodeAgents, dialect }),
          ...podConnects({ dialect, reader, nodeAgents, clock, bytesPerSecond }),
          ...proxies({
            ...{ dialect, reader, nodeAgents, resolve: resolveName, random, clock, tracer, bytesPerSecond },
            dial: environment.egress?.dialOf('cluster'),
          }),
        ],
        barrier,
        questions: (parts) => questions.endpoint(parts),
        aggregation,
        keyProbes: storage.keyProbes,
        ...(setup.around === undefined ? {} : { around: setup.around }),
        paths: {
          ...buildPaths(values, {
            authentication,
            metrics: () => worker?.metrics() ?? Promise.resolve(metrics),
            debug: setup.debug,
          }),
          ...setup.paths,
        },
      },
      dashboardLogin: await buildDashboardLogin(values, environment),
      release: () => {
        resourceMetrics.close();
        authentication.close();
        storage.releaseKeys();
        authorization.close();
      },
    },
    storage,
    closeStore: setup.store === undefined,
    authentication,
    authorization,
    aggregation,
    network,
    serving,
    identity,
    machineAddresses,
    idleCollection: setup.idleCollection,
    questions,
    worker,
  });
  return server;
}

const resolveName: ResolveName = (name) => lookup(name, { all: true });

/** Default ports of the control plane's other daemons (specification 2). */
function localDaemons(clock: Clock): Component[] {
  return [localDaemon('scheduler', 10259, clock), localDaemon('controller-manager', 10257, clock)];
}

/** Storage versions are recorded as objects of this resource. */
function servesStorageVersions(dialect: Dialect, isEnabled: (info: ResourceInfo) => boolean): boolean {
  return schemeFor(dialect).resources.some(
    (info) => info.declaration.resource === storageversions.resource && isEnabled(info),
  );
}

/** Undefined with an authorizer that is a webhook, which would be called for every namespace. */
function buildVisibility(
  { dialect }: ServerEnvironment,
  { prompt, rbac }: AuthorizationParts,
  storages: ResourceStorages,
): Visibility | undefined {
  return prompt && new Visibility({ dialect, authorizer: prompt, index: rbac?.index, storages });
}

/** Holds writes until the storage versions are recorded. */
function buildBarrier(
  { dialect, clock }: ServerEnvironment,
  id: string | undefined,
  storages: ResourceStorages,
): StorageVersionBarrier | undefined {
  if (id === undefined) return undefined;
  const isStored = (resource: ServedResource) =>
    'kindInfo' in resource || storages.find(resource.declaration) === resource.storage;
  return new StorageVersionBarrier({ dialect, clock, id, versions: storages.storageOf(storageversions), isStored });
}
