/** Builds the parts that run the pods of a node. */
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { isPodTerminal } from '#api/core/v1/pod/conditions.js';
import { searchLimits } from '#api/core/v1/pod/validation/options.js';
import type { Node, Pod, Service } from '#api/core/v1/types.gen.js';
import { KeyedBackoff } from '#apimachinery/backoff/keyed-backoff.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { EventRecorder } from '#client/events/recorder.js';
import type { Informer } from '#client/informer/informer.js';
import { TokenBucket } from '#client/token-bucket.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import type { Refusal } from '#nodeagent/admission/plan.js';
import { PodAdmission, type PodAdmissionOptions } from '#nodeagent/admission/pod-admission.js';
import type { Allocations } from '#nodeagent/allocation/allocations.js';
import { type AllocationParts, newAllocations } from '#nodeagent/compose-allocations.js';
import { type CgroupParts, composeCgroups, cpuQuota, resourceFacts } from '#nodeagent/compose-cgroups.js';
import { type CSIParts, composeCSI } from '#nodeagent/compose-csi.js';
import { newStaticSources } from '#nodeagent/compose-sources.js';
import { newObjects, newVolumes } from '#nodeagent/compose-volumes.js';
import type { NodeAgentDependencies } from '#nodeagent/dependencies.js';
import type { DeviceManager } from '#nodeagent/devices/device-manager.js';
import { clusterDNSOf, expandedSearchLimits, hostDNSReader } from '#nodeagent/environment/dns.js';
import { PodEvents } from '#nodeagent/events/pod-events.js';
import { pullCredentials } from '#nodeagent/images/credentials.js';
import { DockerConfig, readDockerConfig } from '#nodeagent/images/docker-config.js';
import { readProviders } from '#nodeagent/images/provider-config.js';
import { CredentialProviders, runPlugin } from '#nodeagent/images/providers.js';
import { ImagePuller } from '#nodeagent/images/puller.js';
import { DiskLogFiles } from '#nodeagent/logs/disk-log-files.js';
import type { LogFiles } from '#nodeagent/logs/log-files.js';
import { LogLinks } from '#nodeagent/logs/log-links.js';
import type { AgentMetrics } from '#nodeagent/metrics/agent-metrics.js';
import type { Machine } from '#nodeagent/node/machine.js';
import type { NodeEvents } from '#nodeagent/node/node-events.js';
import { cgroupVersion } from '#nodeagent/node/prerequisites.js';
import type { NodeRegistrar } from '#nodeagent/node/registrar.js';
import type { ReferencedObjects } from '#nodeagent/objects/referenced-objects.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { ContainerConfigurator } from '#nodeagent/pods/container-configurator.js';
import { ContainerKiller } from '#nodeagent/pods/container-killer.js';
import { ContainerStarter } from '#nodeagent/pods/container-starter.js';
import { PodManager } from '#nodeagent/pods/manager.js';
import { PodCleanup } from '#nodeagent/pods/pod-cleanup.js';
import { podTasks } from '#nodeagent/pods/pod-tasks.js';
import { SandboxStarter } from '#nodeagent/pods/sandbox-starter.js';
import { TerminationMessages } from '#nodeagent/pods/termination-messages.js';
import { PodWorker } from '#nodeagent/pods/worker.js';
import { pressureRefusal } from '#nodeagent/pressure/refusal.js';
import type { PressureCondition } from '#nodeagent/pressure/thresholds.js';
import { type Checker, RuntimeChecker } from '#nodeagent/probes/checker.js';
import { Prober } from '#nodeagent/probes/prober.js';
import type { NodeResourceFacts } from '#nodeagent/resources/container-resources.js';
import type { RuntimeLabels } from '#nodeagent/runtime/labels.js';
import type { RuntimeObserver } from '#nodeagent/runtime/observer.js';
import { StatusVerifier } from '#nodeagent/runtime/status-verifier.js';
import { MirrorPods } from '#nodeagent/sources/mirror-pods.js';
import type { StaticPods } from '#nodeagent/sources/static-pods.js';
import { StatusManager } from '#nodeagent/status/manager.js';
import {
  LocalDirectories,
  type LocalVolumeDirectories,
  SimulatedLocalDirectories,
} from '#nodeagent/volumes/local-directories.js';
import { PodDirectories } from '#nodeagent/volumes/pod-directories.js';
import { ProjectQuotas } from '#nodeagent/volumes/project-quotas.js';
import { TokenManager } from '#nodeagent/volumes/tokens.js';

