/** Scales workloads by their metrics. */
import { horizontalpodautoscalers } from '#api/autoscaling/v2/resources.gen.js';
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerStatus,
  MetricSpec,
} from '#api/autoscaling/v2/types.gen.js';
import { pods as podType } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { keyOf } from '#apimachinery/object-key.js';
import { parseLabelSelector } from '#apimachinery/selectors/label-parser.js';
import { type LabelSelector, selectorFromObject } from '#apimachinery/selectors/labels.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter } from '#client/workqueue/outcome.js';
import type { RateLimiter } from '#client/workqueue/rate-limiter.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { ServedKinds } from '#controllers/framework/served-kinds.js';
import type { History } from '#controllers/horizontalpodautoscaling/history.js';
import { MetricsClient } from '#controllers/horizontalpodautoscaling/metrics-client.js';
import {
  currentHistory,
  type Decision,
  decide,
  occasionOf,
  withoutSelector,
  withRescale,
} from '#controllers/horizontalpodautoscaling/plan.js';
import type { StartupOptions } from '#controllers/horizontalpodautoscaling/pods.js';
import { goSelectorText, type Sample } from '#controllers/horizontalpodautoscaling/proposal.js';
import {
  finished,
  type Moment,
  notRescaled,
  unfinished,
  unscalable,
} from '#controllers/horizontalpodautoscaling/status.js';
import { type ScaleTarget, ScaleTargets, TargetError } from '#controllers/horizontalpodautoscaling/target.js';

export interface AutoscalerOptions extends StartupOptions {
  /** The interval between reconciles of an autoscaler. */
  readonly syncPeriodMs: number;
  readonly downscaleStabilizationMs: number;
  readonly tolerance: number;
}

/** As in 1.24. */
const concurrency = 1;

export class HorizontalPodAutoscalerController implements Controller {
  readonly name = 'horizontalpodautoscaling';
  readonly #context: ControllerContext;
  readonly #options: AutoscalerOptions;
  readonly #scalers: Informer<HorizontalPodAutoscaler>;
  readonly #pods: Informer<Pod>;
  readonly #loop: ReconcileLoop;
  readonly #targets: ScaleTargets;
  readonly #metrics: MetricsClient;
  /** By key. */
  readonly #histories = new Map<string, History>();

