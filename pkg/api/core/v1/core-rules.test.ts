import t from 'tap';
import { configMapStrategy } from '#api/core/v1/configmap/strategy.js';
import { endpointsStrategy } from '#api/core/v1/endpoints/strategy.js';
import { eventStrategy } from '#api/core/v1/event/strategy.js';
import { namespaceStrategy, prepareFinalize, validateFinalize } from '#api/core/v1/namespace/strategy.js';
import { persistentVolumeStrategy } from '#api/core/v1/persistentvolume/strategy.js';
import { persistentVolumeClaimStrategy } from '#api/core/v1/persistentvolumeclaim/strategy.js';
import { podTemplateStrategy } from '#api/core/v1/podtemplate/strategy.js';
import { replicationControllerStrategy } from '#api/core/v1/replicationcontroller/strategy.js';
import { secretStrategy } from '#api/core/v1/secret/strategy.js';
import { serviceStrategy } from '#api/core/v1/service/strategy.js';
import { serviceAccountStrategy } from '#api/core/v1/serviceaccount/strategy.js';
import type { Namespace, ServiceAccount } from '#api/core/v1/types.gen.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { checkRules, checkStatusRules, checkUpdateRules, type RuleRow } from '#api/testing/rule-table.js';
import {
  created,
  createFailures,
  type Draft,
  testContext,
  updated,
  updateFailures,
  withField,
  withGates,
} from '#api/testing/strategy-table.js';
import { copyJson } from '#apimachinery/collections/copy.js';

const metadata = { name: 'x', namespace: 'ns' };
const base64 = (text: string): string => Buffer.from(text).toString('base64');

t.test('config maps are validated as in 1.24', (t) => {
  const base: Draft = { metadata, data: { a: '1' } };
  const rows: RuleRow[] = [
    [
      'data',
      { 'a b': '1' },
      `data[a b]: Invalid value: "a b": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')`,
    ],
    [
      'data',
      { '..a': '1', ['k'.repeat(254)]: '' },
      `data[..a]: Invalid value: "..a": must not start with '..'`,
      'data[kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk]: Invalid value: "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk": must be no more than 253 characters',
    ],
    [
      'binaryData',
      { a: 'AA==', '.': 'AA==' },
      'data[a]: Invalid value: "a": duplicate of key present in binaryData',
      `binaryData[.]: Invalid value: ".": must not be '.'`,
    ],
    ['data', { a: 'x'.repeat(1024 * 1024) }],
    ['data', { a: 'x'.repeat(1024 * 1024), b: 'x' }, '[]: Too long: must have at most 1048576 bytes'],
  ];
  checkRules(t, configMapStrategy, base, rows);
  const fixed: RuleRow[] = [
    ['immutable', false, 'immutable: Forbidden: field is immutable when `immutable` is set'],
    ['data', { a: '2' }, 'data: Forbidden: field is immutable when `immutable` is set'],
    ['binaryData', { b: 'AA==' }, 'binaryData: Forbidden: field is immutable when `immutable` is set'],
    ['metadata.labels', { a: 'b' }],
  ];
  checkUpdateRules(t, configMapStrategy, { ...base, immutable: true }, fixed);
  checkUpdateRules(t, configMapStrategy, base, [
    ['immutable', true],
    ['data', { a: '2' }],
  ]);
  t.end();
});

