import t from 'tap';
import { podFaults } from '#test/e2e/pod-faults.js';

t.test('finds what is there twice, and what is missing', async (t) => {
  const mounts = [
    { name: 'a', mountPath: '/a' },
    { name: 'b', mountPath: '/a' },
    { name: 'data', mountPath: '/data' },
  ];
  const env = [{ name: 'X' }, { name: 'X' }];
  const containers = [
    { name: 'one', volumeMounts: mounts, env },
    { name: 'one', ports: [{ name: 'p' }, { name: 'p' }] },
  ];
  const spec = { containers, volumes: [{ name: 'a' }, { name: 'a' }] };
  const volumeClaimTemplates = [{ metadata: { name: 'data' } }];
  const faults = podFaults([
    { kind: 'StatefulSet', metadata: { name: 's' }, spec: { volumeClaimTemplates, template: { spec } } },
  ]);
  t.same(
    faults.map((fault) => fault.replace(/^.*spec: /, '')),
    [
      'volume a twice',
      'container one twice',
      'one: mount path /a twice',
      'one: variable X twice',
      'one: no volume b',
      'one: port p twice',
    ],
  );
  t.match(faults[0], 'StatefulSet s');
  t.same(podFaults([null, { kind: 'ConfigMap', metadata: { name: 'c' }, data: { containers: 'none' } }]), []);
});
