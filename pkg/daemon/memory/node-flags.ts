/** How Node.js is started to run a daemon: what it can be told in no other way. `bin/*` do the same. */
import { setFlagsFromString } from 'node:v8';

/**
 * The room for young objects would grow to 48 MB with the first burst of work, and stay while there is any. A quarter of that
 * is emptied four times as often, which costs the same in all as long as hardly anything is alive then. Of the API server's
 * writes some is, those that wait for etcd: with half of it a write takes a twelfth less than with a quarter.
 */
function semiSpaceMb(program: string): number {
  return program === 'orch-apiserver' ? 8 : 4;
}

/** What Node.js is told when it runs that program. */
export function daemonNodeFlags(program: string): readonly string[] {
  return [`--max-semi-space-size=${semiSpaceMb(program)}`];
}

/**
 * With any such value glibc stops to learn from large blocks that were freed: it would take later ones of that size from its
 * heap instead of from the system, and hold on to tens of megabytes after each burst.
 */
export const daemonEnvironment: Readonly<Record<string, string>> = { MALLOC_TRIM_THRESHOLD_: '1048576' };

/** How far a daemon's heap grows. */

/**
 * V8 lets a heap grow to up to four times of what lives before it collects what lived for a while. Most of a daemon's heap are
 * caches, which live long; as much again costs little time: an API server of 50,000 pods is a sixth smaller with it, a scheduler of
 * 5,000 nodes and 10,000 pods a seventh, at the same CPU.
 */
export const heapGrowthFlag = '--heap-growing-percent=100';

/** To be called before the heap has grown. */
export function limitHeapGrowth(): void {
  setFlagsFromString(heapGrowthFlag);
}
