/** From the option to what sends spans. */
import type { Dialect } from '#apimachinery/dialect.js';
import { readOptionalFile } from '#apiserver/config/files.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import type { Logger } from '#daemon/log/logger.js';
import { OptionsError } from '#daemon/options/errors.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import { openTracer } from '#daemon/tracing/open-tracer.js';
import type { Tracer } from '#daemon/tracing/tracer.js';
import { parseTracingConfig } from '#daemon/tracing/tracing-config.js';

/** Undefined without the option, and while the feature gate is off, as in release 1.24. Throws OptionsError. */
export async function buildTracing(
  values: ApiServerValues,
  { dialect, log }: { readonly dialect: Dialect; readonly log: Logger },
): Promise<Tracer | undefined> {
  const path = values['tracing-config-file'];
  if (path === undefined || path === '') return undefined;
  if (!new FeatureGates(values['feature-gates']).enabled('APIServerTracing')) {
    log.warn('--tracing-config-file has no effect without --feature-gates=APIServerTracing=true');
    return undefined;
  }
  const text = (await readOptionalFile('tracing-config-file', path)) ?? '';
  try {
    const config = parseTracingConfig(text, dialect);
    return await openTracer({ config, service: dialect.components.apiServer, log });
  } catch (err) {
    if (!(err instanceof OptionsError)) throw err;
    throw new OptionsError(err.messages.map((message) => `--tracing-config-file: ${path}: ${message}`));
  }
}
