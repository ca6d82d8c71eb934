/**
 * Fair queuing as its definition reads: every figure is computed anew from the list of all requests, nothing is kept
 * beside it. Slow, and obviously right; the tests compare the queue set with it.
 */
import type { Work } from '#apiserver/flowcontrol/work.js';

export interface SlowRequest {
  readonly name: string;
  readonly work: Work;
  /** Number of the queue; -1 without one. */
  queue: number;
  state: 'waiting' | 'executing' | 'lingering' | 'over';
  refusal: string;
  arrivedMs: number;
  arrivalR: number;
  startedMs: number;
  finalSeats: number;
  lingerMs: number;
  /** When the final phase ends; of equal ones, in the order of `finished`. */
  freeMs: number;
  finished: number;
}

const units = (seats: number, ms: number) => Math.round(seats * ms * 1e5);
const serviceMs = 3;

export class SlowQueueSet {
  readonly requests: SlowRequest[] = [];
  r = 0;
  #nowMs = 0;
  #nextR: number[] = [];
  #robin = 0;
  #enqueued = 0;
  #finished = 0;
  #limit = 1;
  #queues = 0;
  #lengthLimit = 0;

  constructor(readonly waitLimitMs: number) {}

  configure(queues: number, lengthLimit: number, limit: number): void {
    while (this.#nextR.length < queues) this.#nextR.push(0);
    this.#queues = queues;
    this.#lengthLimit = lengthLimit;
    this.#limit = limit;
    this.#dispatchAll();
  }

  /** Moves time on; the final phases that end meanwhile free their seats at their time. */
  advance(toMs: number): void {
    for (;;) {
      const next = this.requests
        .filter(({ state, freeMs }) => state === 'lingering' && freeMs <= toMs)
        .sort((a, b) => a.freeMs - b.freeMs || a.finished - b.finished)[0];
      if (next === undefined) break;
      this.#moveTo(next.freeMs);
      next.state = 'over';
      this.#dispatchAll();
    }
    this.#moveTo(toMs);
  }

  enter(name: string, work: Work, hand: readonly number[]): SlowRequest {
    const request: SlowRequest = {
      name,
      work,
      queue: -1,
      state: 'waiting',
      refusal: '',
      arrivedMs: this.#nowMs,
      arrivalR: this.r,
      startedMs: 0,
      finalSeats: work.finalSeats,
      lingerMs: work.lingerMs,
      freeMs: Number.POSITIVE_INFINITY,
      finished: 0,
    };
    this.requests.push(request);
    if (this.#queues === 0) {
      if (this.#fits(request)) this.#execute(request);
      else this.#refuse(request, 'concurrency-limit');
      return request;
    }
    const offset = this.#enqueued++ % hand.length;
    const turned = [...hand.slice(offset), ...hand.slice(0, offset)];
    const load = (queue: number) => this.#waiting(queue).reduce((sum, each) => sum + total(each), 0);
    const least = Math.min(...turned.map(load));
    const queue = turned.find((each) => load(each) === least) as number;
    for (const old of this.#waiting(queue)) {
      if (this.#nowMs - old.arrivedMs > this.waitLimitMs) this.#refuse(old, 'time-out');
    }
    if (this.#seats() >= this.#limit && this.#waiting(queue).length >= this.#lengthLimit) {
      this.#bound(queue);
      this.#refuse(request, 'queue-full');
      return request;
    }
    if (!this.#active(queue)) this.#nextR[queue] = this.r;
    request.queue = queue;
    this.#bound(queue);
    this.#dispatchAll();
    return request;
  }

  cancel(request: SlowRequest): void {
    if (request.state !== 'waiting') return;
    this.#refuse(request, 'cancelled');
    this.#bound(request.queue);
  }

  finish(request: SlowRequest): void {
    if (request.state !== 'executing') return;
    const { queue } = request;
    request.state = request.lingerMs > 0 ? 'lingering' : 'over';
    request.freeMs = this.#nowMs + request.lingerMs;
    request.finished = this.#finished++;
    if (queue >= 0) {
      const took = this.#nowMs - request.startedMs;
      this.#nextR[queue] = (this.#nextR[queue] as number) - units(request.work.initialSeats, serviceMs - took);
      this.#bound(queue);
    }
    this.#dispatchAll();
  }

  #moveTo(ms: number): void {
    const queues = this.#nextR.map((_, queue) => queue);
    const active = queues.filter((queue) => this.#active(queue)).length;
    const demand = this.requests
      .filter(({ queue, state }) => queue >= 0 && state !== 'over')
      .reduce((sum, each) => sum + width(each), 0);
    if (active > 0) this.r += units(Math.min(demand, this.#limit) / active, ms - this.#nowMs);
    this.#nowMs = ms;
  }

  #waiting(queue: number): SlowRequest[] {
    return this.requests.filter((each) => each.queue === queue && each.state === 'waiting');
  }

  #active(queue: number): boolean {
    return this.requests.some((each) => each.queue === queue && ['waiting', 'executing'].includes(each.state));
  }

  #seats(): number {
    const holds = ({ state }: SlowRequest) => state === 'executing' || state === 'lingering';
    return this.requests.filter(holds).reduce((sum, each) => sum + width(each), 0);
  }

  #fits(request: SlowRequest): boolean {
    if (width(request) > this.#limit) return !this.requests.some(({ state }) => state === 'executing');
    return this.#seats() + width(request) <= this.#limit;
  }

  #dispatchAll(): void {
    while (this.#seats() < this.#limit) {
      const count = this.#nextR.length;
      let best = -1;
      let bestEnd = Number.POSITIVE_INFINITY;
      for (let i = 1; i <= count; i++) {
        const queue = (this.#robin + i) % count;
        const [oldest] = this.#waiting(queue);
        if (oldest === undefined) continue;
        const end = (this.#nextR[queue] as number) + total(oldest);
        if (end < bestEnd) [best, bestEnd] = [queue, end];
      }
      const [request] = this.#waiting(best);
      if (request === undefined || !this.#fits(request)) return;
      if (request.finalSeats > this.#limit) {
        request.lingerMs = units(request.finalSeats, request.lingerMs) / this.#limit / 1e5;
        request.finalSeats = this.#limit;
      }
      this.#robin = best;
      this.#nextR[best] = (this.#nextR[best] as number) + total(request);
      this.#execute(request);
      this.#bound(best);
    }
  }

  #execute(request: SlowRequest): void {
    request.state = 'executing';
    request.startedMs = this.#nowMs;
  }

  #refuse(request: SlowRequest, refusal: string): void {
    request.state = 'over';
    request.refusal = refusal;
  }

  #bound(queue: number): void {
    const [oldest] = this.#waiting(queue);
    if (oldest !== undefined) this.#nextR[queue] = Math.max(this.#nextR[queue] as number, oldest.arrivalR);
  }
}

function total({ work }: SlowRequest): number {
  return units(work.initialSeats, serviceMs) + units(work.finalSeats, work.lingerMs);
}

function width({ work, finalSeats }: SlowRequest): number {
  return Math.max(work.initialSeats, finalSeats);
}
