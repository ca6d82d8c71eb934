/** The series of flow control, named as in 1.24. Levels and flow schemas look theirs up once and keep them. */
import type { Registry } from 'prom-client';
import { type RatioHistograms, RatioSamples } from '#apiserver/flowcontrol/ratio-samples.js';
import {
  type CounterSeries,
  type HistogramSeries,
  PlainCounter,
  PlainGauge,
  PlainHistogram,
} from '#daemon/metrics/plain-series.js';

const prefix = 'apiserver_flowcontrol';
const level = 'priority_level';
const perFlow = [level, 'flow_schema'] as const;
const lengthBuckets = [0, 10, 25, 50, 100, 250, 500, 1000];
const secondsBuckets = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30];
const ratioBuckets = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];
const samplesHelp = 'the number of requests waiting or in any stage of execution (but only initial stage for WATCHes)';
const sidesHelp = 'the number of requests waiting or in regular stage of execution';
const seatsHelp = 'number of seats occupied for any stage of execution (but only initial stage for WATCHes)';

/** Whether requests read or write. */
export type Side = 'readOnly' | 'mutating';

/** Waiting and executing requests of one side, as shares of one. */
export interface SideSamples {
  readonly waiting: RatioSamples;
  readonly executing: RatioSamples;
}

/** All series; they are created with the first request that needs them. */
export class FlowControlSeries {
  readonly metrics: Metrics;
  readonly #levels = new Map<string, LevelSeries>();

  constructor(registry: Registry) {
    this.metrics = new Metrics(registry);
  }

  level(name: string, nowMs: number): LevelSeries {
    let series = this.#levels.get(name);
    if (series === undefined) {
      series = new LevelSeries(this.metrics, name, nowMs);
      this.#levels.set(name, series);
    }
    return series;
  }

  side(side: Side, nowMs: number): SideSamples {
    const { sides } = this.metrics;
    return {
      waiting: new RatioSamples(sides.of('waiting', side), nowMs, 1),
      executing: new RatioSamples(sides.of('executing', side), nowMs, 1),
    };
  }

  /** Drops the series of a level that is gone, so that short-lived levels do not pile up. */
  forget(name: string): void {
    this.#levels.delete(name);
    this.metrics.forget({ [level]: name });
  }
}

/** The series of one priority level. */
export class LevelSeries {
  readonly name: string;
  readonly limit: CounterSeries;
  readonly currentR: CounterSeries;
  readonly dispatchR: CounterSeries;
  readonly latestS: CounterSeries;
  readonly waiting: RatioSamples;
  readonly executing: RatioSamples;
  readonly seats: RatioSamples;
  readonly #metrics: Metrics;
  readonly #bounds: readonly CounterSeries[];
  readonly #flows = new Map<string, FlowSeries>();

