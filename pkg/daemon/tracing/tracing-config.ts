/**
 * The file of `--tracing-config-file`: `TracingConfiguration` of release 1.24.
 *
 * ```yaml
 * apiVersion: apiserver.config.orch.io/v1alpha1
 * kind: TracingConfiguration
 * endpoint: localhost:4317          # OTLP/gRPC collector; this is the default
 * samplingRatePerMillion: 100       # share of traced requests; default 0
 * ```
 *
 * Later releases call the version `v1beta1`, with the same fields.
 */
import type { Dialect } from '#apimachinery/dialect.js';
import { decodeFields, parseConfigText } from '#daemon/options/config-decode.js';
import { OptionsError } from '#daemon/options/option.js';

export interface TracingConfig {
  /** `host:port`, `dns:///host:port`, or `unix:///path`. */
  readonly endpoint: string;
  /** 0 to 1. */
  readonly samplingRatio: number;
}

const defaultEndpoint = 'localhost:4317';
const million = 1_000_000;
const fields = { apiVersion: 'string', kind: 'string', endpoint: 'string', samplingRatePerMillion: 'int32' } as const;

/** Throws an OptionsError with all problems of the file. */
export function parseTracingConfig(text: string, dialect: Dialect): TracingConfig {
  const errors: string[] = [];
  const file = decodeFields(fields, parseConfigText(text), errors);
  const {
    apiVersion,
    kind,
    endpoint = defaultEndpoint,
    samplingRatePerMillion = 0,
  } = file as Partial<{
    readonly apiVersion: string;
    readonly kind: string;
    readonly endpoint: string;
    readonly samplingRatePerMillion: number;
  }>;
  const versions = dialect.tracingConfigVersions;
  if (kind !== 'TracingConfiguration' || !versions.includes(apiVersion ?? '')) {
    errors.push(`apiVersion must be "${versions.join('" or "')}" and kind "TracingConfiguration"`);
  }
  if (samplingRatePerMillion < 0) {
    errors.push(`samplingRatePerMillion: Invalid value: ${samplingRatePerMillion}: sampling rate must be positive`);
  }
  if (samplingRatePerMillion > million) {
    errors.push(
      `samplingRatePerMillion: Invalid value: ${samplingRatePerMillion}: sampling rate per million must be less than or equal to one million`,
    );
  }
  const wrong = wrongEndpoint(endpoint);
  if (wrong !== undefined) errors.push(`endpoint: Invalid value: ${JSON.stringify(endpoint)}: ${wrong}`);
  if (errors.length > 0) throw new OptionsError(errors);
  return { endpoint, samplingRatio: samplingRatePerMillion / million };
}

function wrongEndpoint(endpoint: string): string | undefined {
  const [, scheme] = /^([a-z][a-z0-9+.-]*):\/\//i.exec(endpoint) ?? [];
  if (scheme === undefined) {
    return endpoint.includes('//') || endpoint === '' ? 'must be host:port' : undefined;
  }
  // Release 1.24 also accepts unix-abstract, which the client library does not support.
  return ['dns', 'unix'].includes(scheme) ? undefined : `unsupported scheme: ${scheme}. Options are none, dns, or unix`;
}
