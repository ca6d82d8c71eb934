/** The machine that a node is. */
import { readFile, statfs } from 'node:fs/promises';
import { arch, availableParallelism, release, totalmem } from 'node:os';
import type { Clock } from '#apimachinery/clock.js';
import { type AddressRequest, findNodeAddresses, type NodeAddresses } from '#nodeagent/node/address.js';
import { askKernel, FilesystemFigures, type FilesystemState } from '#nodeagent/node/filesystem-usage.js';
import { hostNetwork } from '#nodeagent/node/host-network.js';
import { type HostUsage, hostUsage } from '#nodeagent/node/host-usage.js';
import { hugePages } from '#nodeagent/node/huge-pages.js';

export interface MachineFacts {
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly ephemeralStorageBytes: number;
  /** Bytes by page size in bytes. */
  readonly hugePages: Readonly<Record<number, number>>;
  readonly machineID: string;
  readonly systemUUID: string;
  readonly bootID: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  /** As Go names them: `amd64`, `arm64`. */
  readonly architecture: string;
  /** The kernel confines by AppArmor. */
  readonly appArmor: boolean;
}

/** What may change while the node runs. */
export interface MachineState {
  readonly memoryAvailableBytes: number;
  readonly storageAvailableBytes: number;
  readonly storageCapacityBytes: number;
  readonly inodesFree: number;
  readonly inodes: number;
  /** Process ids in use, and how many the kernel gives out at most. */
  readonly processes: number;
  readonly maxProcesses: number;
}

export interface Machine {
  facts(): Promise<MachineFacts>;
  state(): Promise<MachineState>;
  /** What all of it uses; undefined for one that is none. */
  usage(): Promise<HostUsage | undefined>;
  /** The file system that holds the path, as last known where it does not answer; undefined when there is none such. */
  filesystem(path: string): Promise<FilesystemState | undefined>;
  /** Looks anew each time. Rejects with the reason when an address that is asked for cannot be the machine's. */
  addresses(request: AddressRequest): Promise<NodeAddresses>;
}

const architectures: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };

/** Of this process, as Go names it. */
export function architecture(): string {
  return architectures[arch()] ?? arch();
}

async function textOf(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch {
    // Containers and small systems lack some of these.
    return '';
  }
}

/** In this order, as release 1.24 looks for them. Some machines have no DMI: PowerPC, s390x, many virtual ones. */
const systemUUIDFiles = [
  '/sys/class/dmi/id/product_uuid',
  '/proc/device-tree/system-id',
  '/proc/device-tree/vm,uuid',
  '/etc/machine-id',
];
const machineIDFiles = ['/etc/machine-id', '/var/lib/dbus/machine-id'];

/** What the first of the files says that says anything; the device tree ends its texts with NUL. */
export async function firstText(paths: readonly string[], read = textOf): Promise<string> {
  for (const path of paths) {
    const text = (await read(path)).replace(/\0+$/, '').trim();
    if (text !== '') return text;
  }
  return '';
}

/** Threads take process ids, too; the lower of the kernel's two limits holds. */
async function processIDs(): Promise<Pick<MachineState, 'processes' | 'maxProcesses'>> {
  const limits = await Promise.all(['kernel/pid_max', 'kernel/threads-max'].map((name) => textOf(`/proc/sys/${name}`)));
  const maxProcesses = Math.min(...limits.filter((text) => text !== '').map(Number));
  const running = /^\S+ \S+ \S+ \d+\/(\d+)/.exec(await textOf('/proc/loadavg'))?.[1];
  return { processes: Number(running ?? 0), maxProcesses: Number.isFinite(maxProcesses) ? maxProcesses : 0 };
}

/** The machine that this process runs on. */
export class LocalMachine implements Machine {
  readonly #rootDir: string;
  readonly #figures: FilesystemFigures;

  /** @param rootDir Its file system is the node's. */
  constructor(rootDir: string, clock: Clock) {
    this.#rootDir = rootDir;
    this.#figures = new FilesystemFigures(clock);
  }

  async facts(): Promise<MachineFacts> {
    const { bsize, blocks } = await statfs(this.#rootDir);
    const osRelease = await textOf('/etc/os-release');
    return {
      cpus: availableParallelism(),
      memoryBytes: totalmem(),
      ephemeralStorageBytes: bsize * blocks,
      hugePages: await hugePages(),
      machineID: await firstText(machineIDFiles),
      systemUUID: await firstText(systemUUIDFiles),
      bootID: await textOf('/proc/sys/kernel/random/boot_id'),
      kernelVersion: release(),
      osImage: /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(osRelease)?.[1] ?? 'Linux',
      architecture: architecture(),
      appArmor: (await textOf('/sys/module/apparmor/parameters/enabled')) === 'Y',
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
      ...(await processIDs()),
    };
  }

  usage(): Promise<HostUsage | undefined> {
    return hostUsage();
  }

  async filesystem(path: string): Promise<FilesystemState | undefined> {
    // That of the system answers, or nothing does.
    return path === '/' ? askKernel(path) : this.#figures.of(path);
  }

  addresses(request: AddressRequest): Promise<NodeAddresses> {
    return findNodeAddresses(request, hostNetwork);
  }
}
