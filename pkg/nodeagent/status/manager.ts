/** Writes the statuses of this node's pods to the API: only changes, and one write per pod at a time. */
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
  /** The last version of the pod in the API. For a static pod's UID: its mirror pod. */
  readonly getPod: (uid: string) => Pod | undefined;
  /** Rate limit for statuses of pods that are still starting; absent: no limit. */
  readonly progress?: Pick<TokenBucket, 'tryTake'>;
  /** Traces writes; absent: no tracing. */
  readonly tracer?: Pick<Tracer, 'begin'> | undefined;
}

/** Concurrent writes. */
const workers = 4;
/** Retry delay of a rate-limited progress report; a later status usually replaces it. */
const progressRetryMs = 1000;
/** The status itself is invalid: retries are useless. */
const invalidCodes = new Set([400, 413, 422]);
/** 4xx codes that a retry may avoid. */
const retryableCodes = new Set([401, 408, 409, 429]);

interface Entry {
  status: PodStatus;
  /** The API's answer to this manager's last write. */
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
    // No more writes: release the waiters.
    this.#stopped = true;
    for (const entry of this.#entries.values()) this.#release(entry);
  }

  /** UIDs of the pods whose status is being written, or will be without a delay. */
  unwritten(): readonly string[] {
    const { ready, held } = this.#queue.unfinished();
    return [...ready, ...held];
  }

  /** Sets the status to report for a pod; writes it if the API's differs. */
  set(uid: string, status: PodStatus): void {
    const entry = this.#entries.get(uid);
    if (entry === undefined) this.#entries.set(uid, { status, written: undefined, waiters: [] });
    else entry.status = status;
    if (this.#patchFor(uid) !== undefined) this.#queue.add(uid);
  }

  get(uid: string): PodStatus | undefined {
    return this.#entries.get(uid)?.status;
  }

  /** The pod with its newest status: fields set here, and the API's for everything else. */
  latest(pod: Pod): Pod {
    const status = this.get(pod.metadata.uid ?? '');
    const foreign = this.#foreign(pod);
    if (status === undefined) return foreign === pod.status ? pod : { ...pod, status: foreign };
    return { ...pod, status: mergedStatus(foreign, status) };
  }

  /** The API's status. The phase of a mirror pod is dropped: its static pod may run again after any phase. */
  #foreign({ metadata: { uid = '' }, status = {} }: Pod): PodStatus {
    const apiPod = this.#getPod(uid);
    if (apiPod === undefined || apiPod.metadata.uid === uid) return status;
    const { phase: _, reason: __, message: ___, ...rest } = apiPod.status ?? {};
    return { ...rest, ...status };
  }

  /** Rewrites the status if another client has changed it. */
  reconcile(uid: string): void {
    if (this.#entries.has(uid) && this.#patchFor(uid) !== undefined) this.#queue.add(uid);
  }

  forget(uid: string): void {
    const entry = this.#entries.get(uid);
    this.#entries.delete(uid);
    for (const resolve of entry?.waiters ?? []) resolve();
  }

  /** Resolves once the API has the last status or has rejected it, or the pod is gone from the API. */
  async flush(uid: string): Promise<void> {
    const entry = this.#entries.get(uid);
    if (this.#stopped || entry === undefined || this.#patchFor(uid) === undefined) return;
    this.#queue.add(uid);
    await new Promise<void>((resolve) => entry.waiters.push(resolve));
  }

  #current(uid: string): Pod | undefined {
    const apiPod = this.#getPod(uid);
    const written = this.#entries.get(uid)?.written;
    if (apiPod === undefined && written !== undefined && written.metadata.uid !== uid) return undefined;
    if (apiPod === undefined || written === undefined) return written ?? apiPod;
    // The mirror pod was recreated.
    if (written.metadata.uid !== apiPod.metadata.uid) return apiPod;
    // Compares two versions from one server to pick the newer one.
    return newer(written, apiPod) ? written : apiPod;
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
          // The UID prevents a write to another pod of the same name.
          { metadata: { uid: inAPI }, status: patch },
          { type: 'strategic', namespace, subresource: 'status' },
        ),
      );
    } catch (error) {
      if (inAPI !== uid && (isNotFound(error) || isConflict(error))) {
        // The mirror pod is gone; the next one gets the status.
        entry.written = undefined;
        this.#release(entry);
        return isConflict(error) ? retry(error) : done;
      }
      // A conflict means that another pod has replaced this one only if the informer no longer has this one.
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

  /** Release waiters after a rejection: otherwise the pod's deletion would wait forever. */
  #failed(entry: Entry, error: unknown): Outcome {
    const code = statusOf(error)?.code ?? 0;
    const isRefused = code >= 400 && code < 500 && !retryableCodes.has(code);
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

/** Fields that the node agent owns; other fields belong to other writers. */
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

/** The API server always returns a container's state and last state, even if empty. */
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

/** Merges both statuses: `own` is the agent's; conditions of other types belong to other writers. */
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
 * The patch from `from` to `to`; undefined without a difference. Conditions merge by type, so it contains only changed
 * ones; a removed reason is null.
 */
export function statusPatch(from: PodStatus | undefined, to: PodStatus): Record<string, unknown> | undefined {
  const patch: Record<string, unknown> = {};
  for (const field of ownedFields) {
    if (sameField(from?.[field], to[field])) continue;
    if (to[field] === undefined && from?.[field] === undefined) continue;
    // Lists of container statuses have no merge key and are replaced; addresses would merge by `ip`.
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
 * True for a status that only reports startup progress: all containers are creating, without errors. A later status
 * will replace it soon, so rate-limited writers may delay it. Pure.
 */
function isProgress({ phase, containerStatuses = [], initContainerStatuses = [], reason }: PodStatus): boolean {
  if (phase !== 'Pending' || reason !== undefined) return false;
  const isStarting = ({ state, restartCount }: ContainerStatus) =>
    restartCount === 0 && starting.has(state?.waiting?.reason ?? '');
  return [...initContainerStatuses, ...containerStatuses].every(isStarting);
}
