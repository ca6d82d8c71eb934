/**
 * What an agent in a test has of the world, and loses at once when it is killed: as the end of a process does, wherever it
 * is, without a word. What it had asked for goes on; it never hears of it.
 */
import type { Clock, Timer } from '#apimachinery/clock.js';
import type { Transport, TransportRequest, TransportResponse } from '#client/rest/transport.js';
import type { CRI, RuntimeEvent } from '#nodeagent/cri/cri.js';

const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

/** Lasts until it is ended. */
export class Life {
  readonly #end = new AbortController();

  get isOver(): boolean {
    return this.#end.signal.aborted;
  }

  end(): void {
    this.#end.abort();
  }

  /** Aborts at its end. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  onEnd(handler: () => void): void {
    this.#end.signal.addEventListener('abort', handler, { once: true });
  }

  /** What comes of it, while there is life; else nothing ever does. */
  async among<T>(work: () => Promise<T>): Promise<T> {
    if (this.isOver) return never();
    try {
      const result = await work();
      return this.isOver ? await never() : result;
    } catch (error) {
      if (this.isOver) return never();
      throw error;
    }
  }
}

export class MortalClock implements Clock {
  readonly #clock: Clock;
  readonly #life: Life;

  constructor(clock: Clock, life: Life) {
    this.#clock = clock;
    this.#life = life;
  }

  now(): number {
    return this.#clock.now();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  setTimer(fn: () => void, ms: number): Timer {
    if (this.#life.isOver) return { cancel: () => undefined };
    return this.#clock.setTimer(() => {
      if (!this.#life.isOver) fn();
    }, ms);
  }

  sleep(...args: Parameters<Clock['sleep']>): Promise<void> {
    return this.#life.among(() => this.#clock.sleep(...args));
  }
}

/** Stands between a caller and each of its calls: may throw, wait, or call and then fail. */
export type Meddler = <T>(method: string, call: () => Promise<T>) => Promise<T>;

/** @param isTold Whether the agent hears of an event. */
export function mortalCRI(cri: CRI, life: Life, meddle: Meddler, isTold: (event: RuntimeEvent) => boolean): CRI {
  const subscribe: CRI['subscribe'] = (handler) => {
    const unsubscribe = cri.subscribe({
      onEvent(event) {
        if (!life.isOver && isTold(event)) handler.onEvent(event);
      },
      onConnected(connected) {
        if (!life.isOver) handler.onConnected(connected);
      },
    });
    life.onEnd(unsubscribe);
    return unsubscribe;
  };
  return new Proxy(cri, {
    get(target, name: keyof CRI & string) {
      if (name === 'subscribe') return subscribe;
      const method = target[name] as (...args: unknown[]) => Promise<unknown>;
      return (...args: unknown[]) => life.among(() => meddle(name, () => method.apply(target, args)));
    },
  });
}

export class MortalTransport implements Transport {
  readonly #inner: Transport;
  readonly #life: Life;
  readonly #meddle: Meddler;

  constructor(inner: Transport, life: Life, meddle: Meddler) {
    this.#inner = inner;
    this.#life = life;
    this.#meddle = meddle;
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    const { signal: dead } = this.#life;
    const signal = request.signal === undefined ? dead : AbortSignal.any([dead, request.signal]);
    return this.#life.among(async () => {
      const call = () => this.#inner.request({ ...request, signal });
      const response = await this.#meddle(request.method, call);
      return { ...response, body: this.#body(response.body) };
    });
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  async *#body(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const iterator = body[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await this.#life.among(() => iterator.next());
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      await iterator.return?.();
    }
  }
}
