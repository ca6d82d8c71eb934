/** Keeps the StorageVersions of custom resources in step with their definitions. */
import { isEstablished } from '#api/apiextensions/v1/customresourcedefinition/conditions.js';
import { customresourcedefinitions } from '#api/apiextensions/v1/resources.gen.js';
import type { CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.js';
import { PendingNames } from '#apimachinery/async/pending-names.js';
import type { Follower, ObjectReader } from '#apiserver/objects/object-reader.js';
import type { VersionRecorder } from '#apiserver/storageversions/recorder.js';
import { customRecord, recordName, type VersionRecord } from '#apiserver/storageversions/records.js';

export interface CustomVersionsOptions {
  readonly reader: ObjectReader;
  readonly recorder: VersionRecorder;
}

export class CustomVersions implements Follower<CustomResourceDefinition> {
  readonly #options: CustomVersionsOptions;
  /** What is to be on record, by name. */
  readonly #wanted = new Map<string, VersionRecord>();
  readonly #pending = new PendingNames();

  constructor(options: CustomVersionsOptions) {
    this.#options = options;
  }

  replaced(definitions: readonly CustomResourceDefinition[]): void {
    for (const definition of definitions) this.changed(definition);
    this.only(new Set(definitions.map(({ metadata }) => metadata.name ?? '')));
  }

  /** Names of definitions are those of their resources, the other way around. */
  only(names: ReadonlySet<string>): void {
    for (const name of [...this.#wanted.keys()]) if (!names.has(definitionName(name))) this.#forget(name);
  }

  changed(definition: CustomResourceDefinition): void {
    if (!isEstablished(definition)) return;
    const record = customRecord(definition);
    const old = this.#wanted.get(record.name);
    if (old !== undefined && String(Object.values(old)) === String(Object.values(record))) return;
    this.#wanted.set(record.name, record);
    this.#pending.mark(record.name);
  }

  removed({ spec }: CustomResourceDefinition): void {
    this.#forget(recordName(spec.group, spec.names.plural));
  }

  /** Writes all of them anew: somebody may have changed them. */
  again(): void {
    for (const name of this.#wanted.keys()) this.#pending.mark(name);
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#options.reader.follow(customresourcedefinitions, this, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    for await (const name of this.#pending.taken(signal)) {
      const record = this.#wanted.get(name);
      if (record === undefined) await this.#options.recorder.forget(name, signal);
      else await this.#options.recorder.record(record, signal);
    }
  }

  #forget(name: string): void {
    if (this.#wanted.delete(name)) this.#pending.mark(name);
  }
}

function definitionName(record: string): string {
  const dot = record.lastIndexOf('.');
  return `${record.slice(dot + 1)}.${record.slice(0, dot)}`;
}
