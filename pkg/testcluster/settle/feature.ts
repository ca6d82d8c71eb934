/** `/test/settle`: resolves when the cluster has nothing left to do at this time of its clock. */
import { badRequest } from '#apimachinery/errors/status.js';
import type { TestEndpoint } from '#testcluster/feature/feature.js';
import { durationOf, fieldsOf } from '#testcluster/feature/fields.js';
import type { Settling } from '#testcluster/settle/settle.js';

/** Within the limit of requests, which is a minute, also after a long move of the clock. */
const defaultTimeoutMs = 20_000;
const maxTimeoutMs = 30_000;

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
