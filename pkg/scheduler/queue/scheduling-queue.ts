/**
 * Pods waiting for a node, in three queues: active (ready, by priority and age), backoff (ready when the back-off ends)
 * and unschedulable (ready when an event could help).
 */
import type { Pod } from '#api/core/v1/types.gen.js';
import { exponentialDelayMs } from '#apimachinery/backoff/backoff.js';
import type { Clock, Timer } from '#apimachinery/clock.js';
import { KeyedHeap } from '#apimachinery/collections/keyed-heap.js';
import type { ClusterEvent } from '#scheduler/cluster/events.js';
import { type PodInfo, podInfo, podKey } from '#scheduler/cluster/pod-info.js';
import type { QueueSort, SortablePod } from '#scheduler/framework/plugin.js';
import type { QueueName } from '#scheduler/metrics/metrics.js';

/** Higher priority first; among equals the pod that has waited longest. */
export function byPriority(a: SortablePod, b: SortablePod): boolean {
  return a.info.priority !== b.info.priority ? a.info.priority > b.info.priority : a.since < b.since;
}

export interface QueuedPod {
  readonly info: PodInfo;
  /** When the pod entered the queue for this attempt; ms of the monotonic clock, as are all times here. */
  readonly since: number;
  /** When it first entered the queue; ms. */
  readonly firstSeen: number;
  readonly attempts: number;
  /** End of the back-off; ms. */
  readonly retryAt: number;
  /** Events that could help; empty before the first attempt. */
  readonly events: ReadonlySet<ClusterEvent>;
  /** Plugins that rejected it in the last attempt. */
  readonly rejectedBy: ReadonlySet<string>;
}

export interface QueueOptions {
  clock: Clock;
  /** Order of the active queue; default: by priority, then age. */
  before?: QueueSort;
  /** First back-off, doubled with each attempt; ms. */
  initialBackoffMs?: number;
  maxBackoffMs?: number;
  /** A pod is retried after this long even without an event; ms. */
  maxUnschedulableMs?: number;
  /** Called for each pod that enters one of the queues, with the event that moved it. */
  onIncoming?: (queue: QueueName, event: string) => void;
}

const noPlugins: ReadonlySet<string> = new Set();

export class SchedulingQueue {
  readonly #clock: Clock;
  readonly #initialBackoffMs: number;
  readonly #maxBackoffMs: number;
  readonly #maxUnschedulableMs: number;
  readonly #onIncoming: (queue: QueueName, event: string) => void;
  readonly #active: KeyedHeap<QueuedPod>;
  readonly #backoff = new KeyedHeap<QueuedPod>({ keyOf: (p) => p.info.key, before: (a, b) => a.retryAt < b.retryAt });
  readonly #unschedulable = new Map<string, QueuedPod>();
  /** Event → keys of the unschedulable pods that it could help. */
  readonly #waitingFor = new Map<ClusterEvent, Set<string>>();
  /** The pods being scheduled, with the events that happened meanwhile, so that a rejected pod does not miss them. */
  readonly #inFlight = new Map<string, Set<ClusterEvent>>();
  #backoffTimer: Timer | undefined;
  #flushTimer: Timer | undefined;
  #wake: (() => void) | undefined;
  #closed = false;

  constructor(options: QueueOptions) {
    this.#clock = options.clock;
    this.#active = new KeyedHeap<QueuedPod>({ keyOf: (p) => p.info.key, before: options.before ?? byPriority });
    this.#initialBackoffMs = options.initialBackoffMs ?? 1000;
    this.#maxBackoffMs = options.maxBackoffMs ?? 10_000;
    this.#maxUnschedulableMs = options.maxUnschedulableMs ?? 300_000;
    this.#onIncoming = options.onIncoming ?? (() => undefined);
  }

