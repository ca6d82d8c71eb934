/** Metrics of credential plugins, named as in release 1.24. */
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import { counter, gauge, histogram } from '#daemon/metrics/metric.js';

export type CallStatus = 'no_error' | 'plugin_execution_error' | 'plugin_not_found_error' | 'client_internal_error';

export interface ExecMetrics {
  /** `code`: the plugin's exit code, 1 if it had none. */
  called(code: number, status: CallStatus): void;
  /** Sets the expiry of the certificate in use; undefined: there is none. */
  certificate(notAfterMs: number | undefined): void;
  /** Records the age of a replaced certificate. */
  rotated(ageMs: number): void;
}

export const noExecMetrics: ExecMetrics = { called() {}, certificate() {}, rotated() {} };

const hour = 3600;
const day = 24 * hour;
const month = 30 * day;
const ageBuckets = [600, 1800, hour, 4 * hour, day, 7 * day, month, 3 * month, 6 * month, 12 * month, 48 * month];

export function execMetrics(registry: Registry, clock: Clock): ExecMetrics {
  const calls = counter(registry, {
    name: 'rest_client_exec_plugin_call_total',
    help: 'Number of calls to an exec plugin, by outcome and exit code',
    labelNames: ['code', 'call_status'],
  });
  const ages = histogram(registry, {
    name: 'rest_client_exec_plugin_certificate_rotation_age',
    help: 'Seconds that the last client certificate of an exec plugin lived before it was replaced',
    labelNames: [],
    buckets: ageBuckets,
  });
  let notAfterMs: number | undefined;
  gauge(registry, {
    name: 'rest_client_exec_plugin_ttl_seconds',
    help: 'Seconds until the client certificate of the exec plugin runs out; infinite where there is none',
    collect() {
      this.set(notAfterMs === undefined ? Number.POSITIVE_INFINITY : (notAfterMs - clock.now()) / 1000);
    },
  });
  return {
    called: (code, status) => calls.inc({ code: String(code), call_status: status }),
    certificate: (until) => {
      notAfterMs = until;
    },
    rotated: (ageMs) => ages.observe(ageMs / 1000),
  };
}
