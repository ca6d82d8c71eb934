/** How many workers an API server has. */

/**
 * `asked`: the option, 0 for as many as suit the machine. The half of the cores, since a server is seldom alone on its
 * machine (etcd works as much as it does), but no more than eight: the thread that follows etcd tells each of them of every
 * write. Fewer than four cores: one, which is the main thread itself and costs nothing on top.
 */
export function workerCount(asked: number, cores: number): number {
  if (asked > 0) return asked;
  return cores < 4 ? 1 : Math.min(8, Math.floor(cores / 2));
}
