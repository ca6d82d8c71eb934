/** `/test/settle`: resolves when the cluster has nothing left to do at this time of its clock. */
import { parseDuration } from '#apimachinery/duration.js';
import { badRequest } from '#apimachinery/errors/status.js';
import type { TestEndpoint } from '#testcluster/feature/feature.js';
import type { Settling } from '#testcluster/settle/settle.js';

/** Within the limit of requests, which is a minute. */
const defaultTimeoutMs = 30_000;
const maxTimeoutMs = 55_000;

export function settleEndpoint(settling: Pick<Settling, 'settle'>): TestEndpoint {
  return {
    path: '/test/settle',
    methods: ['POST'],
    handle: ({ body }) => settling.settle(timeoutOf(body)),
  };
}

/** `timeout` of a body, a duration (`10s`); ms. Throws 400. */
export function timeoutOf(body: unknown): number {
  const { timeout } = fieldsOf(body, ['timeout']);
  if (timeout === undefined) return defaultTimeoutMs;
  const ms = durationOf('timeout', timeout);
  if (ms > maxTimeoutMs) throw badRequest(`timeout: must be at most ${maxTimeoutMs / 1000}s`);
  return ms;
}

/** The fields of a JSON object. Throws 400 for other JSON, and for fields that are not `allowed`. */
export function fieldsOf<K extends string>(body: unknown, allowed: readonly K[]): Partial<Record<K, unknown>> {
  if (body === undefined || body === null) return {};
  if (typeof body !== 'object' || Array.isArray(body)) throw badRequest('the body must be a JSON object');
  const unknown = Object.keys(body).filter((name) => !(allowed as readonly string[]).includes(name));
  if (unknown.length > 0) throw badRequest(`unknown fields: ${unknown.join(', ')}; known: ${allowed.join(', ')}`);
  return body as Partial<Record<K, unknown>>;
}

/** Milliseconds of a positive duration of Go (`1h30m`). Throws 400. */
export function durationOf(field: string, value: unknown): number {
  let ms: number | undefined;
  try {
    ms = typeof value === 'string' ? parseDuration(value) : undefined;
  } catch (error) {
    throw badRequest(`${field}: not a duration such as 1h30m: ${JSON.stringify(value)}`, error);
  }
  if (ms === undefined || !(ms >= 0)) throw badRequest(`${field}: must be a positive duration such as 1h30m`);
  return ms;
}
