/**
 * What a write depends on and brings about outside of its object: it happens only during the term of leading that it names, and
 * its hooks' effects are taken back when it does not happen.
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
import { oncePer } from '#apimachinery/memo/once-per.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import type { RequestContext } from '#apiserver/http/context.js';
import type { ResourceTable } from '#apiserver/resources/resource-table.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import { concernedWith, type Undo, type WriteHook } from '#apiserver/resources/write-hook.js';
import type { Logger } from '#daemon/log/logger.js';
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

export interface WriteHooks {
  readonly hooks: readonly WriteHook[];
  readonly log: Logger;
}

/** Those of the hooks that belong to writes of a resource. */
const hooksOf = oncePer((hooks: readonly WriteHook[]) =>
  oncePer((resource: ResourceDeclaration) => concernedWith(hooks, resource)),
);

type Begin = (hook: WriteHook) => Promise<Undo | undefined> | undefined;

/**
 * The undos, in the order in which the hooks ran. When one hook fails, those before it are undone. Hooks write into the object,
 * so that what it shares with others becomes its own first.
 */
function begin(
  server: WriteHooks,
  resource: ServedResource,
  object: Draft<ApiObjectShape>,
  call: Begin,
): MaybePromise<Undo[]> {
  const concerned = hooksOf(server.hooks)(resource.declaration);
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

/** Last first. A failure is logged: what stays claimed by it is found by the claims' own repair. */
export async function undoAll(server: WriteHooks, undos: readonly Undo[]): Promise<void> {
  for (const undo of [...undos].reverse()) {
    try {
      await undo();
    } catch (err) {
      server.log.error({ err }, 'could not undo the effects of a write that did not happen');
    }
  }
}

/** Tells the hooks that an update is stored. */
export async function updated(
  server: WriteHooks,
  resource: ServedResource,
  object: ApiObjectShape,
  old: ApiObjectShape,
): Promise<void> {
  for (const hook of hooksOf(server.hooks)(resource.declaration)) {
    try {
      await hook.afterUpdate?.(object, old);
    } catch (err) {
      server.log.error({ err, name: object.metadata.name }, 'could not release what an updated object no longer holds');
    }
  }
}

/** Tells the hooks that an object is gone for good. */
export async function deleted(server: WriteHooks, resource: ServedResource, object: ApiObjectShape): Promise<void> {
  for (const hook of hooksOf(server.hooks)(resource.declaration)) {
    try {
      await hook.afterDelete?.(object);
    } catch (err) {
      server.log.error({ err, name: object.metadata.name }, 'could not release what a deleted object held');
    }
  }
}
