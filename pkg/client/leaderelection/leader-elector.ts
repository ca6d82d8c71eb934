/**
 * Elects one leader among several candidates.
 *
 * Flow: read the lock → take it if it is free, expired or ours; else wait until it changes or expires → lead, renewing
 * every retry period → if no renewal succeeds within the renew deadline, stop leading and become a candidate again.
 *
 * Guarantees: a candidate takes a lock only after it has seen the lock unchanged for the whole lease duration. A leader
 * stops before that time has passed since the start of its last successful write, or as soon as the lock shows another
 * term. So two never lead at once as long as their clocks run at about the same speed and no process is paused; the
 * clocks' values do not matter.
 *
 * That guarantee depends on clocks, so the leader's writes do not rely on it: `fence` adds the term to each write and
 * refuses writes after the renew deadline. A server that supports the fence rejects the writes of a term once the lock
 * shows another (`#apimachinery/leader-fence.js`).
 */
import type { Registry } from 'prom-client';
import { allowManyListeners } from '#apimachinery/async/abort.js';
import { jittered } from '#apimachinery/backoff/backoff.js';
import { type Clock, formatMicroTime } from '#apimachinery/clock.js';
import { formatLeaderFence, leaderFenceHeader } from '#apimachinery/leader-fence.js';
import type { LeaderLock } from '#client/leaderelection/lock.js';
import {
  decide,
  type LeaderRecord,
  type Observation,
  observe,
  releasedRecord,
  sameTerm,
} from '#client/leaderelection/record.js';
import type { Logger } from '#daemon/log/logger.js';
import { gauge } from '#daemon/metrics/metric.js';
import { TransportError } from '#http/client/transport-error.js';

export interface LeaderElectorOptions {
  readonly lock: LeaderLock;
  /** Unique among the candidates, such as `<host>_<uuid>`. */
  readonly identity: string;
  /** 15 s by default. */
  readonly leaseDurationMs: number;
  /** 10 s by default; less than the lease duration. */
  readonly renewDeadlineMs: number;
  /** 2 s by default. */
  readonly retryPeriodMs: number;
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly onNewLeader?: (identity: string) => void;
  /** Called when a term begins and when it ends. */
  readonly onTerm?: (what: 'became leader' | 'stopped leading') => void;
  /** Called at once when leadership is lost, while the work is still ending. */
  readonly onLost?: () => void;
  readonly metrics?: Registry;
  /** Label of the metrics. */
  readonly name?: string;
}

/** The leader's work: runs until its signal aborts because leadership is lost or no longer needed. */
export type LeaderWork = (signal: AbortSignal) => Promise<void>;

type Attempt =
  /** This candidate holds the lock. */
  | 'held'
  /** Another candidate holds it, or the state is uncertain. */
  | 'notHeld'
  /** The lock shows that the term to renew is over. */
  | 'over';

/** client-go's jitter of the candidates' retry period. */
const retryJitter = 1.2;

export class LeaderElector {
  readonly #options: LeaderElectorOptions;
  readonly #setMaster: (leading: boolean) => void;
  #observation: Observation | undefined;
  #reportedLeader: string | undefined;
  /** Monotonic start of the last write of the lock in this term; undefined while not leading. */
  #renewedAtMs: number | undefined;
  /** The lock's record in this term; undefined as soon as the term is over. */
  #term: LeaderRecord | undefined;
  #fence: string | undefined;

  /** Throws RangeError for inconsistent times. */
  constructor(options: LeaderElectorOptions) {
    const { leaseDurationMs, renewDeadlineMs, retryPeriodMs, metrics } = options;
    if (!(leaseDurationMs > renewDeadlineMs)) throw new RangeError('leaseDuration must be greater than renewDeadline');
    if (!(renewDeadlineMs > retryPeriodMs * retryJitter)) {
      throw new RangeError(`renewDeadline must be greater than retryPeriod times ${retryJitter}`);
    }
    if (!(retryPeriodMs > 0)) throw new RangeError('retryPeriod must be greater than zero');
    if (options.identity === '') throw new RangeError('identity must not be empty');
    this.#options = options;
    const name = options.name ?? options.lock.description;
    if (metrics === undefined) this.#setMaster = () => undefined;
    else {
      const master = gauge(metrics, {
        name: 'leader_election_master_status',
        help: "[ALPHA] Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. 'name' is the string used to identify the lease. Please make sure to group by name.",
        labelNames: ['name'],
      });
      this.#setMaster = (leading) => master.set({ name }, leading ? 1 : 0);
    }
    this.#setMaster(false);
  }

