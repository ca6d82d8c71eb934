/** From the options of the command line to a complete API server. */

import { randomUUID } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import type { Registry } from 'prom-client';
import { storageversions } from '#api/apiserverinternal/v1alpha1/resources.gen.js';
import { componentstatuses } from '#api/core/v1/resources.gen.js';
import { schemeFor } from '#api/scheme.js';
import { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { sameAddress, specialRange } from '#apimachinery/net/special-ip.js';
import type { ResourceInfo } from '#apimachinery/schema/scheme.js';
import { admissionPlugins, idlePlugins, type PluginDependencies } from '#apiserver/admission/chain/plugins.js';
import { RbacEscalation } from '#apiserver/admission/rbac-escalation.js';
import { LockoutWarnings } from '#apiserver/admission/webhook/lockout-warnings.js';
import { WebhookMetrics } from '#apiserver/admission/webhook/webhook-metrics.js';
import type { ApiServerDependencies, ApiServerOptions } from '#apiserver/apiserver.js';
import { tokenReviews } from '#apiserver/authentication/token-review.js';
import { accessReviews } from '#apiserver/authorization/reviews.js';
import { CompleteApiServer, type CompleteApiServerParts } from '#apiserver/complete-api-server.js';
import { type Component, localDaemon, storeComponent } from '#apiserver/componentstatus/component.js';
import { ComponentStorage } from '#apiserver/componentstatus/component-storage.js';
import { type AdmissionConfig, readAdmissionConfig } from '#apiserver/config/admission.js';
import { buildAggregation } from '#apiserver/config/aggregation.js';
import { buildAudit } from '#apiserver/config/audit.js';
import { buildAuthentication } from '#apiserver/config/authentication.js';
import { type AuthorizationParts, buildAuthorization } from '#apiserver/config/authorization.js';
import { debugPaths } from '#apiserver/config/debug-paths.js';
import { buildEncryption } from '#apiserver/config/encryption.js';
import { buildNodeAgents } from '#apiserver/config/node-agents.js';
import { discoveryPaths } from '#apiserver/config/paths.js';
import { buildResourceMetrics } from '#apiserver/config/resource-metrics.js';
import { buildServiceNetwork } from '#apiserver/config/service-network.js';
import { loadServing } from '#apiserver/config/serving.js';
import { openStores } from '#apiserver/config/store.js';
import { buildTracing } from '#apiserver/config/tracing.js';
import { buildWebhookClient } from '#apiserver/config/webhook-client.js';
import { newIdentity } from '#apiserver/identity/server-identity.js';
import { StorageObjectReader } from '#apiserver/objects/storage-object-reader.js';
import { apiEnablement } from '#apiserver/options/api-enablement.js';
import { etcdRoot } from '#apiserver/options/etcd.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import type { VirtualResource } from '#apiserver/resources/endpoints.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import { ResourceStorages } from '#apiserver/resources/storages.js';
import { serverOptions } from '#apiserver/server-settings.js';
import { StorageVersionBarrier } from '#apiserver/storageversions/write-barrier.js';
import { podConnects } from '#apiserver/streaming/pod-connect.js';
import { podLog } from '#apiserver/streaming/pod-log.js';
import { proxies } from '#apiserver/streaming/proxies.js';
import type { ResolveName } from '#apiserver/streaming/reachable.js';
import { tokenRequests } from '#apiserver/subresources/service-account-token.js';
import type { WorkerLink } from '#apiserver/workers/worker-link.js';
import { holdCertificate } from '#daemon/certificates/expirations.js';
import type { DebugEndpoints } from '#daemon/debugging/debug-endpoints.js';
import type { Logger } from '#daemon/log/logger.js';
import type { IdleCollectionOptions } from '#daemon/memory/idle-collector.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import type { FeatureGateName } from '#daemon/options/groups/feature-gate-table.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import { servingFiles } from '#daemon/serving/serving-certificate.js';
import { createStorageMetrics } from '#storage/metrics.js';
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
  /** Absent: etcd, as the options say; it is closed with the server then. */
  readonly store?: Store;
  readonly metrics?: Registry;
  /** `/configz`, `/debug/…`; for a server that is a process of its own. */
  readonly debug?: DebugEndpoints;
  /** Whose health is told beside the store's; absent: the daemons at their usual ports of this machine. */
  readonly components?: readonly Component[];
  /** Addresses of the machine's interfaces, for an advertised address that the options leave open. */
  readonly machineAddresses?: readonly string[];
  /** For a server that is a process of its own: how its garbage is collected after busy times. */
  readonly idleCollection?: Omit<IdleCollectionOptions, 'clock'>;
  /** Memory that the process may use; what answers may hold of it is a part of this unless an option says it. */
  readonly memoryBytes?: number;
  /** Listen on a port that the system picks, whatever the options say. */
  readonly listenOnAnyPort?: boolean;
  /** The supervisor of the server, where this one is a worker of it. */
  readonly worker?: WorkerLink;
  /** Answers at further paths. */
  readonly paths?: ApiServerDependencies['paths'];
}

