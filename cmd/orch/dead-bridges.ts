import { isInRange } from '#cmd/orch/network.js';
import { deadBridges, removeBridge } from '#containerd/bridges.js';
import { containerdPaths } from '#containerd/containerd.js';
import { shimsOf } from '#containerd/remains.js';
import { removeRules } from '#containerd/rules.js';

/**
 * Removes bridges that were left by runs that were killed and would be in the way of the runtime in this directory: its
 * own one, which may have another range's address, and those of others in its range. Resolves with their names.
 */
export async function removeDeadBridges(dir: string, podRange: string): Promise<string[]> {
  const { bridge: own } = containerdPaths(dir);
  // Sandboxes that go on without a containerd are still to be taken over.
  if ((await shimsOf(dir)).length > 0) return [];
  const removed: string[] = [];
  for (const { name, addresses } of await deadBridges()) {
    if (name !== own && !addresses.some((address) => isInRange(address, podRange))) continue;
    await removeBridge(name);
    await removeRules(name);
    removed.push(name);
  }
  return removed;
}
