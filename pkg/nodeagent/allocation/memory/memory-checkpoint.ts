/** The file `memory_manager_state` of 1.24 (memorymanager/state). Pure. */
import { quoted } from '#apimachinery/errors/message-values.js';
import { goJson } from '#apimachinery/go-json.js';
import { checksum, printMap } from '#nodeagent/allocation/checkpoint/checksum.js';
import {
  corrupted,
  countOf,
  listOf,
  membersOf,
  parseMembers,
  textOf,
} from '#nodeagent/allocation/checkpoint/members.js';
import {
  type MemoryBlock,
  MemoryState,
  type MemoryTable,
  type NodeMemory,
} from '#nodeagent/allocation/memory/memory-state.js';

export function memoryCheckpoint(policy: string, state: MemoryState): string {
  const nodes = Object.fromEntries(
    [...state.nodes].map(([id, { assignments, tables, cells }]) => [
      String(id),
      { numberOfAssignments: assignments, memoryMap: Object.fromEntries(tables), cells },
    ]),
  );
  const machine = sortedMembers(nodes, ({ numberOfAssignments, memoryMap, cells }) => {
    const tables = sortedMembers(memoryMap, ({ total, systemReserved, allocatable, reserved, free }) =>
      JSON.stringify({ total, systemReserved, allocatable, reserved, free }),
    );
    return `{"numberOfAssignments":${numberOfAssignments},"memoryMap":${tables},"cells":${JSON.stringify(cells)}}`;
  });
  const entries = sortedMembers(Object.fromEntries(state.assignments), (containers) =>
    sortedMembers(Object.fromEntries(containers), (blocks) =>
      JSON.stringify(blocks.map(({ nodes: numaAffinity, type, size }) => ({ numaAffinity, type, size }))),
    ),
  );
  const middle = state.assignments.size === 0 ? '' : `"entries":${entries},`;
  const sum = checksum(printed(policy, state));
  return `{"policyName":${goJson(policy)},"machineState":${machine},${middle}"checksum":${sum}}`;
}

/** Throws Error with the words of 1.24. */
export function readMemoryCheckpoint(text: string, policy: string): MemoryState {
  const members = parseMembers(text);
  const itsPolicy = textOf(members['policyName'], 'MemoryManagerCheckpoint.policyName of type string');
  const nodes = Object.entries(membersOf(members['machineState'], 'MemoryManagerCheckpoint.machineState'));
  const entries = Object.entries(membersOf(members['entries'], 'MemoryManagerCheckpoint.entries'));
  const state = new MemoryState(
    new Map(nodes.map(([id, node]) => [Number(id), nodeOf(node)])),
    new Map(
      entries.map(([uid, containers]) => [
        uid,
        new Map(
          Object.entries(membersOf(containers, 'MemoryManagerCheckpoint.entries')).map(([name, blocks]) => [
            name,
            listOf(blocks, 'MemoryManagerCheckpoint.entries').map(blockOf),
          ]),
        ),
      ]),
    ),
  );
  const sum = countOf(members['checksum'], 'MemoryManagerCheckpoint.checksum of type checksum.Checksum');
  if (sum !== checksum(printed(itsPolicy, state))) throw new Error(corrupted);
  if (policy !== itsPolicy) {
    const problem = `configured policy ${quoted(policy)} differs from state checkpoint policy ${quoted(itsPolicy)}`;
    throw new Error(`[memorymanager] ${problem}`);
  }
  return state;
}

function nodeOf(value: unknown): NodeMemory {
  const members = membersOf(value, 'NUMANodeState');
  const tables = Object.entries(membersOf(members['memoryMap'], 'NUMANodeState.memoryMap'));
  return {
    assignments: countOf(members['numberOfAssignments'], 'NUMANodeState.numberOfAssignments of type int'),
    tables: new Map(tables.map(([type, table]) => [type, tableOf(table)])),
    cells: nodesOf(members['cells'], 'NUMANodeState.cells of type int'),
  };
}

function tableOf(value: unknown): MemoryTable {
  const members = membersOf(value, 'MemoryTable');
  const bytes = (name: string) => countOf(members[name], `MemoryTable.${name} of type uint64`);
  return {
    total: bytes('total'),
    systemReserved: bytes('systemReserved'),
    allocatable: bytes('allocatable'),
    reserved: bytes('reserved'),
    free: bytes('free'),
  };
}

function blockOf(value: unknown): MemoryBlock {
  const members = membersOf(value, 'Block');
  return {
    nodes: nodesOf(members['numaAffinity'], 'Block.numaAffinity of type int'),
    type: textOf(members['type'], 'Block.type of type v1.ResourceName'),
    size: countOf(members['size'], 'Block.size of type uint64'),
  };
}

function nodesOf(value: unknown, where: string): number[] {
  return listOf(value, where).map((node) => countOf(node, where));
}

/** A JSON object whose members are in the order of Go's encoder. */
function sortedMembers<T>(members: Readonly<Record<string, T>>, text: (value: T) => string): string {
  const sorted = Object.entries(members).sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return `{${sorted.map(([name, value]) => `${goJson(name)}:${text(value)}`).join(',')}}`;
}

/** In Go's syntax. */
function printed(policy: string, { nodes, assignments }: MemoryState): string {
  const byNumber = (a: string, b: string) => Number(a) - Number(b);
  const machine = printMap(
    [...nodes].map(([id, node]) => [String(id), node] as const),
    printedNode,
    byNumber,
  );
  const entries = printMap(assignments, (containers) =>
    printMap(containers, (blocks) => `[${blocks.map(printedBlock).join(' ')}]`),
  );
  const members = [
    `PolicyName:(string)${policy}`,
    `MachineState:(state.NUMANodeMap)${machine}`,
    `Entries:(state.ContainerMemoryAssignments)${entries}`,
    'Checksum:(checksum.Checksum)0',
  ];
  return `(*state.MemoryManagerCheckpoint){${members.join(' ')}}`;
}

function printedNode({ assignments, tables, cells }: NodeMemory): string {
  const map = printMap(tables, printedTable);
  const memory = `MemoryMap:(map[v1.ResourceName]*state.MemoryTable)${map}`;
  return `<*>{NumberOfAssignments:(int)${assignments} ${memory} Cells:([]int)[${cells.join(' ')}]}`;
}

function printedTable({ total, systemReserved, allocatable, reserved, free }: MemoryTable): string {
  const members = [
    `TotalMemSize:(uint64)${total}`,
    `SystemReserved:(uint64)${systemReserved}`,
    `Allocatable:(uint64)${allocatable}`,
    `Reserved:(uint64)${reserved}`,
    `Free:(uint64)${free}`,
  ];
  return `<*>{${members.join(' ')}}`;
}

function printedBlock({ nodes, type, size }: MemoryBlock): string {
  return `{NUMAAffinity:([]int)[${nodes.join(' ')}] Type:(v1.ResourceName)${type} Size:(uint64)${size}}`;
}
