/** The costs of single operations on one machine, the input of the model. */

/** CPU in ms of one core, memory in bytes. */
export interface Costs {
  readonly create: number;
  /** With a consistent read before it. */
  readonly get: number;
  /** PUT of a status. */
  readonly update: number;
  readonly patch: number;
  /** PUT of a Lease. */
  readonly lease: number;
  /** Per receiving watcher. */
  readonly watchEvent: number;
  /** Per further event in the same write. */
  readonly joinedEvent: number;
  /** Per MB. */
  readonly list: number;
  /** One etcd change in each worker: decoding, storing and matching with watches. */
  readonly follow: number;
  /** A pod in memory. */
  readonly podBytes: number;
  /** A watch without events, including its share of a connection. */
  readonly watchBytes: number;
  /** A worker without objects; the supervisor of several workers. */
  readonly workerBytes: number;
  readonly supervisorBytes: number;
}

/**
 * Defaults without results of `access`. Measured in one quiet run on two cores of an AMD EPYC: create, get, update, patch,
 * watchEvent and list. Limits of the memory benchmarks: podBytes and watchBytes. Measured on a busy machine: joinedEvent
 * (1 µs for 660 bytes; slices are larger), workerBytes and supervisorBytes. The other values are assumed.
 */
export const defaultCosts: Costs = {
  create: 1.04,
  get: 0.15,
  update: 1.27,
  patch: 1.26,
  lease: 0.6,
  watchEvent: 0.038,
  joinedEvent: 0.003,
  list: 1.2,
  follow: 0.1,
  podBytes: 5000,
  watchBytes: 15_000,
  workerBytes: 110e6,
  supervisorBytes: 70e6,
};

/** The used part of a row of `access --json`. */
export interface MeasuredRow {
  readonly name: string;
  readonly figures: { readonly orch: number };
}

const rowOf: Readonly<Partial<Record<keyof Costs, RegExp>>> = {
  create: /^create$/,
  get: /^get, most recent$/,
  update: /^status, PUT$/,
  patch: /^strategic merge patch$/,
  lease: /^lease, PUT$/,
  watchEvent: /^watch, 200 watchers: each delivered event$/,
  follow: /^one change of etcd followed$/,
};

/** Replaces `costs` by the rows' values; `measuredNames` lists the replaced costs. */
export function costsOf(rows: readonly MeasuredRow[], costs = defaultCosts): { costs: Costs; measuredNames: string[] } {
  const measured: Partial<Record<keyof Costs, number>> = {};
  for (const [name, pattern] of Object.entries(rowOf) as [keyof Costs, RegExp][]) {
    const row = rows.find((each) => pattern.test(each.name));
    if (row !== undefined) measured[name] = row.figures.orch;
  }
  return { costs: { ...costs, ...measured }, measuredNames: Object.keys(measured) };
}
