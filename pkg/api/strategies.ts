/** The strategy of every resource. A kind without rules of its own gets the generic one. */

import { podStrategy } from '#api/core/v1/pod/strategy.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';

function keyOf(resource: ResourceDeclaration): string {
  return `${resource.group}/${resource.version}/${resource.resource}`;
}

const own: ReadonlyMap<string, Strategy> = new Map<string, Strategy>([['core/v1/pods', podStrategy]]);

/** What is particular to the resource; ask once and keep it. */
export function strategyFor(resource: ResourceDeclaration): Strategy {
  return own.get(keyOf(resource)) ?? kindStrategy(resource);
}
