/**
 * Two locks that are held together, for the way from one kind of object to another: candidates that know only the first
 * and candidates that know only the second are all kept out (client-go's MultiLock).
 */
import type { LeaderFence } from '#apimachinery/leader-fence.js';
import type { LeaderLock, RecordLock } from '#client/leaderelection/lock.js';
import type { LeaderRecord } from '#client/leaderelection/record.js';

export interface MultiLockOptions {
  readonly primary: RecordLock;
  /** The one that stands before the leader's writes. */
  readonly secondary: LeaderLock;
  /** Stands for a holder while the two name different ones. */
  readonly unknownHolder: string;
}

export class MultiLock implements LeaderLock {
  readonly #options: MultiLockOptions;

  constructor(options: MultiLockOptions) {
    this.#options = options;
  }

  get description(): string {
    return this.#options.primary.description;
  }

  fence(record: LeaderRecord): LeaderFence {
    return this.#options.secondary.fence(record);
  }

  /** Every write of the one goes along with a write of the other. */
  async changed(signal: AbortSignal): Promise<void> {
    const { secondary } = this.#options;
    if (secondary.changed === undefined) throw new Error(`${secondary.description} cannot be watched`);
    await secondary.changed(signal);
  }

  /** Where only one exists its holder counts; where they disagree nobody may take them before they ran out. */
  async read(signal: AbortSignal): Promise<LeaderRecord | undefined> {
    const first = await this.#options.primary.read(signal);
    const second = await this.#options.secondary.read(signal);
    if (first === undefined || second === undefined) return first ?? second;
    if (first.holderIdentity === second.holderIdentity) return first;
    // The renewals of both are part of what is seen: either holder's keeps the locks from running out.
    const renewTime = `${first.renewTime} ${second.renewTime}`;
    return { ...first, renewTime, holderIdentity: this.#options.unknownHolder };
  }

  async write(record: LeaderRecord, signal: AbortSignal): Promise<void> {
    await this.#options.primary.write(record, signal);
    await this.#options.secondary.write(record, signal);
  }
}
