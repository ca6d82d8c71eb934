/** What single operations cost on one machine: the numbers that the model of a large cluster is made from. */

/** In ms of one core for each, memory in bytes. */
export interface Costs {
  readonly create: number;
  /** With a consistent read before it. */
  readonly get: number;
  /** PUT of a status. */
  readonly update: number;
  readonly patch: number;
  /** PUT of a Lease. */
  readonly lease: number;
  /** For each watcher that gets it. */
  readonly watchEvent: number;
  /** The same for each further event that it gets in the same write. */
  readonly joinedEvent: number;
  /** For each MB. */
  readonly list: number;
  /** One change of etcd, in each worker: decoded, kept, matched with the watches. */
  readonly follow: number;
  /** A pod in memory. */
  readonly podBytes: number;
  /** A watch without events, with its part of a connection. */
  readonly watchBytes: number;
  /** A worker without objects; the supervisor of several workers. */
  readonly workerBytes: number;
  readonly supervisorBytes: number;
}

/**
 * Until a run of `access` gives others. Measured in one quiet run on two cores of an AMD EPYC: create, get, update, patch,
 * watchEvent and list; the limits of the benchmarks of memory: podBytes and watchBytes; on a busy machine: joinedEvent (1 µs
 * for 660 bytes, and slices are larger), workerBytes and supervisorBytes. Assumed: the rest.
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

/** A row of `access --json`, as far as the model reads it. */
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

/** The costs that the rows have, and `costs` for the others; `taken` are those that the rows have. */
export function costsOf(rows: readonly MeasuredRow[], costs = defaultCosts): { costs: Costs; taken: string[] } {
  const found: Partial<Record<keyof Costs, number>> = {};
  for (const [name, pattern] of Object.entries(rowOf) as [keyof Costs, RegExp][]) {
    const row = rows.find((each) => pattern.test(each.name));
    if (row !== undefined) found[name] = row.figures.orch;
  }
  return { costs: { ...costs, ...found }, taken: Object.keys(found) };
}