/** Reads the files that the options name. Throws OptionsError for what they cannot mean. */
export async function buildApiServer(setup: ApiServerSetup): Promise<CompleteApiServer> {
  const { values, worker, log } = setup;
  if (worker === undefined && values.workers > 1) {
    log.warn(
      { workers: values.workers },
      'This server does not listen, or is a part of a larger process: it has one worker',
    );
  }
  let server: CompleteApiServer | undefined;
  server = new CompleteApiServer(await serverParts(setup, () => server?.address?.port));
  return server;
}

function identityOf({ values, dialect, newUID = randomUUID }: ApiServerSetup): string | undefined {
  const gates = new FeatureGates(values['feature-gates']);
  return gates.enabled('APIServerIdentity') ? newIdentity(dialect, newUID) : undefined;
}

/** @param ownPort The port of the server, once it listens. */
async function serverParts(setup: ApiServerSetup, ownPort: () => number | undefined): Promise<CompleteApiServerParts> {
  const { values, dialect, clock, log, random, worker } = setup;
  const isEnabled = apiEnablement(values['runtime-config'], schemeFor(dialect).resources);
  // One for all that this server does, whatever else runs in the process.
  const turns = new TurnQueue({ clock, defer: setImmediate });
  const metrics = setup.metrics ?? createRegistry({ dialect });
  const storageMetrics = createStorageMetrics(metrics);
  const shownMetrics = () => worker?.metrics() ?? Promise.resolve(metrics);
  const tracer = await buildTracing(values, { dialect, log, metrics });
  const stores = await openStores(
    values,
    { clock, random, log, metrics: storageMetrics, registry: metrics, tracer },
    setup.store,
  );
  const prefix = etcdRoot(values['etcd-prefix']);
  const transformers = await buildEncryption(values, { dialect, clock, metrics: storageMetrics });
  const gates = new FeatureGates(values['feature-gates']);
  const gate = (name: string): boolean => gates.enabled(name as FeatureGateName);
  const storages = new ResourceStorages({
    dialect,
    store: stores,
    clock,
    turns,
    random,
    log,
    metrics: storageMetrics,
    prefix,
    transformers,
    gate,
  });
  for (const resource of storages.unknown(transformers.keys())) {
    log.warn({ resource }, 'The encryption config names a resource that is not stored here');
  }
  for (const resource of storages.unknown(stores.named)) {
    // What is stored in groups that are not built in is made up by definitions.
    if (
      schemeFor(dialect).resources.some(
        ({ groupName }) => resource.endsWith(`.${groupName}`) || !resource.includes('.'),
      )
    )
      log.warn({ resource }, '--etcd-servers-overrides names a resource that is not stored here');
  }
  const reader = new StorageObjectReader({ storageOf: (resource) => storages.find(resource), turns, clock, log });
  const authentication = await buildAuthentication({ values, dialect, clock, reader, metrics, log });
  const authorization = buildAuthorization({ dialect, reader, clock }, values['authorization-mode']);
  const network = buildServiceNetwork({ values, store: stores.of('', 'services'), random, dialect, metrics });
  const { authorizer } = authorization;
  const reviews: VirtualResource[] = accessReviews({ dialect, authorizer, rules: authorization.rbac?.authorizer });
  const webhookClient = buildWebhookClient(setup, { reader, resolveName, workers: worker?.place.workers ?? 1, tracer });
  const admission = buildAdmission(setup, {
    reader,
    storages,
    authorization,
    config: await readAdmissionConfig(values, dialect, clock),
    webhooks: {
      client: webhookClient,
      metrics: new WebhookMetrics(metrics),
      log,
      newUID: setup.newUID ?? randomUUID,
    },
  });
  const isOwn = (address: string, port: number) =>
    port === ownPort() && isOfMachine(address, setup.machineAddresses ?? []);
  const nodeAgents = await buildNodeAgents(setup, { reader, metrics, resolve: resolveName, isOwn });
  const periodMs = values['metric-resolution'];
  const resourceMetrics = buildResourceMetrics({ dialect, clock, log, storages, nodeAgents, periodMs });
  const aggregation = await buildAggregation({ values, dialect, clock, log, metrics, random, reader, tracer });
  const options = workerOptions(await serverOptions({ ...setup, authorities: authentication.authorities }), worker);
  const listens = options.listen !== undefined;
  let served = options.listen?.tls;
  if (listens) holdCertificate(metrics, 'serving', () => served?.cert);
  const identity = identityOf(setup);
  const recordsVersions = gate('StorageVersionAPI') && schemeFor(dialect).resources.some(isStorageVersions(isEnabled));
  const barrier = recordsVersions ? buildBarrier({ identity, dialect, clock, storages }) : undefined;
  const components = [
    ...stores.all.map((each, i) => storeComponent(`etcd-${i}`, each)),
    ...(setup.components ?? localDaemons(clock)),
  ];
  const componentStorage = new ComponentStorage(components, schemeFor(dialect).resourceOf(componentstatuses).type);
  return {
    options,
    dependencies: {
      dialect,
      storages,
      clock,
      turns,
      log,
      metrics,
      random,
      newUID: setup.newUID ?? randomUUID,
      authenticator: authentication.authenticator,
      authorizer,
      admission,
      webhooks: webhookClient,
      hooks: [network.allocator],
      virtualResources: [
        tokenReviews({ dialect, tokens: authentication.tokens, audiences: authentication.audiences }),
        ...reviews,
        tokenRequests({ dialect, issuer: authentication.issuer, reader }),
      ],
      unstored: new Map<string, ResourceStorage>([
        [`${componentstatuses.group}/${componentstatuses.resource}`, componentStorage],
        ...resourceMetrics.storages,
      ]),
      release: () => resourceMetrics.close(),
      connects: [
        podLog({ reader, nodeAgents, dialect }),
        ...podConnects({ dialect, reader, nodeAgents, clock }),
        ...proxies({ dialect, reader, nodeAgents, resolve: resolveName, random, clock, tracer }),
      ],
      aggregation,
      paths: {
        ...discoveryPaths(values, authentication),
        ...debugPaths(values, shownMetrics, setup.debug),
        ...setup.paths,
      },
      gate,
      isEnabled,
      barrier,
      audit: await buildAudit({ ...setup, metrics }),
      tracer,
    },
    closeStore: setup.store === undefined,
    servingFiles: listens ? servingFiles(values) : [],
    async loadServing() {
      served = await loadServing({ values, clock, authorities: authentication.authorities });
      return served;
    },
    reader,
    authentication,
    authorization,
    aggregation,
    network,
    storageMetrics,
    identity,
    values,
    machineAddresses: setup.machineAddresses ?? [],
    ...(setup.idleCollection === undefined ? {} : { idleCollection: setup.idleCollection }),
    worker,
  };
}

