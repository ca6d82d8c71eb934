/** Rules and defaults behind a feature gate. */

import t from 'tap';
import { statefulSetStrategy } from '#api/apps/v1/statefulset/strategy.js';
import { horizontalPodAutoscalerStrategy } from '#api/autoscaling/v2/horizontalpodautoscaler/strategy.js';
import { cronJobStrategy } from '#api/batch/v1/cronjob/strategy.js';
import { jobStrategy } from '#api/batch/v1/job/strategy.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import type { Strategy, StrategyContext } from '#api/strategy/strategy.js';
import { type Draft, testContext, withField } from '#api/testing/strategy-table.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Draft as Mutable } from '#apimachinery/draft.js';

function contextWith(gate: string, on: boolean): StrategyContext {
  return { ...testContext, gate: (name) => (name === gate ? on : testContext.gate(name)) };
}

function created(strategy: Strategy, draft: Draft, context: StrategyContext): Mutable<ApiObjectShape> {
  const object = copyJson(draft) as unknown as Mutable<ApiObjectShape>;
  strategy.defaults?.(object, context);
  strategy.prepareForCreate?.(object, context);
  strategy.completeCreate?.(object, context);
  return object;
}

function failuresOf(strategy: Strategy, draft: Draft, context: StrategyContext): string[] {
  const failures = strategy.validateCreate?.(created(strategy, draft, context), context) ?? [];
  return failures.map(({ field, message }) => `${field}: ${message}`);
}

const metadata = { name: 'a', namespace: 'ns', uid: 'u' };
const pod = { containers: [{ name: 'c', image: 'i' }] };
const set: Draft = {
  metadata,
  spec: { selector: { matchLabels: { a: 'b' } }, template: { metadata: { labels: { a: 'b' } }, spec: pod } },
};

type Row = [path: string, value: unknown, ...failures: string[]];

function check(strategy: Strategy, gate: string, base: Draft, rows: readonly Row[]): void {
  for (const [path, value, ...failures] of rows) {
    const draft = withField(base, path, value);
    const name = `${gate}: ${path} = ${JSON.stringify(value)}`;
    t.strictSame(failuresOf(strategy, draft, contextWith(gate, true)), failures, name);
  }
}

check(statefulSetStrategy, 'StatefulSetAutoDeletePVC', set, [
  ['spec.persistentVolumeClaimRetentionPolicy', { whenDeleted: 'Delete', whenScaled: 'Retain' }],
  [
    'spec.persistentVolumeClaimRetentionPolicy',
    { whenDeleted: 'Keep', whenScaled: 'Keep' },
    'spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Unsupported value: "Keep": supported values: "Retain", "Delete"',
    'spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "Keep": supported values: "Retain", "Delete"',
  ],
]);

const rolling = 'spec.updateStrategy.rollingUpdate.maxUnavailable';
check(statefulSetStrategy, 'MaxUnavailableStatefulSet', set, [
  [rolling, 2],
  [rolling, '50%'],
  [rolling, 0, `${rolling}: Invalid value: intstr.IntOrString{Type:0, IntVal:0, StrVal:""}: cannot be 0`],
  [rolling, '0%', `${rolling}: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"0%"}: cannot be 0`],
  [rolling, -1, `${rolling}: Invalid value: -1: must be greater than or equal to 0`],
  [
    rolling,
    '101%',
    `${rolling}: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"101%"}: must not be greater than 100%`,
  ],
]);

