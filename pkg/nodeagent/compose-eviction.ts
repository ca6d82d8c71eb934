/** Builds the parts that keep room on the node: eviction, and the collection of dead containers and unused images. */
import { isPodTerminal } from '#api/core/v1/pod/conditions.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { parseDuration } from '#apimachinery/duration.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import { isCriticalPod } from '#nodeagent/admission/plan.js';
import { ContainerCollector, type PodOnNode } from '#nodeagent/collection/container-collector.js';
import { ImageCollector } from '#nodeagent/collection/image-collector.js';
import type { PodParts } from '#nodeagent/compose-pods.js';
import type { NodeAgentDependencies } from '#nodeagent/dependencies.js';
import { checkPeriodMs, type EvictablePods, Evictor, type EvictorMetrics } from '#nodeagent/eviction/evictor.js';
import { Measurements } from '#nodeagent/eviction/measurements.js';
import { MemoryWatch } from '#nodeagent/eviction/memory-watch.js';
import { storageSignals } from '#nodeagent/eviction/storage-limits.js';
import type { AgentMetrics } from '#nodeagent/metrics/agent-metrics.js';
import type { Machine } from '#nodeagent/node/machine.js';
import type { NodeEvents } from '#nodeagent/node/node-events.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { parseEvictionThresholds } from '#nodeagent/options/eviction-thresholds.js';
import { type Threshold, thresholdsOf } from '#nodeagent/pressure/thresholds.js';
import type { RuntimeObserver } from '#nodeagent/runtime/observer.js';
import { CgroupReader } from '#nodeagent/stats/cgroup-usage.js';
import { UsageCollector } from '#nodeagent/stats/collector.js';
import { StorageMeter } from '#nodeagent/stats/storage-meter.js';

export interface ReclaimInput extends PodParts {
  readonly observer: RuntimeObserver;
  readonly machine: Machine;
  readonly metrics: AgentMetrics;
  readonly nodeEvents: NodeEvents;
  /** Called when the conditions of the node have changed. */
  readonly onPressure: () => void;
}

export interface ReclaimParts {
  readonly evictor: Evictor;
  readonly containers: ContainerCollector;
  /** Absent on simulated nodes, whose images take no space. */
  readonly images?: ImageCollector;
  /** Absent unless the options ask for it. */
  readonly memoryWatch?: MemoryWatch;
}

export function composeReclaim(
  values: NodeAgentOptions,
  deps: NodeAgentDependencies,
  input: ReclaimInput,
): ReclaimParts {
  const { clock, log } = deps;
  const pods = new NodePods(input);
  const containers = newContainerCollector(values, deps, input, pods);
  const images = deps.writeFiles === false ? undefined : newImageCollector(values, deps, input);
  const measurements = newMeasurements(deps, input);
  const thresholds = thresholdsFrom(values);
  const gates = new FeatureGates(values['feature-gates']);
  const evictor = new Evictor({
    ...{ clock, log, thresholds, measurements },
    transitionMs: values['eviction-pressure-transition-period'],
    maxPodGraceSeconds: values['eviction-max-pod-grace-period'],
    limitsStorage: input.directories !== undefined && gates.enabled('LocalStorageCapacityIsolation'),
    pods: pods.evictable(() => containers.removeEvicted()),
    reclaimImages: [
      () => containers.collect({ removesEnded: true }),
      ...(images === undefined ? [] : [() => images.removeUnused()]),
    ],
    nodeEvents: input.nodeEvents,
    podEvents: input.events,
    metrics: evictorMetrics(input.metrics, thresholds),
    onChange: input.onPressure,
  });
  const watches = values['kernel-memcg-notification'] || values['experimental-kernel-memcg-notification'];
  const observe = () => measurements.memory();
  return {
    ...{ evictor, containers },
    ...(images === undefined ? {} : { images }),
    ...(watches
      ? { memoryWatch: new MemoryWatch({ clock, log, thresholds, observe, onCrossed: () => evictor.wake() }) }
      : {}),
  };
}

function thresholdsFrom(values: NodeAgentOptions): Threshold[] {
  const graces = Object.entries(values['eviction-soft-grace-period']);
  return thresholdsOf({
    hard: parseEvictionThresholds(values['eviction-hard']).thresholds,
    soft: parseEvictionThresholds(values['eviction-soft'] ?? '').thresholds,
    softGraceMs: Object.fromEntries(graces.map(([signal, text]) => [signal, parseDuration(text)])),
    minimumReclaim: values['eviction-minimum-reclaim'],
    enforcesAllocatable:
      values['enforce-node-allocatable'].includes('pods') && !values['experimental-allocatable-ignore-eviction'],
  });
}

