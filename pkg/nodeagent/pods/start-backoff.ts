/** Back-off after failed starts of one pod's sandbox and containers, and waiting reasons. Instants: monotonic ms. */
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import type { KeyedBackoff } from '#apimachinery/backoff/keyed-backoff.js';
import type { Clock } from '#apimachinery/clock.js';
import { formatDuration } from '#apimachinery/duration.js';
import type { PodEvents } from '#nodeagent/events/pod-events.js';
import type { ContainerStart } from '#nodeagent/pods/plan.js';
import type { WaitingReason } from '#nodeagent/status/container-status.js';

/** A failed start of a sandbox or a container. */
export class StartError extends Error {
  override readonly name = 'StartError';
  /** Becomes the waiting reason of the container's status. */
  readonly reason: string;
  /** Earliest next try (monotonic ms). */
  readonly retryAt: number;
  /** The runtime's state may have changed despite the failure. */
  readonly hasActed: boolean;

  constructor(reason: string, message: string, retryAt: number, options: { cause?: unknown; hasActed?: boolean } = {}) {
    super(message, options);
    this.reason = reason;
    this.retryAt = retryAt;
    this.hasActed = options.hasActed ?? false;
  }
}

/** Release 1.24 retries a pod that failed to start after this time. */
export const startRetryMs = 10_000;

/** How long a failed pull is reported as an error before it is reported as a back-off. */
const pullErrorShownMs = 5000;
/** Key of the sandbox; no container has this name. */
const sandboxName = '';

const sandboxDelayMs = { soon: 10_000, initial: 1000, max: 300_000 };

export interface StartBackoffServices {
  readonly clock: Clock;
  readonly events: PodEvents;
  /** Back-off of restarts, by `<pod UID>_<container>`. */
  readonly restarts: KeyedBackoff;
}

export class StartBackoff {
  readonly #services: StartBackoffServices;
  readonly #uid: string;
  readonly #waiting = new Map<string, WaitingReason>();
  /** Container name → earliest next try. */
  readonly #retryAt = new Map<string, number>();
  /** Container name → time of the last failed pull. */
  readonly #pullFailedAt = new Map<string, number>();
  /** Container name → its last exit: the runtime's wall-clock time, and the monotonic time derived from it. */
  readonly #exits = new Map<string, { readonly finishedAt: number; readonly at: number }>();
  /** The last sandbox: its start, and the minimum delay until the next one. */
  #sandbox = { startedAt: Number.NEGATIVE_INFINITY, delayMs: 0 };

  constructor(services: StartBackoffServices, uid: string) {
    this.#services = services;
    this.#uid = uid;
  }

  /** Container name → waiting reason, for the pod's status. */
  get waiting(): ReadonlyMap<string, WaitingReason> {
    return this.#waiting;
  }

  /** Allows an immediate retry, since a cause of the failures may be gone. */
  reset(): void {
    this.#retryAt.clear();
  }

  /** Drops all waiting reasons: nothing will start any more. */
  clear(): void {
    this.#waiting.clear();
  }

  /** Earliest time to create the sandbox; 0 for now. */
  sandboxNotBefore(): number {
    return this.#retryAt.get(sandboxName) ?? 0;
  }

  /** Doubles the delay if sandboxes follow each other too soon: something ends them or makes them unusable. */
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

  /** Earliest time to start a container, from its restart back-off or its last failure; 0 for now. */
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

  /** Records a start: a restart lengthens the next back-off. */
  starting(start: ContainerStart): void {
    const { name } = start.container;
    if (start.previous === undefined) return;
    this.#services.restarts.next(this.#backOffKey(name), this.#endedAt(name, start.previous.finishedAt));
  }

  started(name: string): void {
    this.#waiting.delete(name);
    this.#retryAt.delete(name);
  }

  /** Records a failed start; returns when to plan again. */
  failed(name: string, error: StartError): number {
    this.#waiting.set(name, { reason: error.reason, message: error.message });
    this.#retryAt.set(name, error.retryAt);
    if (error.reason !== 'ErrImagePull') return error.retryAt;
    const now = this.#services.clock.monotonic();
    this.#pullFailedAt.set(name, now);
    return Math.min(error.retryAt, now + pullErrorShownMs);
  }

  /** A recent pull failure is reported as an error, an older one as a back-off. */
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

  /** The monotonic time of a container's exit. Computed once per exit, since the wall clock may be set later. */
  #endedAt(name: string, finishedAt: number): number {
    const exit = this.#exits.get(name);
    if (exit?.finishedAt === finishedAt) return exit.at;
    const { clock } = this.#services;
    const at = clock.monotonic() - Math.max(0, clock.now() - finishedAt);
    this.#exits.set(name, { finishedAt, at });
    return at;
  }

  #backOffKey(container: string): string {
    return `${this.#uid}_${container}`;
  }
}