export interface PodPartsInput {
  readonly informers: {
    readonly pods: Informer<Pod>;
    readonly services: Informer<Service>;
    readonly node: Informer<Node>;
  };
  readonly recorder: EventRecorder;
  readonly metrics: AgentMetrics;
  readonly labels: RuntimeLabels;
  readonly observer: RuntimeObserver;
  /** Already prepared. */
  readonly registrar: NodeRegistrar;
  readonly machine: Machine;
  readonly nodeEvents: NodeEvents;
  /** What the node is short of. */
  readonly pressures: () => readonly PressureCondition[];
  /** Why no new pod may start; undefined: pods may start. */
  readonly closed: () => Refusal | undefined;
  /** Absent if the node has no device plugins. */
  readonly devices?: DeviceManager | undefined;
}

export interface PodParts extends CgroupParts, AllocationParts {
  readonly manager: PodManager;
  readonly events: PodEvents;
  readonly cleanup: PodCleanup;
  readonly statuses: StatusManager;
  readonly prober: Prober;
  readonly logFiles: LogFiles;
  readonly statics: StaticPods;
  /** Reads the sources of static pods until `signal` aborts. */
  readonly readStatics: (signal: AbortSignal) => Promise<void>;
  readonly mirrors: MirrorPods;
  readonly podLogsDir: string;
  /** Absent on nodes that write no files. */
  readonly logLinks?: LogLinks;
  readonly volumes: ReturnType<typeof newVolumes>;
  /** Absent on nodes that write no files. */
  readonly csi?: CSIParts;
  /** Absent on nodes that write no files. */
  readonly directories?: PodDirectories;
  readonly localVolumes: LocalVolumeDirectories;
  /** Stops probes and watches. */
  close(): void;
}

/** Back-off of crashing containers: 10 s, doubled each time, at most 5 min. */
const restartBackoffMs = { initialMs: 10_000, maxMs: 300_000 };

/** Also creates the pods' directories on the machine. */
export async function composePods(
  values: NodeAgentOptions,
  deps: NodeAgentDependencies,
  input: PodPartsInput,
): Promise<PodParts> {
  const { clock, random, log, cri, tracer } = deps;
  const { client } = deps.informers;
  const { statusClient = client } = deps;
  const { dialect } = client;
  const { informers, metrics, labels, observer } = input;
  const activePods = () =>
    manager
      .list()
      .map((pod) => statuses.latest(pod))
      .filter((pod) => !isPodTerminal(pod));
  const cgroups = await composeCgroups(values, deps, { ...input, activePods });
  const files = { ...(await filesOf(values, deps)), ...cgroups };
  const version = await cgroupVersion();
  const events = new PodEvents(input.recorder);
  const objects = deps.objects ?? newObjects(values, deps, input.registrar);
  const execTimeouts = new FeatureGates(values['feature-gates']).enabled('ExecProbeTimeout');
  const checker = deps.checker ?? new RuntimeChecker(cri, `${dialect.product}-probe/1.24`, execTimeouts);
  const { registrar } = input;
  const { statics, ...sources } = newStaticSources(values, deps, events);
  const mirrors: MirrorPods = new MirrorPods({
    ...{ client, clock, log, statics },
    informer: informers.pods,
    node: () => registrar.node,
    isRunning: (key) => manager.runsNamed(key),
  });
  const getPod = (uid: string) => informers.pods.byIndex('uid', uid)[0] ?? mirrors.mirrorOf(uid);
  const statuses = new StatusManager({
    client: statusClient,
    clock,
    log,
    getPod,
    progress: progressRate(values, clock),
    tracer,
  });
  const prober = new Prober({ clock, random, events, checker, onChange: (uid) => manager.poke(uid) });
  const tokens = new TokenManager({ client: deps.tokenClient ?? client, clock });
  const csi =
    files.directories === undefined
      ? undefined
      : await composeCSI(values, deps, {
          ...{ node: informers.node, recorder: input.recorder, events, registrar, tokens },
          onRegistered: () => {
            for (const pod of manager.list()) if (mayUseDrivers(pod)) manager.poke(pod.metadata.uid ?? '');
          },
        });
  const volumes = newVolumes(values, deps, {
    ...{ ...files, objects, events, registrar, tokens },
    ...(csi && { csi: csi.volumes }),
  });
  const cleanup = new PodCleanup({ log, cri, observer, volumes, ...files });
  const node = () => nodeFacts(deps.nodeName, input.registrar);
  const providers = await newProviders(values, deps);
  const killer = new ContainerKiller({ clock, cri, events, checker });
  const managers = await newAllocations(values, deps, {
    ...input,
    runtimes: () => observer.list(),
    pods: () => manager.list().map((pod) => statuses.latest(pod)),
    sourcesReady: () => manager.isComplete,
  });
  const { allocations } = managers;
  const starters = newStarters(values, deps, {
    ...{ ...input, ...files, objects, events, checker, killer, node, providers, allocations },
    resources: () => resourceFacts(values, registrar.facts, version),
  });
  const admission = newAdmission(values, dialect, {
    ...input,
    pods: () => manager.list().map((pod) => statuses.latest(pod)),
    isStatic: (uid) => statics.get(uid) !== undefined,
    allocations,
    preempt: (uid, resource) => {
      metrics.preemptions.labels(resource).inc();
      manager.condemn(uid, preempted);
    },
  });
  const services = {
    ...{ client, clock, log, cri, events, metrics, observer, statuses, prober, volumes, cleanup, node, admission },
    ...starters,
    ...files,
    runtimeName: input.registrar.runtimeName,
    hashAnnotation: labels.hash,
    restarts: new KeyedBackoff({ ...restartBackoffMs, now: () => clock.monotonic() }),
    messages: new TerminationMessages({ clock, ...files }),
    killer,
    verifier: new StatusVerifier(cri),
    keptDead: Math.max(1, values['maximum-dead-containers-per-container']),
  };
  const manager: PodManager = new PodManager({
    ...{ log, cri, labels, observer, objects, statuses, cleanup, statics, mirrors },
    informer: informers.pods,
    newWorker: (pod) =>
      new PodWorker({
        ...{ pod, clock, log, metrics, tracer },
        operations: (latest) => podTasks(services, latest),
        // Randomized, as in 1.24, so that resyncs do not coincide.
        resyncMs: () => values['sync-frequency'] * (1 + random() / 2),
      }),
  });
  const close = () => {
    prober.close();
    csi?.close();
    if (deps.objects === undefined) objects.close();
  };
  const parts = { manager, events, cleanup, statuses, prober, close, mirrors, statics, volumes };
  return { ...parts, ...(csi && { csi }), ...sources, ...files, ...managers };
}

