/** Bootstrap tokens: secrets in the system's namespace by which new members know the cluster, and it knows them. */
import type { Secret } from '#api/core/v1/types.gen.js';
import { parseTime } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';

/** RFC 3339. */
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
const namePattern = /^bootstrap-token-([a-z0-9]{6})$/;

/** The token's id, as the name of its secret has it; undefined for another name. */
export function bootstrapTokenIdOf(secretName: string): string | undefined {
  return namePattern.exec(secretName)?.[1];
}

/** A text among the data of the secret; empty when there is none. */
export function bootstrapTokenText({ data }: Secret, key: string): string {
  return Buffer.from(data?.[key] ?? '', 'base64').toString('utf8');
}

/**
 * When the token ends, in milliseconds since the epoch: `Infinity` for one that never does, `-Infinity` for one whose
 * end cannot be read, which must not live for ever.
 */
export function bootstrapTokenExpiryMs(secret: Secret): number {
  const text = bootstrapTokenText(secret, 'expiration');
  if (text === '') return Number.POSITIVE_INFINITY;
  const expiryMs = timePattern.test(text) ? parseTime(text) : Number.NaN;
  return Number.isNaN(expiryMs) ? Number.NEGATIVE_INFINITY : expiryMs;
}

/** Where to list and watch them. */
export function bootstrapTokenSelector({ namespaces, secretTypes }: Dialect): {
  readonly namespace: string;
  readonly fieldSelector: string;
} {
  return { namespace: namespaces.system, fieldSelector: `type=${secretTypes.bootstrapToken}` };
}
