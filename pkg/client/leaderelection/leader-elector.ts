/**
 * Of several candidates one leads.
 *
 * Flow: read the lock → take it when it is free, run out or ours; else wait until it changes or runs out → lead, renewing every retry period → when no renewal
 * succeeds within the renew deadline, stop leading, and become a candidate again.
 *
 * Guarantees: a candidate takes a lock only after it has itself seen it unchanged for the whole lease duration; a
 * leader stops before that time has passed, counted from the start of its last successful write, or as soon as the lock
 * shows anything but its term. So two never lead at once as long as their clocks run at about the same speed and nobody
 * is stopped in the middle; what the clocks show does not matter.
 *
 * That is a promise about clocks, so the leader's writes do not depend on it: `fence` gives each of them the term it
 * belongs to, and refuses when the renew deadline has passed here; a server that knows the fence lets none land once the
 * lock shows another term (`#apimachinery/leader-fence.js`).
 */
import type { Registry } from 'prom-client';
import { shared } from '#apimachinery/async/shared-signal.js';
import { jittered } from '#apimachinery/backoff/backoff.js';
import { type Clock, formatMicroTime } from '#apimachinery/clock.js';
import { formatLeaderFence, leaderFenceHeader } from '#apimachinery/leader-fence.js';
import type { LeaderLock } from '#client/leaderelection/lock.js';
import {
  decide,
  type LeaderRecord,
  type Observation,
  observe,
  released,
  sameTerm,
} from '#client/leaderelection/record.js';
import type { Logger } from '#daemon/log/logger.js';
import { gauge } from '#daemon/metrics/metric.js';
import { TransportError } from '#http/client/transport-error.js';

export interface LeaderElectorOptions {
  readonly lock: LeaderLock;
  /** Unique among the candidates, such as `<host>_<uuid>`. */
  readonly identity: string;
  /** 15 s in the daemons. */
  readonly leaseDurationMs: number;
  /** 10 s in the daemons; less than the lease duration. */
  readonly renewDeadlineMs: number;
  /** 2 s in the daemons. */
  readonly retryPeriodMs: number;
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly onNewLeader?: (identity: string) => void;
  /** Told when a term begins and when it ends, `became leader` and `stopped leading`. */
  readonly onTerm?: (what: 'became leader' | 'stopped leading') => void;
  /** Told at once when the lead is lost, while its work is still coming to its end. */
  readonly onLost?: () => void;
  readonly metrics?: Registry;
  /** Label of the series. */
  readonly name?: string;
}

/** The leader's work: runs until its signal aborts, which means that leadership is lost or no longer wanted. */
export type LeaderWork = (signal: AbortSignal) => Promise<void>;

