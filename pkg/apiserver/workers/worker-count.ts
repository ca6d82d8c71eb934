/**
 * The number of workers. `option` 0 means automatic: half of the cores, as etcd usually needs as much on the same machine, and
 * at most eight, as each worker follows every write of etcd. With fewer than four cores one worker runs, without a supervisor.
 */
export function workerCount(option: number, cores: number): number {
  if (option > 0) return option;
  return cores < 4 ? 1 : Math.min(8, Math.floor(cores / 2));
}
