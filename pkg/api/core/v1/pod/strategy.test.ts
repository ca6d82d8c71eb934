import t from 'tap';
import { validateBinding } from '#api/core/v1/pod/binding.js';
import { pullPolicyOf } from '#api/core/v1/pod/defaults.js';
import {
  podGracePeriodSeconds,
  podStrategy,
  prepareEphemeralContainersUpdate,
  validateEphemeralContainers,
} from '#api/core/v1/pod/strategy.js';
import type { Pod, PodSpec, PodStatus } from '#api/core/v1/types.gen.js';
import { created, type Draft, testContext, withField } from '#api/testing/strategy-table.js';
import { copyJson } from '#apimachinery/collections/copy.js';

const base: Draft = { metadata: { name: 'p', namespace: 'ns' }, spec: { containers: [{ name: 'c', image: 'i' }] } };

t.test('defaults of a pod', (t) => {
  t.strictSame(created(podStrategy, base), {
    metadata: { name: 'p', namespace: 'ns' },
    spec: {
      containers: [
        {
          name: 'c',
          image: 'i',
          terminationMessagePath: '/dev/termination-log',
          terminationMessagePolicy: 'File',
          imagePullPolicy: 'Always',
        },
      ],
      enableServiceLinks: true,
      dnsPolicy: 'ClusterFirst',
      restartPolicy: 'Always',
      securityContext: {},
      terminationGracePeriodSeconds: 30,
      schedulerName: 'default-scheduler',
    },
    status: { phase: 'Pending', qosClass: 'BestEffort' },
  });
  const rows: [string, unknown, object][] = [
    ['spec.containers.0.ports', [{ containerPort: 1 }], { ports: [{ containerPort: 1, protocol: 'TCP' }] }],
    ['spec.containers.0.resources', { limits: { cpu: '1' } }, { resources: { requests: { cpu: '1' } } }],
    ['spec.containers.0.resources', { limits: { cpu: '100u' } }, { resources: { limits: { cpu: '1m' } } }],
    [
      'spec.containers.0.livenessProbe',
      { httpGet: { port: 1 } },
      {
        livenessProbe: {
          httpGet: { path: '/', scheme: 'HTTP' },
          timeoutSeconds: 1,
          periodSeconds: 10,
          successThreshold: 1,
          failureThreshold: 3,
        },
      },
    ],
    [
      'spec.containers.0.env',
      [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
      { env: [{ valueFrom: { fieldRef: { apiVersion: 'v1' } } }] },
    ],
  ];
  for (const [path, value, want] of rows) {
    t.match(created(podStrategy, withField(base, path, value)), { spec: { containers: [want] } }, path);
  }
  const hosted = withField(withField(base, 'spec.hostNetwork', true), 'spec.containers.0.ports', [
    { containerPort: 7 },
  ]);
  t.match(created(podStrategy, hosted), { spec: { containers: [{ ports: [{ hostPort: 7 }] }] } });
  t.match(created(podStrategy, withField(base, 'spec.serviceAccount', 'sa')), { spec: { serviceAccountName: 'sa' } });
  t.match(
    created(
      podStrategy,
      withField(base, 'spec.volumes', [{ name: 'v' }, { name: 's', secret: {} }, { name: 'h', hostPath: {} }]),
    ),
    {
      spec: { volumes: [{ emptyDir: {} }, { secret: { defaultMode: 420 } }, { hostPath: { type: '' } }] },
    },
  );
  t.end();
});

t.test('images that are always pulled', (t) => {
  const rows: [string, string][] = [
    ['a', 'Always'],
    ['a:latest', 'Always'],
    ['host:5000/a', 'Always'],
    ['a:1', 'IfNotPresent'],
    ['host:5000/a:1', 'IfNotPresent'],
    ['a@sha256:0', 'IfNotPresent'],
    ['a:latest@sha256:0', 'IfNotPresent'],
    ['', 'IfNotPresent'],
  ];
  for (const [image, want] of rows) t.equal(pullPolicyOf(image), want, image);
  t.end();
});

t.test('grace periods', (t) => {
  const make = (spec: Partial<PodSpec>, status: PodStatus = {}): Pod => ({
    metadata: {},
    spec: { containers: [], ...spec },
    status,
  });
  const placed = { nodeName: 'n', terminationGracePeriodSeconds: 30 };
  const rows: [string, Pod, number | undefined, number][] = [
    ['as the pod says', make(placed), undefined, 30],
    ['as the request says', make(placed), 5, 5],
    ['at once', make(placed), 0, 0],
    ['not on a node', make({ terminationGracePeriodSeconds: 30 }), 20, 0],
    ['ended', make(placed, { phase: 'Succeeded' }), 20, 0],
    ['failed', make(placed, { phase: 'Failed' }), undefined, 0],
    ['negative', make({ ...placed, terminationGracePeriodSeconds: -1 }), undefined, 1],
    ['negative in the request', make(placed), -5, 1],
    ['nothing said', make({ nodeName: 'n' }), undefined, 0],
  ];
  for (const [name, pod, requested, want] of rows) t.equal(podGracePeriodSeconds(pod, requested), want, name);
  t.end();
});

t.test('status and spec are updated separately', (t) => {
  const old = created(podStrategy, base) as Pod;
  const main = copyJson(old);
  main.status = { phase: 'Running' };
  podStrategy.prepareForUpdate?.(main, old, testContext);
  t.strictSame(main.status, old.status);
  const status = copyJson(old);
  status.status = { phase: 'Running' };
  status.spec.nodeName = 'n';
  status.metadata.ownerReferences = [{ apiVersion: 'v1', kind: 'A', name: 'a', uid: 'u' }];
  podStrategy.prepareForStatusUpdate?.(status, old, testContext);
  t.strictSame(status, { ...old, status: { phase: 'Running' } });
  const ips = copyJson(old);
  ips.status = { podIP: '10.0.0.1' };
  podStrategy.defaults?.(ips, testContext);
  t.strictSame(ips.status.podIPs, [{ ip: '10.0.0.1' }]);
  t.end();
});

t.test('selectable fields', (t) => {
  t.strictSame(podStrategy.selectableFields?.(created(podStrategy, withField(base, 'spec.nodeName', 'n')) as Pod), {
    'spec.nodeName': 'n',
    'spec.restartPolicy': 'Always',
    'spec.schedulerName': 'default-scheduler',
    'spec.serviceAccountName': '',
    'status.phase': 'Pending',
    'status.podIP': '',
    'status.nominatedNodeName': '',
  });
  t.end();
});

t.test('ephemeral containers can only be added', (t) => {
  const old = created(podStrategy, base) as Pod;
  const draft = copyJson(old);
  draft.spec.ephemeralContainers = [{ name: 'e', image: 'i', targetContainerName: 'c' }];
  draft.spec.nodeName = 'ignored';
  const next = prepareEphemeralContainersUpdate(draft, old, testContext);
  t.equal(next.spec.nodeName, undefined);
  t.strictSame(validateEphemeralContainers(next, old, testContext), []);
  t.match(validateEphemeralContainers(old, next, testContext), [
    { field: 'spec.ephemeralContainers', reason: 'FieldValueForbidden' },
  ]);
  const changed = copyJson(next);
  changed.spec.ephemeralContainers = [{ ...next.spec.ephemeralContainers?.[0], name: 'e', image: 'j' }];
  t.match(validateEphemeralContainers(changed, next, testContext), [
    { field: 'spec.ephemeralContainers', message: /"e" may not be changed/ },
  ]);
  const target = copyJson(next);
  target.spec.ephemeralContainers = [{ ...next.spec.ephemeralContainers?.[0], name: 'f', targetContainerName: 'none' }];
  t.match(validateEphemeralContainers(target, old, testContext), [
    { field: 'spec.ephemeralContainers[0].targetContainerName' },
  ]);
  t.end();
});

t.test('bindings', (t) => {
  t.strictSame(validateBinding({ metadata: {}, target: { kind: 'Node', name: 'n' } }), []);
  t.strictSame(validateBinding({ metadata: {}, target: { name: 'n' } }), []);
  t.match(validateBinding({ metadata: {}, target: { kind: 'Pod' } }), [
    { field: 'target.kind', message: 'Unsupported value: "Pod": supported values: "Node", "<empty>"' },
    { field: 'target.name', message: 'Required value' },
  ]);
  t.end();
});
