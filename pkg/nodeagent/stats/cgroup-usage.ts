/** What a cgroup has used, out of its files; version 1 and 2. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type DeviceIO, DeviceNames, parseBlkio, parseIoStat } from '#nodeagent/stats/block-io.js';

export interface CgroupUsage {
  readonly cpu: {
    readonly totalSeconds: number;
    readonly userSeconds: number;
    readonly systemSeconds: number;
    /** Periods of its quota, those in which it was held back, and for how long. */
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
    /** Most that was ever in use; undefined where the kernel does not keep it. */
    readonly maxUsageBytes: number | undefined;
    /** How often the limit was reached. */
    readonly failures: number;
    /** Processes that were killed for want of memory; undefined where the kernel does not count them. */
    readonly oomKills: number | undefined;
    /** With those of the cgroups below. */
    readonly pageFaults: number;
    readonly majorPageFaults: number;
    /** Without them, where the kernel tells them apart. */
    readonly ownPageFaults: number;
    readonly ownMajorPageFaults: number;
  };
  readonly limits: {
    /** Undefined without limit. */
    readonly memoryBytes: number | undefined;
    /** What it is left when memory is short; 0 for nothing. */
    readonly memoryReservationBytes: number;
    /** Of memory and swap together in version 1, of swap in version 2, as cAdvisor has them; undefined without limit. */
    readonly memorySwapBytes: number | undefined;
    readonly cpuShares: number | undefined;
    readonly cpuPeriodMicros: number | undefined;
    /** Undefined without limit. */
    readonly cpuQuotaMicros: number | undefined;
  };
  /** In this very cgroup. */
  readonly processes: number;
  /** With those of the cgroups below; undefined where they are not counted. */
  readonly threads: number | undefined;
  /** Undefined without limit. */
  readonly maxThreads: number | undefined;
}

export interface CgroupReaderOptions {
  /** `/sys/fs/cgroup`. */
  readonly mountPoint: string;
  readonly version: 1 | 2;
}

/** Ticks of a second in `cpuacct.stat`: USER_HZ is 100 on every platform of Linux that Node.js runs on. */
const userHz = 100;
/** What version 1 shows for no limit is near 2^63. */
const unlimitedBytes = 2 ** 62;

export class CgroupReader {
  readonly #options: CgroupReaderOptions;
  readonly #deviceNames = new DeviceNames();

  constructor(options: CgroupReaderOptions) {
    this.#options = options;
  }

  /** `path` as in the hierarchy, such as `/pods/burstable/pod1`. Undefined when there is no such cgroup (any more). */
  usage(path: string): Promise<CgroupUsage | undefined> {
    return this.#options.version === 2 ? this.#version2(path) : this.#version1(path);
  }

  /** Of this very cgroup; those of another PID namespace are left out. */
  async processes(path: string): Promise<number[]> {
    const folder = this.#options.version === 2 ? '' : 'memory';
    const text = await textOf(join(this.#options.mountPoint, folder, path, 'cgroup.procs'));
    return (text ?? '')
      .split('\n')
      .map(Number)
      .filter((process) => process > 0);
  }

  /** What it read from and wrote to block devices. */
  async devices(path: string): Promise<DeviceIO[]> {
    const { mountPoint, version } = this.#options;
    if (version === 2)
      return this.#deviceNames.named(parseIoStat((await textOf(join(mountPoint, path, 'io.stat'))) ?? ''));
    const read = async (name: string) => {
      const file = join(mountPoint, 'blkio', path, `blkio.throttle.${name}`);
      // Older kernels do not add up what is below.
      return (await textOf(`${file}_recursive`)) ?? (await textOf(file)) ?? '';
    };
    const [bytes, operations] = await Promise.all([read('io_service_bytes'), read('io_serviced')]);
    return this.#deviceNames.named(parseBlkio(bytes, operations));
  }

  async #version1(path: string): Promise<CgroupUsage | undefined> {
    const read = (controller: string, file: string) =>
      textOf(join(this.#options.mountPoint, controller, path, `${controller}.${file}`));
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
    const ticks = fieldsOf(split);
    const cpu = fieldsOf(throttling);
    const memory = fieldsOf(memoryText);
    const usageBytes = numberOf(inUse) ?? 0;
    const quotaMicros = numberOf(quota) ?? -1;
    return {
      cpu: {
        totalSeconds: (numberOf(usage) ?? 0) / 1e9,
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
        maxUsageBytes: numberOf(most),
        failures: numberOf(failures) ?? 0,
        oomKills: oom?.includes('oom_kill ') === true ? fieldsOf(oom)('oom_kill') : undefined,
        pageFaults: memory('total_pgfault'),
        majorPageFaults: memory('total_pgmajfault'),
        ownPageFaults: memory('pgfault'),
        ownMajorPageFaults: memory('pgmajfault'),
      },
      limits: {
        memoryBytes: limitOf(limit),
        memoryReservationBytes: limitOf(reservation) ?? 0,
        memorySwapBytes: limitOf(swapLimit),
        cpuShares: numberOf(shares),
        cpuPeriodMicros: numberOf(period),
        cpuQuotaMicros: quotaMicros > 0 ? quotaMicros : undefined,
      },
      processes: (await this.processes(path)).length,
      threads: numberOf(tasks),
      maxThreads: numberOf(maxTasks),
    };
  }

  async #version2(path: string): Promise<CgroupUsage | undefined> {
    const read = (file: string) => textOf(join(this.#options.mountPoint, path, file));
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
    const cpu = fieldsOf(cpuText);
    const memory = fieldsOf(memoryText);
    const usageBytes = numberOf(inUse) ?? memory('anon') + memory('file');
    const [quota, period] = (max ?? '').trim().split(' ');
    const weightOf = numberOf(weight);
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
        swapBytes: numberOf(swap) ?? 0,
        mappedFileBytes: memory('file_mapped'),
        maxUsageBytes: numberOf(most),
        failures: fieldsOf(events)('max'),
        oomKills: fieldsOf(events)('oom_kill'),
        pageFaults: memory('pgfault'),
        majorPageFaults: memory('pgmajfault'),
        ownPageFaults: memory('pgfault'),
        ownMajorPageFaults: memory('pgmajfault'),
      },
      limits: {
        memoryBytes: numberOf(limit),
        memoryReservationBytes: numberOf(low) ?? 0,
        memorySwapBytes: numberOf(swapLimit),
        // The other way round of how shares become a weight.
        cpuShares: weightOf === undefined ? undefined : Math.floor(2 + ((weightOf - 1) * 262_142) / 9999),
        cpuPeriodMicros: numberOf(period),
        cpuQuotaMicros: numberOf(quota),
      },
      processes: (await this.processes(path)).length,
      threads: numberOf(tasks),
      maxThreads: numberOf(maxTasks),
    };
  }
}

/** Undefined for files that are not there: the cgroup is gone, or its controller is not on. */
async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** Of version 1. */
function limitOf(text: string | undefined): number | undefined {
  const bytes = numberOf(text) ?? unlimitedBytes;
  return bytes < unlimitedBytes ? bytes : undefined;
}

/** Undefined for what is no number, such as `max`. */
function numberOf(text: string | undefined): number | undefined {
  if (text === undefined || text.trim() === '') return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/** Reads lines of a name and a number; 0 for names that are not there. */
function fieldsOf(text: string | undefined): (name: string) => number {
  const fields = new Map(
    (text ?? '').split('\n').map((line) => {
      const [name = '', number = '0'] = line.split(' ', 2);
      return [name, number] as const;
    }),
  );
  return (name) => Number(fields.get(name) ?? 0);
}
