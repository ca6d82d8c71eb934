import t from 'tap';
import { nodeStrategy } from '#api/core/v1/node/strategy.js';
import type { Node } from '#api/core/v1/types.gen.js';
import {
  created,
  createFailures,
  type Draft,
  statusFailures,
  testContext,
  updateFailures,
  withField,
} from '#api/testing/strategy-table.js';

const base: Draft = { metadata: { name: 'n', creationTimestamp: '2024-05-30T00:00:00Z' }, spec: {} };

t.test('create', (t) => {
  const rows: [string, unknown, ...string[]][] = [
    [
      'spec.taints',
      [
        { key: 'k', effect: 'NoSchedule' },
        { key: 'k', effect: 'NoExecute' },
      ],
    ],
    [
      'spec.taints',
      [
        { key: 'k', effect: 'NoSchedule' },
        { key: 'k', value: 'v', effect: 'NoSchedule' },
      ],
      'metadata.taints[1]: Duplicate value: core.Taint{Key:"k", Value:"v", Effect:"NoSchedule", TimeAdded:<nil>}: taints must be unique by key and effect pair',
    ],
    ['spec.taints', [{ key: 'k' }], 'metadata.taints[0].effect: Required value'],
    [
      'spec.taints',
      [{ key: 'k', effect: 'X' }],
      'metadata.taints[0].effect: Unsupported value: "X": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
    ],
    ['spec.podCIDRs', ['x'], 'spec.podCIDRs[0]: Invalid value: []string{"x"}: must be valid CIDR'],
    [
      'spec.podCIDRs',
      ['10.0.0.0/24', '10.0.1.0/24'],
      'spec.podCIDRs: Invalid value: []string{"10.0.0.0/24", "10.0.1.0/24"}: may specify no more than one CIDR for each IP family',
    ],
    ['spec.podCIDRs', ['10.0.0.0/24', 'fd00::/64']],
    [
      'status.capacity',
      { cpu: '-1' },
      'status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0',
      'status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0',
    ],
  ];
  t.strictSame(createFailures(nodeStrategy, base), []);
  for (const [path, value, ...want] of rows) {
    t.strictSame(
      createFailures(nodeStrategy, withField(base, path, value)),
      want,
      `${path} = ${JSON.stringify(value)}`,
    );
  }
  t.match(
    created(nodeStrategy, withField(base, 'status.capacity', { cpu: '2' })),
    { status: { allocatable: { cpu: '2' } } },
    'the status is kept',
  );
  t.match(created(nodeStrategy, withField(base, 'spec.podCIDR', '10.0.0.0/24')), {
    spec: { podCIDRs: ['10.0.0.0/24'] },
  });
  t.end();
});

t.test('update', (t) => {
  const placed = withField(withField(base, 'spec.podCIDR', '10.0.0.0/24'), 'spec.providerID', 'a');
  t.strictSame(updateFailures(nodeStrategy, base, placed), []);
  t.strictSame(updateFailures(nodeStrategy, placed, withField(placed, 'spec.podCIDR', '10.0.1.0/24')), [
    'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
  ]);
  t.strictSame(updateFailures(nodeStrategy, placed, withField(placed, 'spec.providerID', 'b')), [
    'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
  ]);
  t.strictSame(updateFailures(nodeStrategy, base, withField(base, 'spec.unschedulable', true)), []);
  const twice = { type: 'InternalIP', address: '10.0.0.1' };
  t.strictSame(statusFailures(nodeStrategy, base, { new: { addresses: [twice, twice] } }), [
    'status.addresses[1]: Duplicate value: core.NodeAddress{Type:"InternalIP", Address:"10.0.0.1"}',
  ]);
  t.end();
});

t.test('cells', (t) => {
  const cells = (draft: Draft): unknown => nodeStrategy.cells?.(created(nodeStrategy, draft) as Node, testContext);
  t.strictSame(cells(base), [
    'n',
    'Unknown',
    '<none>',
    '2d',
    '',
    '<none>',
    '<none>',
    '<unknown>',
    '<unknown>',
    '<unknown>',
  ]);
  const full = {
    metadata: {
      ...(base['metadata'] as object),
      labels: {
        'node-role.orch.io/control-plane': '',
        'node-role.orch.io/b': 'x',
        'orch.io/role': 'a',
        'node-role.orch.io/': '',
      },
    },
    spec: { unschedulable: true },
    status: {
      conditions: [
        { type: 'MemoryPressure', status: 'False' },
        { type: 'Ready', status: 'True' },
      ],
      addresses: [
        { type: 'Hostname', address: 'h' },
        { type: 'InternalIP', address: '10.0.0.1' },
      ],
      nodeInfo: {
        kubeletVersion: 'v1.24.0',
        osImage: 'Debian',
        kernelVersion: '6',
        containerRuntimeVersion: 'containerd://1',
      },
    },
  };
  t.strictSame(cells(full), [
    'n',
    'Ready,SchedulingDisabled',
    'a,b,control-plane',
    '2d',
    'v1.24.0',
    '10.0.0.1',
    '<none>',
    'Debian',
    '6',
    'containerd://1',
  ]);
  t.match(cells(withField(full, 'status.conditions', [{ type: 'Ready', status: 'Unknown' }])), {
    1: 'NotReady,SchedulingDisabled',
  });
  t.strictSame(nodeStrategy.selectableFields?.(created(nodeStrategy, full) as Node), { 'spec.unschedulable': 'true' });
  t.end();
});
