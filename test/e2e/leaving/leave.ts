/** Lets many clients connect to a cluster and leave it, several at a time. */
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { serverOf, visitAndLeave } from '#test/e2e/leaving/client.js';
import { leavesUnanswered, visits } from '#test/e2e/leaving/visits.js';

export interface LeaveOptions {
  readonly kubeconfig: string;
  readonly pod: string;
  readonly node: string;
  readonly command: readonly string[];
  readonly seed: number;
  readonly clients: number;
  readonly atOnce: number;
  /** Longest stay of one; ms. */
  readonly stayMs: number;
  /** Stops early when this is true; absent: never. */
  readonly until?: () => boolean;
}

/** Resolves with the number of clients by kind and status, such as `{ watch: { 200: 9, none: 1 } }`. */
export async function comeAndLeave(options: LeaveOptions): Promise<Record<string, Record<string, number>>> {
  const { kubeconfig, pod, node, command, seed, clients, atOnce, stayMs, until = () => false } = options;
  const server = await serverOf(kubeconfig);
  const all = Object.entries(visits(pod, node, command));
  const counts: Record<string, Record<string, number>> = {};
  let next = 0;
  const visitor = async (): Promise<void> => {
    while (next < clients && !until()) {
      const number = next++;
      // All kinds equally often.
      const [name, visit] = all[number % all.length] as (typeof all)[number];
      // The first client of each kind waits for its answer, since a slow machine might answer none of the others.
      const untilAnswered = number < all.length && !leavesUnanswered.test(name);
      const random = seededRandom(seed + number);
      const status = await visitAndLeave(server, visit, { random, stayMs, untilAnswered });
      const answered = status ?? 'none';
      const outcomes = counts[name] ?? {};
      outcomes[answered] = (outcomes[answered] ?? 0) + 1;
      counts[name] = outcomes;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, visitor));
  return counts;
}
