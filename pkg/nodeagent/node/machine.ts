/** Reads properties of the machine that a node runs on. */
import { readFile, statfs } from 'node:fs/promises';
import { arch, availableParallelism, release, totalmem } from 'node:os';
import type { Clock } from '#apimachinery/clock.js';
import { type AddressRequest, findNodeAddresses, type NodeAddresses } from '#nodeagent/node/address.js';
import { askKernel, type FilesystemState, FilesystemUsage } from '#nodeagent/node/filesystem-usage.js';
import { hostNetwork } from '#nodeagent/node/host-network.js';
import { type HostUsage, hostUsage } from '#nodeagent/node/host-usage.js';
import { hugePages } from '#nodeagent/node/huge-pages.js';
import { type MachineTopology, readTopology } from '#nodeagent/node/topology.js';

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
  /** Go's name: `amd64`, `arm64`. */
  readonly architecture: string;
  /** The kernel has AppArmor enabled. */
  readonly appArmor: boolean;
}

/** Values that change while the node runs. */
export interface MachineState {
  readonly memoryAvailableBytes: number;
  readonly storageAvailableBytes: number;
  readonly storageCapacityBytes: number;
  readonly inodesFree: number;
  readonly inodes: number;
  /** Process IDs in use, and the kernel's limit. */
  readonly processes: number;
  readonly maxProcesses: number;
}

export interface Machine {
  facts(): Promise<MachineFacts>;
  state(): Promise<MachineState>;
  /** Processors and NUMA nodes. */
  topology(): Promise<MachineTopology>;
  /** The same figure as in `state`, but cheaper. */
  memoryAvailableBytes(): Promise<number>;
  /** Usage of the whole machine; undefined for simulated ones. */
  usage(): Promise<HostUsage | undefined>;
  /** The file system that contains the path; the last known state if it does not answer; undefined if there is none. */
  filesystem(path: string): Promise<FilesystemState | undefined>;
  /** The file system of the agent's own files; undefined for simulated machines. */
  nodeFilesystem(): Promise<FilesystemState | undefined>;
  /** Reads the current addresses. Rejects if a requested address cannot be the machine's. */
  addresses(request: AddressRequest): Promise<NodeAddresses>;
}

const architectures: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };

/** This process's architecture in Go's name. */
export function architecture(): string {
  return architectures[arch()] ?? arch();
}

async function readTrimmed(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch {
    // Containers and small systems lack some of these files.
    return '';
  }
}

/** In release 1.24's order. Some machines have no DMI: PowerPC, s390x, many virtual ones. */
const systemUUIDFiles = [
  '/sys/class/dmi/id/product_uuid',
  '/proc/device-tree/system-id',
  '/proc/device-tree/vm,uuid',
  '/etc/machine-id',
];
const machineIDFiles = ['/etc/machine-id', '/var/lib/dbus/machine-id'];

/** The first non-empty text; texts of the device tree end with NUL. */
export async function firstText(paths: readonly string[], read = readTrimmed): Promise<string> {
  for (const path of paths) {
    const text = (await read(path)).replace(/\0+$/, '').trim();
    if (text !== '') return text;
  }
  return '';
}

/** Threads also take process IDs; the lower of the kernel's two limits applies. */
async function processIDs(): Promise<Pick<MachineState, 'processes' | 'maxProcesses'>> {
  const limits = await Promise.all(
    ['kernel/pid_max', 'kernel/threads-max'].map((name) => readTrimmed(`/proc/sys/${name}`)),
  );
  const maxProcesses = Math.min(...limits.filter((text) => text !== '').map(Number));
  const running = /^\S+ \S+ \S+ \d+\/(\d+)/.exec(await readTrimmed('/proc/loadavg'))?.[1];
  return { processes: Number(running ?? 0), maxProcesses: Number.isFinite(maxProcesses) ? maxProcesses : 0 };
}

/**
 * Memory outside of the machine's working set, from `/proc/meminfo`: as in 1.24, only file pages that were not used
 * recently are outside of it. Undefined without these figures.
 */
export function availableMemory(text: string): number | undefined {
  const bytes = (name: string) => {
    const kilobytes = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  };
  const [free, inactive] = [bytes('MemFree'), bytes('Inactive\\(file\\)')];
  return free === undefined || inactive === undefined ? undefined : free + inactive;
}

/** The machine that this process runs on. */
export class LocalMachine implements Machine {
  readonly #rootDir: string;
  readonly #filesystems: FilesystemUsage;

  /** `rootDir`: its file system is the node's. */
  constructor(rootDir: string, clock: Clock) {
    this.#rootDir = rootDir;
    this.#filesystems = new FilesystemUsage(clock);
  }

  async facts(): Promise<MachineFacts> {
    const { bsize, blocks } = await statfs(this.#rootDir);
    const osRelease = await readTrimmed('/etc/os-release');
    return {
      cpus: availableParallelism(),
      memoryBytes: totalmem(),
      ephemeralStorageBytes: bsize * blocks,
      hugePages: await hugePages(),
      machineID: await firstText(machineIDFiles),
      systemUUID: await firstText(systemUUIDFiles),
      bootID: await readTrimmed('/proc/sys/kernel/random/boot_id'),
      kernelVersion: release(),
      osImage: /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(osRelease)?.[1] ?? 'Linux',
      architecture: architecture(),
      appArmor: (await readTrimmed('/sys/module/apparmor/parameters/enabled')) === 'Y',
    };
  }

  async state(): Promise<MachineState> {
    const { bsize, bavail, blocks, ffree, files } = await statfs(this.#rootDir);
    return {
      memoryAvailableBytes: await this.memoryAvailableBytes(),
      storageAvailableBytes: bsize * bavail,
      storageCapacityBytes: bsize * blocks,
      inodesFree: ffree,
      inodes: files,
      ...(await processIDs()),
    };
  }

  topology(): Promise<MachineTopology> {
    return readTopology();
  }

  async memoryAvailableBytes(): Promise<number> {
    return availableMemory(await readTrimmed('/proc/meminfo')) ?? totalmem();
  }

  usage(): Promise<HostUsage | undefined> {
    return hostUsage();
  }

  async filesystem(path: string): Promise<FilesystemState | undefined> {
    // The root file system always answers.
    return path === '/' ? askKernel(path) : this.#filesystems.read(path);
  }

  nodeFilesystem(): Promise<FilesystemState> {
    return askKernel(this.#rootDir);
  }

  addresses(request: AddressRequest): Promise<NodeAddresses> {
    return findNodeAddresses(request, hostNetwork);
  }
}
