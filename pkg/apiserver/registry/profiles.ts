/** Which part of an object each subresource may change. */

import type { ApiObjectShape } from '#api/object.js';
import { copyField } from '#api/strategy/kind-strategy.js';
import type { UpdateProfile } from '#apiserver/registry/mutate.js';
import type { ServedResource } from '#apiserver/registry/served-resource.js';

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
      else keepAllBut(object, old, ['status']);
    },
    validate: (object, old, context) => strategy.validateStatusUpdate?.(object, old, context) ?? [],
  };
}

/** `namespaces/…/finalize`: the spec's finalizers. */
export const finalizeProfile: UpdateProfile = {
  subresource: 'finalize',
  prepare(object, old) {
    const finalizers = (object as { spec?: { finalizers?: string[] } }).spec?.finalizers;
    keepAllBut(object, old, []);
    const { spec } = old as { spec?: object };
    Reflect.set(object, 'spec', { ...spec, finalizers: finalizers ?? [] });
  },
  validate: () => [],
};

/** `pods/…/ephemeralcontainers`: nothing but those containers. */
export function ephemeralContainersProfile({ strategy }: ServedResource): UpdateProfile {
  return {
    subresource: 'ephemeralcontainers',
    prepare(object, old) {
      const containers: unknown = (object as { spec?: { ephemeralContainers?: unknown } }).spec?.ephemeralContainers;
      keepAllBut(object, old, []);
      const { spec } = old as { spec?: object };
      Reflect.set(object, 'spec', {
        ...spec,
        ...(containers === undefined ? {} : { ephemeralContainers: containers }),
      });
    },
    validate(object, old, context) {
      return strategy.validateStatusUpdate?.(object, old, context) ?? [];
    },
  };
}

/** `certificatesigningrequests/…/approval`: the conditions that approve or deny. */
export function approvalProfile({ strategy }: ServedResource): UpdateProfile {
  return {
    subresource: 'approval',
    prepare(object, old) {
      const conditions: unknown = (object as { status?: { conditions?: unknown } }).status?.conditions;
      keepAllBut(object, old, []);
      const { status } = old as { status?: object };
      Reflect.set(object, 'status', { ...status, ...(conditions === undefined ? {} : { conditions }) });
    },
    validate(object, old, context) {
      return strategy.validateStatusUpdate?.(object, old, context) ?? [];
    },
  };
}

/** Everything but metadata and the named fields becomes what it was. */
function keepAllBut(object: ApiObjectShape, old: ApiObjectShape, fields: readonly string[]): void {
  for (const field of new Set([...Object.keys(object), ...Object.keys(old)])) {
    if (field !== 'metadata' && !fields.includes(field)) copyField(object, old, field);
  }
}
