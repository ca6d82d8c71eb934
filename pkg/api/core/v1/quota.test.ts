import t from 'tap';
import { limitRangeStrategy } from '#api/core/v1/limitrange/strategy.js';
import { persistentVolumeStrategy } from '#api/core/v1/persistentvolume/strategy.js';
import { resourceQuotaStrategy } from '#api/core/v1/resourcequota/strategy.js';
import { goQuantityValue } from '#api/go/go-values.js';
import {
  created,
  createFailures,
  type Draft,
  testContext,
  updateFailures,
  withField,
} from '#api/testing/strategy-table.js';

const metadata = { name: 'n', namespace: 'ns', creationTimestamp: '2024-05-31T23:00:00Z' };

t.test('limit ranges', (t) => {
  const base: Draft = { metadata, spec: { limits: [{ type: 'Container', max: { cpu: '2' }, min: { cpu: '1' } }] } };
  t.strictSame(createFailures(limitRangeStrategy, base), []);
  t.match(created(limitRangeStrategy, base), {
    spec: { limits: [{ default: { cpu: '2' }, defaultRequest: { cpu: '2' } }] },
  });
  t.match(createFailures(limitRangeStrategy, withField(base, 'spec.limits.0.min', { cpu: '3' })), [
    `spec.limits[0].min[cpu]: Invalid value: ${goQuantityValue('3').toString()}: min value 3 is greater than max value 2`,
  ]);
  t.strictSame(
    createFailures(limitRangeStrategy, withField(base, 'spec.limits', [{ type: 'Pod', default: { cpu: '1' } }])),
    ["spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'"],
  );
  t.end();
});

t.test('quotas', (t) => {
  const base: Draft = { metadata, spec: { hard: { pods: '10', 'count/x.y': '1' } } };
  t.strictSame(createFailures(resourceQuotaStrategy, base), []);
  t.strictSame(createFailures(resourceQuotaStrategy, withField(base, 'spec.hard', { odd: '1' })), [
    'spec.hard[odd]: Invalid value: "odd": must be a standard resource type or fully qualified',
    'spec.hard[odd]: Invalid value: "odd": must be a standard resource for quota',
  ]);
  t.strictSame(createFailures(resourceQuotaStrategy, withField(base, 'spec.hard', { pods: '500m' })), [
    `spec.hard[pods]: Invalid value: ${goQuantityValue('500m').toString()}: must be an integer`,
  ]);
  t.match(createFailures(resourceQuotaStrategy, withField(base, 'spec.scopes', ['BestEffort', 'NotBestEffort'])), [
    /conflicting scopes$/,
  ]);
  const status = { hard: { pods: '10', cpu: '1', 'limits.cpu': '2' }, used: { pods: '3' } };
  t.strictSame(
    resourceQuotaStrategy.cells?.({ ...created(resourceQuotaStrategy, base), status } as never, testContext),
    ['n', '60m', 'cpu: 0/1, pods: 3/10', 'limits.cpu: 0/2'],
  );
  t.end();
});

t.test('volumes', (t) => {
  const base: Draft = {
    metadata: { name: 'v', creationTimestamp: metadata.creationTimestamp },
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce', 'ReadOnlyMany'], hostPath: { path: '/p' } },
  };
  t.strictSame(createFailures(persistentVolumeStrategy, base), []);
  t.strictSame(createFailures(persistentVolumeStrategy, withField(base, 'spec', {})), [
    'spec.accessModes: Required value',
    'spec.capacity: Required value',
    'spec.capacity: Unsupported value: core.ResourceList(nil): supported values: "storage"',
    'spec: Required value: must specify a volume type',
  ]);
  t.strictSame(createFailures(persistentVolumeStrategy, withField(base, 'spec.nfs', { server: 's', path: '/' })), [
    'spec.nfs: Forbidden: may not specify more than 1 volume type',
  ]);
  t.strictSame(updateFailures(persistentVolumeStrategy, base, withField(base, 'spec.hostPath.path', '/q')), [
    'spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation',
  ]);
  t.strictSame(persistentVolumeStrategy.cells?.(created(persistentVolumeStrategy, base) as never, testContext), [
    'v',
    '1Gi',
    'RWO,ROX',
    'Retain',
    'Pending',
    '',
    '',
    '',
    '60m',
    'Filesystem',
  ]);
  t.end();
});
