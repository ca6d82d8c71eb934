/** What the registry needs of the patch languages. All leave their input alone and throw 400 or 422. */
import type { PatchKind } from '#apiserver/registry/patch-body.js';
import type { TypeRef } from '#apiserver/representation/codec.js';

export interface Patches {
  /** The body as a value; `type` is the kind to be patched. */
  parse(body: Buffer, kind: PatchKind, type: TypeRef): unknown;
  json(object: object, patch: unknown): unknown;
  merge(object: object, patch: unknown): unknown;
  strategic(object: object, patch: unknown, type: TypeRef): unknown;
}
