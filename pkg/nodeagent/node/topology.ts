/** The machine's processors, cores, sockets and NUMA nodes, as the kernel tells them (/sys/devices/system). */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hugePages } from '#nodeagent/node/huge-pages.js';

export interface NumaNode {
  readonly id: number;
  /** 0 if the kernel does not tell. */
  readonly memoryBytes: number;
  /** Bytes by page size in bytes. */
  readonly hugePages: Readonly<Record<number, number>>;
  /** Cores with at least one processor that is online. */
  readonly cores: readonly Core[];
}

export interface Core {
  readonly socket: number;
  /** IDs of its processors that are online. */
  readonly cpus: readonly number[];
}

export interface MachineTopology {
  /** By ID; at least one. A node may have no processors. */
  readonly nodes: readonly NumaNode[];
}

/** Missing texts are undefined. */
type ReadText = (path: string) => Promise<string | undefined>;

interface Processor extends Core {
  readonly key: string;
}

/** `root`: the folder that stands for /sys. Without NUMA, each socket is a node of unknown memory, as in 1.24. */
export async function readTopology(root = '/sys'): Promise<MachineTopology> {
  const system = join(root, 'devices/system');
  const online = cpuList(await textOf(join(system, 'cpu/online')));
  const nodes: NumaNode[] = [];
  for (const id of await numbered(join(system, 'node'), 'node')) {
    const folder = join(system, 'node', `node${id}`);
    const cores = coresOf(await processorsIn(folder, online));
    const memoryBytes = memoryOf(await textOf(join(folder, 'meminfo')));
    nodes.push({ id, memoryBytes, hugePages: await hugePages(join(folder, 'hugepages')), cores });
  }
  if (nodes.length > 0) return { nodes };
  const cores = coresOf(await processorsIn(join(system, 'cpu'), online));
  const sockets = [...new Set(cores.map(({ socket }) => socket))].sort((a, b) => a - b);
  return {
    nodes: sockets.map((id) => ({
      id,
      memoryBytes: 0,
      hugePages: {},
      cores: cores.filter(({ socket }) => socket === id),
    })),
  };
}

const textOf: ReadText = async (path) => {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    // Virtual machines and single processors lack some of these files.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
};

/** The numbers of the folders `<prefix><number>`. */
async function numbered(folder: string, prefix: string): Promise<number[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  return names
    .filter((name) => name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)))
    .map((name) => Number(name.slice(prefix.length)))
    .sort((a, b) => a - b);
}

/** The processors below a folder that are online and tell their place. `online`: undefined for all. */
async function processorsIn(folder: string, online: ReadonlySet<number> | undefined): Promise<Processor[]> {
  const processors: Processor[] = [];
  for (const id of await numbered(folder, 'cpu')) {
    if (online !== undefined && !online.has(id)) continue;
    const core = await textOf(join(folder, `cpu${id}`, 'topology/core_id'));
    const socket = await textOf(join(folder, `cpu${id}`, 'topology/physical_package_id'));
    if (core === undefined || socket === undefined) continue;
    // Some machines have no sockets and say -1.
    processors.push({ cpus: [id], socket: Math.max(0, Number(socket)), key: `${socket}/${core}` });
  }
  return processors;
}

function coresOf(processors: readonly Processor[]): Core[] {
  const cores = new Map<string, { readonly socket: number; readonly cpus: number[] }>();
  for (const { key, socket, cpus } of processors) {
    const core = cores.get(key) ?? { socket, cpus: [] };
    core.cpus.push(...cpus);
    cores.set(key, core);
  }
  return [...cores.values()];
}

function memoryOf(text: string | undefined): number {
  return 1024 * Number(/MemTotal:\s*(\d+) kB/.exec(text ?? '')?.[1] ?? 0);
}

/** The processors of a kernel's list (`0-3,8`). */
function cpuList(text: string | undefined): ReadonlySet<number> | undefined {
  if (text === undefined) return undefined;
  const cpus = new Set<number>();
  for (const part of text.split(',')) {
    const [from, to = from] = part.split('-').map(Number);
    if (from === undefined || to === undefined) continue;
    for (let cpu = from; cpu <= to; cpu++) cpus.add(cpu);
  }
  return cpus;
}

/** A machine with one NUMA node and one processor per core. */
export function uniformTopology(cpus: number, memoryBytes: number): MachineTopology {
  const cores = Array.from({ length: cpus }, (_, i) => ({ socket: 0, cpus: [i] }));
  return { nodes: [{ id: 0, memoryBytes, hugePages: {}, cores }] };
}