t.test('defaults of stateful sets', (t) => {
  const on = (gate: string) => created(statefulSetStrategy, set, contextWith(gate, true));
  t.match(on('StatefulSetAutoDeletePVC'), {
    spec: { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' } },
  });
  t.match(on('MaxUnavailableStatefulSet'), { spec: { updateStrategy: { rollingUpdate: { maxUnavailable: 1 } } } });
  const off = created(statefulSetStrategy, set, testContext) as unknown as { spec: object };
  t.notHas(off.spec, { persistentVolumeClaimRetentionPolicy: {} });
  t.end();
});

const scaler: Draft = { metadata, spec: { scaleTargetRef: { kind: 'D', name: 'd' }, maxReplicas: 3 } };
const value = { type: 'Value', value: '1' };
const external = [{ type: 'External', external: { metric: { name: 'm' }, target: value } }];
check(horizontalPodAutoscalerStrategy, 'HPAScaleToZero', withField(scaler, 'spec.minReplicas', 0), [
  ['spec.metrics', external],
  [
    'spec.metrics',
    [],
    'spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas',
  ],
  [
    'spec',
    { scaleTargetRef: { kind: 'D', name: 'd' }, maxReplicas: 3, minReplicas: -1, metrics: external },
    'spec.minReplicas: Invalid value: -1: must be greater than or equal to 0',
  ],
]);

const target = { type: 'Utilization', averageUtilization: 50 };
check(horizontalPodAutoscalerStrategy, 'HPAContainerMetrics', scaler, [
  ['spec.metrics', [{ type: 'ContainerResource', containerResource: { name: 'cpu', container: 'c', target } }]],
  [
    'spec.metrics',
    [{ type: 'ContainerResource' }],
    'spec.metrics[0].containerResource: Required value: must populate information for the given metric source',
  ],
  [
    'spec.metrics',
    [{ type: 'ContainerResource', containerResource: { target } }],
    'spec.metrics[0].containerResource.container: Required value: must specify a container',
    'spec.metrics[0].containerResource.name: Required value: must specify a resource name',
  ],
]);

const jobPod = { ...pod, restartPolicy: 'Never' };
const cron: Draft = { metadata, spec: { schedule: '@daily', jobTemplate: { spec: { template: { spec: jobPod } } } } };
check(cronJobStrategy, 'CronJobTimeZone', cron, [
  ['spec.timeZone', 'Europe/Berlin'],
  ['spec.timeZone', 'UTC'],
  ['spec.timeZone', '', 'spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string'],
  [
    'spec.timeZone',
    'local',
    'spec.timeZone: Invalid value: "local": timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones',
  ],
  ['spec.timeZone', '+01:00', 'spec.timeZone: Invalid value: "+01:00": unknown time zone +01:00'],
  [
    'spec',
    { ...(cron['spec'] as object), schedule: 'TZ=UTC * * * * *', timeZone: 'UTC' },
    'spec.schedule: Invalid value: "TZ=UTC * * * * *": cannot use both timeZone field and TZ or CRON_TZ in schedule',
  ],
]);

t.test('the annotation of jobs that track pods by finalizers', (t) => {
  const job: Draft = { metadata, spec: { template: { spec: jobPod } } };
  const mark = 'batch.orch.io/job-tracking';
  const on = created(jobStrategy, job, contextWith('JobTrackingWithFinalizers', true));
  t.match(on.metadata.annotations, { [mark]: '' });
  const off = contextWith('JobTrackingWithFinalizers', false);
  const plain = created(jobStrategy, withField(job, 'metadata.annotations', { [mark]: '', a: 'b' }), off);
  t.strictSame(plain.metadata.annotations, { a: 'b' });
  const marked = copyJson(plain);
  marked.metadata.annotations = { [mark]: '' };
  const failures = jobStrategy.validateUpdate?.(marked as never, plain as never, off) ?? [];
  t.match(failures, [{ field: `metadata.annotations[${mark}]`, message: 'Forbidden: cannot add this annotation' }]);
  t.strictSame(jobStrategy.validateUpdate?.(marked as never, structuredClone(marked) as never, off), []);
  t.end();
});

t.test('labels of jobs follow a generated name', (t) => {
  const job = created(
    jobStrategy,
    { metadata: { ...metadata, name: 'a-bcdfg', generateName: 'a-' }, spec: { template: { spec: jobPod } } },
    testContext,
  );
  job.metadata.name = 'a-hjklm';
  jobStrategy.completeCreate?.(job as never, testContext);
  t.match(job, { spec: { template: { metadata: { labels: { 'job-name': 'a-hjklm', 'controller-uid': 'u' } } } } });
  t.strictSame(jobStrategy.validateCreate?.(job as never, testContext), []);
  t.end();
});

t.test('a time zone in the schedule causes one warning', (t) => {
  const warned = (schedule: string, old?: string): string[] => {
    const object = withField(cron, 'spec.schedule', schedule) as never;
    const before = old === undefined ? undefined : (withField(cron, 'spec.schedule', old) as never);
    return cronJobStrategy.warnings?.(object, before, testContext) ?? [];
  };
  t.match(warned('TZ=UTC @daily'), ['CRON_TZ or TZ used in spec.schedule is not officially supported']);
  t.strictSame(warned('TZ=UTC @daily', 'TZ=UTC @daily'), []);
  t.strictSame(warned('@daily'), []);
  t.end();
});
