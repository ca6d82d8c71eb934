/** When a pod has to leave its node because of the node's NoExecute taints. Pure. */
import { tolerates } from '#api/core/v1/node/taints.js';
import type { Node, Pod, Taint } from '#api/core/v1/types.gen.js';

export type EvictionPlan =
  | { readonly kind: 'stay' }
  /** After that many milliseconds under the taints; zero is at once. */
  | { readonly kind: 'leave'; readonly afterMs: number };

export function noExecuteTaints(node: Node | undefined): readonly Taint[] {
  return (node?.spec.taints ?? []).filter((taint) => taint.effect === 'NoExecute');
}

export function planEviction(pod: Pod, taints: readonly Taint[]): EvictionPlan {
  if (taints.length === 0) return { kind: 'stay' };
  const tolerations = pod.spec.tolerations ?? [];
  let seconds: number | undefined;
  for (const taint of taints) {
    const matching = tolerations.filter((toleration) => tolerates(toleration, taint));
    if (matching.length === 0) return { kind: 'leave', afterMs: 0 };
    for (const { tolerationSeconds } of matching) {
      if (tolerationSeconds !== undefined)
        seconds = Math.max(0, Math.min(seconds ?? Number.POSITIVE_INFINITY, Number(tolerationSeconds)));
    }
  }
  return seconds === undefined ? { kind: 'stay' } : { kind: 'leave', afterMs: seconds * 1000 };
}
