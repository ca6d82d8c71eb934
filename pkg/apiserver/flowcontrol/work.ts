/** What requests cost: the seats that they take and for how long, as the work estimators of 1.24 do (KEP-1040). Pure. */

/** Units of work per millisecond that one seat is taken: work is counted in 1e-8 seat-seconds, as integers. */
const unitsPerMs = 1e5;
const minSeats = 1;
const maxSeats = 10;
const objectsPerSeat = 100;
const watchesPerSeat = 10;
/** How long one seat is busy with an event for `watchesPerSeat` watches. */
const eventMs = 5;

/** Seats of a request in its two phases. */
export interface Work {
  /** While the server works on the request. */
  readonly initialSeats: number;
  /** Afterwards, for `lingerMs`: events of a write keep the server busy although the request has its response. */
  readonly finalSeats: number;
  readonly lingerMs: number;
}

/** The work of most requests. */
export const oneSeat: Work = { initialSeats: 1, finalSeats: 0, lingerMs: 0 };

/** Work in units of 1e-8 seat-seconds. */
export function workOf(seats: number, ms: number): number {
  return Math.round(seats * ms * unitsPerMs);
}

/** How long `seats` are busy with this much work. */
export function durationOf(work: number, seats: number): number {
  return work / seats / unitsPerMs;
}

/** As 1.24 prints it in its dumps: `1.50000000ss`. */
export function formatWork(work: number): string {
  const units = Math.abs(work);
  const whole = Math.floor(units / 1e8);
  return `${work < 0 ? '-' : ''}${whole}.${String(units - whole * 1e8).padStart(8, '0')}ss`;
}

export interface ListToEstimate {
  /** Name of the only object that is selected; empty without one. */
  readonly name: string;
  readonly query: URLSearchParams;
  /** Objects of the resource in the store; undefined where this server does not store it. */
  readonly stored: number | undefined;
}

/** A seat for each hundred objects that are read, at most ten. */
export function listWork({ name, query, stored }: ListToEstimate): Work {
  if (name !== '' || stored === undefined) return oneSeat;
  const wished = limitOf(query);
  if (wished === undefined) return seats(maxSeats);
  const limit = wished > 0 && wished < stored ? wished : stored;
  return seats(objectsRead(query, stored, limit, wished) / objectsPerSeat);
}

function objectsRead(query: URLSearchParams, stored: number, limit: number, wished: number): number {
  const version = query.get('resourceVersion') ?? '';
  const fromStore =
    version === '' ||
    (query.get('continue') ?? '') !== '' ||
    (wished > 0 && version !== '0') ||
    query.get('resourceVersionMatch') === 'Exact';
  if (!fromStore) return stored;
  const selects = (query.get('fieldSelector') ?? '') !== '' || (query.get('labelSelector') ?? '') !== '';
  return selects ? stored + limit : 2 * limit;
}

/** Undefined for a limit that the list will refuse. */
function limitOf(query: URLSearchParams): number | undefined {
  const text = query.get('limit');
  if (text === null || text === '') return 0;
  return /^[+-]?\d{1,18}$/.test(text) ? Number(text) : undefined;
}

function seats(count: number): Work {
  return { initialSeats: Math.min(maxSeats, Math.max(minSeats, Math.ceil(count))), finalSeats: 0, lingerMs: 0 };
}

/** A write keeps seats busy while its event is sent to `watches`. */
export function writeWork(watches: number): Work {
  if (watches < watchesPerSeat) return oneSeat;
  const wide = Math.ceil(watches / watchesPerSeat);
  const finalSeats = Math.min(wide, maxSeats);
  return { initialSeats: 1, finalSeats, lingerMs: durationOf(workOf(wide, eventMs), finalSeats) };
}
