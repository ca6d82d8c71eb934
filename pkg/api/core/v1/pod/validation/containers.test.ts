import t from 'tap';
import { podStrategy, validateEphemeralContainers } from '#api/core/v1/pod/strategy.js';
import type { EphemeralContainer, Pod } from '#api/core/v1/types.gen.js';
import { coreValues } from '#api/core/v1/values/go-values.js';
import { checkRules, type RuleRow } from '#api/testing/rule-table.js';
import {
  created,
  createFailures,
  type Draft,
  testContext,
  updateFailures,
  withField,
  withGates,
} from '#api/testing/strategy-table.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Draft as Mutable } from '#apimachinery/draft.js';
import { Strings } from '#apimachinery/validation/failure.js';

const base: Draft = { metadata: { name: 'p', namespace: 'ns' }, spec: { containers: [{ name: 'c', image: 'i' }] } };
const handler = { exec: { command: ['true'] } };

const init: RuleRow[] = [
  ['spec.initContainers', [{ name: 'a', image: 'i' }]],
  ['spec.initContainers', [{ image: 'i' }], 'spec.initContainers[0].name: Required value'],
  [
    'spec.initContainers',
    [{ name: 'a', image: ' i' }],
    'spec.initContainers[0].image: Invalid value: " i": must not have leading or trailing whitespace',
  ],
  [
    'spec.initContainers',
    [
      { name: 'a', image: 'i' },
      { name: 'a', image: 'i' },
    ],
    'spec.initContainers[1].name: Duplicate value: "a"',
  ],
  [
    'spec.initContainers',
    [{ name: 'a', image: 'i', lifecycle: { preStop: handler } }],
    `spec.initContainers[0].lifecycle: Invalid value: ${coreValues.of('Lifecycle', { preStop: { exec: { command: ['true'] } } }).toString()}: must not be set for init containers`,
  ],
  [
    'spec.initContainers',
    [{ name: 'a', image: 'i', livenessProbe: { ...handler, successThreshold: 2 } }],
    'spec.initContainers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1',
    `spec.initContainers[0].livenessProbe: Invalid value: ${coreValues.of('Probe', { exec: { command: ['true'] }, timeoutSeconds: 1, periodSeconds: 10, successThreshold: 2, failureThreshold: 3 }).toString()}: must not be set for init containers`,
  ],
  [
    'spec.initContainers',
    [{ name: 'a', image: 'i', startupProbe: {} }],
    'spec.initContainers[0].startupProbe: Required value: must specify a handler type',
    'spec.initContainers[0].startupProbe: Invalid value: core.Probe{ProbeHandler:core.ProbeHandler{Exec:(*core.ExecAction)(nil), HTTPGet:(*core.HTTPGetAction)(nil), TCPSocket:(*core.TCPSocketAction)(nil), GRPC:(*core.GRPCAction)(nil)}, InitialDelaySeconds:0, TimeoutSeconds:1, PeriodSeconds:10, SuccessThreshold:1, FailureThreshold:3, TerminationGracePeriodSeconds:(*int64)(nil)}: must not be set for init containers',
  ],
  [
    'spec.initContainers',
    [
      { name: 'a', image: 'i', ports: [{ containerPort: 1, hostPort: 8 }] },
      { name: 'b', image: 'i', ports: [{ containerPort: 1, hostPort: 8 }] },
    ],
  ],
  [
    'spec.initContainers',
    [
      {
        name: 'a',
        image: 'i',
        ports: [
          { containerPort: 1, hostPort: 8 },
          { containerPort: 2, hostPort: 8 },
        ],
      },
    ],
    'spec.initContainers[0].ports[1].hostPort: Duplicate value: "TCP//8"',
  ],
];

