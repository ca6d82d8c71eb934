/** Update profiles: the part of an object that a request may change. */
import { shareAllBut } from '#api/strategy/kind-strategy.js';
import type { UpdateProfile } from '#apiserver/registry/mutate.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

/** Members that an update of the status may change. */
const statusMembers: ReadonlySet<string> = new Set(['metadata', 'status']);

/** The whole object. */
export function mainProfile({ strategy }: ServedResource): UpdateProfile {
  return {
    subresource: '',
    prepare: (object, old, context) => strategy.prepareForUpdate?.(object, old, context),
    validate: (object, old, context) => strategy.validateUpdate?.(object, old, context) ?? [],
  };
}

/** `…/status`. */
export function statusProfile({ strategy }: ServedResource): UpdateProfile {
  return {
    subresource: 'status',
    prepare: (object, old, context) => {
      if (strategy.prepareForStatusUpdate !== undefined) strategy.prepareForStatusUpdate(object, old, context);
      else shareAllBut(object, old, statusMembers);
    },
    validate: (object, old, context) => strategy.validateStatusUpdate?.(object, old, context) ?? [],
  };
}

/** The profile of a subresource; undefined if the kind has none of that name. */
export function partProfile(resource: ServedResource, subresource: string): UpdateProfile | undefined {
  if (subresource === 'status') return statusProfile(resource);
  const part = resource.strategy.partUpdates?.[subresource];
  return part && { subresource, prepare: part.prepare, validate: part.validate };
}