t.test('secrets are validated as in 1.24', (t) => {
  const base: Draft = { metadata, data: { a: base64('1') } };
  const typed = (type: string, data: Record<string, string>, ...failures: string[]): RuleRow => [
    'data',
    Object.fromEntries(Object.entries(data).map(([key, text]) => [key, base64(text)])),
    ...failures.map((failure) => `${type}: ${failure}`),
  ];
  const check = (type: string, rows: RuleRow[]) => {
    for (const [, data, ...expected] of rows) {
      const failures = createFailures(secretStrategy, { metadata, type, data } as Draft);
      t.strictSame(
        failures,
        expected.map((text) => text.slice(type.length + 2)),
        `${type} ${JSON.stringify(data)}`,
      );
    }
  };
  const json = 'Invalid value: "<secret contents redacted>"';
  check('orch.io/dockercfg', [
    typed('orch.io/dockercfg', { '.dockercfg': '{}' }),
    typed('orch.io/dockercfg', {}, 'data[.dockercfg]: Required value'),
    typed('orch.io/dockercfg', { '.dockercfg': 'x' }, `data[.dockercfg]: ${json}: must be valid JSON`),
    typed('orch.io/dockercfg', { '.dockercfg': '[]' }, `data[.dockercfg]: ${json}: must be an object in JSON`),
  ]);
  check('orch.io/dockerconfigjson', [
    typed('orch.io/dockerconfigjson', { '.dockerconfigjson': '{"auths":{}}' }),
    typed('orch.io/dockerconfigjson', {}, 'data[.dockerconfigjson]: Required value'),
    typed(
      'orch.io/dockerconfigjson',
      { '.dockerconfigjson': '1' },
      `data[.dockerconfigjson]: ${json}: must be an object in JSON`,
    ),
  ]);
  check('orch.io/basic-auth', [
    typed('orch.io/basic-auth', { username: '' }),
    typed('orch.io/basic-auth', { password: 'p' }),
    typed('orch.io/basic-auth', {}, 'data[username]: Required value', 'data[password]: Required value'),
  ]);
  check('orch.io/ssh-auth', [
    typed('orch.io/ssh-auth', { 'ssh-privatekey': 'k' }),
    typed('orch.io/ssh-auth', { 'ssh-privatekey': '' }, 'data[ssh-privatekey]: Required value'),
  ]);
  check('orch.io/tls', [
    typed('orch.io/tls', { 'tls.crt': '', 'tls.key': '' }),
    typed('orch.io/tls', {}, 'data[tls.crt]: Required value', 'data[tls.key]: Required value'),
  ]);
  check('orch.io/service-account-token', [
    typed('orch.io/service-account-token', {}, 'metadata.annotations[orch.io/service-account.name]: Required value'),
  ]);
  check('example.com/any', [typed('example.com/any', {})]);
  const rows: RuleRow[] = [
    ['type', 'other', 'type: Invalid value: "other": field is immutable'],
    ['data', { b: base64('2') }],
    ['stringData', { c: '3' }],
  ];
  checkUpdateRules(t, secretStrategy, base, rows);
  const fixed: RuleRow[] = [
    ['immutable', undefined, 'immutable: Forbidden: field is immutable when `immutable` is set'],
    ['stringData', { c: '3' }, 'data: Forbidden: field is immutable when `immutable` is set'],
  ];
  checkUpdateRules(t, secretStrategy, { ...base, immutable: true }, fixed);
  const large: RuleRow[] = [
    ['data', { a: base64('x'.repeat(1024 * 1024 + 1)) }, 'data: Too long: must have at most 1048576 bytes'],
  ];
  checkRules(t, secretStrategy, base, large);
  t.end();
});

t.test('namespaces are validated as in 1.24', (t) => {
  const base: Draft = { metadata: { name: 'a' }, spec: {} };
  const rows: RuleRow[] = [
    [
      'metadata.name',
      'a.b',
      `metadata.name: Invalid value: "a.b": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
    ],
    ['metadata.namespace', 'b', 'metadata.namespace: Forbidden: not allowed on this type'],
    ['spec.finalizers', ['example.com/f']],
    [
      'spec.finalizers',
      ['odd', '-'],
      'spec.finalizers: Invalid value: "odd": name is neither a standard finalizer name nor is it fully qualified',
      `spec.finalizers: Invalid value: "-": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
      'spec.finalizers: Invalid value: "-": name is neither a standard finalizer name nor is it fully qualified',
    ],
  ];
  checkRules(t, namespaceStrategy, base, rows);
  checkStatusRules(t, namespaceStrategy, { base }, [
    ['phase', 'Active'],
    [
      'phase',
      'Terminating',
      'status.Phase: Invalid value: "Terminating": may only be \'Active\' if `deletionTimestamp` is empty',
    ],
  ]);
  const old = created(namespaceStrategy, base) as Namespace;
  const next = copyJson(old);
  next.spec.finalizers = ['example.com/f', 'odd'];
  next.status = { phase: 'Terminating' };
  prepareFinalize(next, old);
  t.match(next.status, { phase: 'Active' });
  t.match(validateFinalize(next, testContext), [{ field: 'spec.finalizers[1]', reason: 'FieldValueInvalid' }]);
  t.end();
});

