import t from 'tap';
import { coreValues } from '#api/core/v1/values/go-values.js';
import { goQuantityValue } from '#api/go/go-values.js';

t.test('values in Go syntax, as in messages of 1.24', (t) => {
  const small = (value: number, scale: number, text: string, format: string) =>
    `resource.Quantity{i:resource.int64Amount{value:${value}, scale:${scale}}, d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:"${text}", Format:"${format}"}`;
  const rows: readonly (readonly [{ toString(): string }, string])[] = [
    [goQuantityValue('100m'), small(100, -3, '100m', 'DecimalSI')],
    [goQuantityValue('1Gi'), small(1_073_741_824, 0, '1Gi', 'BinarySI')],
    [goQuantityValue('10e99'), small(10, 99, '10e99', 'DecimalExponent')],
    [coreValues.member('PersistentVolumeSpec', 'capacity', undefined), 'core.ResourceList(nil)'],
    [coreValues.member('PersistentVolumeSpec', 'capacity', {}), 'core.ResourceList{}'],
    [
      coreValues.member('PersistentVolumeSpec', 'capacity', { storage: '5', cpu: '1' }),
      `core.ResourceList{"cpu":${small(1, 0, '1', 'DecimalSI')}, "storage":${small(5, 0, '5', 'DecimalSI')}}`,
    ],
    [coreValues.of('Taint', { key: 'a' }), 'core.Taint{Key:"a", Value:"", Effect:"", TimeAdded:<nil>}'],
    [
      coreValues.of('Taint', { key: 'é"', effect: 'NoExecute', timeAdded: '2024-05-01T10:00:00Z' }),
      'core.Taint{Key:"é\\"", Value:"", Effect:"NoExecute", TimeAdded:(*v1.Time)(time.Date(2024, time.May, 1, 10, 0, 0, 0, time.Local))}',
    ],
    [
      coreValues.of('Toleration', { key: 'a', operator: 'Exists' }),
      'core.Toleration{Key:"a", Operator:"Exists", Value:"", Effect:"", TolerationSeconds:(*int64)(nil)}',
    ],
    [
      coreValues.of('ServicePort', { port: 80, targetPort: 'http' }),
      'core.ServicePort{Name:"", Protocol:"", AppProtocol:(*string)(nil), Port:80, TargetPort:intstr.IntOrString{Type:1, IntVal:0, StrVal:"http"}, NodePort:0}',
    ],
    [
      coreValues.member('PodStatus', 'podIPs', [{ ip: 'x' }, {}]),
      '[]core.PodIP{core.PodIP{IP:"x"}, core.PodIP{IP:""}}',
    ],
    [
      coreValues.of('ScopeSelector', { matchExpressions: [{ scopeName: 'BestEffort', operator: 'Exists' }] }),
      'core.ScopeSelector{MatchExpressions:[]core.ScopedResourceSelectorRequirement{core.ScopedResourceSelectorRequirement{ScopeName:"BestEffort", Operator:"Exists", Values:[]string(nil)}}}',
    ],
  ];
  for (const [value, text] of rows) t.equal(value.toString(), text);
  t.throws(() => coreValues.of('Odd', {}).toString(), RangeError);
  t.throws(() => coreValues.member('Taint', 'odd', {}).toString(), RangeError);
  t.end();
});
