/** Writes the versions that this server writes and reads into the StorageVersions. */
import { isDeepStrictEqual } from 'node:util';
import { storageversions } from '#api/apiserverinternal/v1alpha1/resources.gen.js';
import { withServers } from '#api/apiserverinternal/v1alpha1/storageversion/server-versions.js';
import type { ServerStorageVersion, StorageVersion } from '#api/apiserverinternal/v1alpha1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isAlreadyExists, isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { VersionRecord } from '#apiserver/storageversions/version-records.js';
import type { Client } from '#client/client.js';
import type { Logger } from '#daemon/log/logger.js';

export interface VersionRecorderOptions {
  /** The server's identity. */
  readonly id: string;
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  /** Receives the failure of a write, or undefined on success. */
  readonly failed: (name: string, reason: string | undefined) => void;
}

const concurrency = 8;
/** Delay after a failure, as in 1.24. */
const retryMs = 1000;
/** Delay after another server's write. */
const againMs = 50;

export class VersionRecorder {
  readonly #options: VersionRecorderOptions;

  constructor(options: VersionRecorderOptions) {
    this.#options = options;
  }

  /** Resolves once all records are written, or the signal aborts. */
  async recordAll(records: readonly VersionRecord[], signal: AbortSignal): Promise<void> {
    const waiting = [...records];
    const work = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await this.record(next, signal);
    };
    await Promise.all(Array.from({ length: concurrency }, work));
  }

  /** Retries until the record is written or the signal aborts. Does not write an unchanged record. */
  async record(record: VersionRecord, signal: AbortSignal): Promise<void> {
    await this.#retry(record.name, signal, async () => {
      const { id, client } = this.#options;
      const resource = client.resource<StorageVersion>(storageversions);
      const existing = await this.#find(record.name, signal);
      const object =
        existing ?? (await resource.create({ metadata: { name: record.name }, spec: {}, status: {} }, { signal }));
      const { encodingVersion, decodableVersions } = record;
      const ownVersion: ServerStorageVersion = {
        apiServerID: id,
        encodingVersion,
        decodableVersions: [...decodableVersions],
      };
      const servers = object.status?.storageVersions ?? [];
      const others = servers.filter(({ apiServerID }) => apiServerID !== id);
      if (servers.some((server) => isDeepStrictEqual(server, ownVersion))) return;
      await this.#write(object, [...others, ownVersion], signal);
    });
  }

  /** Removes this server's entry, because the resource is gone. */
  async forget(name: string, signal: AbortSignal): Promise<void> {
    await this.#retry(name, signal, async () => {
      const { id, client } = this.#options;
      const object = await this.#find(name, signal);
      const servers = object?.status?.storageVersions ?? [];
      const others = servers.filter(({ apiServerID }) => apiServerID !== id);
      if (object === undefined || others.length === servers.length) return;
      if (others.length > 0) return this.#write(object, others, signal);
      const { uid = '', resourceVersion = '' } = object.metadata;
      const resource = client.resource<StorageVersion>(storageversions);
      await resource.delete(name, { preconditions: { uid, resourceVersion }, signal });
    });
  }

  async #find(name: string, signal: AbortSignal): Promise<StorageVersion | undefined> {
    try {
      return await this.#options.client.resource<StorageVersion>(storageversions).get(name, { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #write(object: StorageVersion, servers: readonly ServerStorageVersion[], signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#options;
    const updated = withServers(object, servers, clock.now());
    await client.resource<StorageVersion>(storageversions).updateStatus(updated, { signal });
  }

  async #retry(name: string, signal: AbortSignal, write: () => Promise<void>): Promise<void> {
    const { clock, log, failed } = this.#options;
    while (!signal.aborted) {
      try {
        await write();
        failed(name, undefined);
        return;
      } catch (err) {
        if (signal.aborted) return;
        const overtaken = isConflict(err) || isAlreadyExists(err) || isNotFound(err);
        if (!overtaken) {
          failed(name, messageOf(err));
          log.warn({ err, storageVersion: name }, 'could not record the versions of a resource');
        }
        await clock.sleep(overtaken ? againMs : retryMs, signal);
      }
    }
  }
}
