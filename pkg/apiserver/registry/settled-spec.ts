/**
 * What becomes of a known spec on its way to the store. Defaults, admission and preparation make the same of the same spec
 * nearly always; then its fields, its bytes and whether it is valid need not be worked out again.
 */
import type { ApiObjectShape } from '#api/meta/object.js';
import type { KnownMember } from '#apimachinery/codec/json/known-members.js';
import { isPowerOfTwo } from '#apimachinery/codec/json/known-parts.js';
import { deepFreeze } from '#apimachinery/codec/json/shared-values.js';
import { copyJson } from '#apimachinery/copy.js';
import { identicalJson } from '#apimachinery/patch/identical.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import type { WriteHook } from '#apiserver/resources/write-hook.js';

/**
 * Puts the frozen form of its spec into the object where the same has come out before. To be called when nobody changes the
 * spec any more.
 */
export function settleSpec(object: ApiObjectShape, known: KnownMember): void {
  const parts = object as ApiObjectShape & { spec?: unknown };
  const { spec } = parts;
  if (typeof spec !== 'object' || spec === null) return;
  if (identicalJson(spec, known.settled)) parts.spec = known.settled;
  else if (isPowerOfTwo(++known.otherwise)) {
    known.settled = copyJson(spec);
    deepFreeze(known.settled);
  }
}

/** Whether a new object's spec stays what it is once it is prepared. */
export function staysPrepared(
  { strategy, declaration, conversion }: ServedResource,
  hooks: readonly WriteHook[],
): boolean {
  if (conversion !== undefined || strategy.completeCreate !== undefined) return false;
  for (const hook of hooks) if (hook.handles(declaration)) return false;
  return true;
}