  get isLeader(): boolean {
    return this.#renewedAtMs !== undefined;
  }

  /** The last observed holder of the lock; empty if none. */
  get leader(): string {
    return this.#observation?.record.holderIdentity ?? '';
  }

  /** False for a leader that has not renewed for longer than the lease and `toleranceMs`, so it hangs. */
  isHealthy(toleranceMs = 0): boolean {
    if (this.#renewedAtMs === undefined) return true;
    return this.#options.clock.monotonic() - this.#renewedAtMs <= this.#options.leaseDurationMs + toleranceMs;
  }

  /**
   * Headers for a write of the leader's work; call it when the write is sent. Throws a TransportError (TermOver) unless
   * this candidate leads and has renewed within the renew deadline.
   */
  fence(): Readonly<Record<string, string>> {
    const { clock, renewDeadlineMs, lock } = this.#options;
    const deadlineMs = (this.#renewedAtMs ?? Number.NEGATIVE_INFINITY) + renewDeadlineMs;
    if (this.#term === undefined || this.#fence === undefined || clock.monotonic() >= deadlineMs) {
      throw new TransportError('TermOver', `write refused: this process does not hold ${lock.description}`);
    }
    return { [leaderFenceHeader]: this.#fence };
  }

  /**
   * Leads whenever it can until `signal` aborts; then stops the work, releases the lock and resolves. When leadership is
   * lost, aborts the work's signal, awaits its end and becomes a candidate again. When the work ends by itself, releases
   * the lock and settles like the work.
   */
  async run(work: LeaderWork, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#acquire(signal);
      if (signal.aborted) {
        this.#renewedAtMs = undefined;
        this.#term = undefined;
        await this.#release();
        return;
      }
      this.#options.log.info({ lock: this.#options.lock.description }, 'became leader');
      this.#options.onTerm?.('became leader');
      if ((await this.#lead(work, signal)) === 'workEnded') return;
    }
  }

  async #acquire(signal: AbortSignal): Promise<void> {
    const { clock, renewDeadlineMs } = this.#options;
    while (!signal.aborted) {
      if ((await this.#attempt(signal, clock.monotonic() + renewDeadlineMs)) === 'held') return;
      await this.#waitForChange(signal);
    }
  }

  /**
   * Waits a retry period, or less if the lock changes or expires before. So each renewal is observed as it happens, and a
   * candidate takes the lock one lease duration after the last renewal, not up to two retry periods later.
   */
  async #waitForChange(signal: AbortSignal): Promise<void> {
    const { clock, lock, retryPeriodMs, random } = this.#options;
    const ended = new AbortController();
    const end = () => ended.abort();
    signal.addEventListener('abort', end, { once: true });
    // A lock that cannot be watched is polled.
    lock.changed?.(ended.signal).then(end, () => undefined);
    await clock.sleep(Math.min(jittered(retryPeriodMs, retryJitter, random), this.#untilExpiryMs()), ended.signal);
    end();
    signal.removeEventListener('abort', end);
  }

  #untilExpiryMs(): number {
    const { clock, lock, leaseDurationMs } = this.#options;
    const seenAtMs = lock.selfExpiring === true ? undefined : this.#observation?.seenAtMs;
    const leftMs = (seenAtMs ?? Number.NEGATIVE_INFINITY) + leaseDurationMs - clock.monotonic();
    // An expired lock could not be taken by the last attempt, so wait a full period.
    return leftMs > 0 ? leftMs : Number.POSITIVE_INFINITY;
  }

  async #lead(work: LeaderWork, signal: AbortSignal): Promise<'lost' | 'workEnded'> {
    const { log, lock } = this.#options;
    this.#setMaster(true);
    const stopWork = new AbortController();
    const stopRenewing = new AbortController();
    const abort = () => stopRenewing.abort();
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    let ended = false;
    const working = work(allowManyListeners(stopWork.signal)).finally(() => {
      ended = true;
      stopRenewing.abort();
    });
    // It is awaited below; this handler keeps an earlier rejection from counting as unhandled.
    working.catch(() => undefined);
    try {
      await this.#renewUntilLost(stopRenewing.signal);
      const lost = !ended && !signal.aborted;
      // Refuse the writes that the work attempts while it ends.
      if (lost) this.#term = undefined;
      if (lost) log.error({ lock: lock.description }, 'lost leadership');
      stopWork.abort();
      if (lost) this.#options.onLost?.();
      await working;
      return lost ? 'lost' : 'workEnded';
    } finally {
      signal.removeEventListener('abort', abort);
      this.#renewedAtMs = undefined;
      this.#term = undefined;
      this.#setMaster(false);
      this.#options.onTerm?.('stopped leading');
      await this.#release();
    }
  }

  async #renewUntilLost(signal: AbortSignal): Promise<void> {
    const { clock, retryPeriodMs, renewDeadlineMs } = this.#options;
    for (;;) {
      const deadlineMs = (this.#renewedAtMs ?? 0) + renewDeadlineMs;
      await clock.sleep(Math.min(retryPeriodMs, deadlineMs - clock.monotonic()), signal);
      if (signal.aborted) return;
      if (clock.monotonic() >= deadlineMs) return;
      const outcome = await this.#attempt(signal, deadlineMs);
      if (outcome === 'held') continue;
      if (outcome === 'over' || clock.monotonic() >= deadlineMs) return;
    }
  }

  /** Reads and writes the lock once, to begin or renew a term; gives up at `deadlineMs`. */
  async #attempt(signal: AbortSignal, deadlineMs: number): Promise<Attempt> {
    const { lock, clock, log } = this.#options;
    const startedAtMs = clock.monotonic();
    const controller = new AbortController();
    const abort = () => controller.abort();
    signal.addEventListener('abort', abort, { once: true });
    const timer = clock.setTimer(abort, deadlineMs - startedAtMs);
    try {
      const read = await lock.read(controller.signal);
      this.#observation = read === undefined ? undefined : observe(this.#observation, read, clock.monotonic());
      if (this.#term !== undefined && !sameTerm(this.#term, read)) {
        this.#report();
        return 'over';
      }
      const record = this.#nextRecord();
      if (record !== undefined) {
        await lock.write(record, controller.signal);
        this.#observation = { record, seenAtMs: startedAtMs };
      }
      this.#report();
      // A response after the deadline is no renewal, since another candidate may be about to take over.
      if (record === undefined || clock.monotonic() >= deadlineMs) return 'notHeld';
      if (this.#term === undefined) this.#fence = formatLeaderFence(lock.fence(record));
      this.#term ??= record;
      // Count from the start of the attempt, since other candidates may have observed the write at any moment since then.
      this.#renewedAtMs = startedAtMs;
      return 'held';
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error, lock: lock.description }, 'cannot acquire or renew lock');
      return 'notHeld';
    } finally {
      timer.cancel();
      signal.removeEventListener('abort', abort);
    }
  }

  /** The record to write after the last observation; undefined if another candidate holds the lock. */
  #nextRecord(): LeaderRecord | undefined {
    const { lock, clock, identity, leaseDurationMs } = this.#options;
    const { selfExpiring = false } = lock;
    const candidate = { identity, leaseDurationMs, selfExpiring, newTerm: this.#term === undefined };
    const now = { monotonicMs: clock.monotonic(), time: formatMicroTime(clock.now()) };
    const decision = decide(candidate, this.#observation, now);
    return decision.kind === 'write' ? decision.record : undefined;
  }

  /** Releases the lock so that others need not wait for its expiry. Best effort. */
  async #release(): Promise<void> {
    const { lock, clock, log, identity, renewDeadlineMs } = this.#options;
    if (this.leader !== identity) return;
    const controller = new AbortController();
    const timer = clock.setTimer(() => controller.abort(), renewDeadlineMs);
    try {
      const record = await lock.read(controller.signal);
      if (record === undefined || record.holderIdentity !== identity) return;
      const free = releasedRecord(record, formatMicroTime(clock.now()));
      await lock.write(free, controller.signal);
      this.#observation = { record: free, seenAtMs: clock.monotonic() };
      log.info({ lock: lock.description }, 'released lock');
    } catch (error) {
      log.warn({ err: error, lock: lock.description }, 'cannot release lock: it will expire');
    } finally {
      timer.cancel();
    }
  }

  #report(): void {
    const { leader } = this;
    if (leader === '' || leader === this.#reportedLeader) return;
    this.#reportedLeader = leader;
    this.#options.log.info({ leader, lock: this.#options.lock.description }, 'new leader');
    this.#options.onNewLeader?.(leader);
  }
}
