/** What every controller is given, and what every controller is. */
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { ApiObject, Client } from '#client/client.js';
import type { InformerFactory } from '#client/informer/informer.js';
import type { Reporting } from '#controllers/framework/loop-report.js';
import type { ControllerMetrics } from '#controllers/framework/metrics.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Tracer } from '#daemon/tracing/tracer.js';

/** Where controllers report what they did, for people to read. Never throws and never blocks. */
export interface EventSink {
  record(object: ApiObject, type: 'Normal' | 'Warning', reason: string, message: string): void;
}

export interface ControllerContext {
  readonly client: Client;
  /** Shared among all controllers. */
  readonly informers: InformerFactory;
  readonly dialect: Dialect;
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly events: EventSink;
  /** For a controller whose parts report events under component names of their own; absent: all use `events`. */
  readonly eventsFrom?: (component: string) => EventSink;
  readonly metrics: ControllerMetrics;
  /** Called with each loop that is created, so that its state can be shown; absent: it is not. */
  readonly onLoop?: (loop: Reporting) => void;
  /** Of reconciles; absent: nothing is traced. */
  readonly tracer?: Pick<Tracer, 'begin'>;
}

export interface Controller {
  /** As in `--controllers`. */
  readonly name: string;
  /** Works until `signal` aborts; resolves when the work in progress is finished. Called once. */
  run(signal: AbortSignal): Promise<void>;
}
