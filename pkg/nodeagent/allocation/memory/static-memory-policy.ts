/** Gives the containers of Guaranteed pods memory of fixed NUMA nodes, as 1.24 does (memorymanager/policy_static.go). */
import { podQosClass } from '#api/core/v1/pod/resources.js';
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import { isWholeQuantity, value } from '#apimachinery/quantity.js';
import {
  bestHint,
  isSatisfied,
  type MemoryRequests,
  memoryHints,
  type ReusableMemory,
  sameNodes,
} from '#nodeagent/allocation/memory/memory-hints.js';
import {
  idleMemory,
  type MemoryBlock,
  MemoryState,
  type NodeMemory,
  type ReservedMemory,
} from '#nodeagent/allocation/memory/memory-state.js';
import type { ResourceHints, TopologyHint } from '#nodeagent/allocation/topology/hint.js';
import type { MergedHint } from '#nodeagent/allocation/topology/merge.js';
import { maskOf, type NumaMask, nodesOf } from '#nodeagent/allocation/topology/numa-mask.js';
import type { MachineTopology } from '#nodeagent/node/topology.js';

export class StaticMemoryPolicy {
  readonly #machine: MachineTopology;
  readonly #reserved: ReservedMemory;
  /** Memory of the init containers of the pod that was allocated for last, by NUMA nodes and kind. */
  #reusable: { readonly uid: string; readonly bytes: Map<string, number> } = { uid: '', bytes: new Map() };

  /** Throws if nothing is reserved for the system. */
  constructor(machine: MachineTopology, reserved: ReservedMemory) {
    const total = [...reserved.values()].reduce((sum, types) => sum + (types.get('memory') ?? 0), 0);
    if (total <= 0) throw new Error('[memorymanager] you should specify the system reserved memory');
    this.#machine = machine;
    this.#reserved = reserved;
  }

