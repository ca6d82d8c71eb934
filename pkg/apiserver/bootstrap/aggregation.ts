/** Keeps the rules of roles with an aggregation rule in step with the roles that they select. */
import { clusterroles } from '#api/rbac/v1/resources.gen.js';
import type { ClusterRole } from '#api/rbac/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { aggregateClusterRoles } from '#apiserver/bootstrap/bootstrap.js';
import type { Follower, ObjectReader } from '#apiserver/objects/object-reader.js';
import type { Client } from '#client/client.js';
import type { Logger } from '#daemon/log/logger.js';

export interface AggregationOptions {
  readonly reader: ObjectReader;
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Changes often come in groups: they are looked at together. */
const settleMs = 200;
const retryMs = 5000;

/** Runs until the signal aborts. Does nothing while no ClusterRole changes. */
export async function keepAggregated(options: AggregationOptions, signal: AbortSignal): Promise<void> {
  const { reader, client, clock, log } = options;
  let dirty = false;
  let wake: (() => void) | undefined;
  const changed = () => {
    dirty = true;
    wake?.();
  };
  const follower: Follower<ClusterRole> = { replaced: changed, changed, removed: changed };
  signal.addEventListener('abort', () => wake?.(), { once: true });
  try {
    await reader.follow(clusterroles, follower, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  while (!signal.aborted) {
    if (!dirty)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    await clock.sleep(settleMs, signal);
    if (signal.aborted) return;
    dirty = false;
    try {
      await aggregateClusterRoles(client, log, signal);
    } catch (err) {
      if (signal.aborted) return;
      log.warn({ err }, 'Could not aggregate ClusterRoles');
      dirty = true;
      await clock.sleep(retryMs, signal);
    }
  }
}
