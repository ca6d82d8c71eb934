/** Who manages which fields: what the writes of the registry tell, and what server-side apply asks. */

import type { ApiObjectShape } from '#api/object.js';
import { unsupportedMediaType } from '#apimachinery/errors/status.js';
import type { ServedResource } from '#apiserver/registry/served-resource.js';

export interface ManagedWrite {
  readonly resource: ServedResource;
  /** The object about to be stored; its metadata.managedFields are set in place. */
  readonly object: ApiObjectShape;
  readonly manager: string;
  readonly subresource: string;
}

export interface ApplyRequest {
  readonly resource: ServedResource;
  /** The applied configuration, as decoded. */
  readonly configuration: unknown;
  /** Absent when the object does not exist yet. */
  readonly live?: ApiObjectShape;
  readonly manager: string;
  readonly force: boolean;
  readonly subresource: string;
}

export interface ManagedFields {
  created(write: ManagedWrite): void;
  updated(write: ManagedWrite & { readonly old: ApiObjectShape }): void;
  /** The merged object with its managedFields. Throws 409 with one cause per field that another manager owns. */
  apply(request: ApplyRequest): ApiObjectShape;
}

/** Tracks nothing. */
export const noManagedFields: ManagedFields = {
  created: ({ object }) => {
    delete object.metadata.managedFields;
  },
  updated: ({ object }) => {
    delete object.metadata.managedFields;
  },
  apply: () => {
    throw unsupportedMediaType(['application/json-patch+json', 'application/merge-patch+json']);
  },
};