const rest: RuleRow[] = [
  ['spec.containers.0.terminationMessagePolicy', 'File'],
  [
    'spec.containers.0.lifecycle',
    { postStart: { exec: {}, httpGet: {} } },
    'spec.containers[0].lifecycle.postStart.exec.command: Required value',
    'spec.containers[0].lifecycle.postStart.httpGet: Forbidden: may not specify more than 1 handler type',
  ],
  [
    'spec.containers.0.readinessProbe',
    { grpc: { port: 70000 } },
    'spec.containers[0].readinessProbe.grpc.port: Invalid value: 70000: must be between 1 and 65535, inclusive',
  ],
  [
    'spec.containers.0.startupProbe',
    { tcpSocket: { port: '' } },
    'spec.containers[0].startupProbe.tcpSocket.port: Invalid value: "": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
    'spec.containers[0].startupProbe.tcpSocket.port: Invalid value: "": must contain at least one letter or number (a-z, 0-9)',
  ],
  [
    'spec.containers.0.livenessProbe',
    { ...handler, initialDelaySeconds: -1, failureThreshold: -1 },
    'spec.containers[0].livenessProbe.initialDelaySeconds: Invalid value: -1: must be greater than or equal to 0',
    'spec.containers[0].livenessProbe.failureThreshold: Invalid value: -1: must be greater than or equal to 0',
  ],
  [
    'spec.containers.0.envFrom',
    [{ prefix: '1', configMapRef: { name: 'M' } }],
    `spec.containers[0].envFrom[0].prefix: Invalid value: "1": a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', regex used for validation is '[-._a-zA-Z][-._a-zA-Z0-9]*')`,
    `spec.containers[0].envFrom[0].configMapRef.name: Invalid value: "M": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
  ],
  ['spec.containers.0.envFrom', [{ secretRef: { name: 's-' } }]],
  [
    'spec.containers.0.env',
    [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: '..' } } }],
    `spec.containers[0].env[0].valueFrom.secretKeyRef.key: Invalid value: "..": must not be '..'`,
  ],
  [
    'spec.containers.0.env',
    [{ name: 'A', valueFrom: { fieldRef: { apiVersion: 'v2', fieldPath: 'metadata.name' } } }],
    'spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "metadata.name": error converting fieldPath: unsupported pod version: v2',
  ],
  [
    'spec.containers.0.env',
    [{ name: 'A', valueFrom: { resourceFieldRef: {} } }],
    'spec.containers[0].env[0].valueFrom.resourceFieldRef.resource: Required value',
  ],
  ['spec.containers.0.env', [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.hugepages-2Mi' } } }]],
  [
    'spec.containers.0.env',
    [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1m' } } }],
    `spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.memory": only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the memory resource`,
  ],
  [
    'spec.containers.0.env',
    [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1024' } } }],
    `spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.memory": only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the memory resource`,
  ],
  [
    'spec.containers.0.env',
    [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.hugepages-2Mi', divisor: '2' } } }],
    `spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.hugepages-2Mi": only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the hugepages resource`,
  ],
  [
    'spec.containers.0.env',
    [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'requests.ephemeral-storage', divisor: '2' } } }],
    `spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "requests.ephemeral-storage": only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the local ephemeral storage resource`,
  ],
  ['spec.containers.0.resources', { limits: { 'hugepages-2Mi': '4Mi', cpu: '1' } }],
  [
    'spec.containers.0.resources',
    { limits: { 'hugepages-2Mi': '3Mi', cpu: '1' } },
    'spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
    'spec.containers[0].resources.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
  ],
  [
    'spec.containers.0.resources',
    { limits: { 'hugepages-odd': '2Mi', cpu: '1' } },
    'spec.containers[0].resources.limits[hugepages-odd]: Invalid value: "2Mi": 2Mi is not positive integer multiple of hugepages-odd',
    'spec.containers[0].resources.requests[hugepages-odd]: Invalid value: "2Mi": 2Mi is not positive integer multiple of hugepages-odd',
  ],
  [
    'spec.containers.0.resources',
    { limits: { 'hugepages-2Mi': '4Mi', cpu: '1' }, requests: { 'hugepages-2Mi': '2Mi' } },
    'spec.containers[0].resources.requests: Invalid value: "2Mi": must be equal to hugepages-2Mi limit',
  ],
  [
    'spec.containers.0.resources',
    { limits: { 'requests.a.b/c': '1' } },
    `spec.containers[0].resources.limits[requests.a.b/c]: Invalid value: "requests.a.b/c": doesn't follow extended resource name standard`,
    `spec.containers[0].resources.requests[requests.a.b/c]: Invalid value: "requests.a.b/c": doesn't follow extended resource name standard`,
  ],
  // A name that every object inherits.
  [
    'spec.containers.0.resources',
    { limits: { cpu: '1' }, requests: { constructor: '1' } },
    'spec.containers[0].resources.requests[constructor]: Invalid value: "constructor": must be a standard resource type or fully qualified',
    'spec.containers[0].resources.requests[constructor]: Invalid value: "constructor": must be a standard resource for containers',
  ],
  [
    'spec.containers.0.securityContext',
    { allowPrivilegeEscalation: false, capabilities: { add: ['CAP_SYS_ADMIN'] } },
    `spec.containers[0].securityContext: Invalid value: ${coreValues.of('SecurityContext', { allowPrivilegeEscalation: false, capabilities: { add: ['CAP_SYS_ADMIN'] } }).toString()}: cannot set \`allowPrivilegeEscalation\` to false and \`capabilities.Add\` CAP_SYS_ADMIN`,
  ],
  [
    'spec.containers.0.securityContext',
    { seccompProfile: {} },
    'spec.containers[0].securityContext.seccompProfile.type: Required value: type is required when seccompProfile is set',
  ],
  [
    'spec.containers.0.securityContext',
    { seccompProfile: { type: 'Localhost', localhostProfile: '/a' } },
    'metadata.annotations.container.seccomp.security.alpha.orch.io/c: Invalid value: "/a": must be a relative path',
    'spec.containers[0].securityContext.seccompProfile.localhostProfile: Invalid value: "/a": must be a relative path',
  ],
  [
    'spec.containers.0.securityContext',
    { seccompProfile: { type: 'Unconfined', localhostProfile: 'a' } },
    'spec.containers[0].securityContext.seccompProfile.localhostProfile: Invalid value: {"type":"Unconfined","localhostProfile":"a"}: can only be set when seccomp type is Localhost',
  ],
];