/** Whether a volume of the pod may be one of a CSI driver; only the persistent volume of a claim tells. */
function mayUseDrivers({ spec }: Pod): boolean {
  return (spec.volumes ?? []).some(
    ({ csi, ephemeral, persistentVolumeClaim }) => (csi ?? ephemeral ?? persistentVolumeClaim) !== undefined,
  );
}

/** A fifth of status writes may report pods that are still starting, so that those of running pods do not wait. */
function progressRate(values: NodeAgentOptions, clock: Clock): TokenBucket {
  return new TokenBucket({ qps: values['orch-api-qps'] / 5, burst: values['orch-api-burst'] / 5, clock });
}

interface PodFiles {
  readonly logFiles: LogFiles;
  readonly podLogsDir: string;
  /** Absent on nodes that write no files. */
  readonly logLinks?: LogLinks;
  /** Absent on nodes that write no files. */
  readonly directories?: PodDirectories;
  /** Volumes for claims. */
  readonly localVolumes: LocalVolumeDirectories;
}

async function filesOf(values: NodeAgentOptions, deps: NodeAgentDependencies): Promise<PodFiles> {
  const logFiles = deps.logFiles ?? new DiskLogFiles();
  const podLogsDir = values['pod-logs-dir'];
  const root = values['local-volumes-dir'] ?? join(values['root-dir'], 'local-volumes');
  if (deps.writeFiles === false) return { logFiles, podLogsDir, localVolumes: new SimulatedLocalDirectories(root) };
  const { dialect } = deps.informers.client;
  const directories = await PodDirectories.open(values['root-dir'], dialect.labelDomain);
  // Next to the logs: /var/log/containers for /var/log/pods.
  const logLinks = new LogLinks(join(dirname(podLogsDir), 'containers'));
  const localVolumes = new LocalDirectories({
    ...{ root, pods: directories, quotas: new ProjectQuotas({ log: deps.log }) },
    ...{ log: deps.log, random: deps.random },
  });
  await localVolumes.start();
  return { logFiles, logLinks, podLogsDir, directories, localVolumes };
}

