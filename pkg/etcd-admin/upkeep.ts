/** Maintains an etcd: releases unused space, and clears the alarm of a full store when it has free space again. */
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import type { EtcdAdmin, EtcdMember } from '#etcd-admin/admin.js';
import { mayNeedUpkeep, type ObservedMember, type UpkeepStep, upkeepStep } from '#etcd-admin/upkeep-plan.js';
import { type Revision, type Store, StoreError } from '#storage/store.js';

type UpkeepAdmin = Pick<EtcdAdmin, 'members' | 'status' | 'alarms' | 'disarm' | 'defragment' | 'moveLeader' | 'close'>;

export interface UpkeepOptions {
  readonly store: Pick<Store, 'sizes' | 'currentRevision' | 'compact'>;
  /** Called when there is something to do, so that small stores do not load the client library. */
  readonly openAdmin: () => Promise<UpkeepAdmin>;
  /** Size at which etcd refuses writes, bytes. */
  readonly quotaBytes: number;
  readonly clock: Clock;
  readonly log: Logger;
}

const lookMs = 60_000;
/** Interval while the store is full. */
const fullLookMs = 15_000;
/** Longest sequence of steps in one look. */
const maxSteps = 20;

export class EtcdUpkeep {
  readonly #options: UpkeepOptions;
  #admin: UpkeepAdmin | undefined;
  /** Revision of the last compaction. */
  #compacted: Revision | undefined;
  /** Ids of the members that were defragmented since then. */
  readonly #fresh = new Set<string>();

  constructor(options: UpkeepOptions) {
    this.#options = options;
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    while (!signal.aborted) {
      let isFull = false;
      try {
        isFull = await this.look(signal);
      } catch (error) {
        // etcd may be starting, or unreachable.
        if (!signal.aborted) log.info({ err: error }, 'cannot maintain etcd; will retry');
      }
      await clock.sleep(isFull ? fullLookMs : lookMs, signal);
    }
    this.#admin?.close();
  }

  /** Takes the steps that are due. Resolves with true when etcd is full; rejects with etcd's errors. */
  async look(signal: AbortSignal): Promise<boolean> {
    const { store, log, quotaBytes, openAdmin } = this.#options;
    const sizes = await store.sizes(signal);
    if (![...sizes.values()].some((bytes) => mayNeedUpkeep(bytes, quotaBytes))) return false;
    this.#admin ??= await openAdmin();
    const admin = this.#admin;
    if (!(await isInCharge(admin, [...sizes.keys()]))) return false;
    for (let steps = 0; steps < maxSteps && !signal.aborted; steps++) {
      const [all, alarms] = await Promise.all([admin.members(), admin.alarms()]);
      const members = await this.#observe(admin, all);
      const isCompacted = alarms.length > 0 && (await store.currentRevision()) === this.#compacted;
      const step = upkeepStep({ members, size: all.length, alarms, isCompacted, quotaBytes });
      if (step.type === 'nothing') return alarms.length > 0;
      if (step.type === 'full') {
        const { name, sizeBytes } = step.member;
        const problem = `etcd member ${name} has used up its quota of ${quotaBytes} bytes and refuses writes; delete unneeded objects, and it recovers by itself`;
        log.error({ problem, sizeBytes }, 'etcd is full');
        return true;
      }
      await this.#take(admin, step);
    }
    return false;
  }

  async #compact(): Promise<void> {
    const { store } = this.#options;
    const revision = await store.currentRevision();
    try {
      await store.compact(revision);
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'compacted') throw error;
      // Another server has compacted it.
    }
    this.#compacted = revision;
    this.#fresh.clear();
  }

  async #take(admin: UpkeepAdmin, step: UpkeepStep): Promise<void> {
    const { log, clock } = this.#options;
    if (step.type === 'compact') await this.#compact();
    else if (step.type === 'defragment') {
      const { id, name, endpoint, sizeBytes, usedBytes } = step.member;
      const started = clock.monotonic();
      await admin.defragment(endpoint);
      this.#fresh.add(id);
      const ms = Math.round(clock.monotonic() - started);
      log.info({ member: name, sizeBytes, usedBytes, ms }, 'defragmented etcd');
    } else if (step.type === 'moveLeader') {
      const { from, to } = step;
      await admin.moveLeader(from.endpoint, to.id);
      log.info({ from: from.name, to: to.name }, 'moved the leadership of etcd for a defragmentation');
    } else if (step.type === 'disarm') {
      for (const alarm of step.alarms) await admin.disarm(alarm);
      log.info({ members: step.alarms.map(({ memberID }) => memberID) }, 'etcd has free space and takes writes again');
    }
  }

  /** Status of the members that answer. */
  async #observe(admin: UpkeepAdmin, all: readonly EtcdMember[]): Promise<ObservedMember[]> {
    const { log } = this.#options;
    const observed = await Promise.all(
      all.map(async ({ id, name, clientURLs, isLearner }) => {
        const [endpoint] = clientURLs;
        if (endpoint === undefined) return [];
        try {
          const { sizeBytes, usedBytes, appliedIndex, leader } = await admin.status(endpoint);
          const is = { isLeader: leader === id, isLearner, isFresh: this.#fresh.has(id) };
          return [{ id, name, endpoint, sizeBytes, usedBytes, appliedIndex, ...is }];
        } catch (error) {
          log.info({ err: error, member: name }, 'etcd member does not answer');
          return [];
        }
      }),
    );
    return observed.flat();
  }
}

/** Whether this server maintains etcd: of several servers, the one whose member leads. */
async function isInCharge(admin: UpkeepAdmin, endpoints: readonly string[]): Promise<boolean> {
  if ((await admin.members()).length < 2) return true;
  const statuses = endpoints.map((endpoint) => admin.status(endpoint).catch(() => undefined));
  return (await Promise.all(statuses)).some((status) => status !== undefined && status.leader === status.memberID);
}
