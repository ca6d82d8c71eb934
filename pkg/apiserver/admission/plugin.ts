/** Base class and helpers of admission plugins. */
import type { ApiObjectShape } from '#api/meta/object.js';
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

  protected refusal(attributes: AdmissionAttributes, why: string): StatusError {
    return refusal(attributes, this.dialect, why);
  }
}
