/** Puts a node agent together: makes all that it consists of, and ties it. Nothing runs yet. */

import { join } from 'node:path';
import { nodes, pods, services } from '#api/core/v1/resources.gen.js';
import type { Node, Pod, Service } from '#api/core/v1/types.gen.js';
import { value } from '#apimachinery/quantity.js';
import { ApiEventRecorder } from '#client/events/recorder.js';
import type { Informer } from '#client/informer/informer.js';
import { KeyedBackoff } from '#client/keyed-backoff.js';
import { cgroupVersion } from '#nodeagent/containerd/machine.js';
import type { NodeAgentDependencies } from '#nodeagent/dependencies.js';
import { hostDNSReader } from '#nodeagent/environment/host-dns.js';
import { PodEvents } from '#nodeagent/events/pod-events.js';
import { pullCredentials } from '#nodeagent/images/credentials.js';
import { ImagePuller } from '#nodeagent/images/puller.js';
import { DiskLogFiles } from '#nodeagent/logs/disk-log-files.js';
import { LogRotator } from '#nodeagent/logs/rotator.js';
import { registerAgentMetrics } from '#nodeagent/metrics.js';
import { NodeLease } from '#nodeagent/node/lease.js';
import { LocalMachine, type Machine } from '#nodeagent/node/machine.js';
import { NodeRegistrar } from '#nodeagent/node/registrar.js';
import { ReferencedObjects } from '#nodeagent/objects/referenced-objects.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { parseEvictionThresholds } from '#nodeagent/options/eviction-thresholds.js';
import { parseTaint } from '#nodeagent/options/taint.js';
import { ContainerConfigurator } from '#nodeagent/pods/container-configurator.js';
import { ContainerKiller } from '#nodeagent/pods/container-killer.js';
import { ContainerStarter } from '#nodeagent/pods/container-starter.js';
import { PodManager, podsOfNode } from '#nodeagent/pods/manager.js';
import { PodRemains } from '#nodeagent/pods/pod-remains.js';
import { type PodServices, podTasks } from '#nodeagent/pods/pod-tasks.js';
import { SandboxStarter } from '#nodeagent/pods/sandbox-starter.js';
import { TerminationMessages } from '#nodeagent/pods/termination-messages.js';
import { PodWorker } from '#nodeagent/pods/worker.js';
import { RuntimeChecker } from '#nodeagent/probes/checker.js';
import { Prober } from '#nodeagent/probes/prober.js';
import { PodCgroups } from '#nodeagent/resources/cgroups.js';
import { RuntimeLabels } from '#nodeagent/runtime/labels.js';
import { RuntimeObserver } from '#nodeagent/runtime/observer.js';
import type { AgentServer } from '#nodeagent/server/agent-server.js';
import { StatusManager } from '#nodeagent/status/manager.js';
import { PodDirectories } from '#nodeagent/volumes/pod-directories.js';
import { PodVolumes } from '#nodeagent/volumes/pod-volumes.js';
import { TokenManager } from '#nodeagent/volumes/tokens.js';

/** What the agent runs, starts and stops. */
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
  /** Absent where there are no files. */
  readonly rotator?: LogRotator;
  /** Starts the server; undefined where there is to be none. */
  serve(): Promise<AgentServer | undefined>;
  /** Ends probes and watches. */
  close(): void;
  /** Resolves when the last events are out. */
  closeRecorder(): Promise<void>;
}

/** Restarts of crashing containers wait 10 s, twice as long each time, 5 min at most. */
const restartBackoffMs = { initialMs: 10_000, maxMs: 300_000 };
const cgroupMountPoint = '/sys/fs/cgroup';

