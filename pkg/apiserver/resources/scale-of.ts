/** The Scale of an object that has replicas. Pure. */

import { type Nested, nestedInteger, nestedString } from '#api/apiextensions/v1/customresource/scale.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import type { LabelSelector } from '#api/meta/v1/types.gen.js';
import type { ScaleParts } from '#api/strategy/strategy.js';
import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';
import { setMember } from '#apimachinery/collections/set-member.js';
import { unclassified } from '#apimachinery/errors/status.js';
import { valueAt } from '#apimachinery/patch/json-values.js';
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

/** The scale's fields in most kinds. */
const usualParts: ScaleParts = {
  specReplicas: ['spec', 'replicas'],
  statusReplicas: ['status', 'replicas'],
  selector: undefined,
};

function customNumber(object: unknown, path: readonly string[]): number | undefined {
  const value = required(nestedInteger(object, path));
  return value === undefined ? undefined : Number(value);
}

function required<T>({ value, fault }: Nested<T>): T | undefined {
  if (fault !== undefined) throw unclassified(fault);
  return value;
}

export function specReplicas({ scaleParts = usualParts }: ServedResource['strategy']): readonly string[] {
  return scaleParts.specReplicas;
}

function numberAt(object: unknown, path: readonly string[]): number | undefined {
  const value = valueAt(object, path);
  return typeof value === 'number' ? value : undefined;
}

/** The desired number of replicas; undefined if a custom object lacks it. Throws 500 for a malformed one. */
export function desiredReplicas({ strategy }: ServedResource, object: ApiObjectShape): number | undefined {
  return strategy.scaleParts === undefined
    ? (numberAt(object, usualParts.specReplicas) ?? 0)
    : customNumber(object, strategy.scaleParts.specReplicas);
}

/** `defaultReplicas`: the number for objects that have none. */
export function scaleOf(resource: ServedResource, object: ApiObjectShape, type: TypeRef, defaultReplicas = 0): Scale {
  const { metadata } = object;
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const { scaleParts } = resource.strategy;
  const selector = selectorText(resource, object as Scalable);
  const replicas = desiredReplicas(resource, object) ?? defaultReplicas;
  const current =
    scaleParts === undefined
      ? numberAt(object, usualParts.statusReplicas)
      : customNumber(object, scaleParts.statusReplicas);
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
    spec: replicas === 0 ? {} : { replicas },
    status: {
      replicas: current ?? 0,
      ...(selector === '' ? {} : { selector }),
    },
  };
}

function selectorText({ strategy }: ServedResource, object: Scalable): string {
  if (strategy.scaleParts !== undefined) {
    const { selector } = strategy.scaleParts;
    return selector === undefined ? '' : (required(nestedString(object, selector)) ?? '');
  }
  const selector = strategy.scaleSelector === undefined ? object.spec?.selector : strategy.scaleSelector(object);
  return selector === undefined ? '' : selectorFromObject(selector).toString();
}

/** A copy of the object with `value` at the path; unchanged parts are shared. */
export function withValue(object: unknown, [name, ...rest]: readonly string[], value: unknown): JsonObject {
  const copy: JsonObject = isJsonObject(object) ? { ...object } : {};
  if (name !== undefined) setMember(copy, name, rest.length === 0 ? value : withValue(copy[name], rest, value));
  return copy;
}
