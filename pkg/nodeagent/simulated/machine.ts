/** The machine of a simulated node. */
import { release } from 'node:os';
import { specialRange } from '#apimachinery/net/special-ip.js';
import { type AddressRequest, findNodeAddresses, type NodeAddresses } from '#nodeagent/node/address.js';
import { hostNetwork } from '#nodeagent/node/host-network.js';
import { architecture, type Machine, type MachineFacts, type MachineState } from '#nodeagent/node/machine.js';

/** A machine of any size; its agent is reached where this process is. */
export class SimulatedMachine implements Machine {
  readonly #facts: MachineFacts;
  readonly #address: string | undefined;

  /** @param facts `address`: of its own, where none is asked for; absent: this machine's. */
  constructor({ address, ...facts }: Partial<MachineFacts> & { readonly address?: string } = {}) {
    this.#address = address;
    this.#facts = {
      cpus: 32,
      memoryBytes: 128 * 2 ** 30,
      ephemeralStorageBytes: 512 * 2 ** 30,
      hugePages: { [2 ** 21]: 0, [2 ** 30]: 0 },
      machineID: '',
      systemUUID: '',
      bootID: '',
      kernelVersion: release(),
      osImage: 'simulated',
      architecture: architecture(),
      appArmor: false,
      ...facts,
    };
  }

  facts(): Promise<MachineFacts> {
    return Promise.resolve(this.#facts);
  }

  state(): Promise<MachineState> {
    const { memoryBytes, ephemeralStorageBytes } = this.#facts;
    return Promise.resolve({
      memoryAvailableBytes: memoryBytes,
      storageAvailableBytes: ephemeralStorageBytes,
      storageCapacityBytes: ephemeralStorageBytes,
      inodesFree: 1e6,
      inodes: 1e6,
      processes: 0,
      maxProcesses: 2 ** 22,
    });
  }

  usage(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  /** It has no files. */
  filesystem(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  /** Any address will do that is asked for. */
  addresses(request: AddressRequest): Promise<NodeAddresses> {
    const given = request.nodeIPs.filter((address) => specialRange(address) !== 'unspecified');
    if (given.length > 0) return Promise.resolve({ addresses: given });
    if (this.#address !== undefined) return Promise.resolve({ addresses: [this.#address] });
    return findNodeAddresses(request, hostNetwork);
  }
}
