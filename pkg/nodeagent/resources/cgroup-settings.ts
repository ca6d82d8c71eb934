/** Converts limits to the files of a cgroup, in version 1 and 2. Pure. */

/** Absent members stay unchanged. */
export interface CgroupLimits {
  readonly cpuShares?: number;
  /** Microseconds per period; negative: no limit. */
  readonly cpuQuota?: { readonly quotaMicros: number; readonly periodMicros: number };
  readonly memoryBytes?: number;
  /** Memory protected from reclaim; version 2 only. */
  readonly memoryMinBytes?: number;
  readonly pids?: number;
  /** Bytes by page size in bytes; other page sizes of the machine are limited to 0. */
  readonly hugePages?: Readonly<Record<number, number>>;
}

/** Controllers that limit pods: hierarchies in version 1. */
export const controllers = ['cpu', 'memory', 'pids', 'hugetlb'] as const;
export type Controller = (typeof controllers)[number];

export interface CgroupSetting {
  readonly controller: Controller;
  readonly file: string;
  readonly text: string;
}

export type CgroupVersion = 1 | 2;

/** Where to read the usage of cgroups. */
export interface CgroupHierarchy {
  /** `/sys/fs/cgroup`. */
  readonly mountPoint: string;
  readonly version: CgroupVersion;
}

/** Cgroups of the node's own processes, if options name them. */
export interface SystemPaths {
  readonly agent?: string;
  readonly runtime?: string;
  /** Cgroup of processes that are in no other. */
  readonly misc?: string;
}

/** The weight of version 2 for shares of version 1. */
export function weightOfShares(shares: number): number {
  return Math.floor(1 + ((shares - 2) * 9999) / 262_142);
}

const pageUnits = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];

/** Name of a huge page size in cgroup files and runtimes: `2MB`, `1GB`. */
export function pageSizeName(bytes: number): string {
  let [amount, unit] = [bytes, 0];
  while (amount >= 1024 && unit < pageUnits.length - 1) [amount, unit] = [amount / 1024, unit + 1];
  return `${amount}${pageUnits[unit]}`;
}

/** In write order. `pageSizes`: the machine's huge page sizes, in bytes. */
export function cgroupSettings(
  limits: CgroupLimits,
  version: CgroupVersion,
  pageSizes: readonly number[],
): CgroupSetting[] {
  const { cpuShares, cpuQuota, memoryBytes, memoryMinBytes, pids } = limits;
  const settings: CgroupSetting[] = [];
  const set = (controller: Controller, file: string, value: number | string) =>
    settings.push({ controller, file: `${controller}.${file}`, text: String(value) });
  const unified = version === 2;
  if (cpuShares !== undefined) {
    if (unified) set('cpu', 'weight', weightOfShares(cpuShares));
    else set('cpu', 'shares', cpuShares);
  }
  if (cpuQuota !== undefined) {
    const { quotaMicros, periodMicros } = cpuQuota;
    if (unified) set('cpu', 'max', `${quotaMicros < 0 ? 'max' : quotaMicros} ${periodMicros}`);
    else {
      set('cpu', 'cfs_period_us', periodMicros);
      set('cpu', 'cfs_quota_us', quotaMicros);
    }
  }
  if (memoryBytes !== undefined) set('memory', unified ? 'max' : 'limit_in_bytes', memoryBytes);
  if (memoryMinBytes !== undefined && unified) set('memory', 'min', memoryMinBytes);
  if (pids !== undefined) set('pids', 'max', pids);
  if (limits.hugePages !== undefined) {
    for (const size of pageSizes) {
      const file = `${pageSizeName(size)}.${unified ? 'max' : 'limit_in_bytes'}`;
      set('hugetlb', file, limits.hugePages[size] ?? 0);
    }
  }
  return settings;
}
