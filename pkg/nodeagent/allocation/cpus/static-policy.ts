/**
 * Gives whole processors exclusively to the containers of Guaranteed pods that request whole numbers of them, as 1.24
 * does (cpumanager/policy_static.go). All other containers share the rest.
 */
import { podQosClass } from '#api/core/v1/pod/resources.js';
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import { milliValue, value } from '#apimachinery/quantity.js';
import {
  type CPUSet,
  difference,
  formatCPUs,
  intersection,
  isSubset,
  union,
} from '#nodeagent/allocation/cpus/cpu-set.js';
import type { CPUState } from '#nodeagent/allocation/cpus/cpu-state.js';
import type { CPUTopology } from '#nodeagent/allocation/cpus/cpu-topology.js';
import type { StaticPolicyOptions } from '#nodeagent/allocation/cpus/policy-settings.js';
import { takeDistributed } from '#nodeagent/allocation/cpus/take-distributed.js';
import { takePacked } from '#nodeagent/allocation/cpus/take-packed.js';
import { AllocationError } from '#nodeagent/allocation/provider.js';
import type { ResourceHints, TopologyHint } from '#nodeagent/allocation/topology/hint.js';
import { hasNode, type NumaMask, nodeCount, nodesOf, subsets } from '#nodeagent/allocation/topology/numa-mask.js';

export interface StaticPolicyInput {
  readonly topology: CPUTopology;
  readonly options: StaticPolicyOptions;
  /** Processors that no container gets exclusively: their number, and which, if they are named. */
  readonly reservedCount: number;
  readonly reservedCPUs: CPUSet;
}

const none: CPUSet = new Set();

export class StaticCPUPolicy {
  readonly #topology: CPUTopology;
  readonly #options: StaticPolicyOptions;
  readonly #reserved: CPUSet;
  /** Processors of the init containers of the pod that was allocated for last: its other containers reuse them. */
  #reusable: { readonly uid: string; readonly cpus: CPUSet } = { uid: '', cpus: none };

  /** Throws if the machine cannot reserve as many. */
  constructor({ topology, options, reservedCount, reservedCPUs }: StaticPolicyInput) {
    this.#topology = topology;
    this.#options = options;
    this.#reserved = reservedCPUs.size > 0 ? reservedCPUs : this.#take(topology.cpus, reservedCount, true);
    if (this.#reserved.size !== reservedCount) {
      const problem = `(size of ${formatCPUs(this.#reserved)} did not equal ${reservedCount})`;
      throw new Error(`[cpumanager] unable to reserve the required amount of CPUs ${problem}`);
    }
  }