/** Whether it is the resource without which nothing can be put on record, and on. */
const isStorageVersions =
  (isEnabled: (info: ResourceInfo) => boolean) =>
  (info: ResourceInfo): boolean =>
    info.declaration.resource === storageversions.resource && isEnabled(info);

function buildBarrier({
  identity: id,
  dialect,
  clock,
  storages,
}: Pick<ApiServerSetup, 'dialect' | 'clock'> & {
  readonly identity: string | undefined;
  readonly storages: ResourceStorages;
}): StorageVersionBarrier | undefined {
  if (id === undefined) return undefined;
  const isStored = (resource: ServedResource) =>
    'kindInfo' in resource || storages.find(resource.declaration) === resource.storage;
  return new StorageVersionBarrier({ dialect, clock, id, versions: storages.storageOf(storageversions), isStored });
}

/** A worker has its part of the limits of the whole server. */
function workerOptions(options: ApiServerOptions, worker: WorkerLink | undefined): ApiServerOptions {
  if (worker === undefined) return options;
  const { maxRequestsInFlight, maxMutatingRequestsInFlight, responseMemoryBytes } = options;
  const limits = { maxRequestsInFlight, maxMutatingRequestsInFlight, responseMemoryBytes };
  const parts = Object.entries(limits).flatMap(([name, limit]) =>
    limit === undefined ? [] : [[name, worker.partOf(limit)] as const],
  );
  return { ...options, ...Object.fromEntries(parts) };
}

function isOfMachine(address: string, machineAddresses: readonly string[]): boolean {
  return specialRange(address) === 'loopback' || machineAddresses.some((own) => sameAddress(own, address));
}

const resolveName: ResolveName = (name) => lookup(name, { all: true });

/** Where the others of a control plane are when nothing else is said (specification 2). */
function localDaemons(clock: Clock): Component[] {
  return [localDaemon('scheduler', 10259, clock), localDaemon('controller-manager', 10257, clock)];
}

interface AdmissionParts {
  readonly reader: StorageObjectReader;
  readonly storages: ResourceStorages;
  readonly authorization: AuthorizationParts;
  readonly config: AdmissionConfig;
  readonly webhooks: PluginDependencies['webhooks'];
}

function buildAdmission(
  { values, dialect, clock, log, random }: ApiServerSetup,
  { reader, storages, authorization, config, webhooks }: AdmissionParts,
) {
  const { authorizer, rbac } = authorization;
  const [enabled, disabled] = [values['enable-admission-plugins'], values['disable-admission-plugins']];
  for (const { plugin, text } of idlePlugins(enabled)) log.warn({ plugin }, text);
  for (const plugin of config.unconfigurable) log.warn({ plugin }, 'This admission plugin takes no configuration');
  const chosen = admissionPlugins(
    {
      dialect,
      reader,
      authorizer,
      clock,
      storageOf: (resource) => storages.find(resource),
      limitedByQuota: config.limitedByQuota,
      webhookCredentials: config.webhookCredentials,
      webhooks,
      random,
      notReadySeconds: values['default-not-ready-toleration-seconds'],
      unreachableSeconds: values['default-unreachable-toleration-seconds'],
    },
    { enabled, disabled },
  );
  const plugins = [...chosen, new LockoutWarnings({ dialect, reader })];
  if (rbac === undefined) return plugins;
  return [...plugins, new RbacEscalation({ dialect, index: rbac.index, rbac: rbac.authorizer, authorizer })];
}
