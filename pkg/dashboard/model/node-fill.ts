/** What fills the nodes: pods, CPU and memory of what each has to give. Pure. */
import type { ApiObject } from '#dashboard/model/api-object.js';

export interface NodeFill {
  readonly name: string;
  readonly isReady: boolean;
  readonly isCordoned: boolean;
  readonly pods: number;
  readonly podLimit: number;
  /** Thousandths of a core. */
  readonly cpuLimit: number;
  readonly memoryLimit: number;
  /** Absent without metrics. */
  readonly cpuUsed?: number;
  readonly memoryUsed?: number;
}

export interface NodeObject extends ApiObject {
  readonly spec?: { readonly unschedulable?: boolean };
  readonly status?: {
    readonly allocatable?: Readonly<Record<string, string>>;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

export interface UsageObject extends ApiObject {
  readonly usage?: Readonly<Record<string, string>>;
  readonly containers?: readonly { readonly name: string; readonly usage: Readonly<Record<string, string>> }[];
}

const units: Readonly<Record<string, number>> = {
  ...{ n: 1e-9, u: 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 },
  ...{ Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 },
};

/** A quantity as a number, precise enough to be shown; 0 for anything else. */
export function amountOf(quantity: string | number | undefined): number {
  if (typeof quantity === 'number') return quantity;
  const [, number, unit = ''] = /^([+-]?[\d.]+(?:[eE][+-]?\d+)?)([numkMGTPE]i?|[KMGTPE]i)?$/.exec(quantity ?? '') ?? [];
  const amount = Number(number) * (unit === '' ? 1 : (units[unit] ?? Number.NaN));
  return Number.isFinite(amount) ? amount : 0;
}

export function nodeFill(node: NodeObject, pods: number, usage: UsageObject | undefined): NodeFill {
  const { allocatable = {}, conditions = [] } = node.status ?? {};
  const used = usage?.usage;
  return {
    name: node.metadata.name ?? '',
    isReady: conditions.some(({ type, status }) => type === 'Ready' && status === 'True'),
    isCordoned: node.spec?.unschedulable === true,
    pods,
    podLimit: amountOf(allocatable['pods']),
    cpuLimit: amountOf(allocatable['cpu']) * 1000,
    memoryLimit: amountOf(allocatable['memory']),
    ...(used === undefined ? {} : { cpuUsed: amountOf(used['cpu']) * 1000, memoryUsed: amountOf(used['memory']) }),
  };
}

export type Measure = 'pods' | 'cpu' | 'memory';

/** 0 to 1; undefined if it is unknown. */
export function shareOf(node: NodeFill, measure: Measure): number | undefined {
  const [used, limit] =
    measure === 'pods'
      ? [node.pods, node.podLimit]
      : measure === 'cpu'
        ? [node.cpuUsed, node.cpuLimit]
        : [node.memoryUsed, node.memoryLimit];
  return used === undefined || limit === 0 ? undefined : Math.min(1, used / limit);
}

export function bytesText(bytes: number): string {
  if (bytes >= 2 ** 30) return `${(bytes / 2 ** 30).toFixed(1)} GiB`;
  if (bytes >= 2 ** 20) return `${Math.round(bytes / 2 ** 20)} MiB`;
  return `${Math.round(bytes / 1024)} KiB`;
}

export function coresText(milli: number): string {
  return milli >= 10_000 ? `${Math.round(milli / 1000)} cores` : `${(milli / 1000).toFixed(2)} cores`;
}