  get sizes(): { active: number; backoff: number; unschedulable: number } {
    return { active: this.#active.size, backoff: this.#backoff.size, unschedulable: this.#unschedulable.size };
  }

  /** Keys of the pods that are ready for an attempt or in one. */
  *unfinished(): Generator<string> {
    for (const { info } of this.#active.values()) yield info.key;
    yield* this.#inFlight.keys();
  }

  /** All waiting pods, in no order. */
  *waiting(): Generator<QueuedPod> {
    yield* this.#active.values();
    yield* this.#backoff.values();
    yield* this.#unschedulable.values();
  }

  add(pod: Pod): void {
    const key = podKey(pod);
    if (this.#inFlight.has(key)) return;
    this.#drop(key);
    const now = this.#clock.monotonic();
    const first = { since: now, firstSeen: now, attempts: 0, retryAt: 0, events: new Set<ClusterEvent>() };
    this.#activate({ info: podInfo(pod), ...first, rejectedBy: noPlugins }, 'PodAdd');
  }

  /** Updates a waiting pod; a change of its spec is worth another attempt. */
  update(pod: Pod, specChanged: boolean): void {
    const key = podKey(pod);
    if (this.#inFlight.has(key)) return;
    const waiting = this.#active.get(key) ?? this.#backoff.get(key) ?? this.#unschedulable.get(key);
    if (waiting === undefined) return this.add(pod);
    const updated = { ...waiting, info: podInfo(pod) };
    if (this.#active.get(key) !== undefined) this.#active.push(updated);
    else if (this.#backoff.get(key) !== undefined) this.#backoff.push(updated);
    else if (specChanged) {
      this.#removeUnschedulable(waiting);
      this.#retry(updated, 'PodUpdate');
    } else this.#unschedulable.set(key, updated);
  }

  remove(pod: Pod): void {
    this.#drop(podKey(pod));
  }

  /** The next pod to schedule; undefined once the queue is closed. The caller must follow up with `done` or `reject`. */
  async next(): Promise<QueuedPod | undefined> {
    while (!this.#closed) {
      const pod = this.#active.pop();
      if (pod !== undefined) {
        this.#inFlight.set(pod.info.key, new Set());
        return { ...pod, attempts: pod.attempts + 1 };
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return undefined;
  }

  /** Ends the attempt of a pod that needs no further one. */
  done(pod: QueuedPod): void {
    this.#inFlight.delete(pod.info.key);
  }

  /**
   * Queues the pod after a failed attempt. `events`: what could help; `current`: the pod's latest version, undefined if it
   * is gone or bound; `rejectedBy`: the plugins that rejected it.
   */
  reject(
    pod: QueuedPod,
    events: ReadonlySet<ClusterEvent>,
    current: Pod | undefined,
    rejectedBy: ReadonlySet<string> = noPlugins,
  ): void {
    const missedEvents = this.#inFlight.get(pod.info.key);
    this.#inFlight.delete(pod.info.key);
    if (current === undefined || this.#closed) return;
    const now = this.#clock.monotonic();
    const waiting: QueuedPod = {
      ...pod,
      info: podInfo(current),
      since: now,
      events,
      rejectedBy,
      retryAt: now + exponentialDelayMs(pod.attempts - 1, this.#initialBackoffMs, this.#maxBackoffMs),
    };
    const helped = events.size === 0 || [...(missedEvents ?? [])].some((event) => events.has(event));
    if (helped) return this.#retry(waiting, 'ScheduleAttemptFailure');
    this.#unschedulable.set(waiting.info.key, waiting);
    for (const event of events) {
      const keys = this.#waitingFor.get(event);
      if (keys === undefined) this.#waitingFor.set(event, new Set([waiting.info.key]));
      else keys.add(waiting.info.key);
    }
    this.#onIncoming('unschedulable', 'ScheduleAttemptFailure');
    this.#armFlush();
  }

  /** Retries the pods that one of the events could help; `helps` can narrow them down. */
  notify(events: readonly ClusterEvent[], helps: (pod: PodInfo) => boolean = () => true): void {
    for (const missedEvents of this.#inFlight.values()) for (const event of events) missedEvents.add(event);
    for (const event of events) {
      for (const key of this.#waitingFor.get(event) ?? []) {
        const pod = this.#unschedulable.get(key);
        if (pod === undefined || !helps(pod.info)) continue;
        this.#removeUnschedulable(pod);
        this.#retry(pod, event);
      }
    }
  }

  close(): void {
    this.#closed = true;
    this.#backoffTimer?.cancel();
    this.#flushTimer?.cancel();
    this.#wake?.();
  }

  #retry(pod: QueuedPod, event: string): void {
    if (pod.retryAt <= this.#clock.monotonic()) return this.#activate(pod, event);
    this.#backoff.push(pod);
    this.#onIncoming('backoff', event);
    this.#armBackoff();
  }

  #activate(pod: QueuedPod, event: string): void {
    this.#active.push(pod);
    this.#onIncoming('active', event);
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  #drop(key: string): void {
    this.#active.remove(key);
    this.#backoff.remove(key);
    const unschedulable = this.#unschedulable.get(key);
    if (unschedulable !== undefined) this.#removeUnschedulable(unschedulable);
  }

  /** Removes the pod from the unschedulable pods. */
  #removeUnschedulable({ events, info }: QueuedPod): void {
    this.#unschedulable.delete(info.key);
    for (const event of events) this.#waitingFor.get(event)?.delete(info.key);
  }

  #armBackoff(): void {
    this.#backoffTimer?.cancel();
    const first = this.#backoff.peek();
    if (first === undefined || this.#closed) return;
    this.#backoffTimer = this.#clock.setTimer(() => {
      for (let pod = this.#backoff.peek(); pod !== undefined && pod.retryAt <= this.#clock.monotonic(); ) {
        this.#backoff.pop();
        this.#activate(pod, 'BackoffComplete');
        pod = this.#backoff.peek();
      }
      this.#armBackoff();
    }, first.retryAt - this.#clock.monotonic());
  }

  /** One timer for the pod that has waited longest. */
  #armFlush(): void {
    if (this.#flushTimer !== undefined || this.#closed) return;
    let oldest: number | undefined;
    for (const pod of this.#unschedulable.values()) oldest = Math.min(oldest ?? pod.since, pod.since);
    if (oldest === undefined) return;
    this.#flushTimer = this.#clock.setTimer(
      () => {
        this.#flushTimer = undefined;
        const limit = this.#clock.monotonic() - this.#maxUnschedulableMs;
        for (const pod of [...this.#unschedulable.values()]) {
          if (pod.since > limit) continue;
          this.#removeUnschedulable(pod);
          this.#retry(pod, 'UnschedulableTimeout');
        }
        this.#armFlush();
      },
      Math.max(1000, oldest + this.#maxUnschedulableMs - this.#clock.monotonic()),
    );
  }
}
