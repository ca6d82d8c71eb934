/** Metrics of graceful shutdowns, with names and texts of 1.24. */
import type { Registry } from 'prom-client';
import type { Dialect } from '#apimachinery/dialect.js';
import { gauge } from '#daemon/metrics/metric.js';
import type { ShutdownTimes } from '#nodeagent/shutdown/state-file.js';

/** Returns a function that shows the times. */
export function shutdownMetrics(registry: Registry, { components }: Dialect): (times: ShutdownTimes) => void {
  const prefix = `${components.nodeAgent}_graceful_shutdown`;
  // 1.24 has the same text for both.
  const help = '[ALPHA] Last graceful shutdown start time since unix epoch in seconds';
  const start = gauge(registry, { name: `${prefix}_start_time_seconds`, help });
  const end = gauge(registry, { name: `${prefix}_end_time_seconds`, help });
  const seconds = (ms = 0) => Math.floor(ms / 1000);
  return ({ startMs, endMs }) => {
    start.set(seconds(startMs));
    end.set(seconds(endMs));
  };
}