type Attempt =
  /** This candidate holds the lock now. */
  | 'held'
  /** Somebody else does, or it cannot be told. */
  | 'notHeld'
  /** The lock shows that the term which was to be renewed is over. */
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
  /** What the lock shows as long as this term lasts; undefined as soon as it is known to be over. */
  #term: LeaderRecord | undefined;
  #fence: string | undefined;

  /** Throws RangeError when the times do not fit together. */
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

  /** Who holds the lock as far as this candidate knows; empty when unknown or nobody. */
  get leader(): string {
    return this.#observation?.record.holderIdentity ?? '';
  }

  /** False for a leader that has not renewed for longer than the lease and `toleranceMs`: it hangs. */
  isHealthy(toleranceMs = 0): boolean {
    if (this.#renewedAtMs === undefined) return true;
    return this.#options.clock.monotonic() - this.#renewedAtMs <= this.#options.leaseDurationMs + toleranceMs;
  }

  /**
   * Headers for a write of the leader's work, to be asked for at the moment it is sent. Throws a TransportError (TermOver)
   * when this candidate does not lead, or has not renewed within the renew deadline, so that another may lead.
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
   * Leads whenever it can until `signal` aborts; then the work is stopped, the lock released, and it resolves. When
   * leadership is lost, the work's signal aborts, its end is awaited, and the candidacy begins again. When the work
   * ends by itself, the lock is released and the work's outcome is the outcome.
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
      this.#options.log.info({ lock: this.#options.lock.description }, 'Became leader');
      this.#options.onTerm?.('became leader');
      if ((await this.#lead(work, signal)) === 'workEnded') return;
    }
  }

  async #acquire(signal: AbortSignal): Promise<void> {
    const { clock, renewDeadlineMs } = this.#options;
    while (!signal.aborted) {
      if ((await this.#attempt(signal, clock.monotonic() + renewDeadlineMs)) === 'held') return;
      await this.#untilNextLook(signal);
    }
  }

  /**
   * A retry period, or less when the lock changes or runs out before. So each renewal is seen as it happens, and who
   * waits takes the lock a lease duration after the last one, not up to two retry periods later.
   */
  async #untilNextLook(signal: AbortSignal): Promise<void> {
    const { clock, lock, retryPeriodMs, random } = this.#options;
    const ended = new AbortController();
    const end = () => ended.abort();
    signal.addEventListener('abort', end, { once: true });
    // A lock that cannot be watched is looked at again.
    lock.changed?.(ended.signal).then(end, () => undefined);
    await clock.sleep(Math.min(jittered(retryPeriodMs, retryJitter, random), this.#runsOutInMs()), ended.signal);
    end();
    signal.removeEventListener('abort', end);
  }

  #runsOutInMs(): number {
    const { clock, lock, leaseDurationMs } = this.#options;
    const seenAtMs = lock.selfExpiring === true ? undefined : this.#observation?.seenAtMs;
    const leftMs = (seenAtMs ?? Number.NEGATIVE_INFINITY) + leaseDurationMs - clock.monotonic();
    // One that has run out could not be taken just now.
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
    const working = work(shared(stopWork.signal)).finally(() => {
      ended = true;
      stopRenewing.abort();
    });
    // Handled below; until then the rejection must not count as unhandled.
    working.catch(() => undefined);
    try {
      await this.#renewUntilLost(stopRenewing.signal);
      const lost = !ended && !signal.aborted;
      // What the work still wants to write while it comes to its end must not be written.
      if (lost) this.#term = undefined;
      if (lost) log.error({ lock: lock.description }, 'Lost leadership');
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

  /** One read and write of the lock, given up at `deadlineMs`: to begin a term, or to renew the one there is. */
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
      const record = this.#wanted();
      if (record !== undefined) {
        await lock.write(record, controller.signal);
        this.#observation = { record, seenAtMs: startedAtMs };
      }
      this.#report();
      // An answer that came after the deadline is no renewal: others may be about to take over.
      if (record === undefined || clock.monotonic() >= deadlineMs) return 'notHeld';
      if (this.#term === undefined) this.#fence = formatLeaderFence(lock.fence(record));
      this.#term ??= record;
      // From the start of the attempt: others may have seen the write at any moment since.
      this.#renewedAtMs = startedAtMs;
      return 'held';
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error, lock: lock.description }, 'Could not acquire or renew the lock');
      return 'notHeld';
    } finally {
      timer.cancel();
      signal.removeEventListener('abort', abort);
    }
  }

  /** What to write after what was observed; undefined: somebody else holds the lock. */
  #wanted(): LeaderRecord | undefined {
    const { lock, clock, identity, leaseDurationMs } = this.#options;
    const { selfExpiring = false } = lock;
    const candidate = { identity, leaseDurationMs, selfExpiring, anew: this.#term === undefined };
    const now = { monotonicMs: clock.monotonic(), time: formatMicroTime(clock.now()) };
    const decision = decide(candidate, this.#observation, now);
    return decision.kind === 'write' ? decision.record : undefined;
  }

  /** Gives the lock up so that others need not wait for it to run out. Best effort: it runs out anyway. */
  async #release(): Promise<void> {
    const { lock, clock, log, identity, renewDeadlineMs } = this.#options;
    if (this.leader !== identity) return;
    const controller = new AbortController();
    const timer = clock.setTimer(() => controller.abort(), renewDeadlineMs);
    try {
      const record = await lock.read(controller.signal);
      if (record === undefined || record.holderIdentity !== identity) return;
      const free = released(record, formatMicroTime(clock.now()));
      await lock.write(free, controller.signal);
      this.#observation = { record: free, seenAtMs: clock.monotonic() };
      log.info({ lock: lock.description }, 'Released the lock');
    } catch (error) {
      log.warn({ err: error, lock: lock.description }, 'Could not release the lock');
    } finally {
      timer.cancel();
    }
  }

  #report(): void {
    const { leader } = this;
    if (leader === '' || leader === this.#reportedLeader) return;
    this.#reportedLeader = leader;
    this.#options.log.info({ leader, lock: this.#options.lock.description }, 'New leader');
    this.#options.onNewLeader?.(leader);
  }
}
