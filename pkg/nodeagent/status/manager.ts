/** Brings the statuses of this node's pods to the API: only what changed, one write per pod at a time. */
import { pods } from '#api/core/v1/resources.gen.js';
import type { ContainerStatus, Pod, PodCondition, PodStatus } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isConflict, isNotFound, statusOf } from '#apimachinery/errors/status.js';
import type { Client, ResourceClient } from '#client/client.js';
import type { TokenBucket } from '#client/token-bucket.js';
import { done, type Outcome, retry, terminal } from '#client/workqueue/outcome.js';
import { WorkQueue } from '#client/workqueue/queue.js';
import { runWorkers } from '#client/workqueue/workers.js';
import type { Logger } from '#daemon/log/logger.js';
import { objectAttributes, type Tracer } from '#daemon/tracing/tracer.js';

export interface StatusManagerOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  /** The pod as last seen from the API. Of a static pod, by its own UID, its image there. */
  readonly getPod: (uid: string) => Pod | undefined;
  /** The rate at which it is told that pods are still being started; absent: there is no limit. */
  readonly progress?: Pick<TokenBucket, 'tryTake'>;
  /** Of the writes; absent: nothing is traced. */
  readonly tracer?: Pick<Tracer, 'begin'> | undefined;
}

/** Writes under way at once. */
const workers = 4;
/** After which a word of progress that had to wait is thought of again; mostly there is a better one by then. */
const progressRetryMs = 1000;
/** Answers to what is wrong in itself: nothing but another status helps. */
const invalidCodes = new Set([400, 413, 422]);
/** Answers that a second try of the same may well not get. */
const passingCodes = new Set([401, 408, 409, 429]);

interface Entry {
  status: PodStatus;
  /** What the API holds as far as this manager knows: the answer of its last write. */
  written: Pod | undefined;
  waiters: (() => void)[];
}

export class StatusManager {
  readonly #pods: ResourceClient<Pod>;
  readonly #log: Logger;
  readonly #getPod: (uid: string) => Pod | undefined;
  readonly #progress: Pick<TokenBucket, 'tryTake'> | undefined;
  readonly #queue: WorkQueue;
  readonly #entries = new Map<string, Entry>();
  readonly #tracer: StatusManagerOptions['tracer'];
  #stopped = false;

  constructor(options: StatusManagerOptions) {
    this.#pods = options.client.resource(pods);
    this.#log = options.log;
    this.#getPod = options.getPod;
    this.#progress = options.progress;
    this.#tracer = options.tracer;
    this.#queue = new WorkQueue({ clock: options.clock });
  }

  /** Writes until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await runWorkers(
      { queue: this.#queue, concurrency: workers, reconcile: (uid) => this.#write(uid), log: this.#log },
      signal,
    );
    // Nothing is written any more: nobody is to wait for it.
    this.#stopped = true;
    for (const entry of this.#entries.values()) this.#release(entry);
  }

  /** The status to report for a pod; written when it differs from what the API has. */
  set(uid: string, status: PodStatus): void {
    const entry = this.#entries.get(uid);
    if (entry === undefined) this.#entries.set(uid, { status, written: undefined, waiters: [] });
    else entry.status = status;
    if (this.#patchFor(uid) !== undefined) this.#queue.add(uid);
  }

  get(uid: string): PodStatus | undefined {
    return this.#entries.get(uid)?.status;
  }

  /** The pod with the newest status: what was set here, and of all else what the API has. */
  latest(pod: Pod): Pod {
    const status = this.get(pod.metadata.uid ?? '');
    const foreign = this.#foreign(pod);
    if (status === undefined) return foreign === pod.status ? pod : { ...pod, status: foreign };
    return { ...pod, status: mergedStatus(foreign, status) };
  }

  /** What the API has. What it has of a static pod's image is history: that pod may run again whatever it came to. */
  #foreign({ metadata: { uid = '' }, status = {} }: Pod): PodStatus {
    const seen = this.#getPod(uid);
    if (seen === undefined || seen.metadata.uid === uid) return status;
    const { phase: _, reason: __, message: ___, ...rest } = seen.status ?? {};
    return { ...rest, ...status };
  }