  constructor(context: ControllerContext, options: AutoscalerOptions) {
    this.#context = context;
    this.#options = options;
    this.#scalers = sharedInformer(context.informers, horizontalpodautoscalers);
    this.#pods = sharedInformer(context.informers, podType);
    const kinds = new ServedKinds(context);
    this.#targets = new ScaleTargets(context.client, kinds);
    this.#metrics = new MetricsClient(context, kinds);
    this.#loop = new ReconcileLoop(context, {
      name: this.name,
      queueName: 'horizontalpodautoscaler',
      concurrency,
      rateLimiter: everyMs(options.syncPeriodMs),
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    // Each autoscaler is reconciled once per period, regardless of changes. A deleted one is noticed then.
    const add = (scaler: HorizontalPodAutoscaler) => this.#loop.queue.addRateLimited(keyOf(scaler));
    const unwatch = this.#scalers.addHandler({ onAdd: add, onUpdate: add });
    try {
      await this.#loop.run(signal);
    } finally {
      unwatch();
    }
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<Outcome> {
    const scaler = this.#scalers.get(key);
    if (scaler === undefined) {
      this.#histories.delete(key);
      return done;
    }
    await this.#sync(key, scaler, signal);
    return requeueAfter(everyMs(this.#options.syncPeriodMs).whenMs(key));
  }

  /** Throws after writing a failure to the status. */
  async #sync(key: string, scaler: HorizontalPodAutoscaler, signal: AbortSignal): Promise<void> {
    const { kind, name } = scaler.spec.scaleTargetRef;
    const reference = `${kind}/${scaler.metadata.namespace}/${name}`;
    const target = await this.#findTarget(key, scaler);
    const decision = await this.#decide(key, scaler, target, signal);
    this.#histories.set(key, decision.history);
    for (const { type, reason, message } of decision.events) this.#record(scaler, type, reason, message);
    if (decision.failure !== undefined) {
      this.#record(scaler, 'Warning', 'FailedComputeMetricsReplicas', decision.failure);
      await this.#writeStatus(key, scaler, unfinished(scaler, target.size, decision.conditions));
      const what = `failed to compute desired number of replicas based on listed metrics for ${reference}`;
      throw new Error(`${what}: ${decision.failure}`);
    }
    if (decision.rescale !== undefined) await this.#rescale(key, scaler, target, decision, decision.rescale);
    await this.#writeStatus(key, scaler, finished(scaler, target.size, decision, this.#moment()));
  }

  async #findTarget(key: string, scaler: HorizontalPodAutoscaler): Promise<ScaleTarget> {
    try {
      return await this.#targets.get(scaler.metadata.namespace ?? '', scaler.spec.scaleTargetRef);
    } catch (error) {
      if (!(error instanceof TargetError)) throw error;
      this.#record(scaler, 'Warning', 'FailedGetScale', error.message);
      await this.#writeStatus(key, scaler, unscalable(scaler, error.message, this.#moment()));
      throw new Error(error.summary, { cause: error });
    }
  }

  async #decide(
    key: string,
    scaler: HorizontalPodAutoscaler,
    { size }: ScaleTarget,
    signal: AbortSignal,
  ): Promise<Decision> {
    const moment = this.#moment();
    const history = currentHistory(this.#histories.get(key), scaler, size, moment.nowMs);
    const { tolerance, downscaleStabilizationMs } = this.#options;
    const { replicas: specReplicas, statusReplicas } = size;
    const common = { ...this.#options, specReplicas, statusReplicas, tolerance, now: moment.now };
    if (occasionOf(scaler, size).kind !== 'metrics') {
      const observed = { samples: [], target: { ...common, pods: [] }, downscaleStabilizationMs };
      return decide(scaler, size, observed, history, moment);
    }
    const selector = selectorOf(size.selector);
    if ('reason' in selector) return withoutSelector(scaler, history, moment, selector);
    const { namespace = '' } = scaler.metadata;
    const scope = { namespace, selector, signal };
    const samples = [];
    // Sequential, because the number of metrics is unlimited.
    for (const metric of scaler.spec.metrics ?? []) samples.push(await observe(this.#metrics, metric, scope));
    // Do not report failures that the shutdown caused.
    signal.throwIfAborted();
    const pods = this.#pods.list(namespace).filter(({ metadata }) => selector.matches(metadata.labels));
    const sampled = this.#moment();
    const target = { ...common, now: sampled.now, pods };
    return decide(scaler, size, { samples, target, downscaleStabilizationMs }, history, sampled);
  }

  async #rescale(
    key: string,
    scaler: HorizontalPodAutoscaler,
    target: ScaleTarget,
    decision: Decision,
    { replicas, reason }: { readonly replicas: number; readonly reason: string },
  ): Promise<void> {
    const change = { from: target.size.replicas, to: replicas, atMs: this.#context.clock.monotonic() };
    const remember = (succeeded: boolean) =>
      this.#histories.set(key, withRescale(decision.history, scaler, change, succeeded));
    try {
      await this.#targets.resize(target, replicas);
    } catch (error) {
      remember(false);
      const message = messageOf(error);
      const what = `New size: ${replicas}; reason: ${reason}; error: ${message}`;
      this.#record(scaler, 'Warning', 'FailedRescale', what);
      const conditions = notRescaled(decision.conditions, message, this.#moment());
      await this.#writeStatus(key, scaler, unfinished(scaler, target.size, conditions));
      const { kind, name } = scaler.spec.scaleTargetRef;
      throw new Error(`failed to rescale ${kind}/${scaler.metadata.namespace}/${name}: ${message}`, { cause: error });
    }
    remember(true);
    this.#record(scaler, 'Normal', 'SuccessfulRescale', `New size: ${replicas}; reason: ${reason}`);
  }

  /** Throws when the write fails, also with a conflict; the next reconcile retries. */
  async #writeStatus(
    key: string,
    scaler: HorizontalPodAutoscaler,
    status: HorizontalPodAutoscalerStatus,
  ): Promise<void> {
    if (semanticEqual(scaler.status, status)) return;
    try {
      const written = await this.#context.client.resource(horizontalpodautoscalers).updateStatus({ ...scaler, status });
      this.#loop.written.wrote(key, this.#scalers, written);
    } catch (error) {
      this.#record(scaler, 'Warning', 'FailedUpdateStatus', messageOf(error));
      throw error;
    }
  }

  #record(scaler: HorizontalPodAutoscaler, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#context.events.record(scaler, type, reason, message);
  }

  #moment(): Moment {
    const { clock } = this.#context;
    return { now: clock.now(), nowMs: clock.monotonic() };
  }
}

/** Delays every reconcile until the next period, at least one millisecond, regardless of failures. */
function everyMs(periodMs: number): RateLimiter<string> {
  return { whenMs: () => Math.max(1, periodMs), forget() {}, requeues: () => 1 };
}

/** Parses the target's selector, or describes the error. */
function selectorOf(text: string): LabelSelector | { reason: string; event: string; condition: string } {
  if (text === '') {
    const condition = "the HPA target's scale is missing a selector";
    return { reason: 'SelectorRequired', event: 'selector is required', condition };
  }
  try {
    return parseLabelSelector(text);
  } catch (error) {
    const event = `couldn't convert selector into a corresponding internal selector object: ${messageOf(error)}`;
    return { reason: 'InvalidSelector', event, condition: event };
  }
}

/** Reads the metric's current value, or the error with the message of release 1.24. Never throws. */
async function observe(
  client: MetricsClient,
  spec: MetricSpec,
  { namespace, selector, signal }: { namespace: string; selector: LabelSelector; signal: AbortSignal },
): Promise<Sample> {
  const scope = { namespace, signal };
  const { resource, containerResource, pods, object, external } = spec;
  try {
    switch (spec.type) {
      case 'Resource':
      case 'ContainerResource': {
        const { name = '' } = resource ?? containerResource ?? {};
        const query = { selector, resource: name, ...containerOf(containerResource) };
        const response = client.ofResource(scope, query);
        return { pods: await withErrorPrefix(response, `unable to get metrics for resource ${name}: `) };
      }
      case 'Pods': {
        const { name, selector: labels } = pods?.metric ?? { name: '' };
        const response = client.ofPods(scope, { selector, metric: name, series: selectorFromObject(labels) });
        return { pods: await withErrorPrefix(response, `unable to get metric ${name}: `) };
      }
      case 'Object': {
        if (object === undefined) return { error: new TypeError('no object') };
        const { describedObject, metric } = object;
        const series = selectorFromObject(metric.selector);
        const response = client.ofObject(scope, { object: describedObject, metric: metric.name, series });
        // The word order of 1.24.
        const before = `unable to get metric ${metric.name}: ${describedObject.kind} on ${namespace} `;
        return { milli: await withErrorPrefix(response, `${before}${describedObject.name}/`) };
      }
      case 'External': {
        const { name, selector: labels } = external?.metric ?? { name: '' };
        const response = client.external(scope, { metric: name, series: selectorFromObject(labels) });
        const which = `${namespace}/${name}/${goSelectorText(labels)}`;
        return { milli: await withErrorPrefix(response, `unable to get external metric ${which}: `) };
      }
      default:
        return { error: new TypeError(`unknown type ${spec.type}`) };
    }
  } catch (error) {
    return { error };
  }
}

function containerOf(source: MetricSpec['containerResource']): { container?: string } {
  return source === undefined ? {} : { container: source.container };
}

async function withErrorPrefix<T>(response: Promise<T>, prefix: string): Promise<T> {
  try {
    return await response;
  } catch (error) {
    throw new Error(`${prefix}${messageOf(error)}`, { cause: error });
  }
}
