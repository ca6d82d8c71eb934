/** Looks after an etcd: gives unused room back, and ends the alarm of a full one when there is room again. */
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import type { EtcdAdmin, EtcdMember } from '#etcd-admin/admin.js';
import { mayNeedUpkeep, type SeenMember, type UpkeepStep, upkeepStep } from '#etcd-admin/upkeep-plan.js';
import { type Revision, type Store, StoreError } from '#storage/store.js';

type UpkeepAdmin = Pick<EtcdAdmin, 'members' | 'status' | 'alarms' | 'disarm' | 'defragment' | 'moveLeader' | 'close'>;

export interface UpkeepOptions {
  readonly store: Pick<Store, 'sizes' | 'currentRevision' | 'compact'>;
  /** Opened when there is something to do: a small store, which never needs it, does without its memory. */
  readonly openAdmin: () => Promise<UpkeepAdmin>;
  /** Size at which that etcd refuses writes, bytes. */
  readonly quotaBytes: number;
  readonly clock: Clock;
  readonly log: Logger;
}

const lookMs = 60_000;
/** While it is full. */
const fullLookMs = 15_000;
/** Of one look: each changes what the next finds. */
const maxSteps = 20;

export class EtcdUpkeep {
  readonly #options: UpkeepOptions;
  #admin: UpkeepAdmin | undefined;
  /** Of the write up to which history was forgotten last. */
  #forgotten: Revision | undefined;
  /** Ids of the members that were defragmented since then. */
  readonly #fresh = new Set<string>();

  constructor(options: UpkeepOptions) {
    this.#options = options;
  }

  /** Until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    while (!signal.aborted) {
      let isFull = false;
      try {
        isFull = await this.look(signal);
      } catch (error) {
        // It may just be starting, or away.
        if (!signal.aborted) log.info({ err: error }, 'etcd cannot be looked after, trying again');
      }
      await clock.sleep(isFull ? fullLookMs : lookMs, signal);
    }
    this.#admin?.close();
  }

  /** Does what is due; true when etcd is full. Throws what etcd answers. */
  async look(signal: AbortSignal): Promise<boolean> {
    const { store, log, quotaBytes, openAdmin } = this.#options;
    const sizes = await store.sizes(signal);
    if (![...sizes.values()].some((bytes) => mayNeedUpkeep(bytes, quotaBytes))) return false;
    this.#admin ??= await openAdmin();
    const admin = this.#admin;
    if (!(await isInCharge(admin, [...sizes.keys()]))) return false;
    for (let steps = 0; steps < maxSteps && !signal.aborted; steps++) {
      const [all, alarms] = await Promise.all([admin.members(), admin.alarms()]);
      const members = await this.#seen(admin, all);
      const isForgotten = alarms.length > 0 && (await store.currentRevision()) === this.#forgotten;
      const step = upkeepStep({ members, size: all.length, alarms, isForgotten, quotaBytes });
      if (step.type === 'nothing') return alarms.length > 0;
      if (step.type === 'full') {
        const { name, sizeBytes } = step.member;
        const problem = `etcd member ${name} has used up its quota of ${quotaBytes} bytes and refuses writes: delete what is not needed; it goes on by itself`;
        log.error({ problem, sizeBytes }, 'the store is full');
        return true;
      }
      await this.#take(admin, step);
    }
    return false;
  }

  async #forgetHistory(): Promise<void> {
    const { store } = this.#options;
    const revision = await store.currentRevision();
    try {
      await store.compact(revision);
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'compacted') throw error;
      // Somebody has done so already.
    }
    this.#forgotten = revision;
    this.#fresh.clear();
  }

  async #take(admin: UpkeepAdmin, step: UpkeepStep): Promise<void> {
    const { log, clock } = this.#options;
    if (step.type === 'forget') await this.#forgetHistory();
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
      log.info({ from: from.name, to: to.name }, 'etcd is led by another member, so that this one can be defragmented');
    } else if (step.type === 'disarm') {
      for (const alarm of step.alarms) await admin.disarm(alarm);
      log.info({ members: step.alarms.map(({ memberID }) => memberID) }, 'etcd has room again and takes writes');
    }
  }

  /** Those that answer. */
  async #seen(admin: UpkeepAdmin, all: readonly EtcdMember[]): Promise<SeenMember[]> {
    const { log } = this.#options;
    const seen = await Promise.all(
      all.map(async ({ id, name, clientURLs, isLearner }) => {
        const [endpoint] = clientURLs;
        if (endpoint === undefined) return [];
        try {
          const { sizeBytes, usedBytes, appliedIndex, leader } = await admin.status(endpoint);
          const is = { isLeader: leader === id, isLearner, isFresh: this.#fresh.has(id) };
          return [{ id, name, endpoint, sizeBytes, usedBytes, appliedIndex, ...is }];
        } catch (error) {
          log.info({ err: error, member: name }, 'an etcd member does not answer');
          return [];
        }
      }),
    );
    return seen.flat();
  }
}

/** Each server looks after its etcd, and one of them acts: that of the member which leads. */
async function isInCharge(admin: UpkeepAdmin, endpoints: readonly string[]): Promise<boolean> {
  if ((await admin.members()).length < 2) return true;
  const asked = endpoints.map((endpoint) => admin.status(endpoint).catch(() => undefined));
  return (await Promise.all(asked)).some((status) => status !== undefined && status.leader === status.memberID);
}
