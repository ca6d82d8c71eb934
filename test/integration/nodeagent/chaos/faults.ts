/** What goes wrong between an agent, its runtime and the API server, at random. */
import { deferred } from '#apimachinery/async/deferred.js';
import type { Clock } from '#apimachinery/clock.js';
import { TransportError } from '#http/client/transport-error.js';
import { CRIError, type CRIErrorCode } from '#nodeagent/cri/errors.js';
import type { CallInterceptor, ProcessLife } from '#nodeagent/testing/killable.js';
import type { Random } from '#test/integration/nodeagent/chaos/pods.js';

export interface FaultsOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Of each call, from 0 to 1. */
  readonly likelihood: number;
}

const codes: readonly CRIErrorCode[] = [
  'NotFound',
  'AlreadyExists',
  'InvalidArgument',
  'DeadlineExceeded',
  'Unavailable',
  'Cancelled',
  'Unimplemented',
  'Unknown',
];
/** Deadline of a call to the runtime. */
const deadlineMs = 120_000;
const maxDelayMs = 5000;
/** Of these the client takes `NotFound` for success. */
const idempotent = new Set(['stopContainer', 'removeContainer', 'stopPodSandbox', 'removePodSandbox', 'removeImage']);
const lists = new Set(['listPodSandbox', 'listContainers']);

export class Faults {
  readonly #options: FaultsOptions;
  /** What each listing told last. */
  readonly #told = new Map<string, readonly unknown[]>();
  /** None goes wrong any more. */
  isOver = false;
  /** Calls until an agent is killed in the midst of one. */
  #untilKill = Number.POSITIVE_INFINITY;
  count = 0;

  constructor(options: FaultsOptions) {
    this.#options = options;
  }

  /** The agent dies within so many of its calls. */
  killWithin(calls: number): void {
    this.#untilKill = Math.ceil(this.#options.random() * calls);
  }

  /** Of the runtime's events some are lost. */
  isTold(): boolean {
    return this.isOver || this.#options.random() > this.#options.likelihood;
  }

  runtime(life: ProcessLife): CallInterceptor {
    return async (method, call) => {
      this.#killBefore(life);
      if (life.isOver) return call();
      return this.#happens() ? this.#failRuntime(method, call) : call();
    };
  }

  api(life: ProcessLife): CallInterceptor {
    return async (_method, call) => {
      this.#killBefore(life);
      if (life.isOver) return call();
      return this.#happens() ? this.#failAPI(call) : call();
    };
  }

  /** Either before the call is heard of or, for it goes on, when it is. */
  #killBefore(life: ProcessLife): void {
    this.#untilKill -= 1;
    if (this.#untilKill > 0 || this.isOver) return;
    this.#untilKill = Number.POSITIVE_INFINITY;
    life.end();
    if (this.#options.random() < 0.5) throw new Error('killed');
  }

  #happens(): boolean {
    if (this.isOver || this.#options.random() >= this.#options.likelihood) return false;
    this.count++;
    return true;
  }

  #pick<T>(of: readonly T[]): T {
    return of[Math.floor(this.#options.random() * of.length)] as T;
  }

  async #failRuntime<T>(method: string, call: () => Promise<T>): Promise<T> {
    const { clock, random } = this.#options;
    if (lists.has(method) && random() < 0.4) return this.#lie(method, call);
    switch (this.#pick(['refuse', 'lose', 'delay', 'hang', 'late'] as const)) {
      case 'refuse': {
        // What a listing lacks and a status denies is gone: of those two one is honest at a time.
        const code = this.#pick(method.endsWith('Status') ? codes.slice(1) : codes);
        if (code === 'NotFound' && idempotent.has(method)) return undefined as T;
        throw new CRIError(code, `${method}: refused`);
      }
      case 'lose':
        await call().catch(() => undefined);
        throw new CRIError(this.#pick(['DeadlineExceeded', 'Unavailable', 'Unknown']), `${method}: lost`);
      case 'delay':
        await clock.sleep(random() * maxDelayMs);
        return call();
      case 'hang':
        await clock.sleep(deadlineMs);
        throw new CRIError('DeadlineExceeded', `${method}: no answer in time`);
      case 'late': {
        // The runtime acts about when the caller gives up.
        const over = deferred();
        clock.setTimer(() => void call().catch(() => undefined), deadlineMs + (random() - 0.5) * maxDelayMs);
        clock.setTimer(() => over.resolve(), deadlineMs);
        await over.promise;
        throw new CRIError('DeadlineExceeded', `${method}: no answer in time`);
      }
      default:
        throw new TypeError('not a fault');
    }
  }

  async #lie<T>(method: string, call: () => Promise<T>): Promise<T> {
    const { random } = this.#options;
    const listed = (await call()) as readonly unknown[];
    const before = this.#told.get(method) ?? [];
    this.#told.set(method, listed);
    const lies: readonly (readonly unknown[])[] = [
      [],
      [...listed, ...listed],
      listed.filter(() => random() < 0.5),
      // What was so a while ago.
      before,
    ];
    return this.#pick(lies) as T;
  }

  async #failAPI<T>(call: () => Promise<T>): Promise<T> {
    const { clock, random } = this.#options;
    switch (this.#pick(['refuse', 'lose', 'delay'] as const)) {
      case 'refuse':
        throw new TransportError('ConnectionRefused', 'nobody listens');
      case 'lose':
        await call();
        throw new TransportError('ConnectionReset', 'the connection broke');
      case 'delay':
        await clock.sleep(random() * maxDelayMs);
        return call();
      default:
        throw new TypeError('not a fault');
    }
  }
}
