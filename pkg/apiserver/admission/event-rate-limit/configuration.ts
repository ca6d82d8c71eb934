/** The configuration of the plugin EventRateLimit. */
import type { Dialect } from '#apimachinery/dialect.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import {
  configurationError,
  decodeConfiguration,
  type PluginConfiguration,
} from '#apiserver/admission/configuration.js';
import type { FieldTable } from '#daemon/options/config-decode.js';

const limitTypes = ['Server', 'Namespace', 'User', 'SourceAndObject'] as const;
export type LimitType = (typeof limitTypes)[number];

/** The events of a whole server, or of each namespace, user, or source with its object. */
export interface EventLimit {
  readonly type: LimitType;
  /** Events per second, after `burst` events at once. */
  readonly qps: number;
  readonly burst: number;
  /** Limit of buckets; a dropped bucket begins full again. */
  readonly cacheSize: number;
}

const fields: FieldTable = {
  apiVersion: 'string',
  kind: 'string',
  limits: { listOf: { fields: { type: 'string', qps: 'int32', burst: 'int32', cacheSize: 'int32' } } },
};

const defaultCacheSize = 4096;

/** Throws OptionsError; also without a configuration, since one limit is needed. */
export function eventLimits(own: PluginConfiguration | undefined, dialect: Dialect): readonly EventLimit[] {
  const versions = [dialect.eventRateLimitVersion];
  const decoded = own && decodeConfiguration(own, { fields, kind: 'Configuration', versions });
  const limits = (decoded?.['limits'] ?? []) as readonly Partial<EventLimit>[];
  const errors = limits.flatMap((limit, i) => faults(limit, `limits[${i}]`));
  if (limits.length === 0) errors.push('limits: Invalid value: []eventratelimit.Limit(nil): must not be empty');
  if (errors.length > 0) throw configurationError(own?.path ?? 'EventRateLimit', errors);
  return limits.map(({ type = 'Server', qps = 0, burst = 0, cacheSize = 0 }) => ({
    ...{ type, qps, burst },
    cacheSize: cacheSize === 0 ? defaultCacheSize : cacheSize,
  }));
}

function faults({ type, qps = 0, burst = 0, cacheSize = 0 }: Partial<EventLimit>, path: string): string[] {
  const errors: string[] = [];
  if (!limitTypes.some((one) => one === type)) {
    const supported = [...limitTypes].sort().map(quoted).join(', ');
    errors.push(`${path}.type: Unsupported value: ${quoted(type ?? '')}: supported values: ${supported}`);
  }
  if (burst <= 0) errors.push(`${path}.burst: Invalid value: ${burst}: must be positive`);
  if (qps <= 0) errors.push(`${path}.qps: Invalid value: ${qps}: must be positive`);
  if (type !== 'Server' && cacheSize < 0)
    errors.push(`${path}.cacheSize: Invalid value: ${cacheSize}: must not be negative`);
  return errors;
}
