/** Who manages which fields: what the writes of the registry tell, and what server-side apply asks. */

import type { ApiObjectShape } from '#api/object.js';
import { type ApplyRequest, applyPatch, applySteps } from '#apimachinery/apply/apply.js';
import { updateManagedFields, type WriteInfo } from '#apimachinery/apply/managed-fields.js';
import type { Clock } from '#apimachinery/clock.js';
import { copyJson } from '#apimachinery/copy.js';
import { type Dialect, kubernetesDialect } from '#apimachinery/dialect.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';
import { versionsOf } from '#apiserver/registry/other-versions.js';
import type { Pause } from '#apiserver/registry/steps.js';
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
    const { object, old, resource, manager, subresource } = write;
    const entries = updateManagedFields({
      ...this.#info({ resource, manager, subresource }),
      live: members(old),
      updated: object as unknown as Members,
    });
    if (entries.length > 0)
      object.metadata.managedFields = entries as NonNullable<typeof object.metadata.managedFields>;
    else delete object.metadata.managedFields;
  }

  /**
   * The merged object with its managedFields, not yet normalized, sharing nothing with `live`. Throws 400 for a
   * configuration that is not of the kind, 409 with one cause per field that another manager owns.
   */
  apply(application: Application): unknown {
    return unshared(applyPatch(this.#request(application)).object);
  }

  /** The same for large objects: `pause` comes between the steps, and says when the next one may begin. */
  async applyInSteps(application: Application, pause: Pause): Promise<unknown> {
    const steps = applySteps(this.#request(application));
    for (let step = steps.next(); ; step = steps.next()) {
      const pausing = pause();
      if (pausing !== undefined) await pausing;
      if (step.done === true) return unshared(step.value.object);
    }
  }

  #request(application: Application): ApplyRequest {
    const { configuration: applied, force, live, manager } = application;
    const client = [this.#options.dialect, kubernetesDialect].map(clientSideApply).find((c) => c.manager === manager);
    const request = { ...this.#info(application), applied, force, live: members(live) };
    return client === undefined ? request : { ...request, clientSideApply: client };
  }

  #info({ resource, manager, subresource }: Pick<ManagedWrite, 'resource' | 'manager' | 'subresource'>): WriteInfo {
    const { apiVersion } = resource;
    const { clock, codec, dialect } = this.#options;
    const versions = versionsOf(resource, { codec, dialect });
    const info = { type: this.#typeOf(resource), apiVersion, manager, subresource, now: clock.now() };
    return versions === undefined ? info : { ...info, versions };
  }

  #typeOf({ apiVersion, declaration }: ServedResource): TypeInfo {
    return this.#options.codec.typeOf({ apiVersion, kind: declaration.kind });
  }
}

/** The merge shares what it leaves alone, and objects of the cache must not be changed by what comes next. */
function unshared(object: object): unknown {
  return copyJson(object);
}

/** The command-line client's name, and the annotation in which it keeps what it applied by itself. */
function clientSideApply(dialect: Dialect): { manager: string; annotation: string } {
  const annotation = dialect.annotations.lastApplied;
  return { annotation, manager: annotation.slice(0, annotation.indexOf('.')) };
}
