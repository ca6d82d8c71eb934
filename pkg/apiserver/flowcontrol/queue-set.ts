/**
 * The seats of one priority level and the queues of requests that wait for them, as the fair queuing of 1.24 (KEP-1040):
 * each queue has its own virtual time, in work per queue, and the request that would end first in virtual time is next.
 */
import type { Clock } from '#apimachinery/clock.js';
import { nextQueue } from '#apiserver/flowcontrol/next-queue.js';
import type { LevelSeries } from '#apiserver/flowcontrol/series.js';
import { Queue, type Refusal, serviceMs, type Ticket } from '#apiserver/flowcontrol/ticket.js';
import { durationOf, workOf } from '#apiserver/flowcontrol/work.js';

/** Virtual time is set back by this before it loses precision. */
const epoch = 2 ** 52;

export interface Queuing {
  readonly queues: number;
  readonly handSize: number;
  readonly queueLengthLimit: number;
}

export interface QueueSetOptions {
  readonly clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly series: LevelSeries;
  /** Longest wait; checked when another request comes to the same queue, as in 1.24. */
  readonly waitLimitMs: number;
  /** Called when no request waits or executes any more. */
  readonly idle: () => void;
}

export class QueueSet {
  readonly #options: QueueSetOptions;
  readonly #series: LevelSeries;
  #queuing: Queuing | undefined;
  #lengthLimit = 0;
  #limit = 0;
  /** Longer than configured until the surplus queues have drained. */
  readonly #queues: Queue[] = [];
  #currentR = 0;
  #syncedMs: number;
  /** The queue that was served last. */
  #robin = 0;
  #waiting = 0;
  #executing = 0;
  #seatsInUse = 0;
  #enqueued = 0;
  /** Queues with requests, and the seats that all queues use or want: together they set the pace of virtual time. */
  #active = 0;
  #demand = 0;

  constructor(options: QueueSetOptions) {
    this.#options = options;
    this.#series = options.series;
    this.#syncedMs = options.clock.monotonic();
  }

  get queues(): readonly Queue[] {
    return this.#queues;
  }

