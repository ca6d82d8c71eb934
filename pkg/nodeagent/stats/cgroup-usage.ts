/** Usage of a cgroup, from its files; version 1 and 2. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type DeviceIO, DeviceNames, parseBlkio, parseIoStat } from '#nodeagent/stats/block-io.js';

export interface CgroupUsage {
  readonly cpu: {
    readonly totalSeconds: number;
    readonly userSeconds: number;
    readonly systemSeconds: number;
    /** Quota periods, throttled periods, and throttled time. */
    readonly periods: number;
    readonly throttledPeriods: number;
    readonly throttledSeconds: number;
  };
  readonly memory: {
    readonly usageBytes: number;
    readonly workingSetBytes: number;
    readonly rssBytes: number;
    readonly cacheBytes: number;
    readonly swapBytes: number;
    readonly mappedFileBytes: number;
    /** Highest usage; undefined if the kernel does not record it. */
    readonly maxUsageBytes: number | undefined;
    /** How often the limit was reached. */
    readonly failures: number;
    /** Processes killed by the OOM killer; undefined if the kernel does not count them. */
    readonly oomKills: number | undefined;
    /** Including child cgroups. */
    readonly pageFaults: number;
    readonly majorPageFaults: number;
    /** Without child cgroups, if the kernel distinguishes them. */
    readonly ownPageFaults: number;
    readonly ownMajorPageFaults: number;
  };
  readonly limits: {
    /** Undefined without limit. */
    readonly memoryBytes: number | undefined;
    /** Memory protected from reclaim; 0 for none. */
    readonly memoryReservationBytes: number;
    /** Memory plus swap in version 1, swap in version 2, as in cAdvisor; undefined without limit. */
    readonly memorySwapBytes: number | undefined;
    readonly cpuShares: number | undefined;
    readonly cpuPeriodMicros: number | undefined;
    /** Undefined without limit. */
    readonly cpuQuotaMicros: number | undefined;
  };
  /** Without child cgroups. */
  readonly processes: number;
  /** Including child cgroups; undefined if not counted. */
  readonly threads: number | undefined;
  /** Undefined without limit. */
  readonly maxThreads: number | undefined;
}

export interface CgroupMemory {
  readonly workingSetBytes: number;
  /** Undefined without limit. */
  readonly limitBytes: number | undefined;
}

export interface CgroupReaderOptions {
  /** `/sys/fs/cgroup`. */
  readonly mountPoint: string;
  readonly version: 1 | 2;
}

/** Ticks per second in `cpuacct.stat`: USER_HZ is 100 on all of Node.js's Linux platforms. */
const userHz = 100;
/** Version 1 shows a value near 2^63 for no limit. */
const unlimitedBytes = 2 ** 62;

export class CgroupReader {
  readonly #options: CgroupReaderOptions;
  readonly #deviceNames = new DeviceNames();

  constructor(options: CgroupReaderOptions) {
    this.#options = options;
  }

  /** `path`: in the hierarchy, such as `/pods/burstable/pod1`. Undefined if the cgroup does not exist. */
  usage(path: string): Promise<CgroupUsage | undefined> {
    return this.#options.version === 2 ? this.#version2(path) : this.#version1(path);
  }

  /** Part of `usage`, from few files. Undefined if the cgroup does not exist. */
  async memory(path: string): Promise<CgroupMemory | undefined> {
    const { mountPoint, version } = this.#options;
    const names =
      version === 2
        ? ['memory.current', 'memory.stat', 'memory.max']
        : ['memory.usage_in_bytes', 'memory.stat', 'memory.limit_in_bytes'];
    const folder = join(mountPoint, version === 2 ? '' : 'memory', path);
    const [inUse, stat, limit] = await Promise.all(names.map((name) => readIfExists(join(folder, name))));
    const usageBytes = parseNumber(inUse);
    if (usageBytes === undefined || stat === undefined) return undefined;
    const inactive = parseFields(stat)(version === 2 ? 'inactive_file' : 'total_inactive_file');
    return { workingSetBytes: Math.max(0, usageBytes - inactive), limitBytes: limitOf(limit) };
  }

