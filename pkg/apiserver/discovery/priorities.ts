/**
 * The order of groups and versions in discovery, and so the preferred versions: the priorities with which 1.24 registers its
 * own API services (cmd/kube-apiserver/app/aggregator.go). Groups of equal priority are sorted by name.
 */
import type { GroupKey } from '#apimachinery/dialect.js';

interface Priorities {
  readonly group: number;
  /** Versions whose priority differs from the default. */
  readonly versions?: Readonly<Record<string, number>>;
}

const priorities: Readonly<Partial<Record<GroupKey, Priorities>>> = {
  // The aggregator lists its own group first.
  apiregistration: { group: 20_000 },
  core: { group: 18_000, versions: { v1: 1 } },
  apps: { group: 17_800 },
  events: { group: 17_750, versions: { v1beta1: 5 } },
  authentication: { group: 17_700 },
  authorization: { group: 17_600 },
  autoscaling: { group: 17_500, versions: { v2: 30, v1: 15, v2beta1: 9, v2beta2: 1 } },
  batch: { group: 17_400 },
  certificates: { group: 17_300 },
  networking: { group: 17_200 },
  policy: { group: 17_100 },
  rbac: { group: 17_000 },
  storage: { group: 16_800 },
  admissionregistration: { group: 16_700 },
  apiextensions: { group: 16_700 },
  scheduling: { group: 16_600 },
  coordination: { group: 16_500 },
  node: { group: 16_300 },
  discovery: { group: 16_200, versions: { v1beta1: 12 } },
  flowcontrol: { group: 16_100, versions: { v1beta2: 15, v1beta1: 12, v1alpha1: 9 } },
  apiserverinternal: { group: 16_000, versions: { v1alpha1: 9 } },
  // As registered by metrics-server.
  metrics: { group: 100, versions: { v1beta1: 100 } },
};

/** Priorities of the groups of definitions and of their versions, as 1.24 registers them. */
export const otherGroup = 1_000;
export const otherVersion = 100;
/** Versions of built-in groups: alpha, beta, stable. */
const versionsByStability = [1, 9, 15] as const;

/** Higher priorities come first. */
export function groupPriority(group: GroupKey): number {
  return priorities[group]?.group ?? otherGroup;
}

/** A version's priority in its group. */
export function versionPriority(group: GroupKey, version: string): number {
  const entry = priorities[group];
  if (entry === undefined) return otherVersion;
  return entry.versions?.[version] ?? versionsByStability[rank(version)[0] ?? 0] ?? 0;
}

/** `v2` before `v1` before `v1beta2` before `v1alpha1`: the order in which clients prefer versions. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [rank(a), rank(b)];
  for (const [index, value] of left.entries()) {
    const other = right[index] ?? 0;
    if (value !== other) return other - value;
  }
  return a < b ? -1 : 1;
}

function rank(version: string): number[] {
  const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
  if (match === null) return [-1, 0, 0];
  const stability = match[2] === undefined ? 2 : match[2] === 'beta' ? 1 : 0;
  return [stability, Number(match[1]), Number(match[3] ?? 0)];
}
