/**
 * Annotations for fields that older versions of autoscalers lack, in the form of 1.24: metrics and conditions as in
 * version 1, the behavior with Go field names. Only those versions use them: stored objects never have them.
 */
import type { HorizontalPodAutoscalerBehavior, HPAScalingRules } from '#api/autoscaling/v2/types.gen.js';
import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { JsonWalk } from '#apimachinery/codec/json/walk.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { perDialect } from '#apimachinery/memo/once-per.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';

export const annotationNames = perDialect((dialect) => {
  const prefix = `autoscaling.alpha.${dialect.labelDomain}`;
  return {
    metrics: `${prefix}/metrics`,
    behavior: `${prefix}/behavior`,
    currentMetrics: `${prefix}/current-metrics`,
    conditions: `${prefix}/conditions`,
  };
});

/** The metadata without these annotations; the same object if there are none. */
export function withoutRoundTrip(metadata: ObjectMeta, dialect: Dialect): ObjectMeta {
  const names = Object.values(annotationNames(dialect));
  const { annotations, ...rest } = metadata;
  if (annotations === undefined || !names.some((name) => name in annotations)) return metadata;
  const kept = Object.entries(annotations).filter(([name]) => !names.includes(name));
  return kept.length === 0 ? rest : { ...rest, annotations: Object.fromEntries(kept) };
}

/** The metadata with exactly these of the annotations. */
export function withRoundTrip(
  metadata: ObjectMeta,
  carried: Readonly<Record<string, string>>,
  dialect: Dialect,
): ObjectMeta {
  const own = withoutRoundTrip(metadata, dialect);
  return Object.keys(carried).length === 0 ? own : { ...own, annotations: { ...own.annotations, ...carried } };
}

/** An annotation with the list as JSON; empty for an empty list. */
export function listText(name: string, values: readonly unknown[]): Record<string, string> {
  return values.length === 0 ? {} : { [name]: JSON.stringify(values) };
}

/** The elements of that type in an annotation. Clients may write anything, so an invalid one counts as absent. */
export function listOf<T>(text: string | undefined, type: string, scheme: Scheme): T[] | undefined {
  const values = parsed(text);
  if (!Array.isArray(values)) return undefined;
  const walk = new JsonWalk({ collectUnknown: false, limit: 0 });
  const info = scheme.type(type);
  try {
    return values.map((value) => walk.root(info, value) as T);
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}

export function behaviorText(behavior: HorizontalPodAutoscalerBehavior | undefined, dialect: Dialect) {
  if (behavior === undefined) return {};
  const { scaleUp, scaleDown } = behavior;
  const text = JSON.stringify({ ScaleUp: rulesInGo(scaleUp), ScaleDown: rulesInGo(scaleDown) });
  return { [annotationNames(dialect).behavior]: text };
}

function rulesInGo(rules: HPAScalingRules | undefined): object | null {
  if (rules === undefined) return null;
  const { stabilizationWindowSeconds = null, selectPolicy = null, policies } = rules;
  return {
    StabilizationWindowSeconds: stabilizationWindowSeconds,
    SelectPolicy: selectPolicy,
    Policies:
      policies?.map(({ type, value, periodSeconds }) => ({ Type: type, Value: value, PeriodSeconds: periodSeconds })) ??
      null,
  };
}

/** Undefined for an invalid or empty annotation. */
export function behaviorOf(
  annotations: ObjectMeta['annotations'],
  scheme: Scheme,
): HorizontalPodAutoscalerBehavior | undefined {
  const value = parsed(annotations?.[annotationNames(scheme.dialect).behavior]);
  if (typeof value !== 'object' || value === null) return undefined;
  const walk = new JsonWalk({ collectUnknown: false, limit: 0 });
  try {
    const type = scheme.type('autoscaling.v2.HorizontalPodAutoscalerBehavior');
    const behavior = walk.root(type, uncapitalized(value)) as HorizontalPodAutoscalerBehavior;
    return Object.keys(behavior).length === 0 ? undefined : behavior;
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}

/** Go accepts its field names in any case. The depth is that of the type. */
function uncapitalized(value: unknown, depth = 4): unknown {
  if (depth === 0 || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((element) => uncapitalized(element, depth - 1));
  const entries = Object.entries(value).map(([name, member]) => [
    name.charAt(0).toLowerCase() + name.slice(1),
    uncapitalized(member, depth - 1),
  ]);
  return Object.fromEntries(entries);
}

function parsed(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // Clients may write anything, so an invalid annotation counts as absent.
    return undefined;
  }
}