t.test('init containers', (t) => {
  checkRules(t, podStrategy, base, init);
  t.end();
});

t.test('other rules of containers', (t) => {
  checkRules(t, podStrategy, base, rest);
  t.end();
});

t.test('mounts and devices', (t) => {
  const volumes = [{ name: 'v' }, { name: 'b', persistentVolumeClaim: { claimName: 'b' } }];
  const pod = withField(base, 'spec.volumes', volumes);
  const both = (mount: object, device: object): Draft =>
    withField(withField(pod, 'spec.containers.0.volumeMounts', [mount]), 'spec.containers.0.volumeDevices', [device]);
  const rows: RuleRow[] = [
    [
      'spec.containers.0.volumeMounts',
      [{ mountPath: '/m' }],
      'spec.containers[0].volumeMounts[0].name: Required value',
      'spec.containers[0].volumeMounts[0].name: Not found: ""',
    ],
    [
      'spec.containers.0.volumeMounts',
      [{ name: 'v', mountPath: '/m', subPathExpr: '/x' }],
      'spec.containers[0].volumeMounts.subPathExpr: Invalid value: "/x": must be a relative path',
    ],
    [
      'spec.containers.0.volumeMounts',
      [{ name: 'v', mountPath: '/m', mountPropagation: 'X' }],
      'spec.containers[0].volumeMounts.mountPropagation: Unsupported value: "X": supported values: "Bidirectional", "HostToContainer", "None"',
    ],
    [
      'spec.containers.0.volumeDevices',
      [{ name: 'b' }],
      'spec.containers[0].volumeDevices[0].devicePath: Required value',
    ],
    [
      'spec.containers.0.volumeDevices',
      [{ name: 'x', devicePath: '/d/../e' }],
      'spec.containers[0].volumeDevices[0].name: Not found: "x"',
      `spec.containers[0].volumeDevices[0].devicePath: Invalid value: "/d/../e": can not contain backsteps ('..')`,
    ],
    [
      'spec.containers.0.volumeDevices',
      [
        { name: 'b', devicePath: '/d' },
        { name: 'b', devicePath: '/d' },
      ],
      'spec.containers[0].volumeDevices[1].name: Invalid value: "b": must be unique',
      'spec.containers[0].volumeDevices[1].devicePath: Invalid value: "/d": must be unique',
    ],
  ];
  checkRules(t, podStrategy, pod, rows);
  t.strictSame(createFailures(podStrategy, both({ name: 'b', mountPath: '/d' }, { name: 'b', devicePath: '/d' })), [
    'spec.containers[0].volumeMounts[0].name: Invalid value: "b": must not already exist in volumeDevices',
    'spec.containers[0].volumeMounts[0].mountPath: Invalid value: "/d": must not already exist as a path in volumeDevices',
    'spec.containers[0].volumeDevices[0].name: Invalid value: "b": must not already exist in volumeMounts',
    'spec.containers[0].volumeDevices[0].devicePath: Invalid value: "/d": must not already exist as a path in volumeMounts',
  ]);
  t.end();
});

