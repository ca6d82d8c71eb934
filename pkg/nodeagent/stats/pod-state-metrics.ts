/**
 * `/metrics/state`: the state of the node's pods, which release 1.24 has no metrics for. Names and labels are those of
 * kube-state-metrics, so its queries work; but only true states have a series, with value 1, where kube-state-metrics
 * also has series of value 0 for other phases, conditions and reasons. Pure.
 */
import type { ContainerStatus, Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Family, Sample } from '#daemon/metrics/exposition.js';

type Labels = Readonly<Record<string, string>>;

/** `pods`: with their newest statuses. */
export function podStateFamilies(pods: readonly Pod[], { shortName }: Dialect): Family[] {
  const family = (name: string, help: string, type: Family['type'], samples: readonly Sample[]): Family => ({
    name: `${shortName}_pod_${name}`,
    help,
    type,
    samples,
  });
  const containers = pods.flatMap(({ metadata, status }) =>
    [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].map((container) => ({
      container,
      labels: { ...podLabels({ metadata }), container: container.name },
    })),
  );
  const reasons = (reasonOf: (container: ContainerStatus) => string | undefined): Sample[] =>
    containers.flatMap(({ container, labels }) => {
      const reason = reasonOf(container) ?? '';
      return reason === '' ? [] : [{ labels: { ...labels, reason }, value: 1 }];
    });
  return [
    family(
      'status_phase',
      "The pod's current phase.",
      'gauge',
      pods.map((pod) => ({ labels: { ...podLabels(pod), phase: pod.status?.phase ?? 'Pending' }, value: 1 })),
    ),
    family(
      'status_ready',
      'Whether the pod is ready to serve requests.',
      'gauge',
      pods.map((pod) => ({ labels: { ...podLabels(pod), condition: readyOf(pod) }, value: 1 })),
    ),
    family(
      'container_status_restarts_total',
      'How often the container was started again.',
      'counter',
      containers.map(({ container, labels }) => ({ labels, value: container.restartCount ?? 0 })),
    ),
    family(
      'container_status_waiting_reason',
      'Why the container waits.',
      'gauge',
      reasons(({ state }) => state?.waiting?.reason),
    ),
    family(
      'container_status_last_terminated_reason',
      'Why the container ended the last time.',
      'gauge',
      reasons(({ lastState }) => lastState?.terminated?.reason),
    ),
  ];
}

function podLabels({ metadata: { name = '', namespace = '', uid = '' } }: Pick<Pod, 'metadata'>): Labels {
  return { namespace, pod: name, uid };
}

function readyOf({ status }: Pod): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status ?? 'False';
  return ready.toLowerCase();
}
