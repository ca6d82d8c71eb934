/** The memory of each NUMA node that `--reserved-memory` keeps from containers. Pure. */
import { quoted } from '#apimachinery/errors/message-values.js';
import { addQuantities, compareQuantities, value } from '#apimachinery/quantity.js';
import type { ReservedMemory } from '#nodeagent/allocation/memory/memory-state.js';

/** Of one NUMA node: quantities by resource name. */
export interface Reservation {
  readonly node: number;
  readonly limits: ReadonlyMap<string, string>;
}

/** `0:memory=1Gi,hugepages-2Mi=512Mi`; the options' rules have checked the form. */
export function parseReservation(text: string): Reservation {
  const [node = '', rest = ''] = text.split(':');
  const limits = rest.split(',').map((part): [string, string] => {
    const [type = '', amount = ''] = part.split('=');
    return [type, amount];
  });
  return { node: Number(node), limits: new Map(limits) };
}

interface ReservationInput {
  readonly reservations: readonly Reservation[];
  /** IDs of the machine's NUMA nodes. */
  readonly nodes: readonly number[];
  /** What the node keeps from pods in total, by resource name. */
  readonly total: ReadonlyMap<string, string>;
}

/** Throws Error with the words of 1.24 unless the nodes' reservations amount to the total one. */
export function reservedMemory({ reservations, nodes, total }: ReservationInput): ReservedMemory {
  const sums = new Map<string, string>();
  for (const { node, limits } of reservations) {
    if (!nodes.includes(node)) {
      const problem = `references a NUMA node ${node} that does not exist on this machine`;
      throw new Error(`the reserved memory configuration ${problem}`);
    }
    for (const [type, amount] of limits) sums.set(type, addQuantities(sums.get(type) ?? '0', amount));
  }
  for (const type of [...new Set([...sums.keys(), ...total.keys()])].sort()) {
    const [reserved, expected] = [sums.get(type) ?? '0', total.get(type) ?? '0'];
    if (compareQuantities(reserved, expected) === 0) continue;
    const amounts = `the total amount ${quoted(reserved)} of type ${quoted(type)} is not equal to the value`;
    throw new Error(`${amounts} ${quoted(expected)} determined by Node Allocatable feature`);
  }
  const bytes = new Map<number, Map<string, number>>(nodes.map((id) => [id, new Map()]));
  for (const { node, limits } of reservations) {
    for (const [type, amount] of limits) bytes.get(node)?.set(type, value(amount));
  }
  return bytes;
}
