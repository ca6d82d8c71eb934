/**
 * Holds two locks together for the migration between kinds of lock objects: excludes candidates that use only the first
 * and candidates that use only the second (client-go's MultiLock).
 */
import type { LeaderFence } from '#apimachinery/leader-fence.js';
import type { LeaderLock, RecordLock } from '#client/leaderelection/lock.js';
import type { LeaderRecord } from '#client/leaderelection/record.js';

export interface MultiLockOptions {
  readonly primary: RecordLock;
  /** The lock that fences the leader's writes. */
  readonly secondary: LeaderLock;
  /** Holder shown while the two locks name different holders. */
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

  /** Watches the secondary, since every write of one lock goes with a write of the other. */
  async changed(signal: AbortSignal): Promise<void> {
    const { secondary } = this.#options;
    if (secondary.changed === undefined) throw new Error(`${secondary.description} cannot be watched`);
    await secondary.changed(signal);
  }

  /** If only one lock exists its holder counts; if they disagree, neither can be taken before both expire. */
  async read(signal: AbortSignal): Promise<LeaderRecord | undefined> {
    const first = await this.#options.primary.read(signal);
    const second = await this.#options.secondary.read(signal);
    if (first === undefined || second === undefined) return first ?? second;
    if (first.holderIdentity === second.holderIdentity) return first;
    // Combine both renewal times, so that either holder's renewals count as a change.
    const renewTime = `${first.renewTime} ${second.renewTime}`;
    return { ...first, renewTime, holderIdentity: this.#options.unknownHolder };
  }

  async write(record: LeaderRecord, signal: AbortSignal): Promise<void> {
    await this.#options.primary.write(record, signal);
    await this.#options.secondary.write(record, signal);
  }
}