t.test('events are validated as in 1.24', (t) => {
  const base: Draft = { metadata: { name: 'e.1', namespace: 'ns' }, involvedObject: { kind: 'Pod', namespace: 'ns' } };
  const rows: RuleRow[] = [
    ['metadata.name', 'a/b', `metadata.name: Invalid value: "a/b": may not contain '/'`],
    [
      'involvedObject.namespace',
      'other',
      'involvedObject.namespace: Invalid value: "other": does not match event.namespace',
    ],
    [
      'involvedObject.namespace',
      undefined,
      'involvedObject.namespace: Invalid value: "": does not match event.namespace',
    ],
    ['type', 'Anything'],
    [
      'eventTime',
      '2024-06-01T00:00:00.000000Z',
      'reportingController: Required value',
      'reportingController: Invalid value: "": name part must be non-empty',
      `reportingController: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
      'reportingInstance: Required value',
      'action: Required value',
      'reason: Required value',
    ],
  ];
  checkRules(t, eventStrategy, base, rows);
  const newer: Draft = {
    ...base,
    eventTime: '2024-06-01T00:00:00.000000Z',
    reportingComponent: 'example.com/c',
    reportingInstance: 'i',
    action: 'a',
    reason: 'r',
  };
  const more: RuleRow[] = [
    [
      'reportingComponent',
      '-',
      `reportingController: Invalid value: "-": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ],
    ['reportingInstance', 'i'.repeat(129), 'reportingInstance: Invalid value: "": can have at most 128 characters'],
    ['action', 'a'.repeat(129), 'action: Invalid value: "": can have at most 128 characters'],
    ['reason', 'r'.repeat(129), 'reason: Invalid value: "": can have at most 128 characters'],
    ['message', 'm'.repeat(1025), 'message: Invalid value: "": can have at most 1024 characters'],
    [
      'involvedObject.namespace',
      undefined,
      'involvedObject.namespace: Invalid value: "": does not match event.namespace',
    ],
  ];
  checkRules(t, eventStrategy, newer, more);
  const ofCluster = withField(newer, 'involvedObject', { kind: 'Node' });
  t.strictSame(createFailures(eventStrategy, withField(ofCluster, 'metadata.namespace', 'orch-system')), []);
  t.strictSame(createFailures(eventStrategy, withField(ofCluster, 'metadata.namespace', 'default')), []);
  t.end();
});

