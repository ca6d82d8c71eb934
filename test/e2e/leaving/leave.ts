/** Lets many clients come to a cluster and leave it, several at a time. */
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
  /** Stops before all have come; absent: never. */
  readonly until?: () => boolean;
}

/** Resolves with how often clients of each kind got which status, such as `{ watch: { 200: 9, none: 1 } }`. */
export async function comeAndLeave(options: LeaveOptions): Promise<Record<string, Record<string, number>>> {
  const { kubeconfig, pod, node, command, seed, clients, atOnce, stayMs, until = () => false } = options;
  const server = await serverOf(kubeconfig);
  const all = Object.entries(visits(pod, node, command));
  const counts: Record<string, Record<string, number>> = {};
  let next = 0;
  const visitor = async (): Promise<void> => {
    while (next < clients && !until()) {
      const number = next++;
      // Each kind as often as every other.
      const [name, visit] = all[number % all.length] as (typeof all)[number];
      // On a slow machine none might stay for long enough to be answered: the first of each kind does.
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
