import t from 'tap';
import { limitRangeStrategy } from '#api/core/v1/limitrange/strategy.js';
import type { LimitRange } from '#api/core/v1/types.gen.js';
import { goQuantityValue } from '#api/go/go-values.js';
import { checkRules, type RuleRow } from '#api/testing/rule-table.js';
import { created, type Draft, withField } from '#api/testing/strategy-table.js';

const base: Draft = { metadata: { name: 'l', namespace: 'ns' }, spec: { limits: [] } };
const item = (fields: object, ...failures: string[]): RuleRow => [
  'spec.limits',
  [{ type: 'Container', ...fields }],
  ...failures,
];

const rows: RuleRow[] = [
  item({ type: 'example.com/Thing', max: { storage: '1' } }),
  item(
    { type: 'Thing' },
    'spec.limits[0].type: Invalid value: "Thing": must be a standard limit type or fully qualified',
  ),
  item(
    { type: '' },
    'spec.limits[0].type: Invalid value: "": name part must be non-empty',
    `spec.limits[0].type: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
  ),
  ['spec.limits', [{ type: 'Pod' }, { type: 'Pod' }], 'spec.limits[1].type: Duplicate value: "Pod"'],
  item(
    { max: { storage: '1' } },
    'spec.limits[0].max[storage]: Invalid value: "storage": must be a standard resource for containers',
    'spec.limits[0].default[storage]: Invalid value: "storage": must be a standard resource for containers',
    'spec.limits[0].defaultRequest[storage]: Invalid value: "storage": must be a standard resource for containers',
  ),
  item({ max: { 'example.com/gpu': '1' } }),
  item(
    { type: 'Pod', min: { pods: '1' } },
    'spec.limits[0].min[pods]: Invalid value: "pods": must be a standard resource for containers',
  ),
  item({ type: 'PersistentVolumeClaim', min: { storage: '1Gi' } }),
  item(
    { type: 'PersistentVolumeClaim', min: { cpu: '1' } },
    'spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but neither was provided',
  ),
  item(
    { type: 'PersistentVolumeClaim', max: { storage: '1', odd: '1' } },
    'spec.limits[0].max[odd]: Invalid value: "odd": must be a standard resource type or fully qualified',
  ),
  item(
    { type: 'Pod', default: { cpu: '1' }, defaultRequest: { cpu: '1' } },
    "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'",
    "spec.limits[0].defaultRequest: Forbidden: may not be specified when `type` is 'Pod'",
  ),
  item(
    { min: { cpu: '2' }, max: { cpu: '1' } },
    `spec.limits[0].min[cpu]: Invalid value: ${goQuantityValue('2').toString()}: min value 2 is greater than max value 1`,
    `spec.limits[0].defaultRequest[cpu]: Invalid value: ${goQuantityValue('1').toString()}: min value 2 is greater than default request value 1`,
    `spec.limits[0].default[cpu]: Invalid value: ${goQuantityValue('2').toString()}: min value 2 is greater than default value 1`,
  ),
  item(
    { type: 'Pod', min: { cpu: '2' }, max: { cpu: '1' } },
    `spec.limits[0].min[cpu]: Invalid value: ${goQuantityValue('2').toString()}: min value 2 is greater than max value 1`,
  ),
  item(
    { defaultRequest: { cpu: '1' }, min: { cpu: '2' } },
    `spec.limits[0].defaultRequest[cpu]: Invalid value: ${goQuantityValue('1').toString()}: min value 2 is greater than default request value 1`,
  ),
  item(
    { defaultRequest: { cpu: '3' }, max: { cpu: '2' } },
    `spec.limits[0].defaultRequest[cpu]: Invalid value: ${goQuantityValue('3').toString()}: default request value 3 is greater than max value 2`,
    `spec.limits[0].defaultRequest[cpu]: Invalid value: ${goQuantityValue('3').toString()}: default request value 3 is greater than default limit value 2`,
  ),
  item(
    { default: { cpu: '1' }, defaultRequest: { cpu: '2' } },
    `spec.limits[0].defaultRequest[cpu]: Invalid value: ${goQuantityValue('2').toString()}: default request value 2 is greater than default limit value 1`,
  ),
  item(
    { default: { cpu: '1' }, min: { cpu: '2' } },
    `spec.limits[0].defaultRequest[cpu]: Invalid value: ${goQuantityValue('1').toString()}: min value 2 is greater than default request value 1`,
    `spec.limits[0].default[cpu]: Invalid value: ${goQuantityValue('2').toString()}: min value 2 is greater than default value 1`,
  ),
  item(
    { default: { cpu: '3' }, max: { cpu: '2' } },
    `spec.limits[0].defaultRequest[cpu]: Invalid value: ${goQuantityValue('3').toString()}: default request value 3 is greater than max value 2`,
    `spec.limits[0].default[cpu]: Invalid value: ${goQuantityValue('2').toString()}: default value 3 is greater than max value 2`,
  ),
  item(
    { maxLimitRequestRatio: { odd: '2' } },
    'spec.limits[0].maxLimitRequestRatio[odd]: Invalid value: "odd": must be a standard resource type or fully qualified',
    'spec.limits[0].maxLimitRequestRatio[odd]: Invalid value: "odd": must be a standard resource for containers',
  ),
  item(
    { default: { 'example.com/gpu': '2' }, defaultRequest: { 'example.com/gpu': '1' } },
    `spec.limits[0].defaultRequest[example.com/gpu]: Invalid value: ${goQuantityValue('1').toString()}: default value 2 must equal to defaultRequest value 1 in example.com/gpu`,
  ),
  item(
    { default: { 'hugepages-2Mi': '4Mi' }, defaultRequest: { 'hugepages-2Mi': '2Mi' } },
    `spec.limits[0].defaultRequest[hugepages-2Mi]: Invalid value: ${goQuantityValue('2Mi').toString()}: default value 4Mi must equal to defaultRequest value 2Mi in hugepages-2Mi`,
  ),
];

t.test('limit ranges are validated as in 1.24', (t) => {
  checkRules(t, limitRangeStrategy, base, rows);
  t.end();
});

t.test('defaults follow from the other bounds', (t) => {
  const createdItem = (fields: object) =>
    (created(limitRangeStrategy, withField(base, 'spec.limits', [fields])) as LimitRange).spec.limits?.[0];
  t.match(createdItem({ type: 'Container', max: { cpu: '2' } }), {
    default: { cpu: '2' },
    defaultRequest: { cpu: '2' },
  });
  t.match(createdItem({ type: 'Container', min: { cpu: '1' } }), { defaultRequest: { cpu: '1' } });
  t.match(createdItem({ type: 'Container', min: { cpu: '1' }, default: { cpu: '2' } }), {
    defaultRequest: { cpu: '2' },
  });
  t.equal(createdItem({ type: 'Pod', max: { cpu: '2' } })?.default, undefined);
  t.end();
});