/** Creates the series at 0, so that rates include the first eviction. */
function evictorMetrics(
  { evictions, evictionStatsAge }: AgentMetrics,
  thresholds: readonly Threshold[],
): EvictorMetrics {
  for (const signal of [...storageSignals, ...thresholds.map((threshold) => threshold.signal)])
    evictions.labels(signal);
  return {
    evicted: (signal) => evictions.labels(signal).inc(),
    measuredBefore: (signal, seconds) => evictionStatsAge.labels(signal).observe(seconds),
  };
}

/** The pods of the node, as eviction and collection see them. */
class NodePods {
  readonly #input: ReclaimInput;

  constructor(input: ReclaimInput) {
    this.#input = input;
  }

  /** Their last version in the API tells whether it has the last status. */
  list(): PodOnNode[] {
    const { manager } = this.#input;
    return manager.list().flatMap((pod) => {
      const progress = manager.progress(pod.metadata.uid ?? '');
      if (progress === undefined) return [];
      const { phase, reason } = pod.status ?? {};
      const isEvicted = phase === 'Failed' && (progress.isEvicted || reason === 'Evicted');
      return [{ pod, stage: progress.stage, isEvicted }];
    });
  }

  active(): Pod[] {
    return this.list()
      .map(({ pod, stage }) => ({ pod: this.#input.statuses.latest(pod), stage }))
      .filter(({ pod, stage }) => stage === 'ending' || (stage === 'live' && !isPodTerminal(pod)))
      .map(({ pod }) => pod);
  }

  evictable(removeEvicted: () => Promise<void>): EvictablePods {
    const { manager, statics, observer } = this.#input;
    return {
      removeEvicted,
      active: () => this.active(),
      isCritical: (pod) => isCriticalPod({ pod, isStatic: statics.get(pod.metadata.uid ?? '') !== undefined }),
      evict: (uid, failure) => manager.evict(uid, failure),
      isOver: (uid) => (manager.progress(uid)?.stage ?? 'ended') === 'ended',
      isReleased: (uid) => observer.get(uid) === undefined,
    };
  }
}

function newContainerCollector(
  values: NodeAgentOptions,
  { clock, log, cri }: NodeAgentDependencies,
  { observer, cleanup, logFiles, logLinks, nodeEvents }: ReclaimInput,
  pods: NodePods,
): ContainerCollector {
  return new ContainerCollector({
    ...{ clock, log, cri, observer, cleanup, logFiles, events: nodeEvents },
    ...(logLinks === undefined ? {} : { logLinks }),
    pods: () => pods.list(),
    policy: {
      minAgeMs: values['minimum-container-ttl-duration'],
      perContainer: values['maximum-dead-containers-per-container'],
      total: values['maximum-dead-containers'],
    },
  });
}

export function newImageCollector(
  values: NodeAgentOptions,
  { clock, log, cri }: Pick<NodeAgentDependencies, 'clock' | 'log' | 'cri'>,
  { machine, nodeEvents }: Pick<ReclaimInput, 'machine' | 'nodeEvents'>,
): ImageCollector {
  return new ImageCollector({
    ...{ clock, log, cri, machine, events: nodeEvents },
    sandboxImage: values['pod-infra-container-image'] ?? '',
    policy: {
      highPercent: values['image-gc-high-threshold'],
      lowPercent: values['image-gc-low-threshold'],
      minAgeMs: values['minimum-image-ttl-duration'],
    },
  });
}

function newMeasurements(
  { clock, log, cri, informers }: NodeAgentDependencies,
  { machine, observer, manager, volumes, directories, podLogsDir, cgroups, hierarchy, systemPaths }: ReclaimInput,
): Measurements {
  const { dialect } = informers.client;
  const sources = {
    ...{ clock, dialect, cri, observer },
    ...(cgroups === undefined ? {} : { cgroups }),
    ...(hierarchy === undefined ? {} : { hierarchy }),
    ...(systemPaths === undefined ? {} : { systemPaths }),
  };
  const meter = new StorageMeter({
    ...{ clock, machine, podLogsDir },
    podDir: directories === undefined ? undefined : (uid) => directories.pod(uid),
    volumeName: (uid, path) => volumes.volumeAt(uid, path),
    // Shorter than the period of checks, so that each check measures again.
    periodMs: checkPeriodMs / 2,
  });
  const reader = hierarchy === undefined ? undefined : new CgroupReader(hierarchy);
  return new Measurements({
    ...{ clock, log, cri, machine, observer, meter },
    collector: new UsageCollector({ node: sources, machine, pods: () => manager.list() }),
    ...(reader === undefined || cgroups === undefined ? {} : { podsMemory: () => reader.memory(cgroups.path) }),
  });
}
