/** All requests that are as large as the server takes. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { ApiServer } from '#apiserver/build/api-server.js';
import { largestBodies } from '#test/fuzz/cost/bodies.js';
import { changesOfLarge } from '#test/fuzz/cost/changes.js';
import { largestOfKinds } from '#test/fuzz/cost/kinds.js';
import type { CostRequest } from '#test/fuzz/cost/meter.js';
import { everyCase, gateFor } from '#test/integration/apiserver/resources/every-case.js';
import { call, runServer } from '#test/integration/apiserver/server.js';

/** As many as a new object may bring. */
const changedKeys = 64_000;

export interface LargestRequests {
  readonly server: ApiServer;
  readonly requests: Readonly<Record<string, CostRequest>>;
  stop(): Promise<void>;
}

/** With a server that has what they are about. */
export async function largestRequests(dialect: Dialect): Promise<LargestRequests> {
  const { server, stop } = await runServer({ dialect, unfrozen: true, dependencies: { gate: gateFor(everyCase) } });
  await call(server, 'POST', '/api/v1/namespaces', { body: { metadata: { name: 'default' } } });
  const changes = await changesOfLarge(server, dialect, changedKeys);
  return { server, stop, requests: { ...largestBodies(dialect), ...largestOfKinds(dialect), ...changes } };
}
