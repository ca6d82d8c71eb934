/** Keeps on record what this server writes and reads, from its start to its end. */
import { aborted } from '#apimachinery/async/aborted.js';
import type { Clock } from '#apimachinery/clock.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import type { StorageVersionBarrier } from '#apiserver/storageversions/barrier.js';
import { CustomVersions } from '#apiserver/storageversions/custom-versions.js';
import { VersionRecorder } from '#apiserver/storageversions/recorder.js';
import { builtInRecords, type VersionRecord } from '#apiserver/storageversions/records.js';
import type { Client } from '#client/client.js';
import type { Logger } from '#daemon/log/logger.js';

export interface StorageVersionsOptions {
  /** The server's identity. */
  readonly id: string;
  readonly client: Client;
  readonly reader: ObjectReader;
  readonly clock: Clock;
  readonly log: Logger;
  readonly barrier: StorageVersionBarrier;
  /** Those that are built in. */
  readonly resources: readonly ServedResource[];
}

/** Somebody may have changed or removed what is on record; as 1.24 does. */
const againMs = 10 * 60_000;

export class StorageVersions {
  readonly #options: StorageVersionsOptions;
  readonly #recorder: VersionRecorder;
  readonly #records: readonly VersionRecord[];

  constructor(options: StorageVersionsOptions) {
    this.#options = options;
    const { barrier, resources } = options;
    this.#recorder = new VersionRecorder({ ...options, failed: (name, reason) => barrier.failed(name, reason) });
    this.#records = builtInRecords(resources, (resource) => barrier.concerns(resource));
  }

  /** Resolves when all built-in resources are on record, or the signal aborts. */
  ensure(signal: AbortSignal): Promise<void> {
    return this.#recorder.recordAll(this.#records, signal);
  }

  /** Until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { reader, clock } = this.#options;
    const custom = new CustomVersions({ reader, recorder: this.#recorder });
    const again = async () => {
      while (!signal.aborted) {
        await clock.sleep(againMs, signal);
        await this.ensure(signal);
        custom.again();
      }
    };
    await Promise.all([custom.run(signal), again(), aborted(signal)]);
  }
}
