/** Random faults between an agent, its runtime and the API server. */
import { deferred } from '#apimachinery/async/deferred.js';
import type { Clock } from '#apimachinery/clock.js';
import { TransportError } from '#http/client/transport-error.js';
import { CRIError, type CRIErrorCode } from '#nodeagent/cri/errors.js';
import type { CallInterceptor, ProcessLife } from '#nodeagent/testing/killable.js';
import type { Random } from '#test/integration/nodeagent/chaos/pods.js';

export interface FaultsOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** The fault probability of each call, from 0 to 1. */
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
/** The deadline of a runtime call. */
const deadlineMs = 120_000;
const maxDelayMs = 5000;
/** For these methods the client treats `NotFound` as success. */
const idempotent = new Set(['stopContainer', 'removeContainer', 'stopPodSandbox', 'removePodSandbox', 'removeImage']);
const lists = new Set(['listPodSandbox', 'listContainers']);

export class Faults {
  readonly #options: FaultsOptions;
  /** The previous result of each list method. */
  readonly #previousLists = new Map<string, readonly unknown[]>();
  /** Disables all faults. */
  isOver = false;
  /** The calls left until the agent is killed during one. */
  #untilKill = Number.POSITIVE_INFINITY;
  count = 0;

  constructor(options: FaultsOptions) {
    this.#options = options;
  }

  /** Kills the agent within this number of calls. */
  killWithin(calls: number): void {
    this.#untilKill = Math.ceil(this.#options.random() * calls);
  }

  /** Whether a runtime event is delivered; some are lost. */
  deliversEvent(): boolean {
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

  /** Kills the agent either before the call reaches its target or while it runs. */
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
    if (lists.has(method) && random() < 0.4) return this.#falsify(method, call);
    switch (this.#pick(['refuse', 'lose', 'delay', 'hang', 'late'] as const)) {
      case 'refuse': {
        // A container missing from a list and denied by its status is gone, so only one of the two may be false at a
        // time.
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
        // The runtime acts at about the caller's deadline.
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

  async #falsify<T>(method: string, call: () => Promise<T>): Promise<T> {
    const { random } = this.#options;
    const listed = (await call()) as readonly unknown[];
    const before = this.#previousLists.get(method) ?? [];
    this.#previousLists.set(method, listed);
    const lies: readonly (readonly unknown[])[] = [
      [],
      [...listed, ...listed],
      listed.filter(() => random() < 0.5),
      // An outdated list.
      before,
    ];
    return this.#pick(lies) as T;
  }

  async #failAPI<T>(call: () => Promise<T>): Promise<T> {
    const { clock, random } = this.#options;
    switch (this.#pick(['refuse', 'lose', 'delay'] as const)) {
      case 'refuse':
        throw new TransportError('ConnectionRefused', 'connection refused');
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