  /** Process IDs without child cgroups; skips those of another PID namespace. */
  async processes(path: string): Promise<number[]> {
    const folder = this.#options.version === 2 ? '' : 'memory';
    const text = await readIfExists(join(this.#options.mountPoint, folder, path, 'cgroup.procs'));
    return (text ?? '')
      .split('\n')
      .map(Number)
      .filter((process) => process > 0);
  }

  /** Block I/O by device. */
  async devices(path: string): Promise<DeviceIO[]> {
    const { mountPoint, version } = this.#options;
    if (version === 2)
      return this.#deviceNames.named(parseIoStat((await readIfExists(join(mountPoint, path, 'io.stat'))) ?? ''));
    const read = async (name: string) => {
      const file = join(mountPoint, 'blkio', path, `blkio.throttle.${name}`);
      // Older kernels have no recursive totals.
      return (await readIfExists(`${file}_recursive`)) ?? (await readIfExists(file)) ?? '';
    };
    const [bytes, operations] = await Promise.all([read('io_service_bytes'), read('io_serviced')]);
    return this.#deviceNames.named(parseBlkio(bytes, operations));
  }

  async #version1(path: string): Promise<CgroupUsage | undefined> {
    const read = (controller: string, file: string) =>
      readIfExists(join(this.#options.mountPoint, controller, path, `${controller}.${file}`));
    const [usage, memoryText] = await Promise.all([read('cpuacct', 'usage'), read('memory', 'stat')]);
    if (usage === undefined || memoryText === undefined) return undefined;
    const [split, throttling, shares, quota, period, inUse, most, failures, oom] = await Promise.all([
      read('cpuacct', 'stat'),
      read('cpu', 'stat'),
      read('cpu', 'shares'),
      read('cpu', 'cfs_quota_us'),
      read('cpu', 'cfs_period_us'),
      read('memory', 'usage_in_bytes'),
      read('memory', 'max_usage_in_bytes'),
      read('memory', 'failcnt'),
      read('memory', 'oom_control'),
    ]);
    const [limit, reservation, swapLimit, tasks, maxTasks] = await Promise.all([
      read('memory', 'limit_in_bytes'),
      read('memory', 'soft_limit_in_bytes'),
      read('memory', 'memsw.limit_in_bytes'),
      read('pids', 'current'),
      read('pids', 'max'),
    ]);
    const ticks = parseFields(split);
    const cpu = parseFields(throttling);
    const memory = parseFields(memoryText);
    const usageBytes = parseNumber(inUse) ?? 0;
    const quotaMicros = parseNumber(quota) ?? -1;
    return {
      cpu: {
        totalSeconds: (parseNumber(usage) ?? 0) / 1e9,
        userSeconds: ticks('user') / userHz,
        systemSeconds: ticks('system') / userHz,
        periods: cpu('nr_periods'),
        throttledPeriods: cpu('nr_throttled'),
        throttledSeconds: cpu('throttled_time') / 1e9,
      },
      memory: {
        usageBytes,
        workingSetBytes: Math.max(0, usageBytes - memory('total_inactive_file')),
        rssBytes: memory('total_rss'),
        cacheBytes: memory('total_cache'),
        swapBytes: memory('total_swap'),
        mappedFileBytes: memory('total_mapped_file'),
        maxUsageBytes: parseNumber(most),
        failures: parseNumber(failures) ?? 0,
        oomKills: oom?.includes('oom_kill ') === true ? parseFields(oom)('oom_kill') : undefined,
        pageFaults: memory('total_pgfault'),
        majorPageFaults: memory('total_pgmajfault'),
        ownPageFaults: memory('pgfault'),
        ownMajorPageFaults: memory('pgmajfault'),
      },
      limits: {
        memoryBytes: limitOf(limit),
        memoryReservationBytes: limitOf(reservation) ?? 0,
        memorySwapBytes: limitOf(swapLimit),
        cpuShares: parseNumber(shares),
        cpuPeriodMicros: parseNumber(period),
        cpuQuotaMicros: quotaMicros > 0 ? quotaMicros : undefined,
      },
      processes: (await this.processes(path)).length,
      threads: parseNumber(tasks),
      maxThreads: parseNumber(maxTasks),
    };
  }

  async #version2(path: string): Promise<CgroupUsage | undefined> {
    const read = (file: string) => readIfExists(join(this.#options.mountPoint, path, file));
    const [cpuText, memoryText] = await Promise.all([read('cpu.stat'), read('memory.stat')]);
    if (cpuText === undefined || memoryText === undefined) return undefined;
    const [inUse, most, swap, limit, low, swapLimit, events] = await Promise.all(
      ['memory.current', 'memory.peak', 'memory.swap.current', 'memory.max', 'memory.low', 'memory.swap.max']
        .concat('memory.events')
        .map(read),
    );
    const [max, weight, tasks, maxTasks] = await Promise.all(
      ['cpu.max', 'cpu.weight', 'pids.current', 'pids.max'].map(read),
    );
    const cpu = parseFields(cpuText);
    const memory = parseFields(memoryText);
    const usageBytes = parseNumber(inUse) ?? memory('anon') + memory('file');
    const [quota, period] = (max ?? '').trim().split(' ');
    const cpuWeight = parseNumber(weight);
    return {
      cpu: {
        totalSeconds: cpu('usage_usec') / 1e6,
        userSeconds: cpu('user_usec') / 1e6,
        systemSeconds: cpu('system_usec') / 1e6,
        periods: cpu('nr_periods'),
        throttledPeriods: cpu('nr_throttled'),
        throttledSeconds: cpu('throttled_usec') / 1e6,
      },
      memory: {
        usageBytes,
        workingSetBytes: Math.max(0, usageBytes - memory('inactive_file')),
        rssBytes: memory('anon'),
        cacheBytes: memory('file'),
        swapBytes: parseNumber(swap) ?? 0,
        mappedFileBytes: memory('file_mapped'),
        maxUsageBytes: parseNumber(most),
        failures: parseFields(events)('max'),
        oomKills: parseFields(events)('oom_kill'),
        pageFaults: memory('pgfault'),
        majorPageFaults: memory('pgmajfault'),
        ownPageFaults: memory('pgfault'),
        ownMajorPageFaults: memory('pgmajfault'),
      },
      limits: {
        memoryBytes: parseNumber(limit),
        memoryReservationBytes: parseNumber(low) ?? 0,
        memorySwapBytes: parseNumber(swapLimit),
        // The inverse of the conversion from shares to weight.
        cpuShares: cpuWeight === undefined ? undefined : Math.floor(2 + ((cpuWeight - 1) * 262_142) / 9999),
        cpuPeriodMicros: parseNumber(period),
        cpuQuotaMicros: parseNumber(quota),
      },
      processes: (await this.processes(path)).length,
      threads: parseNumber(tasks),
      maxThreads: parseNumber(maxTasks),
    };
  }
}

/** Undefined for missing files: the cgroup is gone, or its controller is disabled. */
async function readIfExists(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** Parses a limit of version 1. */
function limitOf(text: string | undefined): number | undefined {
  const bytes = parseNumber(text) ?? unlimitedBytes;
  return bytes < unlimitedBytes ? bytes : undefined;
}

/** Undefined for other texts, such as `max`. */
function parseNumber(text: string | undefined): number | undefined {
  if (text === undefined || text.trim() === '') return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/** Parses lines of a name and a number; the result returns 0 for unknown names. */
function parseFields(text: string | undefined): (name: string) => number {
  const fields = new Map(
    (text ?? '').split('\n').map((line) => {
      const [name = '', number = '0'] = line.split(' ', 2);
      return [name, number] as const;
    }),
  );
  return (name) => Number(fields.get(name) ?? 0);
}
