/** Decides the size of one autoscaler's target. Rules, reasons and messages of release 1.24. Pure. */
import type { HorizontalPodAutoscaler, MetricStatus } from '#api/autoscaling/v2/types.gen.js';
import { normalize, type ReasonAndMessage } from '#controllers/horizontalpodautoscaling/behavior.js';
import { type History, newHistory, scaled } from '#controllers/horizontalpodautoscaling/history.js';
import {
  type FailedReading,
  type Proposal,
  propose,
  type Sample,
} from '#controllers/horizontalpodautoscaling/proposal.js';
import type { Target } from '#controllers/horizontalpodautoscaling/replicas.js';
import {
  active,
  type Conditions,
  disabled,
  failedReading,
  type Moment,
  type Size,
  succeededGetScale,
  withConditions,
} from '#controllers/horizontalpodautoscaling/status.js';

export interface AutoscalerEvent extends ReasonAndMessage {
  readonly type: 'Normal' | 'Warning';
}

/** Whether the metrics decide, or the size is zero or out of bounds. */
export type Occasion =
  | { readonly kind: 'disabled' }
  | { readonly kind: 'outside'; readonly replicas: number; readonly reason: string }
  | { readonly kind: 'metrics' };

/** A size of zero disables the autoscaler, unless its minimum is zero. */
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

/** Updates the history: confirms a resize whose response was lost, and records the size as the first recommendation. */
export function currentHistory(
  history: History | undefined,
  { metadata, spec }: HorizontalPodAutoscaler,
  { replicas }: Size,
  nowMs: number,
): History {
  const own = history !== undefined && history.uid === metadata.uid ? history : newHistory(metadata.uid);
  const { unconfirmed, ...rest } = own;
  const current = unconfirmed?.to === replicas ? withChange(rest, spec, unconfirmed) : rest;
  return current.recommendations.length > 0 ? current : { ...current, recommendations: [{ replicas, atMs: nowMs }] };
}

function withChange(
  history: History,
  { behavior }: HorizontalPodAutoscaler['spec'],
  change: { readonly from: number; readonly to: number; readonly atMs: number },
): History {
  // Only behaviors use scaling events.
  if (behavior === undefined) return history;
  return scaled(history, change, { up: behavior.scaleUp, down: behavior.scaleDown });
}

export interface Decision {
  /** The new size; absent when unchanged. */
  readonly rescale?: { readonly replicas: number; readonly reason: string };
  readonly conditions: Conditions;
  /** Absent when no metric was read. */
  readonly metrics?: readonly MetricStatus[];
  readonly events: readonly AutoscalerEvent[];
  readonly history: History;
  /** Why the size stays unchanged; the status keeps its size and metrics. */
  readonly failure?: string;
}

/** `samples`: one per metric in the spec; unused unless the occasion is `metrics`. */
export function decide(
  scaler: HorizontalPodAutoscaler,
  size: Size,
  observed: { readonly samples: readonly Sample[]; readonly target: Target; readonly downscaleStabilizationMs: number },
  history: History,
  moment: Moment,
): Decision {
  const scaleRead = withConditions(scaler.status?.conditions, moment, succeededGetScale);
  const occasion = occasionOf(scaler, size);
  if (occasion.kind === 'disabled') {
    return { conditions: withConditions(scaleRead, moment, disabled), events: [], history };
  }
  if (occasion.kind === 'outside') {
    const { replicas, reason } = occasion;
    return { rescale: { replicas, reason }, conditions: scaleRead, events: [], history };
  }
  const { spec } = scaler;
  const specs = spec.metrics ?? [];
  const results = specs.map((metric, i) =>
    propose(metric, observed.samples[i] ?? { error: new TypeError('no sample') }, observed.target),
  );
  const failures = results.filter((result): result is FailedReading => result.kind === 'failure');
  const events = failures.map(({ reason, message }): AutoscalerEvent => ({ type: 'Warning', reason, message }));
  const best = highest(results);
  const [first] = failures;
  // With some metrics missing, the others can justify scaling up but not scaling down.
  if (best === undefined || (first !== undefined && best.replicas < size.replicas)) {
    const conditions = first === undefined ? scaleRead : withConditions(scaleRead, moment, failedReading(first));
    const failure =
      `invalid metrics (${failures.length} invalid out of ${specs.length}), ` +
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
      scaleRead,
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

/** The first proposal with the highest number of replicas. */
function highest(results: readonly (Proposal | FailedReading)[]): Proposal | undefined {
  let best: Proposal | undefined;
  for (const result of results) {
    if (result.kind === 'proposal' && (best === undefined || result.replicas > best.replicas)) best = result;
  }
  return best;
}

/** The decision for a target without a valid selector. */
export function withoutSelector(
  scaler: HorizontalPodAutoscaler,
  history: History,
  moment: Moment,
  why: { readonly reason: string; readonly event: string; readonly condition: string },
): Decision {
  const conditions = withConditions(scaler.status?.conditions, moment, succeededGetScale, {
    type: 'ScalingActive',
    status: 'False',
    reason: 'InvalidSelector',
    message: why.condition,
  });
  const event: AutoscalerEvent = { type: 'Warning', reason: why.reason, message: why.event };
  return { conditions, events: [event], history, failure: why.event };
}

/** The history after a resize that succeeded, or failed with an unclear result. */
export function withRescale(
  history: History,
  { spec }: HorizontalPodAutoscaler,
  change: { readonly from: number; readonly to: number; readonly atMs: number },
  succeeded: boolean,
): History {
  return succeeded ? withChange(history, spec, change) : { ...history, unconfirmed: change };
}
