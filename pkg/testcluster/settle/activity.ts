/** What a cluster's loops still have to do, and requests under way. */
import type { InformerState } from '#client/informer/factory.js';

/** A part of the cluster with unfinished work. */
export interface Unfinished {
  /** Queue, informer or agent. */
  readonly name: string;
  /** Keys of objects, or what it waits for. */
  readonly items: readonly string[];
}

/** The parts of a cluster that work by themselves. */
export interface Parts {
  queues(): Iterable<{
    readonly name: string;
    readonly queue: {
      readonly isIdle: boolean;
      unfinished(): { readonly ready: readonly string[]; readonly held: readonly string[] };
    };
  }>;
  /** Schedulers and node agents. */
  agents(): Iterable<{ readonly name: string; unfinished(): readonly string[] }>;
  /** Recorders of events. */
  recorders(): Iterable<{ readonly name: string; readonly unsent: number }>;
  informers(): Iterable<InformerState>;
  /** `<group>/<version>/<resource>` → the last version at which an object of the resource changed; absent: unknown. */
  changedAt(resource: string): string | undefined;
}

/** Compares versions: decimal numbers without leading zeros. The empty version is the oldest. */
function isOlder(a: string, b: string): boolean {
  return a.length === b.length ? a < b : a.length < b.length;
}

/** Informers that have not observed the last change of their resource. */
function* laggingInformers(parts: Pick<Parts, 'informers' | 'changedAt'>): Generator<Unfinished> {
  for (const { resource, isWhole, hasSynced, lastVersion } of parts.informers()) {
    if (!hasSynced) yield { name: `informer of ${resource}`, items: ['first list'] };
    const changed = isWhole ? parts.changedAt(resource) : undefined;
    if (changed !== undefined && isOlder(lastVersion, changed)) {
      yield { name: `informer of ${resource}`, items: [`at version ${lastVersion}, last change at ${changed}`] };
    }
  }
}

/**
 * Work that is ready to run. `held`: with the work that has begun, which may be waiting for a time of the cluster's clock.
 */
export function* unfinishedWork(parts: Parts, { held }: { readonly held: boolean }): Generator<Unfinished> {
  for (const { name, queue } of parts.queues()) {
    if (queue.isIdle) continue;
    const work = queue.unfinished();
    const items = held ? [...work.ready, ...work.held] : work.ready;
    if (items.length > 0) yield { name: `queue ${name}`, items };
  }
  for (const { name, unsent } of parts.recorders()) {
    if (unsent > 0) yield { name: `events of ${name}`, items: [`${unsent} unsent`] };
  }
  if (held) {
    for (const agent of parts.agents()) {
      const items = agent.unfinished();
      if (items.length > 0) yield { name: agent.name, items };
    }
  }
  yield* laggingInformers(parts);
}
