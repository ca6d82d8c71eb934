/** The work of a ready API server beside its requests: its endpoints, its certificates, its controllers, and its store. */
import type { AddressInfo } from 'node:net';
import { aborted } from '#apimachinery/async/abort.js';
import { ipFamily } from '#apimachinery/net/ip.js';
import type { Aggregation } from '#apiserver/aggregation/aggregation.js';
import { RangeRepair } from '#apiserver/allocators/range-repair.js';
import { ApiService } from '#apiserver/bootstrap/api-service.js';
import { keepFlowControlObjects } from '#apiserver/bootstrap/flow-control-ensurer.js';
import { keepFlowSchemaStatus } from '#apiserver/bootstrap/flow-schema-status.js';
import type { ApiServer } from '#apiserver/build/api-server.js';
import type { AuthenticationParts } from '#apiserver/build/authentication.js';
import type { ServerEnvironment } from '#apiserver/build/environment.js';
import type { Questions } from '#apiserver/build/questions.js';
import type { ServiceNetwork } from '#apiserver/build/service-network.js';
import type { ServingParts } from '#apiserver/build/serving.js';
import type { StorageParts } from '#apiserver/build/storage.js';
import { DefinitionController } from '#apiserver/customresources/definition-controller.js';
import { etcdRoot } from '#apiserver/options/etcd.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import type { Client } from '#client/client.js';
import { ApiEventRecorder } from '#client/events/recorder.js';
import { followFiles } from '#daemon/certificates/followed-file.js';
import { collectWhenIdle, type IdleCollectionOptions } from '#daemon/memory/idle-collector.js';
import { compactRegularly } from '#storage/compaction.js';
import { serverLeases } from '#storage/own-keys.js';
import { pollMetrics } from '#storage/poll-metrics.js';

export interface UpkeepParts {
  readonly values: ApiServerValues;
  readonly dependencies: { readonly environment: ServerEnvironment };
  readonly storage: StorageParts;
  readonly authentication: AuthenticationParts;
  readonly aggregation: Aggregation;
  readonly network: ServiceNetwork;
  readonly serving: ServingParts;
  readonly machineAddresses: readonly string[];
  readonly questions: Pick<Questions, 'prepare'>;
  readonly idleCollection: Omit<IdleCollectionOptions, 'clock'> | undefined;
}

export interface UpkeepSetup {
  readonly server: ApiServer;
  /** A client with all rights. */
  readonly client: Client;
  /** Called when the client authorities have changed. */
  readonly certificatesChanged: () => Promise<void>;
  /** Additional work; its failure ends the server. */
  readonly work: readonly (Promise<void> | undefined)[];
}

const leaveTimeoutMs = 2000;

/** Resolves when the signal has aborted and all work is over. Rejects with the first failure. */
export async function keepUp(parts: UpkeepParts, setup: UpkeepSetup, signal: AbortSignal): Promise<void> {
  const { storage, network, values, dependencies, aggregation, idleCollection } = parts;
  const { server, client } = setup;
  const { reader, stores, storages, metrics } = storage;
  const { clock, turns, log, random } = dependencies.environment;
  const recorder = new ApiEventRecorder({ client, source: { component: server.name }, clock, random, log });
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
  const service = newApiService(parts, client, server.address);
  await Promise.all([
    repair.run(signal),
    // Leave the endpoints first: clients turn to other servers while this one still answers requests.
    service.run(signal).then(() => leave(parts, service)),
    idleCollection === undefined ? undefined : collectWhenIdle({ ...idleCollection, clock }, signal),
    followCertificates(parts, setup, signal),
    aggregation.followIdentity(signal),
    aggregation.documents.run(signal),
    aggregation.keepAvailability(client, signal),
    parts.questions.prepare(signal),
    ...setup.work,
    ...keepFlowControl(parts, client, signal),
    server.servesDefinitions
      ? new DefinitionController({ reader, client, clock, turns, exceeded: server.exceeded, log }).run(signal)
      : undefined,
    ...(periodMs > 0 ? stores.all : []).map((store) =>
      compactRegularly({ store, root, clock, log, metrics, periodMs }, signal),
    ),
    pollMetrics(
      {
        stores: stores.all,
        caches: storages.counted(),
        clock,
        log,
        metrics,
        countPeriodMs: values['etcd-count-metric-poll-period'],
        sizePeriodMs: values['etcd-db-metric-poll-interval'],
      },
      signal,
    ),
    aborted(signal),
  ]);
  await recorder.close();
}

/** The objects that configure priority and fairness. */
function keepFlowControl(
  { storage, dependencies, serving }: UpkeepParts,
  client: Client,
  signal: AbortSignal,
): readonly Promise<void>[] {
  if (serving.options.priorityAndFairness !== true) return [];
  const { clock, log } = dependencies.environment;
  const { reader } = storage;
  return [
    keepFlowSchemaStatus({ reader, client, clock, log }, signal),
    keepFlowControlObjects({ client, clock, log }, signal),
  ];
}

/** Reloads the serving certificate and the client authorities when their files change. */
async function followCertificates(
  { authentication, dependencies, serving }: UpkeepParts,
  { server, certificatesChanged }: UpkeepSetup,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = dependencies.environment;
  const { authorities } = authentication;
  const files = [...serving.files, ...authorities.files];
  if (files.length === 0) return;
  const changed = async () => {
    const haveChanged = await authorities.reload();
    server.reloadTLS(await serving.load());
    if (haveChanged) await certificatesChanged();
  };
  await followFiles({ files, clock, log, changed }, signal);
}

/** Removes this server from the endpoints, if the store answers in time. */
async function leave({ dependencies }: UpkeepParts, service: ApiService): Promise<void> {
  const { clock, log } = dependencies.environment;
  const timeout = new AbortController();
  const timer = clock.setTimer(() => timeout.abort(), leaveTimeoutMs);
  try {
    await service.leave(timeout.signal);
  } catch (err) {
    log.warn({ err }, 'could not leave the endpoints; they forget this server when its lease ends');
  } finally {
    timer.cancel();
  }
}

/** The API's own Service with this server as one of its endpoints. */
export function newApiService(
  { values, network, dependencies, storage, machineAddresses }: UpkeepParts,
  client: Client,
  address: AddressInfo | undefined,
): ApiService {
  const { clock, clusterClock = clock, log } = dependencies.environment;
  const ip = advertisedAddress([
    values['advertise-address'],
    values['bind-address'],
    ...machineAddresses.filter((each) => ipFamily(each) === 4),
    ...machineAddresses,
  ]);
  const port = address?.port;
  return new ApiService({
    client,
    store: storage.stores.main,
    clock: clusterClock,
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

/** The first address that Endpoints may contain: loopback, link-local and unspecified addresses are not allowed in them. */
function advertisedAddress(candidates: readonly (string | undefined)[]): string | undefined {
  const usable = (ip: string | undefined) =>
    ip !== undefined && ip !== '' && !/^(127\.|0\.0\.0\.0$|::1?$|169\.254\.|fe80:)/i.test(ip);
  return candidates.find(usable);
}
