/** A request at a priority level, and a queue of them. */
import type { FlowSeries } from '#apiserver/flowcontrol/series.js';
import { type Work, workOf } from '#apiserver/flowcontrol/work.js';

/** Assumed duration of a request until it has ended. */
export const serviceMs = 3;
export type Refusal = 'concurrency-limit' | 'queue-full' | 'time-out' | 'cancelled';

/** What the dumps show of a request. */
export interface TicketDetails {
  readonly user: { readonly name: string };
  readonly info: {
    readonly verb: string;
    readonly path: string;
    readonly namespace: string;
    readonly name: string;
    readonly group: string;
    readonly version: string;
    readonly resource: string;
    readonly subresource: string;
  };
}

/** A request at a priority level. */
export class Ticket {
  readonly flow: FlowSeries;
  readonly distinguisher: string;
  readonly details: TicketDetails;
  readonly initialSeats: number;
  finalSeats: number;
  lingerMs: number;
  readonly totalWork: number;
  readonly finalWork: number;
  state: 'waiting' | 'executing' | 'over' = 'waiting';
  refusal: Refusal | undefined;
  queue: Queue | undefined;
  arrivedMs = 0;
  /** Virtual time of the arrival. */
  arrivalR = 0;
  startedMs = 0;
  /** Called when a request that waits gets its seats or is refused. */
  decided: (() => void) | undefined;

  constructor(flow: FlowSeries, distinguisher: string, work: Work, details: TicketDetails) {
    this.flow = flow;
    this.distinguisher = distinguisher;
    this.details = details;
    this.initialSeats = work.initialSeats;
    this.finalSeats = work.finalSeats;
    this.lingerMs = work.lingerMs;
    this.finalWork = workOf(work.finalSeats, work.lingerMs);
    this.totalWork = workOf(work.initialSeats, serviceMs) + this.finalWork;
  }

  /** Seats that the request takes in both phases. */
  get seats(): number {
    return Math.max(this.initialSeats, this.finalSeats);
  }
}

export class Queue {
  /** In order of arrival. */
  readonly waiting = new Set<Ticket>();
  index: number;
  /** Virtual time at which the next request starts. */
  nextR = 0;
  executing = 0;
  seatsInUse = 0;
  initialSeats = 0;
  maxSeats = 0;
  work = 0;
  active = false;

  constructor(index: number) {
    this.index = index;
  }

  get oldest(): Ticket | undefined {
    return this.waiting.values().next().value;
  }
}
