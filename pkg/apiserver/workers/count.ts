/** How many workers an API server has. */

/**
 * `asked`: the option, 0 for as many as suit the machine. The half of the cores, since a server is seldom alone on its
 * machine (etcd works as much as it does), but no more than eight: each follows every write of etcd. Fewer than four cores:
 * one, which needs no supervisor.
 */
export function workerCount(asked: number, cores: number): number {
  if (asked > 0) return asked;
  return cores < 4 ? 1 : Math.min(8, Math.floor(cores / 2));
}
