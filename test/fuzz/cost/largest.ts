/** All requests of the maximum size, and a reference for their cost. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { ApiServer } from '#apiserver/build/api-server.js';
import { largestBodies } from '#test/fuzz/cost/bodies.js';
import { changesOfLarge } from '#test/fuzz/cost/changes.js';
import { growingRequests } from '#test/fuzz/cost/growing.js';
import { largestOfKinds } from '#test/fuzz/cost/kinds.js';
import type { CostRequest } from '#test/fuzz/cost/meter.js';
import type { ThreadTime } from '#test/fuzz/cost/thread-time.js';
import { everyCase, gateFor } from '#test/integration/apiserver/resources/every-case.js';
import { call, runServer } from '#test/integration/apiserver/server.js';

/** The maximum number of keys of a map. */
const keys = 64_000;
const text = JSON.stringify(Object.fromEntries(Array.from({ length: keys }, (_, i) => [`k${i}`, `v${i}`])));

/**
 * Reference work similar to that of large requests, so that it slows down equally on slow or shared processors: parses
 * a map, copies it key by key, reads all of it, and serializes it. Returns processor time; ms.
 */
export function referenceMs(thread: ThreadTime): number {
  const before = thread.milliseconds();
  const map = JSON.parse(text) as Record<string, string>;
  const copy: Record<string, string> = {};
  for (const [key, value] of Object.entries(map)) copy[key] = value;
  let bytes = 0;
  for (const key of Object.keys(copy)) bytes += key.length + (copy[key] ?? '').length;
  if (JSON.stringify(copy).length < bytes) throw new RangeError('a text is shorter than its parts');
  return thread.milliseconds() - before;
}

/** The maximum number of keys of a new object. */
const changedKeys = 64_000;

export interface LargestRequests {
  readonly server: ApiServer;
  readonly requests: Readonly<Record<string, CostRequest>>;
  stop(): Promise<void>;
}

/** With a server that contains the objects of the requests. */
export async function largestRequests(dialect: Dialect): Promise<LargestRequests> {
  const { server, stop } = await runServer({ dialect, unfrozen: true, dependencies: { gate: gateFor(everyCase) } });
  await call(server, 'POST', '/api/v1/namespaces', { body: { metadata: { name: 'default' } } });
  const changes = await changesOfLarge(server, dialect, changedKeys);
  const growing = await growingRequests(server, dialect);
  return { server, stop, requests: { ...largestBodies(dialect), ...largestOfKinds(dialect), ...changes, ...growing } };
}