interface StarterInput extends PodPartsInput, PodFiles, CgroupParts {
  readonly resources: () => NodeResourceFacts;
  readonly objects: ReferencedObjects;
  readonly events: PodEvents;
  readonly checker: Checker;
  readonly killer: ContainerKiller;
  readonly node: () => ReturnType<typeof nodeFacts>;
  readonly providers: CredentialProviders;
  readonly allocations: Allocations;
}

/** Reads the configured plugins. Throws OptionsError. */
async function newProviders(
  values: NodeAgentOptions,
  { clock, log }: NodeAgentDependencies,
): Promise<CredentialProviders> {
  const config = values['image-credential-provider-config'] ?? '';
  const providers = config === '' ? [] : await readProviders(config, values['image-credential-provider-bin-dir'] ?? '');
  return new CredentialProviders(providers, { clock, log, run: runPlugin });
}

/** The parts that start sandboxes and containers. */
function newStarters(
  values: NodeAgentOptions,
  { informers, clock, log, cri }: NodeAgentDependencies,
  input: StarterInput,
) {
  const { dialect } = informers.client;
  const { objects, events } = input;
  const clusterDNS = clusterDNSOf(values);
  // Simulated registries need no credentials.
  const dockerConfig =
    input.directories === undefined
      ? undefined
      : new DockerConfig({ rootDir: values['root-dir'], homeDir: homedir(), clock, log, read: readDockerConfig });
  const logSecretFailure =
    ({ metadata: { namespace } }: Pod) =>
    (name: string, error: unknown) => {
      // Do not log the error itself: it may quote the secret.
      const problem = error instanceof SyntaxError ? 'not JSON' : messageOf(error);
      log.info({ problem, namespace, name }, 'unable to retrieve pull secret, the image pull may fail');
    };
  const puller = new ImagePuller({
    ...{ clock, events },
    images: cri,
    serialize: values['serialize-image-pulls'],
    rate: { qps: values['registry-qps'], burst: values['registry-burst'] },
    credentials: async (pod, image, signal) => [
      ...(await pullCredentials(pod, image, { objects, dialect, signal, onFailure: logSecretFailure(pod) })),
      ...(await input.providers.credentials(image)),
      ...((await dockerConfig?.credentials(image)) ?? []),
    ],
  });
  const configurator = new ContainerConfigurator({
    ...input,
    ...{ dialect, log, clusterDNS },
    apiNamespace: values['master-service-namespace'],
    services: () => input.informers.services.list(),
    security: {
      seccompDefault: values['seccomp-default'],
      seccompProfileRoot: join(values['root-dir'], 'seccomp'),
    },
  });
  const hostDNS = hostDNSReader(values['resolv-conf'], { clock, hostIPs: () => input.node().hostIPs });
  const gates = new FeatureGates(values['feature-gates']);
  const limits = gates.enabled('ExpandedDNSConfig') ? expandedSearchLimits : searchLimits;
  return {
    puller,
    containers: new ContainerStarter({ ...input, clock, log, cri, puller, configurator }),
    sandboxes: new SandboxStarter({
      ...input,
      clock,
      cri,
      dialect,
      clusterDNS,
      hostDNS,
      quota: cpuQuota(values),
      searchLimits: limits,
    }),
  };
}

type AdmissionParts = Pick<PodAdmissionOptions, 'pods' | 'isStatic' | 'preempt' | 'allocations'>;

/** Texts of 1.24. */
const preempted = { reason: 'Preempting', message: 'Preempted in order to admit critical pod', isEviction: true };

function newAdmission(
  values: NodeAgentOptions,
  dialect: Dialect,
  { registrar, observer, pods, isStatic, preempt, allocations, pressures, closed }: PodPartsInput & AdmissionParts,
): PodAdmission {
  return new PodAdmission({
    dialect,
    allowedUnsafeSysctls: values['allowed-unsafe-sysctls'],
    appArmor: registrar.facts.appArmor,
    node: () => registrar.currentNode,
    refreshNode: () => registrar.refresh(),
    ...{ pods, isStatic, preempt, allocations, closed },
    underPressure: (pod, isCritical) => pressureRefusal({ dialect, pod, isCritical, conditions: pressures() }),
    isKnown: (uid) => observer.get(uid) !== undefined,
  });
}

function nodeFacts(nodeName: string, { hostIPs, resources, facts, networkProblem }: NodeRegistrar) {
  const memoryCapacityBytes = facts.memoryBytes;
  return { nodeName, hostIPs, allocatable: resources.allocatable, memoryCapacityBytes, networkProblem };
}
