/** The service proxy as a program, for nodes whose agent does not run it in its own process. */

import { hostname } from 'node:os';
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import type { InformerFactory } from '#client/informer/informer.js';
import { dropManagedFields } from '#client/informer/transforms.js';
import { connectByOptions } from '#client/kubeconfig/connect-daemon.js';
import type { Connection } from '#client/rest/connection.js';
import type { Daemon } from '#daemon/daemon.js';
import type { Logger } from '#daemon/log/logger.js';
import type { ProcessFacts } from '#daemon/metrics/process-metrics.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import { withDialectNames } from '#daemon/options/dialect-names.js';
import { clientConnectionOptions } from '#daemon/options/groups/client-connection.js';
import { FeatureGates, featureGateOptions, featureGateRules } from '#daemon/options/groups/feature-gates.js';
import { genericOptions } from '#daemon/options/groups/generic.js';
import { loggingOptions, loggingRules } from '#daemon/options/groups/logging.js';
import type { ProxyMode } from '#daemon/options/groups/service-proxy.js';
import type { OptionTable } from '#daemon/options/option.js';
import type { Program, ProgramContext } from '#daemon/run.js';
import { type PlainAnswer, PlainEndpoints } from '#daemon/serving/plain-http.js';
import { removeRules } from '#proxy/backend.js';
import { kernelSettings } from '#proxy/kernel-settings.js';
import { NodeProxy } from '#proxy/node-proxy.js';
import { proxyOptions, proxyRules, rangesByFamily } from '#proxy/options.js';
import { runWithInput } from '#proxy/program/run-program.js';

function proxyOptionTable(dialect: Dialect) {
  const table = {
    ...genericOptions,
    ...proxyOptions,
    ...clientConnectionOptions({ qps: 5, burst: 10, contentType: dialect.protobufMediaType }),
    ...featureGateOptions,
    ...loggingOptions,
  } as const satisfies OptionTable;
  return withDialectNames({ ...table, orchconfig: { ...table.orchconfig, aliases: ['kubeconfig'] } } as const, dialect);
}

type ProxyOptionTable = ReturnType<typeof proxyOptionTable>;

/** `facts`: what the process metrics report. */
export function proxyProgram(facts: ProcessFacts): Program<ProxyOptionTable> {
  return {
    name: (dialect) => dialect.components.serviceProxy,
    description:
      'Leads addresses and ports of services to their endpoints on this node, and enforces network policies.',
    options: proxyOptionTable,
    rules: [proxyRules, loggingRules, featureGateRules],
    actingGates: () => ['ProxyTerminatingEndpoints', 'TopologyAwareHints'],
    create: (context) => create(context, facts),
  };
}

async function create(context: ProgramContext<ProxyOptionTable>, facts: ProcessFacts): Promise<Daemon> {
  const { clock, dialect, log, random, values } = context;
  const name = dialect.components.serviceProxy;
  const table = values['nftables-table'] === '' ? name : values['nftables-table'];
  if (values.cleanup) return task(name, () => removeRules(runWithInput, table));
  const metrics = createRegistry({ dialect, process: facts });
  const connection = await connectByOptions(context, { file: values.orchconfig, program: name, metrics });
  const client = connection.client('proxy');
  const informers = new SharedInformerFactory({ client, clock, random, log, metrics, transform: dropManagedFields });
  const gates = new FeatureGates(values['feature-gates']);
  const proxy = new NodeProxy({
    ...{ informers, clock, random, log, metrics },
    nodeNames: [(values['hostname-override'] ?? hostname()).trim().toLowerCase()],
    mode: values['proxy-mode'] as ProxyMode,
    settings: {
      table,
      clusterCIDRs: rangesByFamily(values['cluster-cidr']),
      masqueradeBit: values['nftables-masquerade-bit'],
      masqueradeAll: values['masquerade-all'],
      nodePortAddresses: values['nodeport-addresses'],
      isClusterIPInternal: false,
    },
    gates: {
      topologyAwareHints: gates.enabled('TopologyAwareHints'),
      proxyTerminatingEndpoints: gates.enabled('ProxyTerminatingEndpoints'),
    },
    policies: values['network-policies'],
    syncPeriodMs: values['nftables-sync-period'],
    minSyncPeriodMs: values['nftables-min-sync-period'],
    run: runWithInput,
    kernel: kernelSettings,
  });
  return new ProxyProcess({
    ...{ name, proxy, informers, connection, metrics, clock, log },
    healthzAddress: values['healthz-bind-address'],
    metricsAddress: values['metrics-bind-address'],
    syncPeriodMs: values['nftables-sync-period'],
  });
}

/** A daemon that ends as soon as `work` has resolved. */
function task(name: string, work: () => Promise<void>): Daemon {
  return { name, start: work, ready: () => Promise.resolve(), close: () => Promise.resolve() };
}

interface ProxyProcessParts {
  readonly name: string;
  readonly proxy: NodeProxy;
  readonly informers: InformerFactory;
  readonly connection: Connection;
  readonly metrics: Registry;
  readonly clock: Clock;
  readonly log: Logger;
  /** `0.0.0.0:10256`; empty: none. */
  readonly healthzAddress: string;
  readonly metricsAddress: string;
  readonly syncPeriodMs: number;
}

/** The proxy with its informers and connection, and its health and metrics endpoints, which are those of release 1.24. */
class ProxyProcess implements Daemon {
  readonly name: string;
  readonly #parts: ProxyProcessParts;
  readonly #endpoints: PlainEndpoints;
  readonly #stop = new AbortController();

  constructor(parts: ProxyProcessParts) {
    this.name = parts.name;
    this.#parts = parts;
    this.#endpoints = new PlainEndpoints(parts.log);
  }

  ready(): Promise<void> {
    return this.#parts.proxy.ready();
  }

  async start(signal: AbortSignal): Promise<void> {
    const { healthzAddress, informers, metrics, metricsAddress, proxy } = this.#parts;
    void this.#endpoints.serve(healthzAddress, '/healthz', () => this.#health());
    void this.#endpoints.serveMetrics(metricsAddress, metrics);
    const watched = informers.start(AbortSignal.any([signal, this.#stop.signal]));
    await Promise.race([proxy.start(signal), watched]);
  }

  async close(): Promise<void> {
    const { connection, proxy } = this.#parts;
    await proxy.close();
    this.#stop.abort();
    await this.#endpoints.close();
    await connection.close();
  }

  /** Unhealthy when a change has been queued for two sync periods; load balancers then send traffic to other nodes. */
  #health(): PlainAnswer {
    const { clock, proxy, syncPeriodMs } = this.#parts;
    const { lastSync, queuedAt } = proxy.times;
    const now = clock.now();
    const isHealthy = lastSync > 0 && (queuedAt === undefined || now - queuedAt < 2 * syncPeriodMs);
    const time = (ms: number) => new Date(ms).toISOString();
    return {
      status: isHealthy ? 200 : 503,
      type: 'application/json',
      body: `{"lastUpdated": "${time(isHealthy ? now : lastSync)}","currentTime": "${time(now)}"}`,
    };
  }
}