  /** Processors that containers can get exclusively. */
  get allocatable(): CPUSet {
    return difference(this.#topology.cpus, this.#reserved);
  }

  /** Fills an empty state. Throws if the state does not fit the machine and the reservation. */
  start(state: CPUState): void {
    const { shared, assignments } = state;
    if (shared.size === 0) {
      if (assignments.size > 0) throw new Error('default cpuset cannot be empty');
      state.share(this.#topology.cpus);
      return;
    }
    const sharedText = formatCPUs(shared);
    if (!isSubset(this.#reserved, shared)) {
      const reserved = formatCPUs(this.#reserved);
      throw new Error(`not all reserved cpus: "${reserved}" are present in defaultCpuSet: "${sharedText}"`);
    }
    for (const [uid, containers] of assignments) {
      for (const [name, cpus] of containers) {
        if (intersection(shared, cpus).size === 0) continue;
        const overlap = `cpuset: "${formatCPUs(cpus)}" overlaps with default cpuset "${sharedText}"`;
        throw new Error(`pod: ${uid}, container: ${name} ${overlap}`);
      }
    }
    const all = union(shared, ...[...assignments.values()].flatMap((containers) => [...containers.values()]));
    const [here, there] = [formatCPUs(this.#topology.cpus), formatCPUs(all)];
    if (here !== there) {
      throw new Error(
        `current set of available CPUs ${quoted(here)} doesn't match with CPUs in state ${quoted(there)}`,
      );
    }
  }

  /** Throws AllocationError, or Error if there are too few processors. */
  allocate(state: CPUState, pod: Pod, container: Container, { nodes }: TopologyHint): void {
    const count = exclusiveCPUs(pod, container);
    if (count === 0) return;
    const { cpusPerCore } = this.#topology;
    if (this.#options.fullCores && count % cpusPerCore !== 0) {
      const problem = `requested ${count} cpus not multiple cpus per core = ${cpusPerCore}`;
      throw new AllocationError('SMTAlignmentError', `SMT Alignment Error: ${problem}`);
    }
    const { uid = '' } = pod.metadata;
    const earlier = state.of(uid, container.name);
    const cpus = earlier ?? this.#choose(state, { count, nodes, reusable: this.#reusableBy(uid) });
    if (earlier === undefined) state.assign(uid, container.name, cpus);
    const reusable = this.#reusableBy(uid);
    const isInit = pod.spec.initContainers?.some(({ name }) => name === container.name) === true;
    this.#reusable = { uid, cpus: isInit ? union(reusable, cpus) : difference(reusable, cpus) };
  }

  hints(state: CPUState, pod: Pod, container: Container): ResourceHints {
    const requested = exclusiveCPUs(pod, container);
    if (requested === 0) return new Map();
    const { uid = '' } = pod.metadata;
    const earlier = state.of(uid, container.name);
    if (earlier === undefined) {
      return this.#hintsFor(requested, { available: this.#available(state), reusable: this.#reusableBy(uid) });
    }
    // Fits nowhere: the request has changed.
    if (earlier.size !== requested) return new Map([['cpu', []]]);
    return this.#hintsFor(requested, { available: earlier, reusable: none });
  }

  podHints(state: CPUState, pod: Pod): ResourceHints {
    const requested = podExclusiveCPUs(pod);
    if (requested === 0) return new Map();
    const { uid = '' } = pod.metadata;
    let assigned: CPUSet = none;
    for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
      const earlier = state.of(uid, container.name);
      if (earlier === undefined) continue;
      if (earlier.size !== exclusiveCPUs(pod, container)) return new Map([['cpu', []]]);
      assigned = union(assigned, earlier);
    }
    if (assigned.size === requested) return this.#hintsFor(requested, { available: assigned, reusable: none });
    const reusable = union(this.#reusableBy(uid), assigned);
    return this.#hintsFor(requested, { available: this.#available(state), reusable });
  }

  #available({ shared }: CPUState): CPUSet {
    return difference(shared, this.#reserved);
  }

  #reusableBy(uid: string): CPUSet {
    return this.#reusable.uid === uid ? this.#reusable.cpus : none;
  }

  /** As many as possible on the NUMA nodes, the rest anywhere. */
  #choose(
    state: CPUState,
    {
      count,
      nodes,
      reusable,
    }: { readonly count: number; readonly nodes?: NumaMask | undefined; readonly reusable: CPUSet },
  ): CPUSet {
    const available = union(this.#available(state), reusable);
    const near = nodes === undefined ? none : this.#topology.onNodes(available, nodesOf(nodes));
    const aligned = this.#take(near, Math.min(count, near.size));
    return union(aligned, this.#take(difference(available, aligned), count - aligned.size));
  }

  /** `isLenient`: fewer if there are too few. */
  #take(available: CPUSet, count: number, isLenient = false): CPUSet {
    if (isLenient && count > available.size) return none;
    const { fullCores, distributed } = this.#options;
    if (!distributed) return takePacked(this.#topology, available, count);
    return takeDistributed(this.#topology, available, { count, groupSize: fullCores ? this.#topology.cpusPerCore : 1 });
  }

  /** All sets of NUMA nodes with enough processors; preferred are those that need no more nodes than an idle machine. */
  #hintsFor(
    requested: number,
    { available, reusable }: { readonly available: CPUSet; readonly reusable: CPUSet },
  ): ResourceHints {
    const topology = this.#topology;
    const availableOn = perNode(topology, available);
    const totals = new Map(topology.nodes.map((node) => [node, topology.total('node', node)]));
    const mustContain = [...perNode(topology, reusable).keys()];
    let least = topology.nodes.length;
    const masks: NumaMask[] = [];
    for (const mask of subsets(topology.nodes)) {
      if (sumOn(totals, mask) >= requested) least = Math.min(least, nodeCount(mask));
      if (mustContain.some((node) => !hasNode(mask, node))) continue;
      if (sumOn(availableOn, mask) + reusable.size >= requested) masks.push(mask);
    }
    return new Map([['cpu', masks.map((nodes) => ({ nodes, preferred: nodeCount(nodes) === least }))]]);
  }
}

function perNode(topology: CPUTopology, cpus: CPUSet): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const cpu of cpus) {
    const { node } = topology.place(cpu);
    counts.set(node, (counts.get(node) ?? 0) + 1);
  }
  return counts;
}

function sumOn(counts: ReadonlyMap<number, number>, mask: NumaMask): number {
  let sum = 0;
  for (const [node, count] of counts) if (hasNode(mask, node)) sum += count;
  return sum;
}

/** How many processors the container gets exclusively; 0 if it shares those of others. */
function exclusiveCPUs(pod: Pod, { resources }: Container): number {
  if (podQosClass(pod) !== 'Guaranteed') return 0;
  const request = resources?.requests?.['cpu'] ?? '0';
  return value(request) * 1000 === milliValue(request) ? value(request) : 0;
}

/** Init containers run one after the other before the rest. */
function podExclusiveCPUs(pod: Pod): number {
  const { initContainers = [], containers } = pod.spec;
  const largest = Math.max(0, ...initContainers.map((container) => exclusiveCPUs(pod, container)));
  return Math.max(
    largest,
    containers.reduce((sum, container) => sum + exclusiveCPUs(pod, container), 0),
  );
}