/** Asks the runtime and the machine who they are. `serverPort`: what the node reports, 0 for none. */
export async function composeAgent(
  values: NodeAgentOptions,
  deps: NodeAgentDependencies,
  serverPort: () => number,
): Promise<AgentParts> {
  const { informers: factory, clock, random, log, cri, nodeName } = deps;
  const { client } = factory;
  const { dialect } = client;
  const informers = {
    pods: factory.informer(pods, podsOfNode(nodeName)),
    node: factory.informer(nodes, { fieldSelector: `metadata.name=${nodeName}` }),
    services: factory.informer(services),
  };
  const labels = new RuntimeLabels(dialect);
  const observer = new RuntimeObserver({ cri, clock, log, labels });
  const machine = deps.machine ?? new LocalMachine('/');
  const registrar = newRegistrar(values, deps, { machine, observer, serverPort });
  await registrar.prepare();
  const directories =
    deps.writeFiles === false ? undefined : await PodDirectories.open(values['root-dir'], dialect.labelDomain);
  const cgroups = directories === undefined ? undefined : await newCgroups(values, deps);

  const recorder = deps.recorder ?? newRecorder(deps);
  const events = new PodEvents(recorder);
  const objects = deps.objects ?? new ReferencedObjects({ client, clock, random, log });
  const checker = deps.checker ?? new RuntimeChecker(cri, `${dialect.product}-probe/1.24`);
  const statuses = new StatusManager({ client, clock, log, getPod: (uid) => informers.pods.byIndex('uid', uid)[0] });
  const prober = new Prober({ clock, events, checker, onChange: (uid) => manager.poke(uid) });
  const logFiles = deps.logFiles ?? new DiskLogFiles();
  const podLogsDir = values['pod-logs-dir'];
  const clusterDNS = { servers: values['cluster-dns'], domain: values['cluster-domain'] };
  const node = () => ({
    nodeName,
    hostIPs: registrar.hostIPs,
    allocatable: registrar.resources.allocatable,
    memoryCapacityBytes: registrar.facts.memoryBytes,
  });
  const withDirectories = directories === undefined ? {} : { directories };
  const withCgroups = cgroups === undefined ? {} : { cgroups };
  const volumes = new PodVolumes({ objects, tokens: new TokenManager({ client, clock }), ...withDirectories });
  const puller = new ImagePuller({
    images: cri,
    clock,
    events,
    serialize: values['serialize-image-pulls'],
    rate: { qps: values['registry-qps'], burst: values['registry-burst'] },
    credentials: (pod, image) => pullCredentials(pod, image, { objects, dialect }),
  });
  const configurator = new ContainerConfigurator({
    dialect,
    log,
    events,
    labels,
    objects,
    node,
    clusterDNS,
    services: () => informers.services.list(),
    security: {
      seccompDefault: values['seccomp-default'],
      seccompProfileRoot: join(values['root-dir'], 'seccomp'),
    },
    quota: cpuQuota(values),
    ...withDirectories,
  });
  const remains = new PodRemains({ cri, observer, volumes, logFiles, podLogsDir, ...withCgroups });
  const podServices: PodServices = {
    client,
    clock,
    log,
    cri,
    events,
    observer,
    statuses,
    prober,
    volumes,
    logFiles,
    puller,
    remains,
    node,
    runtimeName: registrar.runtimeName,
    hashAnnotation: labels.hash,
    restarts: new KeyedBackoff({ ...restartBackoffMs, now: () => clock.now() }),
    messages: new TerminationMessages({ clock, logFiles, ...withDirectories }),
    killer: new ContainerKiller({ clock, cri, events, checker }),
    containers: new ContainerStarter({ clock, cri, events, checker, puller, logFiles, configurator }),
    sandboxes: new SandboxStarter({
      clock,
      cri,
      events,
      labels,
      logFiles,
      podLogsDir,
      clusterDNS,
      hostDNS: hostDNSReader(values['resolv-conf'], clock),
      ...withCgroups,
    }),
    ...withCgroups,
  };
  const manager = new PodManager({
    informer: informers.pods,
    log,
    cri,
    labels,
    observer,
    objects,
    statuses,
    remains,
    newWorker: (pod) => new PodWorker({ pod, clock, log, operations: (latest) => podTasks(podServices, latest) }),
  });
  if (deps.metrics !== undefined) {
    registerAgentMetrics({ registry: deps.metrics, dialect, nodeName, pods: () => observer.list() });
  }
  const served = {
    ...{ clock, log, dialect, cri, observer, statuses, prober, logFiles, nodeName },
    hostIP: () => registrar.hostIPs[0] ?? '',
    ...withCgroups,
  };
  return {
    informers,
    registrar,
    lease: newLease(values, deps, registrar),
    observer,
    statuses,
    manager,
    ...(directories === undefined
      ? {}
      : {
          rotator: new LogRotator({
            cri,
            files: logFiles,
            clock,
            log,
            pods: () => observer.list(),
            maxBytes: value(values['container-log-max-size']),
            maxFiles: values['container-log-max-files'],
          }),
        }),
    async serve() {
      if (deps.server === undefined || !values['enable-server']) return undefined;
      return deps.server({ node: served, pods: manager, options: values, machine });
    },
    close() {
      prober.close();
      if (deps.objects === undefined) objects.close();
    },
    async closeRecorder() {
      if (recorder instanceof ApiEventRecorder) await recorder.close();
    },
  };
}

