/**
 * Conditions and side effects of a write: the leader's term named by the request must still last, and the effects of hooks
 * are undone if the write does not happen.
 */
import type { ApiObjectShape } from '#api/meta/object.js';
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { Cancellation } from '#apimachinery/cancellation.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
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
import type { RequestContext } from '#apiserver/http/request-context.js';
import type { ResourceTable } from '#apiserver/resources/resource-table.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import { concernedWith, type Undo, type WriteHook } from '#apiserver/resources/write-hook.js';
import type { Logger } from '#daemon/log/logger.js';
import type { ReadVersion, ResourceStorage, WriteCondition } from '#storage/resource-storage.js';
import type { Guard } from '#storage/store.js';

/** Access to the leases. */
export interface LeaseServer {
  readonly dialect: Dialect;
  readonly resources: ResourceTable;
}

/**
 * The write conditions from the request's leader header, if any. Throws 400 for a malformed header; the condition rejects
 * with 409 once the term is over.
 */
export function leaderCondition(server: LeaseServer, context: RequestContext): readonly WriteCondition[] {
  const text = context.request.headers[leaderFenceHeader];
  if (text === undefined) return [];
  const fence = parseFence(text);
  const group = server.dialect.groupName('coordination');
  const resource = { group, resource: 'leases' };
  if (fence.lock === 'etcdleases') return [new UnchangedKey(fence, resource)];
  const leases = server.resources.find(group, 'v1', 'leases');
  if (leases === undefined) throw badRequest(`${leaderFenceHeader}: no leases are served`);
  return [new LeaseHeld(fence, resource, leases.storage)];
}

function parseFence(text: string): LeaderFence {
  try {
    return parseLeaderFence(text);
  } catch (error) {
    throw badRequest(`${leaderFenceHeader}: ${messageOf(error)}`, error);
  }
}

/** Requires the Lease to show the term. It reads the cache first, and the store if a renewal made that version outdated. */
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
    const cached = failed === undefined ? await this.#readTerm({ kind: 'any' }, signal) : undefined;
    // The cache may be stale: only the store decides that a term is over.
    const guard = cached ?? (await this.#readTerm({ kind: 'latest' }, signal));
    if (guard === undefined) throw conflict(this.#resource, this.#fence.name, termIsOver);
    return [guard];
  }

  async #readTerm(version: ReadVersion, signal: Cancellation | undefined): Promise<Guard | undefined> {
    const { namespace, name } = this.#fence;
    const entry = await this.#leases.get(`${namespace}/${name}`, version, signal);
    if (entry === undefined) return undefined;
    const { spec } = entry.object() as { readonly spec?: LeaseTerm };
    return showsTerm(this.#fence, spec) ? { key: entry.key, modRevision: entry.revision } : undefined;
  }
}

/** Requires the lock's key to be unchanged: it is written once per term. */
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

export interface WriteHooks {
  readonly hooks: readonly WriteHook[];
  readonly log: Logger;
}

type Begin = (hook: WriteHook) => Promise<Undo | undefined> | undefined;

/**
 * Runs the hooks and returns their undos in running order; if one fails, the earlier ones are undone. Hooks write into the
 * object, so it is unshared first.
 */
function begin(
  server: WriteHooks,
  resource: ServedResource,
  object: Draft<ApiObjectShape>,
  call: Begin,
): MaybePromise<Undo[]> {
  const concerned = concernedWith(server.hooks)(resource.declaration);
  if (concerned.length === 0) return [];
  Object.assign(object, copyJson(object));
  return beginAll(server, concerned, call);
}

async function beginAll(server: WriteHooks, hooks: readonly WriteHook[], call: Begin): Promise<Undo[]> {
  const undos: Undo[] = [];
  for (const hook of hooks) {
    try {
      const undo = await call(hook);
      if (undo !== undefined) undos.push(undo);
    } catch (error) {
      await undoAll(server, undos);
      throw error;
    }
  }
  return undos;
}

export function beginCreate(
  server: WriteHooks,
  resource: ServedResource,
  object: Draft<ApiObjectShape>,
  dryRun: boolean,
): MaybePromise<Undo[]> {
  return begin(server, resource, object, (hook) => hook.beforeCreate?.(object, { dryRun }));
}

export function beginUpdate(
  server: WriteHooks,
  resource: ServedResource,
  { object, old, dryRun }: { object: Draft<ApiObjectShape>; old: ApiObjectShape; dryRun: boolean },
): MaybePromise<Undo[]> {
  return begin(server, resource, object, (hook) => hook.beforeUpdate?.(object, old, { dryRun }));
}

/** Undoes in reverse order. A failure is logged; the repair of ranges later frees what stays claimed. */
export async function undoAll(server: WriteHooks, undos: readonly Undo[]): Promise<void> {
  for (const undo of [...undos].reverse()) {
    try {
      await undo();
    } catch (err) {
      server.log.error({ err }, 'could not undo the effects of a write that did not happen');
    }
  }
}

/** Notifies the hooks of a stored update. */
export async function updated(
  server: WriteHooks,
  resource: ServedResource,
  object: ApiObjectShape,
  old: ApiObjectShape,
): Promise<void> {
  for (const hook of concernedWith(server.hooks)(resource.declaration)) {
    try {
      await hook.afterUpdate?.(object, old);
    } catch (err) {
      server.log.error({ err, name: object.metadata.name }, 'could not release what an updated object no longer holds');
    }
  }
}

/** Notifies the hooks that an object is gone. */
export async function deleted(server: WriteHooks, resource: ServedResource, object: ApiObjectShape): Promise<void> {
  for (const hook of concernedWith(server.hooks)(resource.declaration)) {
    try {
      await hook.afterDelete?.(object);
    } catch (err) {
      server.log.error({ err, name: object.metadata.name }, 'could not release what a deleted object held');
    }
  }
}
