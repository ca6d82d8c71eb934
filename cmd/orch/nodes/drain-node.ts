import { realClock } from '#apimachinery/clock.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { evictPods, setUnschedulable } from '#client/drain/drain.js';
import type { RestClient } from '#client/rest/rest-client.js';
import { SetupError } from '#cmd/orch/terminal/setup-error.js';

/**
 * Has all pods of a node go elsewhere, whatever keeps them there: what they leave on the machine goes with them. A node that
 * the cluster does not know has none. Rejects with a SetupError when some are left.
 * @param timeoutMs 0 waits for ever.
 */
export async function drainNode(client: RestClient, name: string, timeoutMs: number): Promise<void> {
  const limit = timeoutMs > 0 ? AbortSignal.timeout(timeoutMs) : new AbortController().signal;
  try {
    await setUnschedulable(client, name, true);
    await evictPods(client, name, {
      ...{ clock: realClock, signal: limit, tell: () => undefined },
      ...{ ignoreDaemonSets: true, deleteEmptyDirData: true, force: true },
    });
  } catch (error) {
    if (isNotFound(error)) return;
    if (limit.aborted) throw new SetupError(`pods of ${name} are left after ${timeoutMs / 1000} s`);
    throw error;
  }
}
