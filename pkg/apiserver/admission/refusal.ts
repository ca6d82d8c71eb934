/** Helpers of admission plugins. */
import type { ApiObjectShape } from '#api/meta/object.js';
import type { Dialect, GroupKey } from '#apimachinery/dialect.js';
import { forbidden, type Qualified, type StatusError } from '#apimachinery/errors/status.js';
import type { AdmissionAttributes } from '#apiserver/admission/admission.js';

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
  const name = attributes.name === '' ? nameOf(attributes.object) : attributes.name;
  return forbidden(qualifiedOf(attributes, dialect), name, why);
}

function nameOf(object: ApiObjectShape | undefined): string {
  return object?.metadata.name ?? object?.metadata.generateName ?? '';
}
