/** From limits to what is written into the files of a cgroup, in version 1 and 2. Pure. */

/** What is absent is left as it is. */
export interface CgroupLimits {
  readonly cpuShares?: number;
  /** Microseconds per period; negative: without limit. */
  readonly cpuQuota?: { readonly quotaMicros: number; readonly periodMicros: number };
  readonly memoryBytes?: number;
  /** What is not taken back from it while others have more than theirs; only version 2 has it. */
  readonly memoryMinBytes?: number;
  readonly pids?: number;
  /** Bytes by page size in bytes; of the machine's other sizes it gets none. */
  readonly hugePages?: Readonly<Record<number, number>>;
}

/** The hierarchies of version 1, and controllers of version 2, in which pods are limited. */
export const controllers = ['cpu', 'memory', 'pids', 'hugetlb'] as const;
export type Controller = (typeof controllers)[number];

export interface CgroupSetting {
  readonly controller: Controller;
  readonly file: string;
  readonly text: string;
}

export type CgroupVersion = 1 | 2;

/** Where what cgroups have used can be read. */
export interface CgroupHierarchy {
  /** `/sys/fs/cgroup`. */
  readonly mountPoint: string;
  readonly version: CgroupVersion;
}

/** Cgroups of a node's own processes, where options name them. */
export interface SystemPaths {
  readonly agent?: string;
  readonly runtime?: string;
  /** Of all that is in none. */
  readonly misc?: string;
}

/** Weight of version 2 for shares of version 1. */
export function weightOfShares(shares: number): number {
  return Math.floor(1 + ((shares - 2) * 9999) / 262_142);
}

const pageUnits = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];

/** Of huge pages, as files of cgroups and runtimes call it: `2MB`, `1GB`. */
export function pageSizeName(bytes: number): string {
  let [amount, unit] = [bytes, 0];
  while (amount >= 1024 && unit < pageUnits.length - 1) [amount, unit] = [amount / 1024, unit + 1];
  return `${amount}${pageUnits[unit]}`;
}

/** In the order in which they are to be written. `pageSizes`: those of the machine's huge pages, in bytes. */
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
