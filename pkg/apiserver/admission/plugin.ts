/** Base class and helpers of admission plugins. */
import { namespaces } from '#api/core/v1/resources.gen.js';
import type { Namespace } from '#api/core/v1/types.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import { andThen, type MaybePromise } from '#apimachinery/async/steps.js';
import type { Dialect, GroupKey } from '#apimachinery/dialect.js';
import { forbidden, type Qualified, type StatusError } from '#apimachinery/errors/status.js';
import type { AdmissionAttributes } from '#apiserver/admission/admission.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';

/** True for that resource or, if named, that subresource. */
export function concerns(
  attributes: AdmissionAttributes,
  group: GroupKey,
  resource: string,
  subresource = '',
): boolean {
  return (
    attributes.resource.resource === resource &&
    attributes.resource.group === group &&
    attributes.subresource === subresource
  );
}

function qualifiedOf(attributes: AdmissionAttributes, dialect: Dialect): Qualified {
  return { group: dialect.groupName(attributes.resource.group), resource: attributes.resource.resource };
}

/** 403: `pods "web" is forbidden: <why>`. */
export function refusal(attributes: AdmissionAttributes, dialect: Dialect, why: string): StatusError {
  const name = attributes.name === '' ? objectName(attributes.object) : attributes.name;
  return forbidden(qualifiedOf(attributes, dialect), name, why);
}

function objectName(object: ApiObjectShape | undefined): string {
  return object?.metadata.name ?? object?.metadata.generateName ?? 'Unknown';
}

export interface ReadingPluginOptions {
  readonly dialect: Dialect;
  readonly reader: ObjectReader;
}

/** Base of plugins that read other objects. */
export abstract class ReadingPlugin {
  protected readonly dialect: Dialect;
  protected readonly reader: ObjectReader;

  constructor({ dialect, reader }: ReadingPluginOptions) {
    this.dialect = dialect;
    this.reader = reader;
  }

  /** Undefined if there is none. The cache may not show a new namespace yet, so the store is asked about a missing one. */
  protected namespaceOf(name: string): MaybePromise<Namespace | undefined> {
    const { reader } = this;
    return andThen(reader.get(namespaces, '', name), (cached) => cached ?? reader.get(namespaces, '', name, 'latest'));
  }

  protected refusal(attributes: AdmissionAttributes, why: string): StatusError {
    return refusal(attributes, this.dialect, why);
  }
}
