/**
 * The two views of a horizontal pod autoscaler: version 2 in the store, version 1 for older clients. Version 1 knows one
 * metric, the pods' use of the processor; all else travels in annotations, so that a client that reads and writes version
 * 1 loses nothing. (The annotations hold the forms of version 2.)
 */
import type { HorizontalPodAutoscaler as V1 } from '#api/autoscaling/v1/types.gen.js';
import type { MetricSpec, MetricStatus, HorizontalPodAutoscaler as V2 } from '#api/autoscaling/v2/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

function annotationNames(dialect: Dialect) {
  const prefix = `autoscaling.alpha.${dialect.labelDomain}`;
  return {
    metrics: `${prefix}/metrics`,
    behavior: `${prefix}/behavior`,
    currentMetrics: `${prefix}/current-metrics`,
    conditions: `${prefix}/conditions`,
  };
}

/** Percent of what the pods request. */
const defaultProcessorUse = 80;

const isProcessorUse = ({ type, resource }: MetricSpec): boolean =>
  type === 'Resource' && resource?.name === 'cpu' && resource.target.averageUtilization !== undefined;

const isProcessorStatus = ({ type, resource }: MetricStatus): boolean =>
  type === 'Resource' && resource?.name === 'cpu' && resource.current.averageUtilization !== undefined;

/** Version 1's view of what is stored. Nested values are shared with the argument. */
export function autoscalerFromV2({ metadata, spec, status }: V2, dialect: Dialect): V1 {
  const names = annotationNames(dialect);
  const { metrics = [], behavior, ...common } = spec;
  const processor = metrics.find(isProcessorUse);
  const utilization = processor?.resource?.target.averageUtilization;
  const { currentMetrics = [], conditions = [], ...statusRest } = status ?? { desiredReplicas: 0, currentReplicas: 0 };
  const current = currentMetrics.find(isProcessorStatus)?.resource?.current.averageUtilization;
  const carried = {
    ...text(
      names.metrics,
      metrics.filter((metric) => metric !== processor),
    ),
    ...(behavior === undefined ? {} : { [names.behavior]: JSON.stringify(behavior) }),
    ...text(
      names.currentMetrics,
      currentMetrics.filter((metric) => !isProcessorStatus(metric)),
    ),
    ...text(names.conditions, conditions),
  };
  const annotations = { ...metadata.annotations, ...carried };
  return {
    kind: 'HorizontalPodAutoscaler',
    apiVersion: dialect.apiVersion('autoscaling', 'v1'),
    metadata: Object.keys(annotations).length === 0 ? metadata : { ...metadata, annotations },
    spec: { ...common, ...(utilization === undefined ? {} : { targetCPUUtilizationPercentage: utilization }) },
    ...(status === undefined
      ? {}
      : {
          status: {
            ...statusRest,
            currentReplicas: statusRest.currentReplicas ?? 0,
            ...(current === undefined ? {} : { currentCPUUtilizationPercentage: current }),
          },
        }),
  };
}

/** What is stored for version 1's view. Nested values are shared with the argument. */
export function autoscalerToV2({ metadata, spec, status }: V1, dialect: Dialect): V2 {
  const names = annotationNames(dialect);
  const { targetCPUUtilizationPercentage: target, ...common } = spec;
  const { currentCPUUtilizationPercentage: current, ...statusRest } = status ?? {};
  const { annotations = {} } = metadata;
  const metrics = [
    ...(target === undefined ? [] : [processorUse(target)]),
    ...list<MetricSpec>(annotations[names.metrics]),
  ];
  const behavior = parsed(annotations[names.behavior]) as V2['spec']['behavior'] | undefined;
  const currentMetrics = [
    ...(current === undefined ? [] : [processorStatus(current)]),
    ...list<MetricStatus>(annotations[names.currentMetrics]),
  ];
  const conditions = list<NonNullable<NonNullable<V2['status']>['conditions']>[number]>(annotations[names.conditions]);
  return {
    kind: 'HorizontalPodAutoscaler',
    apiVersion: dialect.apiVersion('autoscaling', 'v2'),
    metadata: withoutAnnotations(metadata, Object.values(names)),
    spec: {
      ...common,
      // Without any metric it scales by the processor.
      metrics: metrics.length === 0 ? [processorUse(defaultProcessorUse)] : metrics,
      ...(behavior === undefined ? {} : { behavior }),
    },
    ...(status === undefined
      ? {}
      : {
          status: {
            desiredReplicas: 0,
            ...statusRest,
            ...(currentMetrics.length === 0 ? {} : { currentMetrics }),
            ...(conditions.length === 0 ? {} : { conditions }),
          },
        }),
  };
}

function processorUse(averageUtilization: number): MetricSpec {
  return { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } } };
}

function processorStatus(averageUtilization: number): MetricStatus {
  return { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization } } };
}

function text(name: string, values: readonly unknown[]): Record<string, string> {
  return values.length === 0 ? {} : { [name]: JSON.stringify(values) };
}

/** Annotations are the client's: an unreadable one counts as absent. */
function parsed(annotation: string | undefined): unknown {
  if (annotation === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(annotation);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function list<T>(annotation: string | undefined): T[] {
  const value = parsed(annotation);
  return Array.isArray(value) ? (value as T[]) : [];
}

function withoutAnnotations(metadata: V1['metadata'], names: readonly string[]): V1['metadata'] {
  if (metadata.annotations === undefined) return metadata;
  const kept = Object.entries(metadata.annotations).filter(([name]) => !names.includes(name));
  const { annotations: _all, ...rest } = metadata;
  return kept.length === 0 ? rest : { ...rest, annotations: Object.fromEntries(kept) };
}
