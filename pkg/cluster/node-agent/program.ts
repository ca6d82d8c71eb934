/** The node agent as a separate program: builds an agent on a real runtime from options and files. */

import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { promisify } from 'node:util';
import type { Registry } from 'prom-client';
import type { Dialect } from '#apimachinery/dialect.js';
import type { EventRecorder } from '#client/events/recorder.js';
import { emptyInformers } from '#client/informer/empty-informers.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import type { InformerFactory } from '#client/informer/informer.js';
import { dropManagedFields } from '#client/informer/transforms.js';
import type { Connection } from '#client/rest/connection.js';
import { type ClientCredentials, clientCredentials } from '#cluster/node-agent/client-credentials.js';
import { cloudDependencies } from '#cluster/node-agent/cloud.js';
import { nodeDns } from '#cluster/node-agent/dns.js';
import { nodePodNetwork } from '#cluster/node-agent/pod-network.js';
import { NodeAgentProcess } from '#cluster/node-agent/process.js';
import { nodeServiceProxy } from '#cluster/node-agent/service-proxy.js';
import { shutdownDependencies } from '#cluster/node-agent/shutdown.js';
import type { Daemon } from '#daemon/daemon.js';
import { DebugEndpoints } from '#daemon/debugging/debug-endpoints.js';
import { InspectorProfilerSource } from '#daemon/debugging/profiler.js';
import { garbageCollector, heapBytes } from '#daemon/memory/idle-collector.js';
import type { ProcessFacts } from '#daemon/metrics/process-metrics.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import { OptionsError } from '#daemon/options/option.js';
import type { ParsedOptions } from '#daemon/options/parse.js';
import { validateOptions } from '#daemon/options/validate.js';
import type { Program, ProgramContext } from '#daemon/run.js';
import { openTracer } from '#daemon/tracing/open-tracer.js';
import type { Tracer } from '#daemon/tracing/tracer.js';
import { GrpcCRI } from '#nodeagent/cri/grpc/client.js';
import type { NodeAgentDependencies } from '#nodeagent/dependencies.js';
import { LocalMachine } from '#nodeagent/node/machine.js';
import { kernelSettingErrors, swapRefusal } from '#nodeagent/node/prerequisites.js';
import { NodeAgent } from '#nodeagent/nodeagent.js';
import { currentConfig } from '#nodeagent/options/config/configz.js';
import { applyConfigFile, type ConfiguredOptions } from '#nodeagent/options/config/file.js';
import { type FileOnlySettings, noFileSettings } from '#nodeagent/options/config/file-only.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { nodeAgentGates } from '#nodeagent/options/gates.js';
import {
  completeRules,
  type NodeAgentOptionTable,
  nodeAgentOptionRules,
  nodeAgentOptionTable,
} from '#nodeagent/options/options.js';
import { standardServer } from '#nodeagent/server/standard-server.js';
import { simulatedDependencies, simulatedEndpoint } from '#nodeagent/simulated/node.js';

/** Default rates of clients, for options that are zero. */
const defaultQps = 5;
const defaultBurst = 10;
const orDefault = (value: number, standard: number): number => (value === 0 ? standard : value);

type Configured = ConfiguredOptions<NodeAgentOptionTable>;
type Context = ProgramContext<NodeAgentOptionTable> & Configured;

/** `facts`: properties of the process for its metrics. */
export function nodeAgentProgram(facts: ProcessFacts): Program<NodeAgentOptionTable, Configured> {
  return {
    name: (dialect) => dialect.components.nodeAgent,
    description: 'Runs the pods that are bound to this node, on a container runtime.',
    options: nodeAgentOptionTable,
    rules: nodeAgentOptionRules,
    actingGates: () => nodeAgentGates,
    configure: configuredAgent,
    create: (context) => create(context, facts),
  };
}

/** Reads the configuration file. Throws OptionsError. */
export async function configuredAgent(
  parsed: ParsedOptions<NodeAgentOptionTable>,
  dialect: Dialect,
): Promise<Configured> {
  const path = parsed.values.config ?? '';
  if (path === '') return { ...parsed, settings: noFileSettings };
  const complete = await applyConfigFile(nodeAgentOptionTable(dialect), parsed, { path, dialect });
  validateOptions(complete, completeRules);
  return complete;
}