  /** Somebody else may have written over it. */
  reconcile(uid: string): void {
    if (this.#entries.has(uid) && this.#patchFor(uid) !== undefined) this.#queue.add(uid);
  }

  forget(uid: string): void {
    const entry = this.#entries.get(uid);
    this.#entries.delete(uid);
    for (const resolve of entry?.waiters ?? []) resolve();
  }

  /** Resolves when the API has the status set last or has refused it, or the pod is gone from it. */
  async flush(uid: string): Promise<void> {
    const entry = this.#entries.get(uid);
    if (this.#stopped || entry === undefined || this.#patchFor(uid) === undefined) return;
    this.#queue.add(uid);
    await new Promise<void>((resolve) => entry.waiters.push(resolve));
  }

  #current(uid: string): Pod | undefined {
    const seen = this.#getPod(uid);
    const written = this.#entries.get(uid)?.written;
    if (seen === undefined && written !== undefined && written.metadata.uid !== uid) return undefined;
    if (seen === undefined || written === undefined) return written ?? seen;
    // The image of a static pod was made anew.
    if (written.metadata.uid !== seen.metadata.uid) return seen;
    // Versions are compared only for which of two answers of one server is newer.
    return newer(written, seen) ? written : seen;
  }

  #patchFor(uid: string): Record<string, unknown> | undefined {
    const entry = this.#entries.get(uid);
    const pod = this.#current(uid);
    return entry === undefined || pod === undefined ? undefined : statusPatch(pod.status, entry.status);
  }

  async #write(uid: string): Promise<Outcome> {
    const entry = this.#entries.get(uid);
    const pod = this.#current(uid);
    const patch = this.#patchFor(uid);
    if (entry === undefined || pod === undefined || patch === undefined) {
      this.#release(entry);
      return done;
    }
    if (entry.waiters.length === 0 && isProgress(entry.status) && this.#progress?.tryTake() === false) {
      this.#queue.addAfter(uid, progressRetryMs);
      return done;
    }
    const { name = '', namespace = '', uid: inAPI = uid } = pod.metadata;
    try {
      entry.written = await this.#traced(pod, () =>
        this.#pods.patch(
          name,
          // The UID refuses the write to another pod of the same name.
          { metadata: { uid: inAPI }, status: patch },
          { type: 'strategic', namespace, subresource: 'status' },
        ),
      );
    } catch (error) {
      if (inAPI !== uid && (isNotFound(error) || isConflict(error))) {
        // Only the image is gone; the next one gets the status.
        entry.written = undefined;
        this.#release(entry);
        return isConflict(error) ? retry(error) : done;
      }
      // By the UID another pod is in its place; until the informer says so, too, it may be another conflict.
      const isReplaced = isConflict(error) && this.#getPod(uid) === undefined;
      if (!isNotFound(error) && !isReplaced) return this.#failed(entry, error);
      this.forget(uid);
      return done;
    }
    if (this.#patchFor(uid) !== undefined) this.#queue.add(uid);
    else this.#release(entry);
    return done;
  }

  #traced(pod: Pod, write: () => Promise<Pod>): Promise<Pod> {
    const { name = '', namespace = '' } = pod.metadata;
    const span = this.#tracer?.begin('Report pod status', `${namespace}/${name}`);
    if (span === undefined) return write();
    const attributes = objectAttributes('pods', pod.metadata);
    return span.within(write).then(
      (written) => {
        span.end({ attributes: { ...attributes, phase: written.status?.phase ?? '' }, failed: false });
        return written;
      },
      (error: unknown) => {
        span.end({ attributes, failed: true, message: messageOf(error) });
        throw error;
      },
    );
  }

  /** What the API refuses holds nobody up: a pod that is to go would otherwise never do. */
  #failed(entry: Entry, error: unknown): Outcome {
    const code = statusOf(error)?.code ?? 0;
    const isRefused = code >= 400 && code < 500 && !passingCodes.has(code);
    if (isRefused) this.#release(entry);
    return invalidCodes.has(code) ? terminal(error) : retry(error);
  }

  #release(entry: Entry | undefined): void {
    for (const resolve of entry?.waiters.splice(0) ?? []) resolve();
  }
}

