/** Plans the status of a namespace that is being deleted, and the next attempt. Pure. */

import type { Namespace, NamespaceCondition, NamespaceStatus } from '#api/core/v1/types.gen.js';
import { setCondition } from '#api/meta/v1/condition/conditions.js';
import { exponentialDelayMs } from '#apimachinery/backoff/backoff.js';
import { formatTime } from '#apimachinery/clock.js';

/** The result of an attempt to empty a namespace. */
export interface Remains {
  /** The number of remaining objects, by resource (`pods`, `deployments.apps`). */
  readonly counts: ReadonlyMap<string, number>;
  /** The number of remaining objects, by finalizer. */
  readonly finalizers: ReadonlyMap<string, number>;
  /** The discovery error, by group version. */
  readonly discoveryFailures: ReadonlyMap<string, string>;
  /** Errors of deletions. */
  readonly contentFailures: readonly string[];
}

export function isEmpty(remains: Remains): boolean {
  return remains.counts.size === 0 && remains.discoveryFailures.size === 0 && remains.contentFailures.length === 0;
}

/** The conditions of release 1.24. Undefined when the status is unchanged. */
export function planStatus(
  namespace: Namespace,
  remains: Remains | undefined,
  now: number,
): NamespaceStatus | undefined {
  const old = namespace.status ?? {};
  const before: readonly NamespaceCondition[] = old.conditions ?? [];
  let conditions = before;
  for (const next of remains === undefined ? [] : conditionsOf(remains)) {
    conditions = setCondition(conditions, next, formatTime(now));
  }
  if (old.phase === 'Terminating' && conditions === before) return undefined;
  return { ...old, phase: 'Terminating', ...(conditions.length === 0 ? {} : { conditions: [...conditions] }) };
}

function conditionsOf({ counts, finalizers, discoveryFailures, contentFailures }: Remains): NamespaceCondition[] {
  const discovery = [...discoveryFailures].sort().map(([group, why]) => `${group}: ${why}`);
  const remaining = [...counts].map(([name, count]) => `${withGroup(name)} has ${count} resource instances`).sort();
  const waiting = [...finalizers].sort().map(([name, count]) => `${name} in ${count} resource instances`);
  return [
    conditionOf('NamespaceDeletionDiscoveryFailure', discovery.length > 0, {
      bad: [
        'DiscoveryFailed',
        `Discovery failed for some groups, ${discovery.length} failing: ${discovery.join(', ')}`,
      ],
      good: ['ResourcesDiscovered', 'All resources successfully discovered'],
    }),
    // Discovery reports malformed group versions.
    conditionOf('NamespaceDeletionGroupVersionParsingFailure', false, {
      bad: ['GroupVersionParsingFailed', ''],
      good: ['ParsedGroupVersions', 'All legacy kube types successfully parsed'],
    }),
    conditionOf('NamespaceDeletionContentFailure', contentFailures.length > 0, {
      bad: [
        'ContentDeletionFailed',
        `Failed to delete all resource types, ${contentFailures.length} remaining: ${contentFailures.join(', ')}`,
      ],
      good: ['ContentDeleted', 'All content successfully deleted, may be waiting on finalization'],
    }),
    conditionOf('NamespaceContentRemaining', remaining.length > 0, {
      bad: ['SomeResourcesRemain', `Some resources are remaining: ${remaining.join(', ')}`],
      good: ['ContentRemoved', 'All content successfully removed'],
    }),
    conditionOf('NamespaceFinalizersRemaining', waiting.length > 0, {
      bad: ['SomeFinalizersRemain', `Some content in the namespace has finalizers remaining: ${waiting.join(', ')}`],
      good: ['ContentHasNoFinalizers', 'All content-preserving finalizers finished'],
    }),
  ];
}

/** As in 1.24, core resources end with a dot. */
function withGroup(resource: string): string {
  return resource.includes('.') ? resource : `${resource}.`;
}

function conditionOf(
  type: string,
  isBad: boolean,
  words: { readonly bad: readonly [string, string]; readonly good: readonly [string, string] },
): NamespaceCondition {
  const [reason, message] = isBad ? words.bad : words.good;
  return { type, status: isBad ? 'True' : 'False', reason, message };
}

const minRetryMs = 500;
const maxRetryMs = 15_000;

/** Milliseconds until the next attempt, after `attempts` attempts. */
export function nextAttemptMs(attempts: number): number {
  return exponentialDelayMs(attempts, minRetryMs, maxRetryMs);
}
