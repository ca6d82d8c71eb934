/** The machine that a node is. */
import { readFile, statfs } from 'node:fs/promises';
import { arch, availableParallelism, networkInterfaces, release, totalmem } from 'node:os';

export interface MachineFacts {
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly ephemeralStorageBytes: number;
  readonly machineID: string;
  readonly systemUUID: string;
  readonly bootID: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  /** As Go names them: `amd64`, `arm64`. */
  readonly architecture: string;
  /** Of the interface to the outside. */
  readonly address: string;
}

/** What may change while the node runs. */
export interface MachineState {
  readonly memoryAvailableBytes: number;
  readonly storageAvailableBytes: number;
  readonly storageCapacityBytes: number;
  readonly inodesFree: number;
  readonly inodes: number;
}

export interface Machine {
  facts(): Promise<MachineFacts>;
  state(): Promise<MachineState>;
}

const architectures: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };

async function textOf(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch {
    // Containers and small systems lack some of these.
    return '';
  }
}

/** The first IPv4 address that is not loopback; the first IPv6 one otherwise; loopback when there is no other. */
export function machineAddress(interfaces = networkInterfaces()): string {
  const all = Object.entries(interfaces)
    // Bridges and pairs of containers are not how others reach the machine.
    .filter(([name]) => !/^(cni|docker|veth|br-|virbr|flannel|cali)/.test(name))
    .flatMap(([, addresses]) => addresses ?? [])
    .filter((address) => !address.internal && !address.address.startsWith('fe80:'));
  const chosen = all.find((address) => address.family === 'IPv4') ?? all[0];
  return chosen?.address ?? '127.0.0.1';
}

/** The machine that this process runs on. */
export class LocalMachine implements Machine {
  readonly #rootDir: string;

  /** @param rootDir Its file system is the node's. */
  constructor(rootDir: string) {
    this.#rootDir = rootDir;
  }

  async facts(): Promise<MachineFacts> {
    const { bsize, blocks } = await statfs(this.#rootDir);
    const osRelease = await textOf('/etc/os-release');
    return {
      cpus: availableParallelism(),
      memoryBytes: totalmem(),
      ephemeralStorageBytes: bsize * blocks,
      machineID: await textOf('/etc/machine-id'),
      systemUUID: await textOf('/sys/class/dmi/id/product_uuid'),
      bootID: await textOf('/proc/sys/kernel/random/boot_id'),
      kernelVersion: release(),
      osImage: /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(osRelease)?.[1] ?? 'Linux',
      architecture: architectures[arch()] ?? arch(),
      address: machineAddress(),
    };
  }

  async state(): Promise<MachineState> {
    const { bsize, bavail, blocks, ffree, files } = await statfs(this.#rootDir);
    const available = /^MemAvailable:\s+(\d+) kB$/m.exec(await textOf('/proc/meminfo'))?.[1];
    return {
      memoryAvailableBytes: available === undefined ? totalmem() : Number(available) * 1024,
      storageAvailableBytes: bsize * bavail,
      storageCapacityBytes: bsize * blocks,
      inodesFree: ffree,
      inodes: files,
    };
  }
}

/** A machine of any size that is nowhere. */
export class SimulatedMachine implements Machine {
  readonly #facts: MachineFacts;

  constructor(facts: Partial<MachineFacts> & { readonly address: string }) {
    this.#facts = {
      cpus: 32,
      memoryBytes: 128 * 2 ** 30,
      ephemeralStorageBytes: 512 * 2 ** 30,
      machineID: '',
      systemUUID: '',
      bootID: '',
      kernelVersion: release(),
      osImage: 'simulated',
      architecture: architectures[arch()] ?? arch(),
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
    });
  }
}
