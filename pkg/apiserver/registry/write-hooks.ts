/** Runs the hooks of a write and takes their effects back when the write does not happen. */

import type { ApiObjectShape } from '#api/meta/object.js';
import type { MaybePromise } from '#apimachinery/async/steps.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Draft } from '#apimachinery/draft.js';
import { oncePer } from '#apimachinery/memo/once-per.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import { concernedWith, type Undo, type WriteHook } from '#apiserver/resources/write-hook.js';
import type { Logger } from '#daemon/log/logger.js';

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
