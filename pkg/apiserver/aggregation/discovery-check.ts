/** Asks an extension API server for what it must serve: the list of a version's resources. */
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Connections } from '#apiserver/aggregation/connections.js';
import type { ServiceAddresses } from '#apiserver/aggregation/proxy.js';
import { type RemoteService, rootOf } from '#apiserver/aggregation/remote-service.js';
import { userHeaders } from '#apiserver/aggregation/user-headers.js';
import { authority } from '#apiserver/service-routing/address.js';
import type { Backend } from '#apiserver/streaming/backend.js';
import { openRequest } from '#apiserver/streaming/http-proxy.js';

export interface DiscoveryCheckOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly addresses: ServiceAddresses;
  readonly connections: Connections;
}

/** As many servers as there may be behind a Service are asked at once; one that answers is enough. */
const attempts = 5;
const answerMs = 5000;

/** The failure, in the words of 1.24, of the last of several attempts at once; undefined as soon as one has succeeded. */
export async function checkDiscovery(
  options: DiscoveryCheckOptions,
  remote: RemoteService,
  signal: AbortSignal,
): Promise<Error | undefined> {
  const enough = new AbortController();
  const all = AbortSignal.any([signal, enough.signal]);
  let last: Error | undefined;
  const failures = Array.from({ length: attempts }, async () => {
    try {
      await attempt(options, remote, all);
    } catch (error) {
      last = error instanceof Error ? error : new Error(messageOf(error));
      throw last;
    }
  });
  try {
    await Promise.any(failures);
    return undefined;
  } catch {
    // All have failed: the last one is told of.
    return last;
  } finally {
    enough.abort();
  }
}

async function attempt(options: DiscoveryCheckOptions, remote: RemoteService, signal: AbortSignal): Promise<void> {
  const { clock, addresses, connections, dialect } = options;
  const backend: Backend = { ...(await addresses.resolve(remote.service)), tls: connections.channel(remote).tls };
  const path = rootOf(remote);
  const url = `https://${authority(backend)}${path}`;
  const late = new AbortController();
  const timer = clock.setTimer(() => late.abort(), answerMs);
  try {
    const response = await openRequest({
      backend,
      method: 'GET',
      path,
      // Whoever is asked lets the members of that group see everything.
      headers: userHeaders({ name: dialect.users.aggregator, groups: [dialect.groups.masters] }),
      signal: AbortSignal.any([signal, late.signal]),
    });
    // What is in it is of no interest here, however long it is.
    response.on('error', () => undefined);
    response.destroy();
    const { statusCode = 0 } = response;
    if (statusCode < 200 || statusCode > 299) throw new Error(`bad status from ${url}: ${statusCode}`);
  } catch (error) {
    if (late.signal.aborted) throw new Error(`timed out waiting for ${url}`);
    throw new Error(`failing or missing response from ${url}: ${messageOf(error)}`, { cause: error });
  } finally {
    timer.cancel();
  }
}
