/** Lets a write that names a term of leading happen only while that term lasts. */

import type { Cancellation } from '#apimachinery/cancellation.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { badRequest, conflict, type Qualified } from '#apimachinery/errors/status.js';
import {
  electionKey,
  type LeaderFence,
  type LeaseTerm,
  leaderFenceHeader,
  parseLeaderFence,
  showsTerm,
  termIsOver,
} from '#apimachinery/leader-fence.js';
import type { RequestContext } from '#apiserver/http/context.js';
import type { ResourceTable } from '#apiserver/resources/resource-table.js';
import type { ReadVersion, ResourceStorage, WriteCondition } from '#storage/resource-storage.js';
import type { Guard } from '#storage/store.js';

/** Where the leases are. */
export interface LeaseServer {
  readonly dialect: Dialect;
  readonly resources: ResourceTable;
}

/**
 * The condition that the request's header names, if any. Throws 400 for a header that no leader writes; the condition
 * rejects with 409 once the term is over.
 */
export function leaderCondition(server: LeaseServer, context: RequestContext): readonly WriteCondition[] {
  const text = context.request.headers[leaderFenceHeader];
  if (text === undefined) return [];
  const fence = parsed(text);
  const group = server.dialect.groupName('coordination');
  const resource = { group, resource: 'leases' };
  if (fence.lock === 'etcdleases') return [new UnchangedKey(fence, resource)];
  const leases = server.resources.find(group, 'v1', 'leases');
  if (leases === undefined) throw badRequest(`${leaderFenceHeader}: no leases are served`);
  return [new LeaseHeld(fence, resource, leases.storage)];
}

function parsed(text: string): LeaderFence {
  try {
    return parseLeaderFence(text);
  } catch (error) {
    throw badRequest(`${leaderFenceHeader}: ${messageOf(error)}`, error);
  }
}

/** The Lease must be the version that was seen to show the term: read from memory, and anew after each renewal. */
class LeaseHeld implements WriteCondition {
  readonly #fence: LeaderFence & { readonly lock: 'leases' };
  readonly #resource: Qualified;
  readonly #leases: ResourceStorage;

  constructor(fence: LeaderFence & { readonly lock: 'leases' }, resource: Qualified, leases: ResourceStorage) {
    this.#fence = fence;
    this.#resource = resource;
    this.#leases = leases;
  }

  async guards(failed: readonly Guard[] | undefined, signal: Cancellation | undefined): Promise<Guard[]> {
    const known = failed === undefined ? await this.#seen({ kind: 'any' }, signal) : undefined;
    // What memory shows may be old: a term is over only when the store says so.
    const guard = known ?? (await this.#seen({ kind: 'latest' }, signal));
    if (guard === undefined) throw conflict(this.#resource, this.#fence.name, termIsOver);
    return [guard];
  }

  async #seen(version: ReadVersion, signal: Cancellation | undefined): Promise<Guard | undefined> {
    const { namespace, name } = this.#fence;
    const entry = await this.#leases.get(`${namespace}/${name}`, version, signal);
    if (entry === undefined) return undefined;
    const { spec } = entry.object() as { readonly spec?: LeaseTerm };
    return showsTerm(this.#fence, spec) ? { key: entry.key, modRevision: entry.revision } : undefined;
  }
}

/** The lock's key is written once in a term. */
class UnchangedKey implements WriteCondition {
  readonly #fence: LeaderFence & { readonly lock: 'etcdleases' };
  readonly #resource: Qualified;

  constructor(fence: LeaderFence & { readonly lock: 'etcdleases' }, resource: Qualified) {
    this.#fence = fence;
    this.#resource = resource;
  }

  async guards(failed: readonly Guard[] | undefined): Promise<Guard[]> {
    const { namespace, name, revision } = this.#fence;
    if (failed !== undefined) throw conflict(this.#resource, name, termIsOver);
    return [{ key: electionKey(namespace, name), modRevision: revision }];
  }
}
