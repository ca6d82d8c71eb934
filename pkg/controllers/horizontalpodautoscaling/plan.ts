/** What is done about one autoscaler, from what was observed. Pure; rules, reasons and messages of release 1.24. */
import type { HorizontalPodAutoscaler, MetricStatus } from '#api/autoscaling/v2/types.gen.js';
import { normalize, type Words } from '#controllers/horizontalpodautoscaling/behavior.js';
import { type History, newHistory, scaled } from '#controllers/horizontalpodautoscaling/history.js';
import { type Proposal, propose, type Refusal, type Sample } from '#controllers/horizontalpodautoscaling/proposal.js';
import type { Target } from '#controllers/horizontalpodautoscaling/replicas.js';
import {
  active,
  type Conditions,
  disabled,
  foundScale,
  type Moment,
  refused,
  type Size,
  withConditions,
} from '#controllers/horizontalpodautoscaling/status.js';

export interface EventWords extends Words {
  readonly type: 'Normal' | 'Warning';
}

/** Why there is no pass over the metrics, or that there is one. */
export type Occasion =
  | { readonly kind: 'disabled' }
  | { readonly kind: 'outside'; readonly replicas: number; readonly reason: string }
  | { readonly kind: 'metrics' };

/** Zero means that somebody switched it off, unless the autoscaler may go there itself. */
export function occasionOf({ spec }: HorizontalPodAutoscaler, { replicas }: Size): Occasion {
  const min = minOf(spec);
  if (replicas === 0 && min !== 0) return { kind: 'disabled' };
  if (replicas > spec.maxReplicas) {
    return {
      kind: 'outside',
      replicas: spec.maxReplicas,
      reason: 'Current number of replicas above Spec.MaxReplicas',
    };
  }
  if (replicas < min) {
    return { kind: 'outside', replicas: min, reason: 'Current number of replicas below Spec.MinReplicas' };
  }
  return { kind: 'metrics' };
}

function minOf({ minReplicas }: HorizontalPodAutoscaler['spec']): number {
  return minReplicas ?? 1;
}

/**
 * The history with what is now known of the past: whether a change was made whose answer was lost, and, in the first
 * pass, the size that was found.
 */
export function remembered(
  history: History | undefined,
  { metadata, spec }: HorizontalPodAutoscaler,
  { replicas }: Size,
  nowMs: number,
): History {
  const known = history !== undefined && history.uid === metadata.uid ? history : newHistory(metadata.uid);
  const { unsure, ...sure } = known;
  const settled = unsure?.to === replicas ? withChange(sure, spec, unsure) : sure;
  return settled.recommendations.length > 0 ? settled : { ...settled, recommendations: [{ replicas, atMs: nowMs }] };
}

function withChange(
  history: History,
  { behavior }: HorizontalPodAutoscaler['spec'],
  change: { readonly from: number; readonly to: number; readonly atMs: number },
): History {
  // Without a behavior nobody looks back at it.
  if (behavior === undefined) return history;
  return scaled(history, change, { up: behavior.scaleUp, down: behavior.scaleDown });
}

/** What a pass over the metrics came to. */
export interface Decision {
  /** The new size; undefined where it stays. */
  readonly rescale?: { readonly replicas: number; readonly reason: string };
  readonly conditions: Conditions;
  /** Absent where no metric was looked at. */
  readonly metrics?: readonly MetricStatus[];
  readonly events: readonly EventWords[];
  readonly history: History;
  /** Why nothing is done; the size and the metrics that were seen before stay in the status. */
  readonly failure?: string;
}

/** `samples`: one for each metric of the spec; of nothing unless the occasion is `metrics`. */
export function decide(
  scaler: HorizontalPodAutoscaler,
  size: Size,
  observed: { readonly samples: readonly Sample[]; readonly target: Target; readonly downscaleStabilizationMs: number },
  history: History,
  moment: Moment,
): Decision {
  const found = withConditions(scaler.status?.conditions, moment, foundScale);
  const occasion = occasionOf(scaler, size);
  if (occasion.kind === 'disabled') {
    return { conditions: withConditions(found, moment, disabled), events: [], history };
  }
  if (occasion.kind === 'outside') {
    const { replicas, reason } = occasion;
    return { rescale: { replicas, reason }, conditions: found, events: [], history };
  }
  const { spec } = scaler;
  const specs = spec.metrics ?? [];
  const results = specs.map((metric, i) =>
    propose(metric, observed.samples[i] ?? { error: new TypeError('no sample') }, observed.target),
  );
  const refusals = results.filter((result): result is Refusal => result.kind === 'refusal');
  const events = refusals.map(({ reason, message }): EventWords => ({ type: 'Warning', reason, message }));
  const best = highest(results);
  const [first] = refusals;
  // With metrics missing it is known that more are needed, but never that fewer would do.
  if (best === undefined || (first !== undefined && best.replicas < size.replicas)) {
    const conditions = first === undefined ? found : withConditions(found, moment, refused(first));
    const failure =
      `invalid metrics (${refusals.length} invalid out of ${specs.length}), ` +
      `first error is: ${first?.summary ?? '<nil>'}`;
    return { conditions, events, history, failure };
  }
  const normalized = normalize(
    {
      current: size.replicas,
      desired: best.replicas,
      min: minOf(spec),
      max: spec.maxReplicas,
      behavior: spec.behavior,
      downscaleStabilizationMs: observed.downscaleStabilizationMs,
      nowMs: moment.nowMs,
    },
    history,
  );
  const { replicas, able, limited } = normalized;
  const reason = best.replicas > size.replicas ? `${best.name} above target` : '';
  return {
    ...(replicas === size.replicas
      ? {}
      : { rescale: { replicas, reason: best.replicas < size.replicas ? 'All metrics below target' : reason } }),
    conditions: withConditions(
      found,
      moment,
      active(best),
      { type: 'AbleToScale', status: 'True', ...able },
      { type: 'ScalingLimited', status: limited.isLimited ? 'True' : 'False', ...limited },
    ),
    metrics: results.map((result) => (result.kind === 'proposal' ? result.status : { type: '' })),
    events,
    history: normalized.history,
  };
}

/** The first of those that ask for the most. */
function highest(results: readonly (Proposal | Refusal)[]): Proposal | undefined {
  let best: Proposal | undefined;
  for (const result of results) {
    if (result.kind === 'proposal' && (best === undefined || result.replicas > best.replicas)) best = result;
  }
  return best;
}

/** The target's pods cannot be told from others, in the words of an event and of a condition. */
export function withoutSelector(
  scaler: HorizontalPodAutoscaler,
  history: History,
  moment: Moment,
  why: { readonly reason: string; readonly event: string; readonly condition: string },
): Decision {
  const conditions = withConditions(scaler.status?.conditions, moment, foundScale, {
    type: 'ScalingActive',
    status: 'False',
    reason: 'InvalidSelector',
    message: why.condition,
  });
  const event: EventWords = { type: 'Warning', reason: why.reason, message: why.event };
  return { conditions, events: [event], history, failure: why.event };
}

/** The history after a change of the size that was answered with success, or else with a failure that says little. */
export function withRescale(
  history: History,
  { spec }: HorizontalPodAutoscaler,
  change: { readonly from: number; readonly to: number; readonly atMs: number },
  answered: boolean,
): History {
  return answered ? withChange(history, spec, change) : { ...history, unsure: change };
}
