/** Which part of an object each subresource may change. */

import { validateApproval } from '#api/certificates/v1/certificatesigningrequest/status-validation.js';
import { prepareApproval } from '#api/certificates/v1/certificatesigningrequest/strategy.js';
import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import { prepareFinalize, validateFinalize } from '#api/core/v1/namespace/strategy.js';
import { prepareEphemeralContainersUpdate, validateEphemeralContainers } from '#api/core/v1/pod/strategy.js';
import type { Namespace, Pod } from '#api/core/v1/types.gen.js';
import type { ApiObjectShape } from '#api/object.js';
import { copyField } from '#api/strategy/kind-strategy.js';
import type { UpdateProfile } from '#apiserver/registry/mutate.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

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
  prepare: (object, old) => prepareFinalize(object as Namespace, old as Namespace),
  validate: (object, _old, context) => validateFinalize(object as Namespace, context),
};

/** `pods/…/ephemeralcontainers`: nothing but those containers. */
export function ephemeralContainersProfile(): UpdateProfile {
  return {
    subresource: 'ephemeralcontainers',
    prepare(object, old, context) {
      const next = prepareEphemeralContainersUpdate(object as Pod, old as Pod, context);
      keepAllBut(object, old, []);
      Reflect.set(object, 'spec', next.spec);
      const { managedFields } = object.metadata;
      object.metadata = { ...next.metadata, ...(managedFields && { managedFields }) };
    },
    validate: (object, old, context) => validateEphemeralContainers(object as Pod, old as Pod, context),
  };
}

/** `certificatesigningrequests/…/approval`: the conditions that approve or deny. */
export function approvalProfile(): UpdateProfile {
  return {
    subresource: 'approval',
    prepare(object, old, context) {
      prepareApproval(object as CertificateSigningRequest, old as CertificateSigningRequest, context);
    },
    validate: (object, old) => validateApproval(object as CertificateSigningRequest, old as CertificateSigningRequest),
  };
}

/** Everything but metadata and the named fields becomes what it was. */
function keepAllBut(object: ApiObjectShape, old: ApiObjectShape, fields: readonly string[]): void {
  for (const field of new Set([...Object.keys(object), ...Object.keys(old)])) {
    if (field !== 'metadata' && !fields.includes(field)) copyField(object, old, field);
  }
}
