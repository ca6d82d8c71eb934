/** The agent's own series, named as in release 1.24 with the agent's name in front. Read when they are asked for. */
import type { Registry } from 'prom-client';
import type { Dialect } from '#apimachinery/dialect.js';
import { gauge } from '#daemon/metrics/metric.js';
import type { ContainerState } from '#nodeagent/cri/cri.js';
import type { PodRuntime } from '#nodeagent/runtime/pod-runtime.js';

export interface AgentMetricsOptions {
  readonly registry: Registry;
  readonly dialect: Dialect;
  readonly nodeName: string;
  readonly pods: () => readonly PodRuntime[];
}

const stateLabels: Readonly<Record<ContainerState, string>> = {
  CONTAINER_CREATED: 'created',
  CONTAINER_RUNNING: 'running',
  CONTAINER_EXITED: 'exited',
  CONTAINER_UNKNOWN: 'unknown',
};

/** Registers the series; a registry holds those of one agent. */
export function registerAgentMetrics(options: AgentMetricsOptions): void {
  const { registry, dialect, nodeName, pods } = options;
  const prefix = dialect.components.nodeAgent;
  gauge(registry, { name: `${prefix}_node_name`, help: "The node's name", labelNames: ['node'] }).set(
    { node: nodeName },
    1,
  );
  gauge(registry, {
    name: `${prefix}_running_pods`,
    help: 'Pods with a running sandbox',
    collect() {
      this.set(pods().filter(({ sandboxes }) => sandboxes.some(({ state }) => state === 'SANDBOX_READY')).length);
    },
  });
  gauge(registry, {
    name: `${prefix}_running_containers`,
    help: 'Containers by state',
    labelNames: ['container_state'],
    collect() {
      const counts = new Map(Object.values(stateLabels).map((label) => [label, 0]));
      for (const { containers } of pods()) {
        for (const { state } of containers) counts.set(stateLabels[state], (counts.get(stateLabels[state]) ?? 0) + 1);
      }
      for (const [container_state, count] of counts) this.set({ container_state }, count);
    },
  });
}
