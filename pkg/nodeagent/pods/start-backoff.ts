/**
 * When one pod's sandbox and containers may be started again after failures, and what its status says of each meanwhile.
 * Instants are those of the clock that is never set.
 */
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import type { KeyedBackoff } from '#apimachinery/backoff/keyed-backoff.js';
import type { Clock } from '#apimachinery/clock.js';
import { formatDuration } from '#apimachinery/duration.js';
import type { PodEvents } from '#nodeagent/events/pod-events.js';
import type { ContainerStart } from '#nodeagent/pods/plan.js';
import type { WaitingReason } from '#nodeagent/status/container-status.js';

/** Why a sandbox or a container does not start. */
export class StartError extends Error {
  override readonly name = 'StartError';
  /** Becomes the waiting reason of the container's status. */
  readonly reason: string;
  /** Instant of the clock that is never set (ms) before which it is not tried again. */
  readonly retryAt: number;
  /** The runtime's state has changed all the same. */
  readonly hasActed: boolean;

  constructor(reason: string, message: string, retryAt: number, options: { cause?: unknown; hasActed?: boolean } = {}) {
    super(message, options);
    this.reason = reason;
    this.retryAt = retryAt;
    this.hasActed = options.hasActed ?? false;
  }
}

/** Release 1.24 looks at a pod that failed to start again after this. */
export const startRetryMs = 10_000;

/** How long a failed pull is reported as an error before it is reported as a back-off. */
const pullErrorShownMs = 5000;
/** The sandbox waits like a container; no container has this name. */
const sandboxName = '';

const sandboxDelayMs = { soon: 10_000, initial: 1000, max: 300_000 };

export interface StartBackoffServices {
  readonly clock: Clock;
  readonly events: PodEvents;
  /** Of restarts, by `<UID of the pod>_<container>`. */
  readonly restarts: KeyedBackoff;
}

export class StartBackoff {
  readonly #services: StartBackoffServices;
  readonly #uid: string;
  readonly #waiting = new Map<string, WaitingReason>();
  /** Container name → instant before which it is not tried again. */
  readonly #retryAt = new Map<string, number>();
  /** Container name → instant of the last failed pull. */
  readonly #pullFailedAt = new Map<string, number>();
  /** Container name → the last end of it that was seen: as the runtime tells it, by the wall clock, and when that was. */
  readonly #ends = new Map<string, { readonly finishedAt: number; readonly at: number }>();
  /** The last sandbox: when it was started, and how long no other is to follow. */
  #sandbox = { startedAt: Number.NEGATIVE_INFINITY, delayMs: 0 };

  constructor(services: StartBackoffServices, uid: string) {
    this.#services = services;
    this.#uid = uid;
  }

  /** Container name → why it waits, for the pod's status. */
  get waiting(): ReadonlyMap<string, WaitingReason> {
    return this.#waiting;
  }

  /** Something has changed that may have been the cause: all may be tried at once. */
  reset(): void {
    this.#retryAt.clear();
  }

  /** Nothing will be started any more. */
  clear(): void {
    this.#waiting.clear();
  }

  /** The instant before which the sandbox is not to be created; 0 when it may be now. */
  sandboxNotBefore(): number {
    return this.#retryAt.get(sandboxName) ?? 0;
  }

  /** One that soon follows another is the last for a while, longer each time: something ends them or finds them unfit. */
  sandboxStarted(): void {
    const now = this.#services.clock.monotonic();
    const { startedAt, delayMs } = this.#sandbox;
    const soon = now - startedAt < delayMs + sandboxDelayMs.soon;
    const next = soon ? Math.min(Math.max(delayMs * 2, sandboxDelayMs.initial), sandboxDelayMs.max) : 0;
    this.#sandbox = { startedAt: now, delayMs: next };
    if (next > 0) this.#retryAt.set(sandboxName, now + next);
    else this.#retryAt.delete(sandboxName);
  }

  sandboxFailed(error: StartError): void {
    this.#retryAt.set(sandboxName, error.retryAt);
  }

  /** The instant before which a container is not to be started (its back-off, or the last failure's); 0 when it may be now. */
  notBefore(pod: Pod, start: ContainerStart): number {
    const { restarts, events } = this.#services;
    const { name } = start.container;
    if (start.previous !== undefined) {
      const key = this.#backOffKey(name);
      const until = restarts.waitUntil(key, this.#endedAt(name, start.previous.finishedAt));
      if (until > 0) {
        if (this.#waiting.get(name)?.reason !== 'CrashLoopBackOff') {
          events.container(pod, start.container, 'Warning', 'BackOff', 'Back-off restarting failed container');
        }
        const { name: podName, namespace } = pod.metadata;
        const delay = formatDuration(restarts.delay(key));
        this.#waiting.set(name, {
          reason: 'CrashLoopBackOff',
          message: `back-off ${delay} restarting failed container=${name} pod=${podName}_${namespace}(${this.#uid})`,
        });
        return until;
      }
    }
    this.#notePullBackOff(pod, start.container);
    return this.#retryAt.get(name) ?? 0;
  }

  /** A start is tried now: a restart lengthens the next back-off. */
  starting(start: ContainerStart): void {
    const { name } = start.container;
    if (start.previous === undefined) return;
    this.#services.restarts.next(this.#backOffKey(name), this.#endedAt(name, start.previous.finishedAt));
  }

  started(name: string): void {
    this.#waiting.delete(name);
    this.#retryAt.delete(name);
  }

  /** Notes a failed start; returns the instant of the next look. */
  failed(name: string, error: StartError): number {
    this.#waiting.set(name, { reason: error.reason, message: error.message });
    this.#retryAt.set(name, error.retryAt);
    if (error.reason !== 'ErrImagePull') return error.retryAt;
    const now = this.#services.clock.monotonic();
    this.#pullFailedAt.set(name, now);
    return Math.min(error.retryAt, now + pullErrorShownMs);
  }

  /** A pull that failed a moment ago is an error; later it is waited for the next. */
  #notePullBackOff(pod: Pod, container: Container): void {
    const { clock, events } = this.#services;
    const { name, image = '' } = container;
    const failedAt = this.#pullFailedAt.get(name);
    if (failedAt === undefined || clock.monotonic() - failedAt < pullErrorShownMs) return;
    this.#pullFailedAt.delete(name);
    const message = `Back-off pulling image "${image}"`;
    events.container(pod, container, 'Normal', 'BackOff', message);
    events.container(pod, container, 'Warning', 'Failed', 'Error: ImagePullBackOff');
    this.#waiting.set(name, { reason: 'ImagePullBackOff', message });
  }

  /** When a container ended that did so at `finishedAt` of the wall clock, which may be set at any time after. */
  #endedAt(name: string, finishedAt: number): number {
    const seen = this.#ends.get(name);
    if (seen?.finishedAt === finishedAt) return seen.at;
    const { clock } = this.#services;
    const at = clock.monotonic() - Math.max(0, clock.now() - finishedAt);
    this.#ends.set(name, { finishedAt, at });
    return at;
  }

  #backOffKey(container: string): string {
    return `${this.#uid}_${container}`;
  }
}