function newer(a: Pod, b: Pod): boolean {
  const [left = '0', right = '0'] = [a.metadata.resourceVersion, b.metadata.resourceVersion];
  return left.length === right.length ? left > right : left.length > right.length;
}

/** Fields that the node agent owns; all others of a status belong to other writers. */
const ownedFields = [
  'phase',
  'message',
  'reason',
  'hostIP',
  'podIP',
  'podIPs',
  'startTime',
  'initContainerStatuses',
  'containerStatuses',
  'ephemeralContainerStatuses',
  'qosClass',
] as const satisfies readonly (keyof PodStatus)[];

/** A container's state and last state are always there, if only empty, in what the API server answers. */
function sameField(from: unknown, to: unknown): boolean {
  const complete = (value: unknown): unknown =>
    Array.isArray(value) && value.some(isContainerStatus)
      ? value.map((status: ContainerStatus) => ({ state: {}, lastState: {}, ...status }))
      : value;
  return semanticEqual(complete(from), complete(to));
}

function isContainerStatus(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'restartCount' in value;
}

/** Both statuses together: `own` is what the node agent says; conditions of other types belong to other writers. */
function mergedStatus(foreign: PodStatus | undefined, own: PodStatus): PodStatus {
  const types = new Set(own.conditions?.map(({ type }) => type));
  const others = foreign?.conditions?.filter(({ type }) => !types.has(type)) ?? [];
  return { ...foreign, ...own, conditions: [...others, ...(own.conditions ?? [])] };
}

function changedConditions(from: readonly PodCondition[], to: readonly PodCondition[]): PodCondition[] {
  return to.filter((condition) => {
    const old = from.find((c) => c.type === condition.type);
    return old === undefined || !semanticEqual({ ...old, lastProbeTime: undefined }, condition);
  });
}

/**
 * What turns `from` into `to`, undefined when nothing differs. Conditions merge by type, so only the changed ones are
 * in it; a condition that lost its reason says so with null.
 */
export function statusPatch(from: PodStatus | undefined, to: PodStatus): Record<string, unknown> | undefined {
  const patch: Record<string, unknown> = {};
  for (const field of ownedFields) {
    if (sameField(from?.[field], to[field])) continue;
    if (to[field] === undefined && from?.[field] === undefined) continue;
    // Lists of statuses have no merge key and are replaced; addresses merge by `ip` unless told otherwise.
    if (field === 'podIPs' && to.podIPs !== undefined && from?.podIPs !== undefined) {
      patch[field] = [{ $patch: 'replace' }, ...to.podIPs];
    } else patch[field] = to[field] ?? null;
  }
  const conditions = changedConditions(from?.conditions ?? [], to.conditions ?? []);
  if (conditions.length > 0) {
    patch['conditions'] = conditions.map((condition) => {
      const old = from?.conditions?.find((c) => c.type === condition.type);
      const cleared: Record<string, null> = {};
      if (old?.reason !== undefined && condition.reason === undefined) cleared['reason'] = null;
      if (old?.message !== undefined && condition.message === undefined) cleared['message'] = null;
      return { ...condition, ...cleared };
    });
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

const starting = new Set(['ContainerCreating', 'PodInitializing']);

/**
 * True of a status that only tells that its pod is still being started, which another one will soon take the place of:
 * everything still waits for its turn, and nothing has gone wrong. Where writes are rare, it can wait for those that
 * clients may wait for. Pure.
 */
function isProgress({ phase, containerStatuses = [], initContainerStatuses = [], reason }: PodStatus): boolean {
  if (phase !== 'Pending' || reason !== undefined) return false;
  const isStarting = ({ state, restartCount }: ContainerStatus) =>
    restartCount === 0 && starting.has(state?.waiting?.reason ?? '');
  return [...initContainerStatuses, ...containerStatuses].every(isStarting);
}