  /** Memory that containers can get, by node and kind. */
  get allocatable(): MemoryBlock[] {
    return [...idleMemory(this.#machine, this.#reserved)].flatMap(([id, { tables }]) =>
      [...tables].flatMap(([type, { allocatable }]) =>
        allocatable === 0 ? [] : [{ nodes: [id], type, size: allocatable }],
      ),
    );
  }

  /** Fills an empty state. Throws if the state does not fit the machine and the reservation. */
  start(state: MemoryState): void {
    const idle = idleMemory(this.#machine, this.#reserved);
    if (state.nodes.size === 0) {
      if (state.assignments.size > 0) {
        throw new Error('[memorymanager] machine state can not be empty when it has memory assignments');
      }
      state.nodes = idle;
      return;
    }
    const expected = new MemoryState(idle);
    for (const [uid, containers] of state.assignments) {
      for (const [name, blocks] of containers) {
        for (const { nodes, type, size } of blocks) {
          const where = `[memorymanager] (pod: ${uid}, container: ${name}) the memory assignment uses`;
          for (const id of nodes) {
            const node = idle.get(id);
            if (node === undefined) throw new Error(`${where} the NUMA that does not exist`);
            if (!node.tables.has(type)) throw new Error(`${where} memory resource that does not exist`);
          }
          expected.reserve(nodes, type, size);
        }
      }
    }
    if (!areEqual(state.nodes, expected.nodes)) {
      throw new Error('[memorymanager] the expected machine state is different from the real one');
    }
  }

  hints(state: MemoryState, pod: Pod, container: Container): ResourceHints {
    if (podQosClass(pod) !== 'Guaranteed') return new Map();
    const requests = memoryRequests(container);
    const { uid = '' } = pod.metadata;
    const earlier = state.blocks(uid, container.name);
    if (requests === undefined) return new Map();
    return earlier === undefined ? this.#hintsFor(state, uid, requests) : regenerated(earlier, requests);
  }

  podHints(state: MemoryState, pod: Pod): ResourceHints {
    if (podQosClass(pod) !== 'Guaranteed') return new Map();
    const requests = podMemoryRequests(pod);
    if (requests === undefined) return new Map();
    const { uid = '' } = pod.metadata;
    for (const { name } of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
      const earlier = state.blocks(uid, name);
      if (earlier !== undefined) return regenerated(earlier, requests);
    }
    return this.#hintsFor(state, uid, requests);
  }

  /** True if the state changed. Throws Error if there is not enough memory. */
  allocate(state: MemoryState, pod: Pod, container: Container, affinity: TopologyHint): boolean {
    if (podQosClass(pod) !== 'Guaranteed') return false;
    const { uid = '' } = pod.metadata;
    const earlier = state.blocks(uid, container.name);
    if (earlier !== undefined) {
      this.#updateReusable(pod, container, earlier);
      return false;
    }
    const requests = memoryRequests(container);
    if (requests === undefined) throw new Error('[memorymanager] failed to represent quantity as int64');
    const mask = this.#chosenNodes(state, uid, { requests, affinity });
    const nodes = nodesOf(mask);
    const reusable = this.#reusableBy(uid);
    const blocks = [...requests].map(([type, size]): MemoryBlock => ({ nodes, type, size }));
    for (const { type, size } of blocks) state.reserve(nodes, type, Math.max(0, size - reusable(mask, type)));
    this.#updateReusable(pod, container, blocks);
    state.setBlocks(uid, container.name, blocks);
    shrinkInitContainers(state, pod, container, blocks);
    return true;
  }

  #chosenNodes(
    state: MemoryState,
    uid: string,
    { requests, affinity }: { readonly requests: MemoryRequests; readonly affinity: TopologyHint },
  ): NumaMask {
    const hints = () => memoryHints(state.nodes, requests, this.#reusableBy(uid));
    const best = affinity.nodes === undefined ? defaultHint(hints(), affinity) : { ...affinity, nodes: affinity.nodes };
    if (isSatisfied(state.nodes, best.nodes, requests)) return best.nodes;
    // The merged hint may have fewer nodes than any of this memory's own hints.
    const wider = bestHint(hints().filter(({ nodes }) => (nodes & best.nodes) === best.nodes));
    if (wider === undefined) {
      throw new Error('[memorymanager] failed to find NUMA nodes to extend the current topology hint');
    }
    if (!wider.preferred && best.preferred) {
      throw new Error('[memorymanager] failed to find the extended preferred hint');
    }
    return wider.nodes;
  }

  #hintsFor(state: MemoryState, uid: string, requests: MemoryRequests): ResourceHints {
    const hints = memoryHints(state.nodes, requests, this.#reusableBy(uid));
    // Without any, 1.24 has no preference; the allocation fails.
    return hints.length === 0 ? new Map() : new Map([...requests.keys()].map((type) => [type, hints]));
  }

  #reusableBy(uid: string): ReusableMemory {
    const { uid: owner, bytes } = this.#reusable;
    return (nodes, type) => (owner === uid ? (bytes.get(`${nodes} ${type}`) ?? 0) : 0);
  }

  #updateReusable({ metadata, spec }: Pod, { name }: Container, blocks: readonly MemoryBlock[]): void {
    const { uid = '' } = metadata;
    if (this.#reusable.uid !== uid) this.#reusable = { uid, bytes: new Map() };
    const isInit = spec.initContainers?.some((each) => each.name === name) === true;
    const { bytes } = this.#reusable;
    for (const { nodes, type, size } of blocks) {
      const key = `${maskOf(nodes)} ${type}`;
      const before = bytes.get(key) ?? 0;
      bytes.set(key, isInit ? Math.max(before, size) : Math.max(0, before - size));
    }
  }
}

/** Throws Error if there is none, or only a worse one than the policy demands. */
function defaultHint(hints: readonly MergedHint[], affinity: TopologyHint): MergedHint {
  const best = bestHint(hints);
  if (best === undefined) {
    const problem = 'no NUMA nodes with enough memory is available';
    throw new Error(`[memorymanager] failed to get the default NUMA affinity, ${problem}`);
  }
  if (!best.preferred && affinity.preferred) {
    throw new Error('[memorymanager] failed to find the default preferred hint');
  }
  return best;
}

/** Hints for what the container has already; none if its requests have changed. */
function regenerated(blocks: readonly MemoryBlock[], requests: MemoryRequests): ResourceHints {
  const isSame = blocks.length === requests.size && blocks.every(({ type, size }) => requests.get(type) === size);
  if (!isSame) return new Map();
  return new Map(blocks.map(({ type, nodes }) => [type, [{ nodes: maskOf(nodes), preferred: true }]]));
}

/** Memory and huge pages in the order of their names; undefined if an amount is not a whole number of bytes. */
function memoryRequests({ resources }: Container): MemoryRequests | undefined {
  const requests = Object.entries(resources?.requests ?? {})
    .filter(([name]) => name === 'memory' || name.startsWith('hugepages-'))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  if (requests.some(([, amount]) => !isWholeQuantity(amount))) return undefined;
  return new Map(requests.map(([name, amount]) => [name, value(amount)]));
}

/** Init containers run one after the other before the rest. */
function podMemoryRequests({ spec }: Pod): MemoryRequests | undefined {
  const total = new Map<string, number>();
  for (const container of spec.containers) {
    const requests = memoryRequests(container);
    if (requests === undefined) return undefined;
    for (const [type, size] of requests) total.set(type, (total.get(type) ?? 0) + size);
  }
  for (const container of spec.initContainers ?? []) {
    const requests = memoryRequests(container);
    if (requests === undefined) return undefined;
    for (const [type, size] of requests) {
      const sum = total.get(type);
      if (sum !== undefined) total.set(type, Math.max(sum, size));
    }
  }
  return total;
}

/** Subtracts from earlier init containers what this one reuses, so that the sum is what the pod has. */
function shrinkInitContainers(
  state: MemoryState,
  { metadata, spec }: Pod,
  container: Container,
  blocks: readonly MemoryBlock[],
): void {
  const { uid = '' } = metadata;
  for (const { type, size, nodes } of blocks) {
    let rest = size;
    for (const { name } of spec.initContainers ?? []) {
      if (name === container.name || rest === 0) break;
      const earlier = state.blocks(uid, name);
      if (earlier === undefined || earlier.length === 0) continue;
      const shrunk = earlier.map((block) => {
        if (block.type !== type || !sameNodes(block.nodes, nodes)) return block;
        const part = Math.min(rest, block.size);
        rest -= part;
        return { ...block, size: block.size - part };
      });
      state.setBlocks(uid, name, shrunk);
    }
  }
}

/**
 * Nodes of a group may share what is reserved in another way than the blocks tell, since pods of the group come and go
 * in any order. (1.24 compares each node alone, and then does not start.)
 */
function areEqual(a: ReadonlyMap<number, NodeMemory>, b: ReadonlyMap<number, NodeMemory>): boolean {
  const sum = (
    nodes: ReadonlyMap<number, NodeMemory>,
    { cells }: NodeMemory,
    type: string,
    name: 'reserved' | 'free',
  ) => cells.reduce((total, id) => total + (nodes.get(id)?.tables.get(type)?.[name] ?? 0), 0);
  if (a.size !== b.size) return false;
  return [...a].every(([id, one]) => {
    const other = b.get(id);
    if (other === undefined || one.assignments !== other.assignments) return false;
    if (one.tables.size !== other.tables.size || !sameNodes(one.cells, other.cells)) return false;
    return [...one.tables].every(([type, x]) => {
      const y = other.tables.get(type);
      if (y === undefined) return false;
      const isSameSize = (['total', 'systemReserved', 'allocatable'] as const).every((name) => x[name] === y[name]);
      return (
        isSameSize &&
        (['reserved', 'free'] as const).every((name) => sum(a, one, type, name) === sum(b, other, type, name))
      );
    });
  });
}