async function create(context: Context, facts: ProcessFacts): Promise<Daemon> {
  const { dialect, clock, random, log, settings } = context;
  const values = withoutApi(context.values, log);
  if ((values['container-runtime-endpoint'] ?? '') === '')
    throw new OptionsError(['--container-runtime-endpoint is required']);

  const simulated = values['container-runtime-endpoint'] === simulatedEndpoint;
  if (values['fail-swap-on'] && !simulated) await refuseSwap();
  if (values['protect-kernel-defaults'] && !simulated) {
    const errors = await kernelSettingErrors((name) => readFile(`/proc/sys/${name}`, 'utf8'));
    if (errors.length > 0) throw new OptionsError(errors);
  }
  await setOOMScoreAdj(values['oom-score-adj'], context);
  if (!simulated && values['max-open-files'] > 0) await setMaxOpenFiles(values['max-open-files'], context);
  const metrics = createRegistry({ dialect, process: facts });
  const nodeName = (values['hostname-override'] ?? hostname()).trim().toLowerCase();
  const service = dialect.components.nodeAgent;
  const tracer = await openTracer(values['tracing-config-file'], { dialect, service, log, metrics });
  const api = await connectToAPI({ ...context, metrics, nodeName, tracer }, values);
  const { informers, dependencies, connection, credentials } = api;
  const { client } = informers;
  const cloud = await cloudDependencies(values);
  if (simulated && cloud.links !== undefined)
    log.warn('option --cloud-provider has no effect: a simulated node announces no addresses');
  const surroundings = { ...runtimeDependencies(context, values, tracer), ...(simulated ? {} : cloud) };
  const shutdown = shutdownDependencies(settings, { dialect, log, isSimulated: simulated });
  const { cri } = surroundings;
  const agent = new NodeAgent(values, {
    informers,
    clock,
    random,
    log,
    metrics,
    nodeName,
    ...dependencies,
    ...surroundings,
    ...shutdown,
    ...(tracer === undefined ? {} : { tracer }),
    ...(values.runonce
      ? {}
      : {
          server: standardServer({
            client,
            dialect,
            clock,
            random,
            log,
            nodeName,
            metrics,
            debug: debugEndpoints(context, values, settings),
          }),
        }),
  });
  // Without an API there is no DNS.
  const dns = connection && nodeDns(values, { informers, clock, random, log, metrics, nodeName });
  const proxy = connection && nodeServiceProxy(values, { informers, clock, random, log, metrics, nodeName });
  const podNetwork = connection && nodePodNetwork(values, { informers, clock, random, log, nodeName });
  return new NodeAgentProcess({
    agent,
    beside: [dns, proxy, podNetwork].filter((daemon) => daemon !== undefined),
    informers,
    ...(connection === undefined ? {} : { connection }),
    ...(credentials === undefined ? {} : { credentials }),
    ...(tracer === undefined ? {} : { tracer }),
    cri,
    log,
    health: { address: values['healthz-bind-address'], port: values['healthz-port'] },
    idleCollection: { clock, cpuUsage: () => facts.cpuUsage(), collect: garbageCollector(), heapBytes },
  });
}

/** Without an API, serving certificates cannot be requested. */
function withoutApi(values: NodeAgentOptions, log: Context['log']): NodeAgentOptions {
  if ((values.kubeconfig ?? '') !== '' || !values['rotate-server-certificates']) return values;
  log.warn('--rotate-server-certificates has no effect without an API server: using a self-signed serving certificate');
  return { ...values, 'rotate-server-certificates': false };
}

interface ApiAccess {
  readonly informers: InformerFactory;
  /** Absent without an API. */
  readonly connection?: Connection;
  readonly credentials?: ClientCredentials;
  readonly dependencies: Partial<NodeAgentDependencies>;
}

