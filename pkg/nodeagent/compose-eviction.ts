/** Puts together what evicts the pods that hold more than they may. */
import { isPodTerminal } from '#api/core/v1/pod/conditions.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import { isCriticalPod } from '#nodeagent/admission/plan.js';
import type { PodParts } from '#nodeagent/compose-pods.js';
import type { NodeAgentDependencies } from '#nodeagent/dependencies.js';
import { lookMs, StorageEvictor } from '#nodeagent/eviction/storage-evictor.js';
import { storageSignals } from '#nodeagent/eviction/storage-limits.js';
import type { AgentMetrics } from '#nodeagent/metrics/agent-metrics.js';
import type { Machine } from '#nodeagent/node/machine.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import type { RuntimeObserver } from '#nodeagent/runtime/observer.js';
import { StorageMeter } from '#nodeagent/stats/storage-meter.js';

interface EvictionInput extends Pick<PodParts, 'manager' | 'statics' | 'statuses' | 'directories' | 'podLogsDir'> {
  readonly observer: RuntimeObserver;
  readonly machine: Machine;
  readonly metrics: AgentMetrics;
}

/** Nothing where pods have no files, or the gate LocalStorageCapacityIsolation is off. */
export function newStorageEvictor(
  values: NodeAgentOptions,
  { clock, log, cri }: NodeAgentDependencies,
  { manager, statics, statuses, directories, podLogsDir, observer, machine, metrics }: EvictionInput,
): { readonly storageEvictor?: StorageEvictor } {
  const gates = new FeatureGates(values['feature-gates']);
  if (directories === undefined || !gates.enabled('LocalStorageCapacityIsolation')) return {};
  // Who watches the growth of a counter misses what it begins with.
  for (const signal of storageSignals) metrics.evictions.labels(signal);
  const podDir = (uid: string) => directories.pod(uid);
  // Two looks never come so close together that the second finds the figures of the first.
  const meter = new StorageMeter({ clock, machine, podDir, podLogsDir, periodMs: lookMs / 2 });
  const isStatic = (uid: string) => statics.get(uid) !== undefined;
  const storageEvictor = new StorageEvictor({
    ...{ clock, log, cri, observer, meter },
    pods: () =>
      manager
        .list()
        .filter((pod) => !isPodTerminal(statuses.latest(pod)))
        .filter((pod) => !isCriticalPod({ pod, isStatic: isStatic(pod.metadata.uid ?? '') })),
    evict: (uid, failure) => manager.condemn(uid, failure),
    onEvicted: (signal) => metrics.evictions.labels(signal).inc(),
  });
  return { storageEvictor };
}
