/**
 * Keeps the status of definitions: which names they have, whether they are established, and how far their end is. Runs in
 * every server; who comes too late with the same finds a conflict, and looks again.
 */
import { withCondition } from '#api/apiextensions/v1/customresourcedefinition/conditions.js';
import { customresourcedefinitions } from '#api/apiextensions/v1/resources.gen.js';
import type { CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.js';
import { PendingNames } from '#apimachinery/async/pending-names.js';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import { type Clock, formatTime } from '#apimachinery/clock.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import { cleanUp, inProgress } from '#apiserver/customresources/clean-up.js';
import { type NamedDefinition, planStatus } from '#apiserver/customresources/naming.js';
import type { Follower, ObjectReader } from '#apiserver/objects/object-reader.js';
import type { Client } from '#client/client.js';
import type { Logger } from '#daemon/log/logger.js';

export interface DefinitionControllerOptions {
  readonly reader: ObjectReader;
  readonly client: Client;
  readonly clock: Clock;
  readonly turns: Pick<TurnQueue, 'pause'>;
  readonly log: Logger;
}

const retryMs = 1000;

/** What is kept of a definition: what it has means something to others of its group. */
interface Known extends NamedDefinition {
  readonly group: string;
  /** The latest that this controller was told or has written. */
  readonly resourceVersion: bigint;
}

export class DefinitionController implements Follower<CustomResourceDefinition> {
  /** Whether there is something to do is told by names and conditions. */
  readonly outlines = true;
  readonly #options: DefinitionControllerOptions;
  readonly #definitions = new Map<string, Known>();
  /** By group: names of definitions. */
  readonly #groups = new Map<string, Set<string>>();
  readonly #pending = new PendingNames();
  /** Those whose objects are being removed. */
  readonly #ending = new Map<string, Promise<void>>();

  constructor(options: DefinitionControllerOptions) {
    this.#options = options;
  }

  replaced(definitions: readonly CustomResourceDefinition[]): void {
    for (const definition of definitions) this.changed(definition);
    this.only(new Set(definitions.map(({ metadata }) => metadata.name ?? '')));
  }

  only(names: ReadonlySet<string>): void {
    for (const name of [...this.#definitions.keys()]) if (!names.has(name)) this.#forget(name);
  }

  changed(definition: CustomResourceDefinition): void {
    const { name = '' } = definition.metadata;
    this.#know(definition);
    this.#pending.mark(name);
  }

  removed({ metadata }: CustomResourceDefinition): void {
    this.#forget(metadata.name ?? '');
  }

  #know({ metadata, spec, status }: CustomResourceDefinition): void {
    const { name = '', resourceVersion = '0' } = metadata;
    const { group } = spec;
    const known = { name, group, acceptedNames: status?.acceptedNames, resourceVersion: BigInt(resourceVersion) };
    this.#definitions.set(name, known);
    const names = this.#groups.get(group) ?? new Set<string>();
    this.#groups.set(group, names.add(name));
  }

  #forget(name: string): void {
    const group = this.#definitions.get(name)?.group ?? '';
    this.#definitions.delete(name);
    const names = this.#groups.get(group);
    names?.delete(name);
    if (names?.size === 0) this.#groups.delete(group);
    // Its names are free now.
    for (const other of names ?? []) this.#pending.mark(other);
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#options.reader.follow(customresourcedefinitions, this, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    for await (const name of this.#pending.taken(signal)) {
      await this.#options.turns.pause();
      await this.#settle(name, signal);
    }
    await Promise.all(this.#ending.values());
  }

  async #settle(name: string, signal: AbortSignal): Promise<void> {
    const known = this.#definitions.get(name);
    if (known === undefined) return;
    const { client, clock, reader } = this.#options;
    try {
      const outline = await reader.outline(customresourcedefinitions, '', name);
      // What was written last comes soon, and is looked at then.
      if (outline === undefined || isBefore(outline, known)) return;
      const now = formatTime(clock.now());
      const names = this.#groups.get(known.group) ?? [];
      const group = [...names].flatMap((one) => this.#definitions.get(one) ?? []);
      const plan = (definition: CustomResourceDefinition) =>
        planStatus({ definition, group, dialect: client.dialect, now });
      // Mostly there is nothing to do, and the whole definition is not looked at.
      if (plan(outline) === outline && outline.metadata.deletionTimestamp === undefined) return;
      const definition = await reader.get(customresourcedefinitions, '', name);
      if (definition === undefined || isBefore(definition, known)) return;
      const wanted = plan(definition);
      if (wanted !== definition) {
        const written = await client.resource(customresourcedefinitions).updateStatus(wanted, { signal });
        // The next definition of the group must not be given the same names.
        if (this.#definitions.has(name)) this.#know(written);
      } else if (definition.metadata.deletionTimestamp !== undefined) this.#end(definition, signal);
    } catch (err) {
      this.#failed(name, err, signal);
    }
  }

  /** Beside the others: it may take minutes. */
  #end(definition: CustomResourceDefinition, signal: AbortSignal): void {
    const { name = '', finalizers = [] } = definition.metadata;
    const { customResourceCleanup } = this.#options.client.dialect.finalizers;
    if (this.#ending.has(name) || !finalizers.includes(customResourceCleanup)) return;
    const work = this.#cleanUp(definition, signal)
      .catch((err: unknown) => this.#failed(name, err, signal))
      .finally(() => this.#ending.delete(name));
    this.#ending.set(name, work);
  }

  async #cleanUp(definition: CustomResourceDefinition, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#options;
    const resource = client.resource(customresourcedefinitions);
    const now = () => formatTime(clock.now());
    const begun = await resource.updateStatus(withCondition(definition, inProgress, now()), { signal });
    const { done, condition } = await cleanUp({ client, clock }, begun, signal);
    if (signal.aborted) return;
    const latest = await resource.get(definition.metadata.name ?? '', { signal });
    const told = await resource.updateStatus(withCondition(latest, condition, now()), { signal });
    if (!done) throw new Error(condition.message);
    const { customResourceCleanup } = client.dialect.finalizers;
    const finalizers = (told.metadata.finalizers ?? []).filter((finalizer) => finalizer !== customResourceCleanup);
    await resource.update({ ...told, metadata: { ...told.metadata, finalizers } }, { signal });
  }

  #failed(name: string, err: unknown, signal: AbortSignal): void {
    if (signal.aborted || isNotFound(err)) return;
    const { clock, log } = this.#options;
    // Somebody else has changed it, and tells us soon.
    if (!isConflict(err)) log.warn({ err, definition: name }, 'Could not settle a definition of a custom resource');
    void clock.sleep(retryMs, signal).then(() => {
      if (!signal.aborted) this.#pending.mark(name);
    });
  }
}

function isBefore({ metadata }: CustomResourceDefinition, { resourceVersion }: Known): boolean {
  return BigInt(metadata.resourceVersion ?? '0') < resourceVersion;
}
