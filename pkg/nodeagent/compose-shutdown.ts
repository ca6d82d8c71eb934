/** Builds the part that ends pods before the machine shuts down. */
import type { Registry } from 'prom-client';
import { isPodTerminal } from '#api/core/v1/pod/conditions.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import type { NodeAgentDependencies } from '#nodeagent/dependencies.js';
import type { NodeEvents } from '#nodeagent/node/node-events.js';
import type { NodeRegistrar } from '#nodeagent/node/registrar.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import type { PodManager } from '#nodeagent/pods/manager.js';
import { shutdownPeriods } from '#nodeagent/shutdown/groups.js';
import { shutdownMetrics } from '#nodeagent/shutdown/metrics.js';
import { NodeShutdown } from '#nodeagent/shutdown/node-shutdown.js';
import { shutdownStateFile } from '#nodeagent/shutdown/state-file.js';
import type { StatusManager } from '#nodeagent/status/manager.js';

export interface ShutdownInput {
  readonly registry: Registry;
  readonly manager: PodManager;
  readonly statuses: StatusManager;
  readonly registrar: Pick<NodeRegistrar, 'poke'>;
  readonly events: NodeEvents;
}

/** Limit of waiting for the API to have the last status of a pod. */
const reportMs = 1000;

/** Undefined if no period is set, or without the gate GracefulNodeShutdown. */
export function newNodeShutdown(
  values: NodeAgentOptions,
  { shutdown, clock, log, informers }: NodeAgentDependencies,
  { registry, manager, statuses, registrar, events }: ShutdownInput,
): NodeShutdown | undefined {
  const gates = new FeatureGates(values['feature-gates']);
  if (shutdown === undefined || !gates.enabled('GracefulNodeShutdown')) return undefined;
  const byPriority = gates.enabled('GracefulNodeShutdownBasedOnPodPriority');
  const periods = shutdownPeriods(byPriority ? shutdown.settings : { ...shutdown.settings, byPriority: [] });
  if (periods.length === 0) return undefined;
  const times = {
    state: shutdownStateFile(values['root-dir']),
    show: shutdownMetrics(registry, informers.client.dialect),
  };
  return new NodeShutdown({
    ...{ clock, log, periods, events },
    logind: shutdown.logind,
    pods: () => manager.list().filter((pod) => !isPodTerminal(statuses.latest(pod))),
    async end({ metadata: { uid = '' } }, failure) {
      await manager.end(uid, failure);
      await Promise.race([statuses.flush(uid), clock.sleep(reportMs)]);
    },
    onChange: () => registrar.poke(),
    ...(byPriority ? { times } : {}),
  });
}
