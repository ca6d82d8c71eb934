/** What a namespace that is being deleted says about itself, and when to look again. Pure. */

import type { Namespace, NamespaceCondition, NamespaceStatus } from '#api/core/v1/types.gen.js';
import { setCondition } from '#api/meta/v1/condition/conditions.js';
import { exponentialDelayMs } from '#apimachinery/backoff/backoff.js';
import { formatTime } from '#apimachinery/clock.js';

/** What one attempt to empty a namespace left. */
export interface Remains {
  /** `pods`, `deployments.apps` → how many are left. */
  readonly counts: ReadonlyMap<string, number>;
  /** Finalizer → how many of what is left wait for it. */
  readonly finalizers: ReadonlyMap<string, number>;
  /** Group version → why its resources are not known. */
  readonly discoveryFailures: ReadonlyMap<string, string>;
  /** Why some content could not be deleted. */
  readonly contentFailures: readonly string[];
}

export function isEmpty(remains: Remains): boolean {
  return remains.counts.size === 0 && remains.discoveryFailures.size === 0 && remains.contentFailures.length === 0;
}

/** Names and texts of the conditions of release 1.24. */
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
    // Versions of groups are parsed here where they are discovered.
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

/** 1.24 has a dot behind resources of the core group, too. */
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

const firstLookMs = 500;
const lastLookMs = 15_000;

/** When to look again after `attempts` looks that found something left, in milliseconds. */
export function nextLookMs(attempts: number): number {
  return exponentialDelayMs(attempts, firstLookMs, lastLookMs);
}
