/**
 * Numbers that the threads of one API server share: who lives, who has how many connections and requests. Each worker
 * writes only its own, so that what a dead one leaves behind can be cleared.
 */

const header = { bootstrapped: 0, stopping: 1, mainBeat: 2, accepted: 3, rotating: 4 } as const;
const headerLength = 8;
const slot = { beat: 0, serving: 1, connections: 2, readOnly: 3, mutating: 4 } as const;
const slotLength = 8;

export type Counted = 'connections' | 'readOnly' | 'mutating';

/** Zero is nobody. */
function holderOf(worker: number | undefined): number {
  return worker === undefined ? 1 : worker + 2;
}

/** Wakes those who wait in `letOthersAccept` at the latest after so long. */
const acceptWaitMs = 1;

export class ControlBlock {
  readonly memory: SharedArrayBuffer;
  readonly #numbers: Int32Array;
  readonly #workers: number;

  constructor(workers: number, memory = new SharedArrayBuffer((headerLength + workers * slotLength) * 4)) {
    this.memory = memory;
    this.#workers = workers;
    this.#numbers = new Int32Array(memory);
  }

  /** The cluster's own objects exist. */
  get bootstrapped(): boolean {
    return Atomics.load(this.#numbers, header.bootstrapped) === 1;
  }

  /** The server has been told to stop. */
  get stopping(): boolean {
    return Atomics.load(this.#numbers, header.stopping) === 1;
  }

  tell(what: 'bootstrapped' | 'stopping'): void {
    Atomics.store(this.#numbers, header[what], 1);
  }

  /** Only one thread at a time puts a log aside that all write: a lock for that worker; absent: for the main thread. */
  rotation(worker?: number): { tryLock(): boolean; unlock(): void } {
    const holder = holderOf(worker);
    return {
      tryLock: () => Atomics.compareExchange(this.#numbers, header.rotating, 0, holder) === 0,
      unlock: () => void Atomics.compareExchange(this.#numbers, header.rotating, holder, 0),
    };
  }

  /** Says that a thread is not held; absent: the main thread. */
  beat(worker?: number): void {
    Atomics.add(this.#numbers, this.#beatOf(worker), 1);
  }

  /** Another number than before when the thread has said so since. */
  beats(worker?: number): number {
    return Atomics.load(this.#numbers, this.#beatOf(worker));
  }

  /** Whether the worker accepts connections. */
  setServing(worker: number, serving: boolean): void {
    Atomics.store(this.#numbers, this.#at(worker, 'serving'), serving ? 1 : 0);
  }

  /** How many accept connections. */
  get serving(): number {
    let serving = 0;
    for (let worker = 0; worker < this.#workers; worker++) {
      serving += Atomics.load(this.#numbers, this.#at(worker, 'serving'));
    }
    return serving;
  }

  count(worker: number, what: Counted, by: 1 | -1): void {
    Atomics.add(this.#numbers, this.#at(worker, what), by);
  }

  /** What one worker has of it. */
  own(worker: number, what: Counted): number {
    return Atomics.load(this.#numbers, this.#at(worker, what));
  }

  /** What all workers have of it. */
  total(what: Counted): number {
    let sum = 0;
    for (let worker = 0; worker < this.#workers; worker++) sum += this.own(worker, what);
    return sum;
  }

  /** Nothing is left of what a worker has counted. */
  clear(worker: number): void {
    this.setServing(worker, false);
    this.rotation(worker).unlock();
    for (const what of ['connections', 'readOnly', 'mutating'] as const) {
      Atomics.store(this.#numbers, this.#at(worker, what), 0);
    }
  }

  /**
   * To be called by a worker that has accepted a connection. All free workers hear of a new one, and the first takes as
   * many as there are: one that has more than another pauses for a moment, at most 1 ms, so that the other comes first.
   */
  letOthersAccept(worker: number): void {
    const numbers = this.#numbers;
    const seen = Atomics.add(numbers, header.accepted, 1) + 1;
    Atomics.notify(numbers, header.accepted);
    const own = this.own(worker, 'connections');
    for (let other = 0; other < this.#workers; other++) {
      const serves = other !== worker && Atomics.load(numbers, this.#at(other, 'serving')) === 1;
      if (!serves || this.own(other, 'connections') >= own - 1) continue;
      Atomics.wait(numbers, header.accepted, seen, acceptWaitMs);
      return;
    }
  }

  #beatOf(worker: number | undefined): number {
    return worker === undefined ? header.mainBeat : this.#at(worker, 'beat');
  }

  #at(worker: number, what: keyof typeof slot): number {
    return headerLength + worker * slotLength + slot[what];
  }
}
