/** From the option to what sends spans. */
import type { Registry } from 'prom-client';
import type { Dialect } from '#apimachinery/dialect.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import type { Logger } from '#daemon/log/logger.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import { openTracer } from '#daemon/tracing/open-tracer.js';
import type { Tracer } from '#daemon/tracing/tracer.js';

interface TracingNeeds {
  readonly dialect: Dialect;
  readonly log: Logger;
  readonly metrics: Registry;
}

/** Undefined without the option, and while the feature gate is off, as in release 1.24. Rejects with an OptionsError. */
export async function buildTracing(
  values: ApiServerValues,
  { dialect, log, metrics }: TracingNeeds,
): Promise<Tracer | undefined> {
  const path = values['tracing-config-file'] ?? '';
  if (path !== '' && !new FeatureGates(values['feature-gates']).enabled('APIServerTracing')) {
    log.warn('--tracing-config-file has no effect without --feature-gates=APIServerTracing=true');
    return undefined;
  }
  return openTracer(path, { dialect, service: dialect.components.apiServer, log, metrics });
}
