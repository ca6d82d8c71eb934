/** Which part of an object a request may change. */
import { shareAllBut } from '#api/strategy/kind-strategy.js';
import type { UpdateProfile } from '#apiserver/registry/mutate.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

/** What an update of the status may bring. */
const ofStatus: ReadonlySet<string> = new Set(['metadata', 'status']);

/** The object itself. */
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
      else shareAllBut(object, old, ofStatus);
    },
    validate: (object, old, context) => strategy.validateStatusUpdate?.(object, old, context) ?? [],
  };
}

/** A part with a subresource of its own; undefined where the kind has none of that name. */
export function partProfile(resource: ServedResource, subresource: string): UpdateProfile | undefined {
  if (subresource === 'status') return statusProfile(resource);
  const part = resource.strategy.partUpdates?.[subresource];
  return part && { subresource, prepare: part.prepare, validate: part.validate };
}
