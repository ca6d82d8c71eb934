/** What a strategic merge patch must know about a member: the parts of the schema that it follows. */
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

export interface PatchSchema {
  /** The message whose members follow, undefined where nothing is known (raw JSON, scalars). */
  readonly type: TypeInfo | undefined;
  /** Set for maps: all members are of that element. */
  readonly elements: FieldInfo | undefined;
  /** Messages only: they are replaced instead of merged. */
  readonly replace: boolean;
  /** Lists only: elements are merged instead of replaced. */
  readonly mergeList: boolean;
  /** The member that tells the list's elements apart. */
  readonly mergeKey: string | undefined;
}

export const unknownSchema: PatchSchema = Object.freeze({
  type: undefined,
  elements: undefined,
  replace: false,
  mergeList: false,
  mergeKey: undefined,
});

export function schemaOfType(type: TypeInfo | undefined): PatchSchema {
  return type?.shape === 'struct' ? { ...unknownSchema, type } : unknownSchema;
}

/** The schema of a member. */
export function memberSchema(schema: PatchSchema, key: string): PatchSchema {
  if (schema.elements !== undefined) return schemaOfType(schema.elements.type);
  const field = schema.type?.byName.get(key);
  if (field === undefined) return unknownSchema;
  const { type } = schemaOfType(field.type);
  if (field.container === 'map') return { ...unknownSchema, elements: field };
  return {
    type,
    elements: undefined,
    replace: field.patchReplace === true,
    mergeList: field.container === 'list' && field.patchMerge,
    mergeKey: field.patchMergeKey,
  };
}
