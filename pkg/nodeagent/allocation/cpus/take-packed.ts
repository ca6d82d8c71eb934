/** Chooses processors close to each other, as 1.24 does (cpumanager/cpu_assignment.go, packed). Pure. */
import type { CPUSet } from '#nodeagent/allocation/cpus/cpu-set.js';
import type { CPUTopology } from '#nodeagent/allocation/cpus/cpu-topology.js';
import { FreeCPUs } from '#nodeagent/allocation/cpus/free-cpus.js';

/**
 * Chooses `count` of the available processors: whole NUMA nodes and sockets, then whole cores, then single processors
 * of cores that are in use. Throws if there are too few.
 */
export function takePacked(topology: CPUTopology, available: CPUSet, count: number): CPUSet {
  if (count < 1) return new Set();
  const free = new FreeCPUs(topology, available, count);
  for (const level of [...free.largeLevels, 'core'] as const) {
    free.takeWhole(level);
    if (free.isSatisfied) return free.chosen;
  }
  free.takeSingle();
  return free.chosen;
}
