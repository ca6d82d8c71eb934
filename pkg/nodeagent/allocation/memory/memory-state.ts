/** Which memory of which NUMA nodes belongs to which containers. */

import { binaryQuantity } from '#nodeagent/node/huge-pages.js';
import type { MachineTopology } from '#nodeagent/node/topology.js';

/** Bytes of one kind of memory of a NUMA node. */
export interface MemoryTable {
  readonly total: number;
  readonly systemReserved: number;
  readonly allocatable: number;
  reserved: number;
  free: number;
}

export interface NodeMemory {
  /** Counts each kind of memory of a container. */
  assignments: number;
  /** By resource name: `memory`, `hugepages-2Mi`. */
  readonly tables: ReadonlyMap<string, MemoryTable>;
  /** The nodes that share containers with this one, and itself. */
  cells: readonly number[];
}

/** Memory of one kind that a container has. */
export interface MemoryBlock {
  readonly nodes: readonly number[];
  /** Resource name. */
  readonly type: string;
  /** Bytes. */
  readonly size: number;
}

/** By pod UID and container name. */
export type MemoryAssignments = ReadonlyMap<string, ReadonlyMap<string, readonly MemoryBlock[]>>;

/** Bytes by NUMA node and resource name. */
export type ReservedMemory = ReadonlyMap<number, ReadonlyMap<string, number>>;

export class MemoryState {
  /** By ID. */
  nodes: ReadonlyMap<number, NodeMemory>;
  readonly #blocks = new Map<string, Map<string, readonly MemoryBlock[]>>();

  constructor(nodes: ReadonlyMap<number, NodeMemory> = new Map(), blocks: MemoryAssignments = new Map()) {
    this.nodes = nodes;
    for (const [uid, containers] of blocks) this.#blocks.set(uid, new Map(containers));
  }

  get assignments(): MemoryAssignments {
    return this.#blocks;
  }

  blocks(uid: string, container: string): readonly MemoryBlock[] | undefined {
    return this.#blocks.get(uid)?.get(container);
  }

  setBlocks(uid: string, container: string, blocks: readonly MemoryBlock[]): void {
    const containers = this.#blocks.get(uid) ?? new Map<string, readonly MemoryBlock[]>();
    this.#blocks.set(uid, containers.set(container, blocks));
  }

  /** Takes from the nodes in their order what each has. */
  reserve(nodes: readonly number[], type: string, size: number): void {
    let missing = size;
    for (const id of nodes) {
      const node = this.nodes.get(id);
      if (node === undefined) continue;
      node.assignments++;
      node.cells = nodes;
      const table = node.tables.get(type);
      if (table === undefined) continue;
      const part = Math.min(missing, table.free);
      table.reserved += part;
      table.free -= part;
      missing -= part;
    }
  }

  /** Frees what the container has. */
  release(uid: string, container: string): void {
    const blocks = this.blocks(uid, container);
    if (blocks === undefined) return;
    const containers = this.#blocks.get(uid);
    containers?.delete(container);
    if (containers?.size === 0) this.#blocks.delete(uid);
    for (const { nodes, type, size } of blocks) {
      let rest = size;
      for (const id of nodes) {
        const node = this.nodes.get(id);
        if (node === undefined) continue;
        node.assignments--;
        if (node.assignments === 0) node.cells = [id];
        const table = node.tables.get(type);
        if (table === undefined) continue;
        const part = Math.min(rest, table.reserved);
        table.reserved -= part;
        table.free += part;
        rest -= part;
      }
    }
  }
}

/** The memory of an idle machine. */
export function idleMemory({ nodes }: MachineTopology, reserved: ReservedMemory): ReadonlyMap<number, NodeMemory> {
  return new Map(
    nodes.map(({ id, memoryBytes, hugePages }) => {
      const pages = Object.entries(hugePages).map(([size, bytes]) => [Number(size), bytes] as const);
      const table = (type: string, total: number, elsewhere = 0): [string, MemoryTable] => {
        const systemReserved = reserved.get(id)?.get(type) ?? 0;
        const allocatable = Math.max(0, total - systemReserved - elsewhere);
        return [type, { total, systemReserved, allocatable, reserved: 0, free: allocatable }];
      };
      const inPages = pages.reduce((sum, [, bytes]) => sum + bytes, 0);
      const tables = new Map([
        ...pages.map(([size, bytes]) => table(`hugepages-${binaryQuantity(size)}`, bytes)),
        table('memory', memoryBytes, inPages),
      ]);
      return [id, { assignments: 0, tables, cells: [id] }];
    }),
  );
}