t.test('endpoints are validated as in 1.24', (t) => {
  const base: Draft = { metadata, subsets: [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 80 }] }] };
  const rows: RuleRow[] = [
    [
      'subsets.0.notReadyAddresses',
      [{ ip: '::1' }],
      'subsets[0].notReadyAddresses[0].ip: Invalid value: "::1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
    ],
    [
      'subsets.0.addresses.0.nodeName',
      'N',
      `subsets[0].addresses[0].nodeName: Invalid value: "N": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    [
      'subsets.0.ports',
      [{ port: 1, name: 'A' }],
      `subsets[0].ports[0].name: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
    ],
    [
      'subsets.0.ports',
      [{ port: 1, appProtocol: '-' }],
      `subsets[0].ports[0].appProtocol: Invalid value: "-": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ],
    ['subsets.0.ports', undefined],
  ];
  checkRules(t, endpointsStrategy, base, rows);
  t.end();
});

t.test('service accounts are validated as in 1.24', (t) => {
  const draft: Draft = { metadata, secrets: [{ name: 's', namespace: 'other', uid: 'u' }] };
  t.strictSame((created(serviceAccountStrategy, draft) as ServiceAccount).secrets, [{ name: 's' }]);
  t.match(createFailures(serviceAccountStrategy, withField(draft, 'metadata.name', 'A')), [
    /^metadata.name: Invalid value: "A"/,
  ]);
  t.end();
});

const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };

t.test('pod templates are validated as in 1.24', (t) => {
  const base: Draft = { metadata, template };
  const rows: RuleRow[] = [
    [
      'template.metadata.labels',
      { a: '-' },
      `template.labels: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
    ],
    [
      'template.metadata.annotations',
      { '-': '' },
      `template.annotations: Invalid value: "-": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ],
    ['template.spec.containers', [], 'template.spec.containers: Required value'],
    ['template.spec.containers.0.image', ' i'],
    [
      'template.spec.ephemeralContainers',
      [{ name: 'e', image: 'i' }],
      'template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template',
    ],
    ['template.spec.securityContext', { seccompProfile: { type: 'RuntimeDefault' } }],
  ];
  checkRules(t, podTemplateStrategy, base, rows);
  const longSearches = withField(base, 'template.spec.dnsConfig', { searches: ['a', 'b', 'c', 'd', 'e', 'f', 'g'] });
  t.strictSame(createFailures(podTemplateStrategy, longSearches, withGates({ ExpandedDNSConfig: true })), []);
  t.strictSame(
    updateFailures(podTemplateStrategy, longSearches, withField(longSearches, 'metadata.labels', { a: 'b' })),
    [],
  );
  const before = created(podTemplateStrategy, base);
  t.equal(before.metadata.generation, 1);
  t.equal(updated(podTemplateStrategy, withField(base, 'template.spec.nodeName', 'n'), before).metadata.generation, 2);
  t.end();
});

t.test('replication controllers are validated as in 1.24', (t) => {
  const base: Draft = { metadata, spec: { template } };
  const rows: RuleRow[] = [
    ['spec.replicas', -1, 'spec.replicas: Invalid value: -1: must be greater than or equal to 0'],
    ['spec.minReadySeconds', -1, 'spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0'],
    [
      'spec.selector',
      { a: 'c' },
      'spec.template.metadata.labels: Invalid value: map[string]string{"a":"b"}: `selector` does not match template `labels`',
    ],
    ['spec.template', undefined, 'spec.selector: Required value', 'spec.template: Required value'],
    [
      'spec.template.spec.restartPolicy',
      'Never',
      'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
    ],
    [
      'spec.template.spec.activeDeadlineSeconds',
      5,
      'spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicationController is not Supported',
    ],
    ['spec.template.spec.volumes', [{ name: 'v', gcePersistentDisk: { pdName: 'd' } }]],
  ];
  checkRules(t, replicationControllerStrategy, base, rows);
  const several: RuleRow[] = [
    [
      'spec.template.spec.volumes',
      [{ name: 'v', gcePersistentDisk: { pdName: 'd' } }],
      'spec.template.spec.volumes[0].gcePersistentDisk.readOnly: Invalid value: false: must be true for replicated pods > 1; GCE PD can only be mounted on multiple machines if it is read-only',
    ],
  ];
  checkRules(t, replicationControllerStrategy, withField(base, 'spec.replicas', 2), several);
  const statuses: RuleRow[] = [
    ['replicas', 2],
    [
      'replicas',
      -1,
      'status.replicas: Invalid value: -1: must be greater than or equal to 0',
      'status.fullyLabeledReplicas: Invalid value: 0: cannot be greater than status.replicas',
      'status.readyReplicas: Invalid value: 0: cannot be greater than status.replicas',
      'status.availableReplicas: Invalid value: 0: cannot be greater than status.replicas',
    ],
    ['readyReplicas', 1, 'status.readyReplicas: Invalid value: 1: cannot be greater than status.replicas'],
    [
      'availableReplicas',
      1,
      'status.availableReplicas: Invalid value: 1: cannot be greater than status.replicas',
      'status.availableReplicas: Invalid value: 1: cannot be greater than readyReplicas',
    ],
    [
      'fullyLabeledReplicas',
      1,
      'status.fullyLabeledReplicas: Invalid value: 1: cannot be greater than status.replicas',
    ],
    ['observedGeneration', -1, 'status.observedGeneration: Invalid value: -1: must be greater than or equal to 0'],
  ];
  checkStatusRules(t, replicationControllerStrategy, { base }, statuses);
  t.match(created(replicationControllerStrategy, base), {
    metadata: { labels: { a: 'b' }, generation: 1 },
    spec: { replicas: 1, selector: { a: 'b' } },
    status: { replicas: 0 },
  });
  t.end();
});

t.test('cells', (t) => {
  const cellsOf = (strategy: Strategy, draft: Draft) => strategy.cells?.(created(strategy, draft), testContext);
  const annotated = { name: 'v', namespace: 'ns', annotations: { 'volume.beta.orch.io/storage-class': 'old' } };
  const spec = { accessModes: ['ReadWriteOnce'], storageClassName: 'new' };
  t.match(cellsOf(persistentVolumeStrategy as unknown as Strategy, { metadata: annotated, spec }), { 6: 'old' });
  t.match(cellsOf(persistentVolumeClaimStrategy as unknown as Strategy, { metadata: annotated, spec }), { 5: 'old' });
  t.match(cellsOf(persistentVolumeClaimStrategy as unknown as Strategy, { metadata, spec }), { 5: 'new' });
  const ingress = [{ ip: '10.0.0.2' }, { hostname: 'a.b' }, { ip: '10.0.0.1' }, { ip: '10.0.0.2' }];
  const service = created(serviceStrategy as unknown as Strategy, {
    metadata,
    spec: { type: 'LoadBalancer', externalIPs: ['1.2.3.4'], ports: [{ port: 80 }] },
  });
  Object.assign(service, { status: { loadBalancer: { ingress } } });
  t.match(serviceStrategy.cells?.(service as never, testContext), { 3: '10.0.0.1,10.0.0.2,a.b,1.2.3.4' });
  const unready = { metadata, subsets: [{ notReadyAddresses: [{ ip: '10.0.0.1' }] }] };
  t.match(cellsOf(endpointsStrategy as unknown as Strategy, unready), { 1: '' });
  t.match(cellsOf(endpointsStrategy as unknown as Strategy, { metadata }), { 1: '<none>' });
  t.end();
});