  get counts(): { readonly waiting: number; readonly executing: number; readonly seatsInUse: number } {
    return { waiting: this.#waiting, executing: this.#executing, seatsInUse: this.#seatsInUse };
  }

  get limit(): number {
    return this.#limit;
  }

  get isIdle(): boolean {
    return this.#waiting === 0 && this.#executing === 0;
  }

  /** Without queuing, requests beyond the limit are refused; requests in queues stay there. */
  configure(queuing: Queuing | undefined, limit: number): void {
    const nowMs = this.#sync();
    const { series } = this.#options;
    this.#queuing = queuing;
    this.#limit = limit;
    if (queuing !== undefined) {
      this.#lengthLimit = queuing.queueLengthLimit;
      while (this.#queues.length < queuing.queues) this.#queues.push(new Queue(this.#queues.length));
    }
    series.limit.value = limit;
    series.waiting.bound(nowMs, Math.max(1, this.#lengthLimit));
    series.executing.bound(nowMs, limit);
    series.seats.bound(nowMs, limit);
    this.#dispatchAll(nowMs);
  }

  /** Decides about a request: its state says what. `hand`: the queues of its flow; ignored without queues. */
  enter(ticket: Ticket, hand: readonly number[]): void {
    const nowMs = this.#sync();
    ticket.arrivedMs = nowMs;
    ticket.arrivalR = this.#currentR;
    if (this.#queuing === undefined) {
      if (this.#fits(ticket.seats)) this.#execute(ticket, nowMs);
      else this.#refuse(ticket, 'concurrency-limit');
      return;
    }
    const queue = this.#pick(hand);
    this.#removeOld(queue, nowMs);
    if (this.#seatsInUse >= this.#limit && queue.waiting.size >= this.#lengthLimit) {
      this.#bound(queue);
      this.#refuse(ticket, 'queue-full');
      return;
    }
    if (queue.waiting.size === 0 && queue.executing === 0) queue.nextR = this.#currentR;
    ticket.queue = queue;
    this.#enqueue(queue, ticket, nowMs);
    this.#bound(queue);
    this.#dispatchAll(nowMs);
  }

  /** Ends a wait. */
  cancel(ticket: Ticket): void {
    const { queue } = ticket;
    if (ticket.state !== 'waiting' || queue === undefined) return;
    this.#remove(queue, ticket, this.#sync());
    this.#bound(queue);
    this.#refuse(ticket, 'cancelled');
    if (this.isIdle) this.#options.idle();
  }

  /** Ends a request that executes; its seats are free now, or after its final phase. */
  finish(ticket: Ticket): void {
    if (ticket.state !== 'executing') return;
    const nowMs = this.#sync();
    const { queue, flow, lingerMs } = ticket;
    const { clock, idle } = this.#options;
    ticket.state = 'over';
    this.#executing--;
    flow.executing.value--;
    this.#series.executing.add(nowMs, -1);
    if (queue !== undefined) {
      queue.executing--;
      queue.nextR -= workOf(ticket.initialSeats, serviceMs - (nowMs - ticket.startedMs));
      this.#bound(queue);
      this.#touch(queue);
    }
    if (lingerMs <= 0) this.#release(ticket, nowMs);
    else {
      clock.setTimer(() => {
        const laterMs = this.#sync();
        this.#release(ticket, laterMs);
        this.#dispatchAll(laterMs);
      }, lingerMs);
    }
    this.#dispatchAll(nowMs);
    if (this.isIdle) idle();
  }

  /** Brings virtual time up to date; before every change. Returns the real time. */
  #sync(): number {
    const nowMs = this.#options.clock.monotonic();
    if (this.#active > 0) {
      const pace = Math.min(this.#demand, this.#limit) / this.#active;
      this.#currentR += workOf(pace, nowMs - this.#syncedMs);
    }
    this.#syncedMs = nowMs;
    if (this.#currentR >= epoch * 1.5) this.#advanceEpoch();
    this.#series.currentR.value = this.#currentR / 1e8;
    return nowMs;
  }

  #advanceEpoch(): void {
    this.#currentR -= epoch;
    for (const queue of this.#queues) {
      queue.nextR = queue.active ? queue.nextR - epoch : 0;
      for (const ticket of queue.waiting) ticket.arrivalR -= epoch;
    }
    this.#series.epochAdvanced();
  }

  /** The queue of the hand with the least work. The rotation removes a bias towards queues that are dealt first. */
  #pick(hand: readonly number[]): Queue {
    const offset = this.#enqueued++ % hand.length;
    let best: Queue | undefined;
    for (let i = 0; i < hand.length; i++) {
      const queue = this.#queues[hand[(offset + i) % hand.length] as number] as Queue;
      if (best === undefined || queue.work < best.work) best = queue;
    }
    return best as Queue;
  }

  #removeOld(queue: Queue, nowMs: number): void {
    for (const ticket of queue.waiting) {
      if (nowMs - ticket.arrivedMs <= this.#options.waitLimitMs) return;
      this.#remove(queue, ticket, nowMs);
      this.#refuse(ticket, 'time-out');
    }
  }

  #enqueue(queue: Queue, ticket: Ticket, nowMs: number): void {
    queue.waiting.add(ticket);
    queue.initialSeats += ticket.initialSeats;
    queue.maxSeats += ticket.seats;
    queue.work += ticket.totalWork;
    this.#demand += ticket.seats;
    this.#waiting++;
    this.#touch(queue);
    ticket.flow.inQueue.value++;
    ticket.flow.queueLength.observe(queue.waiting.size);
    this.#series.waiting.add(nowMs, 1);
  }

  #remove(queue: Queue, ticket: Ticket, nowMs: number): void {
    queue.waiting.delete(ticket);
    queue.initialSeats -= ticket.initialSeats;
    queue.maxSeats -= ticket.seats;
    queue.work -= ticket.totalWork;
    this.#demand -= ticket.seats;
    this.#waiting--;
    this.#touch(queue);
    ticket.flow.inQueue.value--;
    this.#series.waiting.add(nowMs, -1);
  }

  #refuse(ticket: Ticket, refusal: Refusal): void {
    ticket.state = 'over';
    ticket.refusal = refusal;
    ticket.flow.refused(refusal);
    ticket.decided?.();
  }

  #dispatchAll(nowMs: number): void {
    while (this.#waiting > 0 && this.#seatsInUse < this.#limit && this.#dispatch(nowMs));
  }

  #dispatch(nowMs: number): boolean {
    const queue = nextQueue(this.#queues, { last: this.#robin, waiting: this.#waiting, series: this.#series });
    const ticket = queue?.oldest;
    if (queue === undefined || ticket === undefined) return false;
    if (!this.#fits(ticket.seats)) {
      ticket.flow.notAccommodated();
      return false;
    }
    this.#remove(queue, ticket, nowMs);
    // The same work on fewer seats takes longer.
    if (ticket.finalSeats > this.#limit) {
      ticket.finalSeats = this.#limit;
      ticket.lingerMs = durationOf(ticket.finalWork, this.#limit);
    }
    this.#robin = queue.index;
    this.#series.dispatchR.value = this.#currentR / 1e8;
    this.#series.latestS.value = queue.nextR / 1e8;
    queue.nextR += ticket.totalWork;
    this.#execute(ticket, nowMs);
    this.#bound(queue);
    ticket.decided?.();
    return true;
  }

  /** A request that wants more seats than there are gets all of them. */
  #fits(seats: number): boolean {
    return seats > this.#limit ? this.#executing === 0 : this.#seatsInUse + seats <= this.#limit;
  }

  #execute(ticket: Ticket, nowMs: number): void {
    const { queue, flow, seats } = ticket;
    ticket.state = 'executing';
    ticket.startedMs = nowMs;
    this.#executing++;
    this.#seatsInUse += seats;
    if (queue !== undefined) {
      queue.executing++;
      queue.seatsInUse += seats;
      this.#demand += seats;
      this.#touch(queue);
    }
    flow.executing.value++;
    flow.seats.value += seats;
    this.#series.executing.add(nowMs, 1);
    this.#series.seats.add(nowMs, seats);
  }

  #release({ queue, flow, seats }: Ticket, nowMs: number): void {
    this.#seatsInUse -= seats;
    flow.seats.value -= seats;
    this.#series.seats.add(nowMs, -seats);
    if (queue === undefined) return;
    queue.seatsInUse -= seats;
    this.#demand -= seats;
    this.#leave(queue);
  }

  /** Removes a surplus queue once it is empty. */
  #leave(queue: Queue): void {
    const queues = this.#queues;
    if (queues.length <= (this.#queuing?.queues ?? 0) || queue.active || queue.seatsInUse > 0) return;
    if (queues[queue.index] !== queue) return;
    queues.splice(queue.index, 1);
    for (let i = queue.index; i < queues.length; i++) (queues[i] as Queue).index = i;
    if (this.#robin >= queue.index) this.#robin--;
  }

  /** No request starts in virtual time before it has arrived. */
  #bound(queue: Queue): void {
    const { oldest } = queue;
    if (oldest !== undefined && queue.nextR < oldest.arrivalR) queue.nextR = oldest.arrivalR;
  }

  #touch(queue: Queue): void {
    const active = queue.waiting.size > 0 || queue.executing > 0;
    if (active === queue.active) return;
    queue.active = active;
    this.#active += active ? 1 : -1;
  }
}
