import type { Container, Pod } from '#api/core/v1/types.gen.js';
import { milliValue, value } from '#apimachinery/quantity.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { Refusal } from '#scheduler/decision/prepared-filter.js';
import { amountsOn, lackingResource, quantity } from '#scheduler/explain/refusals.js';
import { canLeaveNode, type Fix, type Trial } from '#scheduler/explain/trial.js';

/** Lowers the pod's requests, or deletes pods from the node. */
export function resourceFixes({ rejection }: Refusal, trial: Trial): Fix[] {
  const lacking = rejection.reasons.map(lackingResource);
  const fixes: Fix[] = [];
  if (!lacking.includes('pods')) {
    const left = lacking.map((resource) => ({ resource, ...amountsOn(trial.info, trial.node, resource) }));
    const pod = left.reduce<Pod | undefined>(
      (changed, { free, resource }) => changed && withTotalRequest(changed, resource, Math.max(0, free)),
      trial.pod,
    );
    if (pod !== undefined) {
      fixes.push((on) => {
        on.replacePod(pod);
        const shown = left.map(({ requested, free, resource }) => {
          const to = quantity(resource, Math.max(0, free));
          return `${to} ${resource} instead of ${quantity(resource, requested)}`;
        });
        return `ask for at most ${shown.join(' and ')}`;
      });
    }
  }
  const pods = podsToDelete(trial, lacking);
  if (pods !== undefined) {
    fixes.push((on) => {
      for (const pod of pods) on.removePod(pod);
      return `delete ${pods.length === 1 ? 'pod' : 'pods'} ${pods.map(({ key }) => key).join(', ')} on node ${on.node.name}`;
    });
  }
  return fixes;
}

/** Limit of pods that a remedy deletes. */
const maxDeletedPods = 5;

/** The least important pods whose deletion frees enough; undefined if that takes more than the limit. */
function podsToDelete({ info, node }: Trial, lacking: readonly string[]): PodInfo[] | undefined {
  const shares = (pod: PodInfo) => lacking.some((resource) => amountsOn(pod, node, resource).requested > 0);
  const candidates = [...node.pods.values()].filter((pod) => canLeaveNode(pod.pod) && shares(pod));
  const [first = ''] = lacking;
  candidates.sort(
    (a, b) => a.priority - b.priority || amountsOn(b, node, first).requested - amountsOn(a, node, first).requested,
  );
  const chosen: PodInfo[] = [];
  const enough = () =>
    lacking.every((resource) => {
      const { requested, free } = amountsOn(info, node, resource);
      return chosen.reduce((sum, pod) => sum + amountsOn(pod, node, resource).requested, free) >= requested;
    });
  while (!enough()) {
    const next = candidates.shift();
    if (next === undefined || chosen.length === maxDeletedPods) return undefined;
    chosen.push(next);
  }
  return chosen;
}

/**
 * The pod with this total request (CPU in thousandths of a core): the largest container's request shrinks, and init
 * containers are capped. Undefined if nothing would remain for the container, except for extended resources.
 */
function withTotalRequest(pod: Pod, resource: string, amount: number): Pod | undefined {
  const extended = resource.includes('/');
  const requestOf = ({ resources }: Container) => numberOf(resource, resources?.requests?.[resource]);
  const { containers, initContainers = [] } = pod.spec;
  const overhead = numberOf(resource, pod.spec.overhead?.[resource]);
  const total = containers.reduce((sum, container) => sum + requestOf(container), 0);
  const largest = containers.reduce((a, b) => (requestOf(b) > requestOf(a) ? b : a));
  const excess = total + overhead - amount;
  const remaining = requestOf(largest) - Math.max(0, excess);
  const most = amount - overhead;
  if (remaining < 0 || most < 0 || (!extended && (remaining === 0 || most === 0))) return undefined;
  const set = (container: Container, to: number) => withRequest(container, resource, to, extended);
  return {
    ...pod,
    spec: {
      ...pod.spec,
      containers: containers.map((each) => (each === largest && excess > 0 ? set(each, remaining) : each)),
      ...(initContainers.length === 0
        ? {}
        : { initContainers: initContainers.map((each) => (requestOf(each) > most ? set(each, most) : each)) }),
    },
  };
}

/** Extended resources also need equal limits. */
function withRequest(container: Container, resource: string, amount: number, extended: boolean): Container {
  const set = (list: Readonly<Record<string, string>> | undefined) => {
    const { [resource]: _before, ...rest } = list ?? {};
    return amount === 0 ? rest : { ...rest, [resource]: quantity(resource, amount) };
  };
  const { limits, requests } = container.resources ?? {};
  const resources = { ...container.resources, requests: set(requests) };
  return { ...container, resources: extended ? { ...resources, limits: set(limits) } : resources };
}

function numberOf(resource: string, text: string | undefined): number {
  if (text === undefined) return 0;
  return Number(resource === 'cpu' ? milliValue(text) : value(text));
}