  constructor(metrics: Metrics, name: string, nowMs: number) {
    this.name = name;
    this.#metrics = metrics;
    this.limit = metrics.limit.labels(name);
    this.currentR = metrics.currentR.labels(name);
    this.dispatchR = metrics.dispatchR.labels(name);
    this.latestS = metrics.latestS.labels(name);
    this.#bounds = [metrics.nextS, metrics.nextDiscountedS].flatMap((metric) =>
      ['min', 'max'].map((bound) => metric.labels(name, bound)),
    );
    this.waiting = new RatioSamples(metrics.requests.of('waiting', name), nowMs, 1);
    this.executing = new RatioSamples(metrics.requests.of('executing', name), nowMs, 1);
    this.seats = new RatioSamples(metrics.seats.of('executing', name), nowMs, 1);
  }

  flow(schema: string): FlowSeries {
    let series = this.#flows.get(schema);
    if (series === undefined) {
      series = new FlowSeries(this.#metrics, this.name, schema);
      this.#flows.set(schema, series);
    }
    return series;
  }

  /** Drops the series of other schemas, so that short-lived schemas do not pile up. */
  keep(schemas: ReadonlySet<string>): void {
    for (const schema of this.#flows.keys()) {
      if (schemas.has(schema)) continue;
      this.#flows.delete(schema);
      this.#metrics.forget({ [level]: this.name, flow_schema: schema });
    }
  }

  /** The range of the virtual start of the oldest requests, as it is and without the work in progress. */
  nextS(...bounds: readonly [number, number, number, number]): void {
    for (let i = 0; i < bounds.length; i++) (this.#bounds[i] as CounterSeries).value = bounds[i] as number;
  }

  /** Records the time that has passed. */
  sample(nowMs: number): void {
    for (const samples of [this.waiting, this.executing, this.seats]) samples.add(nowMs, 0);
  }

  epochAdvanced(): void {
    this.#metrics.epochs.labels(this.name, 'true').inc();
  }
}

/** The series of a flow schema at its priority level. */
export class FlowSeries {
  readonly schema: string;
  readonly dispatched: CounterSeries;
  readonly inQueue: CounterSeries;
  readonly executing: CounterSeries;
  readonly seats: CounterSeries;
  readonly queueLength: HistogramSeries;
  readonly estimatedSeats: HistogramSeries;
  readonly waitedToExecute: HistogramSeries;
  readonly executionSeconds: HistogramSeries;
  readonly #metrics: Metrics;
  readonly #level: string;

  constructor(metrics: Metrics, levelName: string, schema: string) {
    this.#metrics = metrics;
    this.#level = levelName;
    this.schema = schema;
    const labels = [levelName, schema] as const;
    this.dispatched = metrics.dispatched.labels(...labels);
    this.inQueue = metrics.inQueue.labels(...labels);
    this.executing = metrics.executing.labels(...labels);
    this.seats = metrics.seatsInUse.labels(...labels);
    this.queueLength = metrics.queueLength.labels(...labels);
    this.estimatedSeats = metrics.estimatedSeats.labels(...labels);
    this.waitedToExecute = metrics.waited.labels(...labels, 'true');
    this.executionSeconds = metrics.executed.labels(...labels, 'regular');
  }

  refused(reason: string): void {
    this.#metrics.rejected.labels(this.#level, this.schema, reason).inc();
  }

  waitedInVain(seconds: number): void {
    this.#metrics.waited.labels(this.#level, this.schema, 'false').observe(seconds);
  }

  watchOpened(seconds: number): void {
    this.#metrics.executed.labels(this.#level, this.schema, 'watch').observe(seconds);
  }

  /** Watches that get the event of a write. */
  watches(count: number): void {
    this.#metrics.watchCounts.labels(this.#level, this.schema).observe(count);
  }

  notAccommodated(): void {
    this.#metrics.notAccommodated.labels(this.#level, this.schema).inc();
  }
}

class Metrics {
  readonly rejected: PlainCounter;
  readonly dispatched: PlainCounter;
  readonly currentR: PlainGauge;
  readonly dispatchR: PlainGauge;
  readonly latestS: PlainGauge;
  readonly nextS: PlainGauge;
  readonly nextDiscountedS: PlainGauge;
  readonly inQueue: PlainGauge;
  readonly queueLength: PlainHistogram;
  readonly limit: PlainGauge;
  readonly seatsInUse: PlainGauge;
  readonly executing: PlainGauge;
  readonly waited: PlainHistogram;
  readonly executed: PlainHistogram;
  readonly watchCounts: PlainHistogram;
  readonly epochs: PlainCounter;
  readonly estimatedSeats: PlainHistogram;
  readonly notAccommodated: PlainCounter;
  readonly seats: RatioMetrics;
  readonly requests: RatioMetrics;
  readonly sides: RatioMetrics;

  constructor(registry: Registry) {
    const named = (name: string, help: string, labelNames: readonly string[]) => ({
      name: `${prefix}_${name}`,
      help: `[ALPHA] ${help}`,
      labelNames,
    });
    const counter = (...text: Parameters<typeof named>) => new PlainCounter(registry, named(...text));
    const gauge = (...text: Parameters<typeof named>) => new PlainGauge(registry, named(...text));
    const histogram = (buckets: readonly number[], ...text: Parameters<typeof named>) =>
      new PlainHistogram(registry, { ...named(...text), buckets });
    const ratios = (name: string, help: string, label: string, watermarks = help) =>
      new RatioMetrics(
        histogram(ratioBuckets, `${name}_samples`, `Periodic observations of ${help}`, ['phase', label]),
        histogram(ratioBuckets, `${name}_watermarks`, `Watermarks of ${watermarks}`, ['mark', 'phase', label]),
      );
    const subsystem = 'API Priority and Fairness subsystem';
    this.rejected = counter('rejected_requests_total', `Number of requests rejected by ${subsystem}`, [
      ...perFlow,
      'reason',
    ]);
    this.dispatched = counter('dispatched_requests_total', `Number of requests executed by ${subsystem}`, perFlow);
    this.currentR = gauge('current_r', 'R(time of last change)', [level]);
    this.dispatchR = gauge('dispatch_r', 'R(time of last dispatch)', [level]);
    this.latestS = gauge('latest_s', 'S(most recently dispatched request)', [level]);
    const oldest = 'min and max, over queues, of S(oldest waiting request in queue)';
    this.nextS = gauge('next_s_bounds', oldest, [level, 'bound']);
    this.nextDiscountedS = gauge('next_discounted_s_bounds', `${oldest} - estimated work in progress`, [
      level,
      'bound',
    ]);
    const pending = `Number of requests currently pending in queues of the ${subsystem}`;
    this.inQueue = gauge('current_inqueue_requests', pending, perFlow);
    const length = `Length of queue in the ${subsystem}, as seen by each request after it is enqueued`;
    this.queueLength = histogram(lengthBuckets, 'request_queue_length_after_enqueue', length, perFlow);
    this.limit = gauge('request_concurrency_limit', `Shared concurrency limit in the ${subsystem}`, [level]);
    const inUse = `Concurrency (number of seats) occupied by the currently executing (initial stage for a WATCH, any stage otherwise) requests in the ${subsystem}`;
    this.seatsInUse = gauge('request_concurrency_in_use', inUse, perFlow);
    const stage = `initial (for a WATCH) or any (for a non-WATCH) execution stage in the ${subsystem}`;
    this.executing = gauge('current_executing_requests', `Number of requests in ${stage}`, perFlow);
    const waiting = 'Length of time a request spent waiting in its queue';
    this.waited = histogram(secondsBuckets, 'request_wait_duration_seconds', waiting, [...perFlow, 'execute']);
    const duration = `Duration of initial stage (for a WATCH) or any (for a non-WATCH) stage of request execution in the ${subsystem}`;
    this.executed = histogram(secondsBuckets, 'request_execution_seconds', duration, [...perFlow, 'type']);
    const watchers = 'count of watchers for mutating requests in API Priority and Fairness';
    this.watchCounts = histogram([0, 1, 10, 100, 1000, 10_000], 'watch_count_samples', watchers, perFlow);
    const jumps = "Number of times the queueset's progress meter jumped backward";
    this.epochs = counter('epoch_advance_total', jumps, [level, 'success']);
    const estimated =
      'Number of estimated seats (maximum of initial and final seats) associated with requests in API Priority and Fairness';
    this.estimatedSeats = histogram([1, 2, 4, 10], 'work_estimated_seats', estimated, perFlow);
    const lacking = 'Number of times a dispatch attempt resulted in a non accommodation due to lack of available seats';
    this.notAccommodated = counter('request_dispatch_no_accommodation_total', lacking, perFlow);
    this.seats = ratios('priority_level_seat_count', seatsHelp, level, `the ${seatsHelp}`);
    this.requests = ratios('priority_level_request_count', samplesHelp, level);
    this.sides = ratios('read_vs_write_request_count', sidesHelp, 'request_kind');
  }

  forget(of: Readonly<Record<string, string>>): void {
    const own = [this.rejected, this.dispatched, this.currentR, this.dispatchR, this.latestS, this.nextS];
    const more = [this.nextDiscountedS, this.inQueue, this.queueLength, this.limit, this.seatsInUse, this.executing];
    const rest = [this.waited, this.executed, this.watchCounts, this.epochs, this.estimatedSeats, this.notAccommodated];
    for (const metric of [...own, ...more, ...rest, this.seats, this.requests]) metric.forget(of);
  }
}

class RatioMetrics {
  readonly #samples: PlainHistogram;
  readonly #watermarks: PlainHistogram;

  constructor(samples: PlainHistogram, watermarks: PlainHistogram) {
    this.#samples = samples;
    this.#watermarks = watermarks;
  }

  of(phase: 'waiting' | 'executing', value: string): RatioHistograms {
    return {
      samples: this.#samples.labels(phase, value),
      low: this.#watermarks.labels('low', phase, value),
      high: this.#watermarks.labels('high', phase, value),
    };
  }

  forget(of: Readonly<Record<string, string>>): void {
    this.#samples.forget(of);
    this.#watermarks.forget(of);
  }
}
