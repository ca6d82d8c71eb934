import type { Container, Pod } from '#api/core/v1/types.gen.js';
import { milliValue, value } from '#apimachinery/quantity.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { Refusal } from '#scheduler/decision/prepared-filter.js';
import type { Fix } from '#scheduler/explain/fix.js';
import { canLeaveNode } from '#scheduler/explain/owners.js';
import { amountsOn, lackingResource, quantity } from '#scheduler/explain/refusals.js';
import type { Trial } from '#scheduler/explain/trial.js';

/** Asking for less, or fewer pods on the node. */
export function resourceFixes({ rejection }: Refusal, trial: Trial): Fix[] {
  const lacking = rejection.reasons.map(lackingResource);
  const fixes: Fix[] = [];
  if (!lacking.includes('pods')) {
    const left = lacking.map((resource) => ({ resource, ...amountsOn(trial.info, trial.node, resource) }));
    const pod = left.reduce<Pod | undefined>(
      (changed, { free, resource }) => changed && askingFor(changed, resource, Math.max(0, free)),
      trial.pod,
    );
    if (pod !== undefined) {
      fixes.push((on) => {
        on.replacePod(pod);
        const shown = left.map(({ asked, free, resource }) => {
          const to = quantity(resource, Math.max(0, free));
          return `${to} ${resource} instead of ${quantity(resource, asked)}`;
        });
        return `ask for at most ${shown.join(' and ')}`;
      });
    }
  }
  const pods = leavers(trial, lacking);
  if (pods !== undefined) {
    fixes.push((on) => {
      for (const pod of pods) on.removePod(pod);
      return `delete ${pods.length === 1 ? 'pod' : 'pods'} ${pods.map(({ key }) => key).join(', ')} on node ${on.node.name}`;
    });
  }
  return fixes;
}

/** More pods than that are not asked away. */
const maxLeavers = 5;

/** The least important pods whose room is enough; undefined when no few of them are. */
function leavers({ info, node }: Trial, lacking: readonly string[]): PodInfo[] | undefined {
  const shares = (pod: PodInfo) => lacking.some((resource) => amountsOn(pod, node, resource).asked > 0);
  const others = [...node.pods.values()].filter((pod) => canLeaveNode(pod.pod) && shares(pod));
  const [first = ''] = lacking;
  others.sort((a, b) => a.priority - b.priority || amountsOn(b, node, first).asked - amountsOn(a, node, first).asked);
  const chosen: PodInfo[] = [];
  const enough = () =>
    lacking.every((resource) => {
      const { asked, free } = amountsOn(info, node, resource);
      return chosen.reduce((sum, pod) => sum + amountsOn(pod, node, resource).asked, free) >= asked;
    });
  while (!enough()) {
    const next = others.shift();
    if (next === undefined || chosen.length === maxLeavers) return undefined;
    chosen.push(next);
  }
  return chosen;
}

/**
 * The pod with so much of the resource in all (CPU in thousandths of a core): the largest container gives way, init
 * containers ask for no more. Undefined when that leaves the container nothing, unless the resource is an extended one.
 */
function askingFor(pod: Pod, resource: string, amount: number): Pod | undefined {
  const extended = resource.includes('/');
  const of = ({ resources }: Container) => numberOf(resource, resources?.requests?.[resource]);
  const { containers, initContainers = [] } = pod.spec;
  const overhead = numberOf(resource, pod.spec.overhead?.[resource]);
  const total = containers.reduce((sum, container) => sum + of(container), 0);
  const largest = containers.reduce((a, b) => (of(b) > of(a) ? b : a));
  const excess = total + overhead - amount;
  const left = of(largest) - Math.max(0, excess);
  const most = amount - overhead;
  if (left < 0 || most < 0 || (!extended && (left === 0 || most === 0))) return undefined;
  const set = (container: Container, to: number) => withRequest(container, resource, to, extended);
  return {
    ...pod,
    spec: {
      ...pod.spec,
      containers: containers.map((each) => (each === largest && excess > 0 ? set(each, left) : each)),
      ...(initContainers.length === 0
        ? {}
        : { initContainers: initContainers.map((each) => (of(each) > most ? set(each, most) : each)) }),
    },
  };
}

/** Extended resources are limited to what is asked for. */
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
