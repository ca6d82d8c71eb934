/** Builds a node agent from its parts. Nothing runs yet. */
import { mkdir } from 'node:fs/promises';

import { Registry } from 'prom-client';
import { nodes, pods, services } from '#api/core/v1/resources.gen.js';
import type { Node, Pod, Service } from '#api/core/v1/types.gen.js';
import { value } from '#apimachinery/quantity.js';
import { ApiEventRecorder } from '#client/events/recorder.js';
import type { Informer } from '#client/informer/informer.js';
import type { Allocations } from '#nodeagent/allocation/allocations.js';
import type { CPUManager } from '#nodeagent/allocation/cpus/cpu-manager.js';
import { Announcer } from '#nodeagent/announce/announcer.js';
import type { CSIParts } from '#nodeagent/compose-csi.js';
import { newDevices, newPodResources } from '#nodeagent/compose-devices.js';
import { composeReclaim, type ReclaimParts } from '#nodeagent/compose-eviction.js';
import { withReservedCPUs } from '#nodeagent/compose-managers.js';
import { newLease, newRegistrar } from '#nodeagent/compose-node.js';
import { newPlugins } from '#nodeagent/compose-plugins.js';
import { composePods, type PodParts } from '#nodeagent/compose-pods.js';
import { newNodeShutdown } from '#nodeagent/compose-shutdown.js';
import { MeasuredCRI } from '#nodeagent/cri/measured-cri.js';
import type { NodeAgentDependencies } from '#nodeagent/dependencies.js';
import type { DevicePlugins } from '#nodeagent/devices/device-plugins.js';
import { LogRotator } from '#nodeagent/logs/rotator.js';
import { AgentMetrics } from '#nodeagent/metrics/agent-metrics.js';
import type { NodeLease } from '#nodeagent/node/lease.js';
import { LocalMachine } from '#nodeagent/node/machine.js';
import { NodeEvents } from '#nodeagent/node/node-events.js';
import type { NodeRegistrar } from '#nodeagent/node/registrar.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import type { PluginManager } from '#nodeagent/plugins/plugin-manager.js';
import type { PodResourcesServer } from '#nodeagent/pod-resources/pod-resources-server.js';
import { type PodManager, podsOfNode } from '#nodeagent/pods/manager.js';
import type { NodeCgroups } from '#nodeagent/resources/node-cgroups.js';
import type { SystemCgroups } from '#nodeagent/resources/system-cgroups.js';
import { RuntimeLabels } from '#nodeagent/runtime/labels.js';
import { RuntimeObserver } from '#nodeagent/runtime/observer.js';
import { nodeCounts } from '#nodeagent/runtime/pod-runtime.js';
import type { AgentServer } from '#nodeagent/server/agent-server.js';
import type { NodeShutdown } from '#nodeagent/shutdown/node-shutdown.js';
import type { MirrorPods } from '#nodeagent/sources/mirror-pods.js';
import type { StaticPods } from '#nodeagent/sources/static-pods.js';
import type { StatusManager } from '#nodeagent/status/manager.js';
import type { PodDirectories } from '#nodeagent/volumes/pod-directories.js';

/** The parts that the agent starts and stops. */
export interface AgentParts {
  readonly informers: {
    readonly pods: Informer<Pod>;
    readonly node: Informer<Node>;
    readonly services: Informer<Service>;
  };
  readonly registrar: NodeRegistrar;
  readonly lease: NodeLease;
  readonly observer: RuntimeObserver;
  readonly statuses: StatusManager;
  readonly manager: PodManager;
  readonly statics: StaticPods;
  readonly readStatics: (signal: AbortSignal) => Promise<void>;
  readonly mirrors: MirrorPods;
  /** Absent, like `directories`, on nodes that write no files. */
  readonly csi?: CSIParts;
  readonly directories?: PodDirectories;
  /** Absent if pods have no cgroups. */
  readonly nodeCgroups?: NodeCgroups;
  /** Absent if no processes are moved. */
  readonly systemCgroups?: SystemCgroups;
  readonly allocations: Allocations;
  /** Absent unless CPUs are assigned. */
  readonly cpus?: CPUManager;
  /** Absent on nodes without log files. */
  readonly rotator?: LogRotator;
  /** Absent on nodes without files. */
  readonly plugins?: PluginManager;
  /** Absent on nodes without files, or without their gates. */
  readonly devicePlugins?: DevicePlugins;
  readonly podResources?: PodResourcesServer;
  readonly reclaim: ReclaimParts;
  /** Absent if shutdowns of the machine are not watched. */
  readonly shutdown?: NodeShutdown;
  /** Absent if no addresses are announced. */
  readonly announcer?: Announcer;
  /** Starts the server; undefined if the agent has none. */
  serve(): Promise<AgentServer | undefined>;
  /** Stops probes and watches. */
  close(): void;
  /** Resolves once the last events are written. */
  closeRecorder(): Promise<void>;
}

