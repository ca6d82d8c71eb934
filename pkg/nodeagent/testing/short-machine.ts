/** A simulated machine that runs short of what the test says. */
import type { MachineFacts, MachineState } from '#nodeagent/node/machine.js';
import { SimulatedMachine } from '#nodeagent/simulated/node.js';

export class ShortMachine extends SimulatedMachine {
  /** What differs from a machine with everything. */
  short: Partial<MachineState> = {};

  constructor(facts: Partial<MachineFacts> = {}) {
    super({ address: '192.0.2.1', ...facts });
  }

  override async state(): Promise<MachineState> {
    return { ...(await super.state()), ...this.short };
  }
}
