/**
 * Maintains the status of definitions: accepted names, whether they are established, and the progress of their deletion. Runs
 * in every server; a server whose write comes second gets a conflict and tries again.
 */
import { withCondition } from '#api/apiextensions/v1/customresourcedefinition/conditions.js';
import { customresourcedefinitions } from '#api/apiextensions/v1/resources.gen.js';
import type { CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.js';
import { NameQueue } from '#apimachinery/async/name-queue.js';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import { type Clock, formatTime } from '#apimachinery/clock.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import { cleanUp, inProgress } from '#apiserver/customresources/definition-clean-up.js';
import { type NamedDefinition, planStatus } from '#apiserver/customresources/definition-status.js';
import type { ExceededBounds } from '#apiserver/customresources/exceeded-bounds.js';
import type { Follower, ObjectReader } from '#apiserver/objects/object-reader.js';
import type { Client } from '#client/client.js';
import type { Logger } from '#daemon/log/logger.js';

export interface DefinitionControllerOptions {
  readonly reader: ObjectReader;
  readonly client: Client;
  readonly clock: Clock;
  readonly turns: Pick<TurnQueue, 'pause'>;
  readonly exceeded: ExceededBounds;
  readonly log: Logger;
}

const retryMs = 1000;

/** The part of a definition that other definitions of its group depend on. */
interface TrackedDefinition extends NamedDefinition {
  readonly group: string;
  /** The latest version seen or written by this controller. */
  readonly resourceVersion: bigint;
}

export class DefinitionController implements Follower<CustomResourceDefinition> {
  /** Outlines are enough: names and conditions decide. */
  readonly outlines = true;
  readonly #options: DefinitionControllerOptions;
  readonly #definitions = new Map<string, TrackedDefinition>();
  /** Names of definitions, by group. */
  readonly #groups = new Map<string, Set<string>>();
  readonly #pending = new NameQueue();
  /** Definitions whose objects are being removed. */
  readonly #ending = new Map<string, Promise<void>>();

  constructor(options: DefinitionControllerOptions) {
    this.#options = options;
  }

  only(names: ReadonlySet<string>): void {
    for (const name of [...this.#definitions.keys()]) if (!names.has(name)) this.#forget(name);
  }

  changed(definition: CustomResourceDefinition): void {
    const { name = '' } = definition.metadata;
    this.#track(definition);
    this.#pending.add(name);
  }

  removed({ metadata }: CustomResourceDefinition): void {
    this.#forget(metadata.name ?? '');
  }

  #track({ metadata, spec, status }: CustomResourceDefinition): void {
    const { name = '', resourceVersion = '0' } = metadata;
    const { group } = spec;
    const definition = { name, group, acceptedNames: status?.acceptedNames, resourceVersion: BigInt(resourceVersion) };
    this.#definitions.set(name, definition);
    const names = this.#groups.get(group) ?? new Set<string>();
    this.#groups.set(group, names.add(name));
  }

  #forget(name: string): void {
    const group = this.#definitions.get(name)?.group ?? '';
    this.#definitions.delete(name);
    const names = this.#groups.get(group);
    names?.delete(name);
    if (names?.size === 0) this.#groups.delete(group);
    // The definition's names are free now.
    for (const other of names ?? []) this.#pending.add(other);
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    this.#options.exceeded.listen((name) => this.#pending.add(name));
    try {
      await this.#options.reader.follow(customresourcedefinitions, this, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    for await (const name of this.#pending.drain(signal)) {
      await this.#options.turns.pause();
      await this.#settle(name, signal);
    }
    await Promise.all(this.#ending.values());
  }

  async #settle(name: string, signal: AbortSignal): Promise<void> {
    const tracked = this.#definitions.get(name);
    if (tracked === undefined) return;
    const { client, clock, reader } = this.#options;
    try {
      const outline = await reader.outline(customresourcedefinitions, '', name);
      // The cache does not have the last write yet; it triggers another pass.
      if (outline === undefined || isBefore(outline, tracked)) return;
      const now = formatTime(clock.now());
      const names = this.#groups.get(tracked.group) ?? [];
      const group = [...names].flatMap((one) => this.#definitions.get(one) ?? []);
      const excess = this.#options.exceeded.of(name);
      const plan = (definition: CustomResourceDefinition) =>
        planStatus({ definition, group, dialect: client.dialect, excess, now });
      // Usually there is nothing to do, so the whole definition is not parsed.
      if (plan(outline) === outline && outline.metadata.deletionTimestamp === undefined) return;
      const definition = await reader.get(customresourcedefinitions, '', name);
      if (definition === undefined || isBefore(definition, tracked)) return;
      const desired = plan(definition);
      if (desired !== definition) {
        const written = await client.resource(customresourcedefinitions).updateStatus(desired, { signal });
        // The next definition of the group must not get the same names.
        if (this.#definitions.has(name)) this.#track(written);
      } else if (definition.metadata.deletionTimestamp !== undefined) this.#end(definition, signal);
    } catch (err) {
      this.#failed(name, err, signal);
    }
  }

  /** Removes the definition's objects in the background: it may take minutes. */
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
    const updated = await resource.updateStatus(withCondition(latest, condition, now()), { signal });
    if (!done) throw new Error(condition.message);
    const { customResourceCleanup } = client.dialect.finalizers;
    const finalizers = (updated.metadata.finalizers ?? []).filter((finalizer) => finalizer !== customResourceCleanup);
    await resource.update({ ...updated, metadata: { ...updated.metadata, finalizers } }, { signal });
  }

  #failed(name: string, err: unknown, signal: AbortSignal): void {
    if (signal.aborted || isNotFound(err)) return;
    const { clock, log } = this.#options;
    // On a conflict, another writer's change triggers the next pass.
    if (!isConflict(err))
      log.warn({ err, definition: name }, 'could not update the status of a custom resource definition');
    void clock.sleep(retryMs, signal).then(() => {
      if (!signal.aborted) this.#pending.add(name);
    });
  }
}

function isBefore({ metadata }: CustomResourceDefinition, { resourceVersion }: TrackedDefinition): boolean {
  return BigInt(metadata.resourceVersion ?? '0') < resourceVersion;
}