/** Reads the properties of runtime and machine. `serverPort`: the port that the node reports, 0 for none. */
export async function composeAgent(
  options: NodeAgentOptions,
  dependencies: NodeAgentDependencies,
  serverPort: () => number,
): Promise<AgentParts> {
  const { informers: factory, clock, log, nodeName } = dependencies;
  const { dialect } = factory.client;
  const registry = dependencies.metrics ?? new Registry();
  const metrics = new AgentMetrics(registry, dialect);
  const cri = new MeasuredCRI(dependencies.cri, { metrics, clock, tracer: dependencies.tracer });
  const deps = { ...dependencies, cri };
  const informers = {
    pods: factory.informer(pods, podsOfNode(nodeName)),
    node: factory.informer(nodes, { fieldSelector: `metadata.name=${nodeName}` }),
    services: factory.informer(services),
  };
  // Its file system is measured.
  if (deps.writeFiles !== false) await mkdir(options['root-dir'], { recursive: true, mode: 0o750 });
  const labels = new RuntimeLabels(dialect);
  const observer = new RuntimeObserver({ cri, clock, log, labels, metrics });
  const machine = deps.machine ?? new LocalMachine(options['root-dir'], clock);
  const values = await withReservedCPUs(options, machine);
  const recorder = deps.recorder ?? newRecorder(deps);
  const events = new NodeEvents(recorder, nodeName);
  const pressures = () => reclaim.evictor.conditions;
  const deviceParts = await newDevices(values, deps, {
    ...{ machine, registry },
    isActive: (uid) => podParts.manager.list().some(({ metadata }) => metadata.uid === uid),
  });
  const registrar = newRegistrar(values, deps, {
    devices: deviceParts && (() => deviceParts.devices.amounts()),
    ...{ machine, observer, events, serverPort, pressures },
    isNewMachine: () => podParts.directories?.isNew ?? true,
    volumesInUse: () => (podParts.csi === undefined ? [] : podParts.csi.volumes.inUse()),
    problem: () => shutdown?.problem,
  });
  await registrar.prepare();
  observer.onRecovery(() => registrar.poke());
  const podParts: PodParts = await composePods(values, deps, {
    ...{ informers, recorder, metrics, labels, observer, registrar, machine },
    ...{ nodeEvents: events, pressures, devices: deviceParts?.devices },
    closed: () => shutdown?.refusal,
  });
  deps.simulation?.connectAgent({
    pod: ({ namespace, name, uid }) => podParts.manager.find(namespace, name, uid),
    warn(pod, reason, message) {
      const { namespace, name } = pod.metadata;
      log.warn({ namespace, name, reason }, message);
      podParts.events.pod(pod, 'Warning', reason, message);
    },
  });
  const reclaim: ReclaimParts = composeReclaim(values, deps, {
    ...{ ...podParts, observer, machine, metrics, nodeEvents: events },
    onPressure: () => registrar.poke(),
  });
  const { manager, statuses, logFiles, statics, readStatics, mirrors } = podParts;
  const shutdown = newNodeShutdown(values, deps, { registry, manager, statuses, registrar, events });
  const plugins = newPlugins(values, deps, registry);
  if (deviceParts !== undefined) plugins?.addHandler('DevicePlugin', deviceParts.plugins);
  const podResources = newPodResources(values, deps, { ...podParts, registry, devices: deviceParts?.devices });
  if (podParts.csi !== undefined && deps.isStandalone !== true) plugins?.addHandler('CSIPlugin', podParts.csi.handler);
  metrics.observeNode(nodeName, () => nodeCounts(observer.list(), manager.list()));
  const node = {
    ...podParts,
    ...{ clock, log, dialect, cri, observer, nodeName },
    hostIP: () => registrar.hostIPs[0] ?? '',
    hostIPs: () => registrar.hostIPs,
  };
  const rotator = new LogRotator({
    ...{ cri, clock, log },
    files: logFiles,
    pods: () => observer.list(),
    maxBytes: value(values['container-log-max-size']),
    maxFiles: values['container-log-max-files'],
  });
  return {
    ...{ informers, registrar, observer, statuses, manager, statics, readStatics, mirrors, reclaim },
    lease: newLease(values, deps, registrar),
    ...(podParts.csi && { csi: podParts.csi }),
    ...(podParts.directories && { directories: podParts.directories }),
    ...(podParts.nodeCgroups && { nodeCgroups: podParts.nodeCgroups }),
    ...(podParts.cpus && { cpus: podParts.cpus }),
    allocations: podParts.allocations,
    ...(podParts.systemCgroups && { systemCgroups: podParts.systemCgroups }),
    ...(deps.writeFiles === false ? {} : { rotator }),
    ...(plugins && { plugins }),
    ...(deviceParts && { devicePlugins: deviceParts.plugins }),
    ...(podResources && { podResources }),
    ...(shutdown && { shutdown }),
    ...(deps.links === undefined
      ? {}
      : { announcer: new Announcer({ informers: factory, clock, log, nodeName, links: deps.links }) }),
    async serve() {
      if (deps.server === undefined || !values['enable-server']) return undefined;
      return deps.server({ node, pods: manager, options: values, machine });
    },
    close: () => podParts.close(),
    async closeRecorder() {
      if (recorder instanceof ApiEventRecorder) await recorder.close();
    },
  };
}

function newRecorder(deps: NodeAgentDependencies): ApiEventRecorder {
  const { informers, eventClient = informers.client, clock, random, log, nodeName } = deps;
  const source = { component: informers.client.dialect.components.nodeAgent, host: nodeName };
  return new ApiEventRecorder({ client: eventClient, source, clock, random, log });
}
