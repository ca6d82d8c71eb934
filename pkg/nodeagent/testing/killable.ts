/**
 * Wrappers of a test agent's dependencies that stop working at once when the agent is killed, as at the end of a
 * process. Calls in progress continue, but the agent never gets their results.
 */
import type { Clock, Timer } from '#apimachinery/clock.js';
import type { Transport, TransportRequest, TransportResponse } from '#client/rest/transport.js';
import type { CRI, RuntimeEvent } from '#nodeagent/cri/cri.js';

const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

/** The lifetime of a simulated process. */
export class ProcessLife {
  readonly #end = new AbortController();

  get isOver(): boolean {
    return this.#end.signal.aborted;
  }

  end(): void {
    this.#end.abort();
  }

  /** Aborts when the process is killed. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  onEnd(handler: () => void): void {
    this.#end.signal.addEventListener('abort', handler, { once: true });
  }

  /** The work's result while the process lives; otherwise never settles. */
  async whileAlive<T>(work: () => Promise<T>): Promise<T> {
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

export class KillableClock implements Clock {
  readonly #clock: Clock;
  readonly #life: ProcessLife;

  constructor(clock: Clock, life: ProcessLife) {
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
    return this.#life.whileAlive(() => this.#clock.sleep(...args));
  }
}

/** Intercepts each call: may throw, wait, or execute the call and then fail. */
export type CallInterceptor = <T>(method: string, call: () => Promise<T>) => Promise<T>;

/** `isTold`: whether the agent gets an event. */
export function killableCRI(
  cri: CRI,
  life: ProcessLife,
  intercept: CallInterceptor,
  isDelivered: (event: RuntimeEvent) => boolean,
): CRI {
  const subscribe: CRI['subscribe'] = (handler) => {
    const unsubscribe = cri.subscribe({
      onEvent(event) {
        if (!life.isOver && isDelivered(event)) handler.onEvent(event);
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
      return (...args: unknown[]) => life.whileAlive(() => intercept(name, () => method.apply(target, args)));
    },
  });
}

export class KillableTransport implements Transport {
  readonly #inner: Transport;
  readonly #life: ProcessLife;
  readonly #intercept: CallInterceptor;

  constructor(inner: Transport, life: ProcessLife, intercept: CallInterceptor) {
    this.#inner = inner;
    this.#life = life;
    this.#intercept = intercept;
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    const { signal: dead } = this.#life;
    const signal = request.signal === undefined ? dead : AbortSignal.any([dead, request.signal]);
    return this.#life.whileAlive(async () => {
      const call = () => this.#inner.request({ ...request, signal });
      const response = await this.#intercept(request.method, call);
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
        const next = await this.#life.whileAlive(() => iterator.next());
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      await iterator.return?.();
    }
  }
}
