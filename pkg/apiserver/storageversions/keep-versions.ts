/** Maintains the StorageVersions of this server while it runs. */
import { isEstablished } from '#api/apiextensions/v1/customresourcedefinition/conditions.js';
import { customresourcedefinitions } from '#api/apiextensions/v1/resources.gen.js';
import type { CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.js';
import { aborted } from '#apimachinery/async/abort.js';
import { NameQueue } from '#apimachinery/async/name-queue.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Follower, ObjectReader } from '#apiserver/objects/object-reader.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import { VersionRecorder } from '#apiserver/storageversions/version-recorder.js';
import {
  builtInRecords,
  customRecord,
  recordName,
  type VersionRecord,
} from '#apiserver/storageversions/version-records.js';
import type { StorageVersionBarrier } from '#apiserver/storageversions/write-barrier.js';
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
  /** Built-in resources. */
  readonly resources: readonly ServedResource[];
}

/** Interval of rewriting all records, as in 1.24: other clients may change or remove them. */
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

  /** Resolves once all built-in resources are recorded, or the signal aborts. */
  ensure(signal: AbortSignal): Promise<void> {
    return this.#recorder.recordAll(this.#records, signal);
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { reader, clock } = this.#options;
    const custom = new CustomVersions({ reader, recorder: this.#recorder });
    const rewritePeriodically = async () => {
      while (!signal.aborted) {
        await clock.sleep(againMs, signal);
        await this.ensure(signal);
        custom.again();
      }
    };
    await Promise.all([custom.run(signal), rewritePeriodically(), aborted(signal)]);
  }
}

interface CustomVersionsOptions {
  readonly reader: ObjectReader;
  readonly recorder: VersionRecorder;
}

/** Keeps the StorageVersions of custom resources in step with their definitions. */
class CustomVersions implements Follower<CustomResourceDefinition> {
  readonly #options: CustomVersionsOptions;
  /** The records to write, by name. */
  readonly #records = new Map<string, VersionRecord>();
  readonly #pending = new NameQueue();

  constructor(options: CustomVersionsOptions) {
    this.#options = options;
  }

  /** Keeps these definitions. A definition's name has the parts of its record's name in reverse order. */
  only(names: ReadonlySet<string>): void {
    for (const name of [...this.#records.keys()]) if (!names.has(definitionName(name))) this.#forget(name);
  }

  changed(definition: CustomResourceDefinition): void {
    if (!isEstablished(definition)) return;
    const record = customRecord(definition);
    const old = this.#records.get(record.name);
    if (old !== undefined && String(Object.values(old)) === String(Object.values(record))) return;
    this.#records.set(record.name, record);
    this.#pending.add(record.name);
  }

  removed({ spec }: CustomResourceDefinition): void {
    this.#forget(recordName(spec.group, spec.names.plural));
  }

  /** Rewrites all records, since other clients may have changed them. */
  again(): void {
    for (const name of this.#records.keys()) this.#pending.add(name);
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#options.reader.follow(customresourcedefinitions, this, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    for await (const name of this.#pending.drain(signal)) {
      const record = this.#records.get(name);
      if (record === undefined) await this.#options.recorder.forget(name, signal);
      else await this.#options.recorder.record(record, signal);
    }
  }

  #forget(name: string): void {
    if (this.#records.delete(name)) this.#pending.add(name);
  }
}

function definitionName(record: string): string {
  const dot = record.lastIndexOf('.');
  return `${record.slice(dot + 1)}.${record.slice(0, dot)}`;
}
