import { pods } from '#api/core/v1/resources.gen.js';
import type { Binding, Pod } from '#api/core/v1/types.gen.js';
import type { Client } from '#client/client.js';

export interface UnschedulableReport {
  readonly reason: 'Unschedulable' | 'SchedulerError';
  readonly message: string;
  /** RFC 3339. */
  readonly now: string;
  /** The node where preemption makes room; empty: clear the nomination; absent: keep it. */
  readonly nominatedNode?: string;
}

/** Writes decisions to the API. */
export interface Binder {
  /** Binds the pod if its UID still matches. Rejects with the API's Status. */
  bind(pod: Pod, node: string): Promise<void>;
  /** Writes the reason to the pod's PodScheduled condition. */
  reportUnschedulable(pod: Pod, report: UnschedulableReport): Promise<void>;
}

export function apiBinder(client: Client): Binder {
  const api = client.resource(pods);
  return {
    async bind(pod, node) {
      const { name = '', namespace = '', uid } = pod.metadata;
      const binding: Binding = {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name, namespace, ...(uid === undefined ? {} : { uid }) },
        target: { kind: 'Node', name: node },
      };
      await api.createSubresource(name, 'binding', binding, { namespace });
    },
    async reportUnschedulable(pod, { message, nominatedNode, now, reason }) {
      const before = pod.status?.conditions?.find((condition) => condition.type === 'PodScheduled');
      const sameNode = (nominatedNode ?? pod.status?.nominatedNodeName ?? '') === (pod.status?.nominatedNodeName ?? '');
      if (sameNode && before?.status === 'False' && before.reason === reason && before.message === message) return;
      const { name = '', namespace = '', uid } = pod.metadata;
      const lastTransitionTime = before?.status === 'False' ? (before.lastTransitionTime ?? now) : now;
      const condition = { type: 'PodScheduled', status: 'False', reason, message, lastTransitionTime };
      const status = { conditions: [condition], ...(sameNode ? {} : { nominatedNodeName: nominatedNode }) };
      const patch = { metadata: { uid }, status };
      await api.patch(name, patch, { namespace, subresource: 'status', type: 'strategic' });
    },
  };
}
