import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { ApiObject, Client } from '#client/client.js';
import type { InformerFactory } from '#client/informer/informer.js';
import type { Reporting } from '#controllers/framework/loop-report.js';
import type { ControllerMetrics } from '#controllers/framework/metrics.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Tracer } from '#daemon/tracing/tracer.js';

/** Records API events. Never throws and never blocks. */
export interface EventSink {
  record(object: ApiObject, type: 'Normal' | 'Warning', reason: string, message: string): void;
}

export interface ControllerContext {
  readonly client: Client;
  /** Shared by all controllers. */
  readonly informers: InformerFactory;
  readonly dialect: Dialect;
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly events: EventSink;
  /** For a controller with parts that record events under other component names; by default they use `events`. */
  readonly eventsFrom?: (component: string) => EventSink;
  readonly metrics: ControllerMetrics;
  /** Called with each new loop, for the debug pages. */
  readonly onLoop?: (loop: Reporting) => void;
  /** Traces reconciles; absent when tracing is off. */
  readonly tracer?: Pick<Tracer, 'begin'>;
}

export interface Controller {
  /** The name in `--controllers`. */
  readonly name: string;
  /** Runs until `signal` aborts; resolves when the current work is finished. Called once. */
  run(signal: AbortSignal): Promise<void>;
}