t.test('rules behind gates, and tolerated stored values', (t) => {
  const longEnv = withField(base, 'spec.containers.0.env', [
    { name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.hugepages-2Mi' } } },
  ]);
  const off = withGates({ DownwardAPIHugePages: false });
  t.match(createFailures(podStrategy, longEnv, off), [
    /resourceFieldRef.resource: Unsupported value: "limits.hugepages-2Mi"/,
  ]);
  t.strictSame(updateFailures(podStrategy, longEnv, withField(longEnv, 'metadata.labels', { a: 'b' }), off), []);
  const searches = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
  const searching = withField(base, 'spec.dnsConfig', { searches });
  t.strictSame(createFailures(podStrategy, searching), [
    `spec.dnsConfig.searches: Invalid value: ${new Strings(searches)}: must not have more than 6 search paths`,
  ]);
  t.strictSame(
    createFailures(podStrategy, withField(base, 'spec.dnsConfig', { searches: ['x'.repeat(250), 'y'.repeat(10)] })),
    [
      `spec.dnsConfig.searches: Invalid value: []string{"${'x'.repeat(250)}", "${'y'.repeat(10)}"}: must not have more than 256 characters (including spaces) in the search list`,
    ],
  );
  t.strictSame(createFailures(podStrategy, searching, withGates({ ExpandedDNSConfig: true })), []);
  t.strictSame(updateFailures(podStrategy, searching, withField(searching, 'metadata.labels', { a: 'b' })), []);
  const many = withField(base, 'spec.dnsConfig', { searches: Array.from({ length: 33 }, (_, i) => `s${i}`) });
  t.match(createFailures(podStrategy, many, withGates({ ExpandedDNSConfig: true })), [
    /must not have more than 32 search paths/,
  ]);
  const pages = withField(base, 'spec.containers.0.resources', { limits: { 'hugepages-2Mi': '3Mi', cpu: '1' } });
  t.strictSame(updateFailures(podStrategy, pages, withField(pages, 'metadata.labels', { a: 'b' })), []);
  t.end();
});

t.test('a cluster may refuse privileged containers', (t) => {
  const privileged = withField(base, 'spec.containers.0.securityContext', { privileged: true });
  t.strictSame(createFailures(podStrategy, privileged), []);
  t.strictSame(createFailures(podStrategy, privileged, { ...testContext, allowPrivileged: false }), [
    'spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy',
  ]);
  t.end();
});

t.test('ephemeral containers', (t) => {
  const old = created(podStrategy, withField(base, 'spec.volumes', [{ name: 'v' }])) as Pod;
  const e = 'spec.ephemeralContainers[0]';
  const add = (container: Partial<EphemeralContainer>): string[] => {
    const pod = copyJson(old);
    const ephemeral = { name: 'e', image: 'i', ...container } as Mutable<EphemeralContainer>;
    pod.spec.ephemeralContainers = [ephemeral];
    podStrategy.defaults?.(pod, testContext);
    return validateEphemeralContainers(pod, old, testContext).map(({ field, message }) => `${field}: ${message}`);
  };
  const no = 'Forbidden: cannot be set for an Ephemeral Container';
  const rows: [Partial<EphemeralContainer>, ...string[]][] = [
    [{}],
    [{ targetContainerName: 'c', tty: true, stdin: true, volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
    [{ name: '' }, `${e}: Required value: ephemeralContainer requires a name`],
    [{ image: ' i' }, `${e}[0].image: Invalid value: " i": must not have leading or trailing whitespace`],
    [{ image: '' }, `${e}[0].image: Required value`],
    [{ name: 'c' }, `${e}.name: Duplicate value: "c"`],
    [{ targetContainerName: 'x' }, `${e}.targetContainerName: Not found: "x"`],
    [{ ports: [{ containerPort: 1 }] }, `${e}.ports: ${no}`],
    [{ livenessProbe: handler }, `${e}.livenessProbe: ${no}`],
    [{ readinessProbe: handler }, `${e}.readinessProbe: ${no}`],
    [{ startupProbe: handler }, `${e}.startupProbe: ${no}`],
    [{ lifecycle: { preStop: handler } }, `${e}.lifecycle: ${no}`],
    [{ resources: { limits: { cpu: '1' } } }, `${e}.resources: ${no}`],
    [{ resources: {} }],
    [{ volumeMounts: [{ name: 'v', mountPath: '/v', subPath: 's' }] }, `${e}.volumeMounts[0].subPath: ${no}`],
    [{ volumeMounts: [{ name: 'v', mountPath: '/v', subPathExpr: 's' }] }, `${e}.volumeMounts[0].subPathExpr: ${no}`],
    [{ volumeMounts: [{ name: 'w', mountPath: '/v' }] }, `${e}[0].volumeMounts[0].name: Not found: "w"`],
  ];
  for (const [container, ...want] of rows) t.strictSame(add(container), want, JSON.stringify(container));
  t.end();
});
