/** Which way the server's connections take, by what they lead to. */
import { Counter, Histogram, type Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import type { EgressType } from '#apiserver/egress/config.js';
import type { Connector } from '#apiserver/egress/connector.js';
import type { Dial } from '#http/client/dial.js';

/** Limit of connecting to the proxy and to the target, as in 1.24. */
const dialMs = 30_000;

export interface EgressMetrics {
  readonly duration: Histogram<'protocol' | 'transport'>;
  readonly failures: Counter<'protocol' | 'transport' | 'stage'>;
}

/** Creates the metrics; call it once per registry. */
export function createEgressMetrics(registry: Registry): EgressMetrics {
  const registers = [registry];
  return {
    duration: new Histogram({
      name: 'apiserver_egress_dialer_dial_duration_seconds',
      help: '[ALPHA] Dial latency histogram in seconds, labeled by the protocol (http-connect or grpc), transport (tcp or uds)',
      labelNames: ['protocol', 'transport'],
      buckets: [0.005, 0.025, 0.1, 0.5, 2.5, 12.5],
      registers,
    }),
    failures: new Counter({
      name: 'apiserver_egress_dialer_dial_failure_count',
      help: '[ALPHA] Dial failure count, labeled by the protocol (http-connect or grpc), transport (tcp or uds), and stage (connect or proxy). The stage indicates at which stage the dial failed',
      labelNames: ['protocol', 'transport', 'stage'],
      registers,
    }),
  };
}

export interface EgressSelectorOptions {
  /** Others are reached directly. */
  readonly connectors: ReadonlyMap<EgressType, Connector>;
  readonly clock: Clock;
  readonly metrics: EgressMetrics;
}

export class EgressSelector {
  readonly #options: EgressSelectorOptions;
  readonly #dials: ReadonlyMap<EgressType, Dial>;

  constructor(options: EgressSelectorOptions) {
    this.#options = options;
    this.#dials = new Map([...options.connectors].map(([type, connector]) => [type, this.#through(connector)]));
  }

  /** Undefined: directly. */
  dialOf(type: EgressType): Dial | undefined {
    return this.#dials.get(type);
  }

  #through(connector: Connector): Dial {
    const { clock, metrics } = this.#options;
    const { protocol, transport } = connector;
    return async (target) => {
      const startedMs = clock.monotonic();
      const timeout = new AbortController();
      const timer = clock.setTimer(() => timeout.abort(new Error('context deadline exceeded')), dialMs);
      let stage = 'connect';
      try {
        const dial = await connector.connect(timeout.signal);
        stage = 'proxy';
        const stream = await dial(target);
        metrics.duration.observe({ protocol, transport }, (clock.monotonic() - startedMs) / 1000);
        return stream;
      } catch (error) {
        metrics.failures.inc({ protocol, transport, stage });
        throw error;
      } finally {
        timer.cancel();
      }
    };
  }
}
