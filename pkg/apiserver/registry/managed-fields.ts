/** Who manages which fields: what the writes of the registry tell, and what server-side apply asks. */

import type { ApiObjectShape } from '#api/meta/object.js';
import { type ApplyRequest, applySteps } from '#apimachinery/apply/apply.js';
import {
  type UpdateRequest,
  updateManagedFields,
  updateSteps,
  type WriteInfo,
} from '#apimachinery/apply/managed-fields.js';
import type { ManagedFieldsEntry } from '#apimachinery/apply/managers.js';
import { copyJsonSteps } from '#apimachinery/async/copy-steps.js';
import { inSteps, type Pause } from '#apimachinery/async/steps.js';
import type { Clock } from '#apimachinery/clock.js';
import { type Dialect, kubernetesDialect } from '#apimachinery/dialect.js';
import { versionsOf } from '#apiserver/registry/other-versions.js';
import type { Codec } from '#apiserver/resources/codec.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

export interface ManagedFieldsOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly codec: Codec;
}

export interface ManagedWrite {
  readonly resource: ServedResource;
  /** The object about to be stored; its metadata.managedFields are set. */
  readonly object: ApiObjectShape;
  /** As it is stored now; absent for a new object. */
  readonly old?: ApiObjectShape;
  readonly manager: string;
  readonly subresource: string;
}

export interface Application {
  readonly resource: ServedResource;
  /** The applied configuration, as parsed. */
  readonly configuration: unknown;
  /** Absent when the object does not exist yet. */
  readonly live?: ApiObjectShape;
  readonly manager: string;
  readonly force: boolean;
  readonly subresource: string;
}

type Members = Record<string, unknown>;

const members = (object: ApiObjectShape | undefined) => object as unknown as Members | undefined;

export class ManagedFields {
  readonly #options: ManagedFieldsOptions;

  constructor(options: ManagedFieldsOptions) {
    this.#options = options;
  }

  /** Whoever changes a field manages it from now on. */
  written(write: ManagedWrite): void {
    setEntries(write.object, updateManagedFields(this.#update(write)));
  }

  /** The same for large objects: `pause` comes between the steps. */
  async writtenInSteps(write: ManagedWrite, pause: Pause): Promise<void> {
    setEntries(write.object, await inSteps(updateSteps(this.#update(write)), pause));
  }

  #update({ object, old, resource, manager, subresource }: ManagedWrite): UpdateRequest {
    const info = this.#info({ resource, manager, subresource });
    return { ...info, live: members(old), updated: object as unknown as Members };
  }

  /**
   * The merged object with its managedFields, not yet normalized, sharing nothing with `live`. `pause` comes between the
   * steps, and says when the next one may begin. Throws 400 for a configuration that is not of the kind, 409 with one cause
   * per field that another manager owns.
   */
  async applyInSteps(application: Application, pause: Pause): Promise<unknown> {
    const { object } = await inSteps(applySteps(this.#request(application)), pause);
    const pausing = pause();
    if (pausing !== undefined) await pausing;
    // The merge shares what it leaves alone, and objects of the cache must not be changed by what comes next.
    return inSteps(copyJsonSteps(object), pause);
  }

  #request(application: Application): ApplyRequest {
    const { configuration: applied, force, live, manager } = application;
    const client = [this.#options.dialect, kubernetesDialect].map(clientSideApply).find((c) => c.manager === manager);
    const request = { ...this.#info(application), applied, force, live: members(live) };
    return client === undefined ? request : { ...request, clientSideApply: client };
  }

  #info({ resource, manager, subresource }: Pick<ManagedWrite, 'resource' | 'manager' | 'subresource'>): WriteInfo {
    const { apiVersion } = resource;
    const { clock, codec } = this.#options;
    const versions = versionsOf(resource, { codec });
    const info = { type: resource.type, apiVersion, manager, subresource, now: clock.now() };
    return versions === undefined ? info : { ...info, versions };
  }
}

function setEntries(object: ApiObjectShape, entries: readonly ManagedFieldsEntry[]): void {
  if (entries.length > 0) object.metadata.managedFields = entries as NonNullable<typeof object.metadata.managedFields>;
  else delete object.metadata.managedFields;
}

/** The command-line client's name, and the annotation in which it keeps what it applied by itself. */
function clientSideApply(dialect: Dialect): { manager: string; annotation: string } {
  const annotation = dialect.annotations.lastApplied;
  return { annotation, manager: annotation.slice(0, annotation.indexOf('.')) };
}
