/** Routes each request behind the pipeline: to a resource, to a plain path, or to an extension API server. */
import type { AddressInfo } from 'node:net';
import { serviceUnavailable } from '#apimachinery/errors/status.js';
import type { Aggregation } from '#apiserver/aggregation/aggregation.js';
import type { RemoteService } from '#apiserver/aggregation/remote-service.js';
import type { ServerEnvironment } from '#apiserver/build/environment.js';
import type { ResourceSet } from '#apiserver/build/resources.js';
import type { HealthCheck } from '#apiserver/discovery/health.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import type { Endpoint } from '#apiserver/pipeline/pipeline.js';
import type { RegistryContext } from '#apiserver/registry/operation.js';
import type { Responder } from '#apiserver/representation/respond.js';
import type { ConnectEndpoint, VirtualResource } from '#apiserver/resources/endpoints.js';
import type { ResourceTable } from '#apiserver/resources/resource-table.js';
import type { ResourceStorages } from '#apiserver/resources/storages.js';
import { plainPaths } from '#apiserver/routing/plain-paths.js';
import { ResourceRouter } from '#apiserver/routing/router.js';
import type { StorageVersionBarrier } from '#apiserver/storageversions/write-barrier.js';
import type { KeyProbe } from '#storage/encryption/key-probe.js';
import type { Store } from '#storage/store.js';

export interface EndpointParts {
  readonly virtualResources?: readonly VirtualResource[];
  readonly connects?: readonly ConnectEndpoint[];
  /** Delays writes until storage versions are recorded; absent: no delay. */
  readonly barrier?: StorageVersionBarrier | undefined;
  /** Versions that extension API servers serve; absent: there are none. */
  readonly aggregation?: Aggregation;
  readonly healthChecks?: readonly HealthCheck[];
  /** Of the key management services that the stores need. */
  readonly keyProbes?: readonly KeyProbe[];
  /** Answers why; absent: it is not served. */
  readonly questions?: ((parts: QuestionParts) => Endpoint) | undefined;
  /** Additional plain paths (`/openid/v1/jwks`, `/.well-known/…`), by their exact path. */
  readonly paths?: Readonly<Record<string, (context: RequestContext) => Promise<ApiResponse>>>;
  /** Puts its own step before each endpoint, those of upgrades included; absent: there is none. */
  readonly around?: (endpoint: Endpoint) => Endpoint;
}

/** The parts of the server that answers are made of. */
export interface QuestionParts {
  readonly resources: ResourceTable;
  readonly responder: Responder;
}

export interface EndpointSetup {
  readonly resources: ResourceSet;
  readonly registry: RegistryContext;
  readonly storages: ResourceStorages;
  /** `host:port` at which clients reach this server; empty while it does not listen. */
  readonly externalAddress: () => string;
  readonly isStopping: () => boolean;
}

export interface Endpoints {
  readonly endpoint: Endpoint;
  /** `endpoint` without the step before it. */
  readonly plain: Endpoint;
  /** Puts the step before another endpoint. */
  readonly around: (endpoint: Endpoint) => Endpoint;
  readonly router: ResourceRouter;
}

export function buildEndpoints(environment: ServerEnvironment, parts: EndpointParts, setup: EndpointSetup): Endpoints {
  const { resources, registry, externalAddress: serverAddress } = setup;
  const { definitions, scheme, gate, table } = resources;
  const { aggregation, barrier, paths = {}, virtualResources: virtual = [], connects = [] } = parts;
  const router = new ResourceRouter(registry, { virtual, connects, definitions, barrier });
  const plain = plainPaths({
    ...environment,
    gate,
    paths,
    responder: registry.responder,
    scheme,
    resources: table,
    remote: () => aggregation?.apiServices.remotes.values() ?? [],
    foreign: aggregation?.documents,
    caughtUp: (signal) => definitions.caughtUp(signal),
    serverAddress,
    healthChecks: healthChecks(parts, setup),
  });
  const questions = parts.questions?.({ resources: table, responder: registry.responder });
  const { group: questionGroup } = environment.dialect.insight;
  const endpoint: Endpoint = (context) => {
    if (context.info.group === questionGroup && questions !== undefined) return questions(context);
    const remote = remoteService(aggregation, context);
    if (aggregation !== undefined && remote !== undefined) {
      context.audit?.passedOn();
      return aggregation.proxy.serve(context, remote);
    }
    return context.info.resourceRequest ? router.serve(context) : plain(context);
  };
  const around = parts.around ?? ((each: Endpoint) => each);
  return { endpoint: around(endpoint), plain: endpoint, around, router };
}

/** `host` with the port on which the server listens, unless it names one itself; without `host`, where the server listens. */
export function externalAddress(host: string, listening: AddressInfo | undefined): string {
  if (host === '') return listening === undefined ? '' : `${listening.address}:${listening.port}`;
  if (hasPort(host) || listening === undefined) return host;
  return `${host.includes(':') ? `[${host}]` : host}:${listening.port}`;
}

/** As Go splits hosts and ports: an IPv6 address needs brackets to have a port. */
function hasPort(host: string): boolean {
  return /^(?:\[[^[\]]*\]|[^:[\]]*):[^:]*$/.test(host);
}

/** The extension API server that serves the request's version; undefined: this server does. */
export function remoteService(
  aggregation: Aggregation | undefined,
  context: Pick<RequestContext, 'info' | 'request' | 'visible'>,
): RemoteService | undefined {
  if (aggregation === undefined || aggregation.apiServices.remotes.size === 0) return undefined;
  return aggregation.proxy.find(context);
}

/** In the order of 1.24. */
function healthChecks(parts: EndpointParts, { resources, storages, isStopping }: EndpointSetup): HealthCheck[] {
  return [
    { name: 'ping', endpoints: ['healthz', 'livez', 'readyz'], check: () => Promise.resolve() },
    { name: 'log', endpoints: ['healthz', 'livez', 'readyz'], check: () => Promise.resolve() },
    storeCheck('etcd', storages.stores.main),
    ...storages.stores.others.map((store, i) => storeCheck(`etcd-override-${i}`, store)),
    ...(parts.keyProbes ?? []).map(keyCheck),
    {
      name: 'informer-sync',
      endpoints: ['readyz'],
      check: async () => {
        const waiting = storages.notReady();
        if (!resources.definitions.synced) waiting.push('custom resources');
        if (waiting.length > 0) throw serviceUnavailable(`caches are not filled yet: ${waiting.join(', ')}`);
      },
    },
    ...(parts.healthChecks ?? []),
    {
      name: 'shutdown',
      endpoints: ['readyz'],
      check: async () => {
        if (isStopping()) throw serviceUnavailable('process is shutting down');
      },
    },
  ];
}

function storeCheck(name: string, store: Store): HealthCheck {
  return { name, endpoints: ['healthz', 'livez', 'readyz'], check: (signal) => store.health(signal) };
}

function keyCheck(probe: KeyProbe, index: number): HealthCheck {
  return { name: `kms-provider-${index}`, endpoints: ['healthz', 'livez', 'readyz'], check: () => probe.check() };
}