function cpuQuota(values: NodeAgentOptions) {
  return { enforced: values['cpu-cfs-quota'], periodMicros: values['cpu-cfs-quota-period'] * 1000 };
}

function newRecorder(deps: NodeAgentDependencies): ApiEventRecorder {
  const { informers, eventClient = informers.client, clock, random, log, nodeName } = deps;
  const source = { component: informers.client.dialect.components.nodeAgent, host: nodeName };
  return new ApiEventRecorder({ client: eventClient, source, clock, random, log });
}

async function newCgroups(values: NodeAgentOptions, { informers, log }: NodeAgentDependencies) {
  if (!values['cgroups-per-qos']) return undefined;
  return new PodCgroups({
    mountPoint: cgroupMountPoint,
    version: await cgroupVersion(),
    root: values['cgroup-root'] === '' ? '/' : values['cgroup-root'],
    podsName: `${informers.client.dialect.shortName}pods`,
    quota: cpuQuota(values),
    onRefused: (path, error) => log.warn({ err: error, path }, 'a cgroup limit could not be set'),
  });
}

function newRegistrar(
  values: NodeAgentOptions,
  deps: NodeAgentDependencies,
  { machine, observer, serverPort }: { machine: Machine; observer: RuntimeObserver; serverPort: () => number },
): NodeRegistrar {
  const { informers, heartbeatClient = informers.client, clock, log, cri, nodeName } = deps;
  return new NodeRegistrar({
    client: heartbeatClient,
    clock,
    log,
    cri,
    machine,
    nodeName,
    register: values['register-node'],
    labels: values['node-labels'],
    taints: values['register-with-taints'].flatMap((text) => parseTaint(text) ?? []),
    unschedulable: !values['register-schedulable'],
    providerID: values['provider-id'] ?? '',
    nodeIPs: values['node-ip'],
    maxPods: values['max-pods'],
    podsPerCore: values['pods-per-core'],
    maxImages: values['node-status-max-images'],
    reservations: {
      system: values['system-reserved'],
      platform: values['orch-reserved'],
      evictionHard: parseEvictionThresholds(values['eviction-hard']).thresholds,
    },
    updateFrequencyMs: values['node-status-update-frequency'],
    reportFrequencyMs: values['node-status-report-frequency'],
    serverPort,
    notReady: () => (observer.failing ? ['container runtime is down'] : []),
    onNode: (node) => {
      const cidr = node.spec.podCIDR ?? values['pod-cidr'] ?? '';
      if (cidr === '') return;
      cri
        .updateRuntimeConfig(cidr)
        .catch((error: unknown) => log.warn({ err: error }, 'telling the runtime the pod CIDR failed'));
    },
  });
}

function newLease(values: NodeAgentOptions, deps: NodeAgentDependencies, registrar: NodeRegistrar): NodeLease {
  const { informers, heartbeatClient = informers.client, clock, log, nodeName } = deps;
  return new NodeLease({
    client: heartbeatClient,
    clock,
    log,
    nodeName,
    leaseDurationSeconds: values['node-lease-duration-seconds'],
    nodeUID: () => registrar.node?.metadata.uid,
  });
}
