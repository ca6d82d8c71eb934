/** The Scale of an object that has replicas. Pure. */

import type { ApiObjectShape } from '#api/meta/object.js';
import type { LabelSelector } from '#api/meta/v1/types.gen.js';
import type { ScaleParts } from '#api/strategy/strategy.js';
import { setMember } from '#apimachinery/collections/set-member.js';
import { internalError } from '#apimachinery/errors/status.js';
import { isObject, type JsonObject, valueAt } from '#apimachinery/patch/json-values.js';
import { selectorFromObject } from '#apimachinery/selectors/labels.js';
import type { TypeRef } from '#apiserver/resources/codec.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

interface Scalable extends ApiObjectShape {
  spec?: { selector?: LabelSelector };
}

export interface Scale extends ApiObjectShape {
  spec?: { replicas?: number };
  status?: { replicas: number; selector?: string };
}

/** Where a scale is in most kinds. */
const usual: ScaleParts = {
  specReplicas: ['spec', 'replicas'],
  statusReplicas: ['status', 'replicas'],
  selector: undefined,
};

export function specReplicas({ scaleParts = usual }: ServedResource['strategy']): readonly string[] {
  return scaleParts.specReplicas;
}

function numberAt(object: unknown, path: readonly string[]): number | undefined {
  const value = valueAt(object, path);
  return typeof value === 'number' ? value : undefined;
}

export function scaleOf(resource: ServedResource, object: ApiObjectShape, type: TypeRef): Scale {
  const { metadata } = object;
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const { scaleParts = usual } = resource.strategy;
  const selector = selectorText(resource, object as Scalable);
  const wanted = numberAt(object, scaleParts.specReplicas);
  // Nothing else is known of where a custom kind has it.
  if (wanted === undefined && resource.strategy.scaleParts !== undefined) {
    throw internalError(new Error(`the spec replicas field ".${scaleParts.specReplicas.join('.')}" does not exist`));
  }
  return {
    kind: type.kind,
    apiVersion: type.apiVersion,
    metadata: {
      ...(name === undefined ? {} : { name }),
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    },
    spec: { replicas: wanted ?? 0 },
    status: {
      replicas: numberAt(object, scaleParts.statusReplicas) ?? 0,
      ...(selector === '' ? {} : { selector }),
    },
  };
}

function selectorText({ strategy }: ServedResource, object: Scalable): string {
  if (strategy.scaleParts !== undefined) {
    const text = strategy.scaleParts.selector === undefined ? '' : valueAt(object, strategy.scaleParts.selector);
    return typeof text === 'string' ? text : '';
  }
  const selector = strategy.scaleSelector === undefined ? object.spec?.selector : strategy.scaleSelector(object);
  return selector === undefined ? '' : selectorFromObject(selector).toString();
}

/** A copy of the object, as far as it changes, with that value at the path. */
export function withValue(object: unknown, [name, ...rest]: readonly string[], value: unknown): JsonObject {
  const copy: JsonObject = isObject(object) ? { ...object } : {};
  if (name !== undefined) setMember(copy, name, rest.length === 0 ? value : withValue(copy[name], rest, value));
  return copy;
}