/** Connects to the kubeconfig's API server; without one the node runs standalone, with static pods only. */
async function connectToAPI(
  context: Context & {
    readonly metrics: Registry;
    readonly nodeName: string;
    readonly tracer: Tracer | undefined;
  },
  values: NodeAgentOptions,
): Promise<ApiAccess> {
  const { dialect, clock, random, log, metrics, tracer } = context;
  const path = values.kubeconfig ?? '';
  if (path === '' || values.runonce) {
    if (path !== '') log.warn('--kubeconfig has no effect with --runonce: only static pods run');
    else log.warn('running standalone without an API server');
    const recorder: EventRecorder = {
      record: (object, type, reason, message) => log.info({ object, type, reason, message }, 'event occurred'),
    };
    return { informers: emptyInformers(dialect), dependencies: { isStandalone: true, recorder } };
  }
  const credentials = await clientCredentials(path, values, context, {
    dialect,
    clock,
    metrics,
    program: dialect.components.nodeAgent,
    qps: orDefault(values['orch-api-qps'], defaultQps),
    burst: orDefault(values['orch-api-burst'], defaultBurst),
    contentType: values['orch-api-content-type'],
    tracer,
  });
  const { connection } = credentials;
  const client = connection.client('node');
  return {
    connection,
    credentials,
    informers: new SharedInformerFactory({ client, clock, random, log, metrics, transform: dropManagedFields }),
    dependencies: {
      eventClient: connection.client('events', {
        qps: orDefault(values['event-qps'], defaultQps),
        burst: orDefault(values['event-burst'], defaultBurst),
        traced: false,
      }),
      // Heartbeats must not wait for other requests, or the node would count as dead.
      heartbeatClient: connection.client('heartbeat', { qps: 0, burst: 1 }),
      statusClient: connection.client('status'),
      tokenClient: connection.client('tokens'),
      objectClient: connection.client('objects'),
    },
  };
}

function debugEndpoints(
  { dialect, verbosity, argv, clock }: Context,
  values: NodeAgentOptions,
  settings: FileOnlySettings,
): DebugEndpoints {
  return new DebugEndpoints({
    argv,
    configz: {
      [`${dialect.nodeAgentIdentifier.toLowerCase()}config`]: currentConfig(
        nodeAgentOptionTable(dialect),
        values,
        dialect,
        settings,
      ),
    },
    ...(values['enable-debug-flags-handler'] ? { verbosity } : {}),
    ...(values['enable-profiling-handler'] ? { profiler: new InspectorProfilerSource({ clock }) } : {}),
  });
}

async function refuseSwap(): Promise<void> {
  const refusal = swapRefusal(await readFile('/proc/swaps', 'utf8').catch(() => ''));
  if (refusal !== undefined) throw new OptionsError([refusal]);
}

/** The runtime at the endpoint, or a simulated one. */
function runtimeDependencies(
  { dialect, clock }: Context,
  values: NodeAgentOptions,
  tracer: Tracer | undefined,
): Pick<NodeAgentDependencies, 'cri' | 'machine' | 'checker' | 'logFiles' | 'writeFiles'> {
  const endpoint = values['container-runtime-endpoint'] ?? '';
  if (endpoint === simulatedEndpoint) {
    return simulatedDependencies({ dialect, clock, podCIDR: values['pod-cidr'] });
  }
  const imageEndpoint = values['image-service-endpoint'] ?? '';
  const cri = new GrpcCRI({
    endpoint,
    clock,
    timeoutMs: values['runtime-request-timeout'],
    traceparent: tracer && (() => tracer.traceparent()),
    ...(imageEndpoint === '' ? {} : { imageEndpoint }),
  });
  return { cri, machine: new LocalMachine(values['root-dir'], clock) };
}

/** Without the capability the kernel refuses; the agent continues. */
async function setOOMScoreAdj(score: number, { log }: Context): Promise<void> {
  try {
    await writeFile('/proc/self/oom_score_adj', String(score));
  } catch (error) {
    log.warn({ err: error, score }, 'setting oom_score_adj failed');
  }
}

/** Raising the limit needs a capability; the agent continues without. */
async function setMaxOpenFiles(files: number, { log }: Context): Promise<void> {
  try {
    await promisify(execFile)('prlimit', [`--pid=${process.pid}`, `--nofile=${files}:${files}`]);
  } catch (error) {
    log.warn({ err: error, files }, 'setting the limit of open files failed');
  }
}
