import t from 'tap';
import { podStrategy } from '#api/core/v1/pod/strategy.js';
import { coreValues } from '#api/core/v1/values/go-values.js';
import { goQuantityValue } from '#api/go/go-values.js';
import { createFailures, type Draft, statusFailures, updateFailures, withField } from '#api/testing/strategy-table.js';

const base: Draft = {
  metadata: { name: 'p', namespace: 'ns' },
  spec: { containers: [{ name: 'c', image: 'i' }] },
};
const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const port = 'must be between 1 and 65535, inclusive';
const user = 'must be between 0 and 2147483647, inclusive';
const backsteps = "must not contain '..'";
const handler = { exec: { command: ['true'] } };

/** Path in the pod, value to set there, expected failures. */
type Row = [string, unknown, ...string[]];

const c = 'spec.containers[0]';
const containers: Row[] = [
  ['spec.containers', [], 'spec.containers: Required value'],
  ['spec.containers', undefined, 'spec.containers: Required value'],
  ['spec.containers.0.name', undefined, `${c}.name: Required value`],
  ['spec.containers.0.name', 'A', `${c}.name: Invalid value: "A": ${label}`],
  ['spec.containers.0.image', '', `${c}.image: Required value`],
  ['spec.containers.0.image', ' i', `${c}.image: Invalid value: " i": must not have leading or trailing whitespace`],
  [
    'spec.containers.0.imagePullPolicy',
    'Often',
    `${c}.imagePullPolicy: Unsupported value: "Often": supported values: "Always", "IfNotPresent", "Never"`,
  ],
  [
    'spec.containers.0.terminationMessagePolicy',
    'X',
    `${c}.terminationMessagePolicy: Invalid value: "X": must be 'File' or 'FallbackToLogsOnError'`,
  ],
  ['spec.containers.1', { name: 'c', image: 'i' }, 'spec.containers[1].name: Duplicate value: "c"'],
  ['spec.containers.0.ports', [{}], `${c}.ports[0].containerPort: Required value`],
  ['spec.containers.0.ports', [{ containerPort: 65536 }], `${c}.ports[0].containerPort: Invalid value: 65536: ${port}`],
  [
    'spec.containers.0.ports',
    [{ containerPort: 1, hostPort: -1 }],
    `${c}.ports[0].hostPort: Invalid value: -1: ${port}`,
  ],
  [
    'spec.containers.0.ports',
    [{ containerPort: 1, protocol: 'tcp' }],
    `${c}.ports[0].protocol: Unsupported value: "tcp": supported values: "SCTP", "TCP", "UDP"`,
  ],
  [
    'spec.containers.0.ports',
    [{ containerPort: 1, name: 'web-server-of-the-year' }],
    `${c}.ports[0].name: Invalid value: "web-server-of-the-year": must be no more than 15 characters`,
  ],
  [
    'spec.containers.0.ports',
    [{ containerPort: 1, name: '80' }],
    `${c}.ports[0].name: Invalid value: "80": must contain at least one letter or number (a-z, 0-9)`,
  ],
  [
    'spec.containers.0.ports',
    [{ containerPort: 1, name: 'a--b' }],
    `${c}.ports[0].name: Invalid value: "a--b": must not contain consecutive hyphens`,
  ],
  [
    'spec.containers.0.ports',
    [
      { containerPort: 1, name: 'a' },
      { containerPort: 2, name: 'a' },
    ],
    `${c}.ports[1].name: Duplicate value: "a"`,
  ],
  [
    'spec.containers.0.ports',
    [
      { containerPort: 1, hostPort: 8 },
      { containerPort: 2, hostPort: 8 },
    ],
    `${c}.ports[1].hostPort: Duplicate value: "TCP//8"`,
  ],
  [
    'spec.containers.0.ports',
    [
      { containerPort: 1, hostPort: 8 },
      { containerPort: 2, hostPort: 8, protocol: 'UDP' },
    ],
  ],
  // 1.24 does not validate this address.
  ['spec.containers.0.ports', [{ containerPort: 1, hostIP: 'x' }]],
  ['spec.initContainers', [{ name: 'c', image: 'i' }], 'spec.initContainers[0].name: Duplicate value: "c"'],
  [
    'spec.initContainers',
    [{ name: 'i', image: 'i', readinessProbe: handler }],
    `spec.initContainers[0].readinessProbe: Invalid value: ${coreValues.of('Probe', { exec: { command: ['true'] }, timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 }).toString()}: must not be set for init containers`,
  ],
  [
    'spec.ephemeralContainers',
    [{ name: 'e', image: 'i' }],
    'spec.ephemeralContainers: Forbidden: cannot be set on create',
  ],
];

const env: Row[] = [
  ['spec.containers.0.env', [{ value: 'x' }], `${c}.env[0].name: Required value`],
  [
    'spec.containers.0.env',
    [{ name: '1A' }],
    `${c}.env[0].name: Invalid value: "1A": a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', regex used for validation is '[-._a-zA-Z][-._a-zA-Z0-9]*')`,
  ],
  ['spec.containers.0.env', [{ name: '..a' }], `${c}.env[0].name: Invalid value: "..a": must not start with '..'`],
  [
    'spec.containers.0.env',
    [{ name: 'A', valueFrom: {} }],
    `${c}.env[0].valueFrom: Invalid value: "": must specify one of: \`fieldRef\`, \`resourceFieldRef\`, \`configMapKeyRef\` or \`secretKeyRef\``,
  ],
  [
    'spec.containers.0.env',
    [{ name: 'A', value: 'x', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
    `${c}.env[0].valueFrom: Invalid value: "": may not be specified when \`value\` is not empty`,
  ],
  [
    'spec.containers.0.env',
    [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'm', key: 'k' }, secretKeyRef: { name: 's', key: 'k' } } }],
    `${c}.env[0].valueFrom: Invalid value: "": may not have more than one field specified at a time`,
  ],
  ['spec.containers.0.env', [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }]],
  ['spec.containers.0.env', [{ name: 'A', valueFrom: { fieldRef: { fieldPath: "metadata.labels['a/b']" } } }]],
  [
    'spec.containers.0.env',
    [{ name: 'A', valueFrom: { fieldRef: { fieldPath: '' } } }],
    `${c}.env[0].valueFrom.fieldRef.fieldPath: Required value`,
  ],
  [
    'spec.containers.0.env',
    [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'spec.x' } } }],
    `${c}.env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.x": error converting fieldPath: field label not supported: spec.x`,
  ],
  [
    'spec.containers.0.env',
    [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.labels' } } }],
    `${c}.env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "metadata.labels": supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.podIP", "status.podIPs"`,
  ],
  [
    'spec.containers.0.env',
    [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '1m' } } }],
  ],
  [
    'spec.containers.0.env',
    [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '2' } } }],
    `${c}.env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor's values 1m and 1 are supported with the cpu resource`,
  ],
  [
    'spec.containers.0.env',
    [{ name: 'A', valueFrom: { configMapKeyRef: { key: '' } } }],
    `${c}.env[0].valueFrom.configMapKeyRef.name: Invalid value: "": ${subdomain}`,
    `${c}.env[0].valueFrom.configMapKeyRef.key: Required value`,
  ],
  [
    'spec.containers.0.envFrom',
    [{}],
    `${c}.envFrom: Invalid value: "": must specify one of: \`configMapRef\` or \`secretRef\``,
  ],
  ['spec.containers.0.envFrom', [{ secretRef: {} }], `${c}.envFrom[0].secretRef.name: Required value`],
  [
    'spec.containers.0.envFrom',
    [{ secretRef: { name: 'a' }, configMapRef: { name: 'b' } }],
    `${c}.envFrom: Invalid value: "": may not have more than one field specified at a time`,
  ],
];

const l = `${c}.livenessProbe`;
const probes: Row[] = [
  ['spec.containers.0.livenessProbe', handler],
  ['spec.containers.0.livenessProbe', {}, `${l}: Required value: must specify a handler type`],
  ['spec.containers.0.livenessProbe', { exec: {} }, `${l}.exec.command: Required value`],
  [
    'spec.containers.0.livenessProbe',
    { ...handler, tcpSocket: { port: 1 } },
    `${l}.tcpSocket: Forbidden: may not specify more than 1 handler type`,
  ],
  [
    'spec.containers.0.livenessProbe',
    { ...handler, successThreshold: 2 },
    `${l}.successThreshold: Invalid value: 2: must be 1`,
  ],
  [
    'spec.containers.0.livenessProbe',
    { ...handler, periodSeconds: -1 },
    `${l}.periodSeconds: Invalid value: -1: must be greater than or equal to 0`,
  ],
  [
    'spec.containers.0.livenessProbe',
    { ...handler, terminationGracePeriodSeconds: 0 },
    `${l}.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0`,
  ],
  ['spec.containers.0.livenessProbe', { httpGet: { port: 0 } }, `${l}.httpGet.port: Invalid value: 0: ${port}`],
  ['spec.containers.0.livenessProbe', { httpGet: { port: 'web' } }],
  [
    'spec.containers.0.livenessProbe',
    { httpGet: { port: 'WEB' } },
    `${l}.httpGet.port: Invalid value: "WEB": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)`,
    `${l}.httpGet.port: Invalid value: "WEB": must contain at least one letter or number (a-z, 0-9)`,
  ],
  [
    'spec.containers.0.livenessProbe',
    { httpGet: { port: 1, scheme: 'FTP' } },
    `${l}.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", "HTTPS"`,
  ],
  [
    'spec.containers.0.livenessProbe',
    { httpGet: { port: 1, httpHeaders: [{ name: 'a b', value: '' }] } },
    `${l}.httpGet.httpHeaders: Invalid value: "a b": a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')`,
  ],
  ['spec.containers.0.livenessProbe', { grpc: { port: 0 } }, `${l}.grpc.port: Invalid value: 0: ${port}`],
  ['spec.containers.0.readinessProbe', { ...handler, successThreshold: 3 }],
  [
    'spec.containers.0.readinessProbe',
    { ...handler, terminationGracePeriodSeconds: 1 },
    `${c}.readinessProbe.terminationGracePeriodSeconds: Invalid value: 1: must not be set for readinessProbes`,
  ],
  [
    'spec.containers.0.startupProbe',
    { ...handler, successThreshold: 2 },
    `${c}.startupProbe.successThreshold: Invalid value: 2: must be 1`,
  ],
  [
    'spec.containers.0.lifecycle',
    { preStop: {} },
    `${c}.lifecycle.preStop: Required value: must specify a handler type`,
  ],
];

const r = `${c}.resources`;
const resources: Row[] = [
  ['spec.containers.0.resources', { limits: { cpu: '1' }, requests: { cpu: '500m' } }],
  [
    'spec.containers.0.resources',
    { limits: { cpu: '1' }, requests: { cpu: '2' } },
    `${r}.requests: Invalid value: "2": must be less than or equal to cpu limit`,
  ],
  [
    'spec.containers.0.resources',
    { requests: { cpu: '-1' } },
    `${r}.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0`,
  ],
  [
    'spec.containers.0.resources',
    { requests: { gpu: '1' } },
    `${r}.requests[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified`,
    `${r}.requests[gpu]: Invalid value: "gpu": must be a standard resource for containers`,
  ],
  [
    'spec.containers.0.resources',
    { requests: { pods: '1' } },
    `${r}.requests[pods]: Invalid value: "pods": must be a standard resource for containers`,
  ],
  [
    'spec.containers.0.resources',
    { requests: { 'example.com/gpu': '1' } },
    `${r}.limits: Required value: Limit must be set for non overcommitable resources`,
  ],
  [
    'spec.containers.0.resources',
    { limits: { 'example.com/gpu': '2' }, requests: { 'example.com/gpu': '1' } },
    `${r}.requests: Invalid value: "1": must be equal to example.com/gpu limit`,
  ],
  [
    'spec.containers.0.resources',
    { limits: { 'example.com/gpu': '500m' } },
    `${r}.limits[example.com/gpu]: Invalid value: ${goQuantityValue('500m').toString()}: must be an integer`,
    `${r}.requests[example.com/gpu]: Invalid value: ${goQuantityValue('500m').toString()}: must be an integer`,
  ],
  [
    'spec.containers.0.resources',
    { limits: { 'hugepages-2Mi': '2Mi' } },
    `${r}: Forbidden: HugePages require cpu or memory`,
  ],
  [
    'spec.overhead',
    { cpu: '-1' },
    'spec.overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
  ],
];

const security: Row[] = [
  [
    'spec.containers.0.securityContext',
    { runAsUser: -1 },
    `${c}.securityContext.runAsUser: Invalid value: -1: ${user}`,
  ],
  [
    'spec.containers.0.securityContext',
    { privileged: true, allowPrivilegeEscalation: false },
    `${c}.securityContext: Invalid value: ${coreValues.of('SecurityContext', { privileged: true, allowPrivilegeEscalation: false }).toString()}: cannot set \`allowPrivilegeEscalation\` to false and \`privileged\` to true`,
  ],
  [
    'spec.containers.0.securityContext',
    { seccompProfile: { type: 'Localhost' } },
    `${c}.securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost`,
  ],
  [
    'spec.containers.0.securityContext',
    { seccompProfile: { type: 'X' } },
    `${c}.securityContext.seccompProfile.type: Unsupported value: "X": supported values: "Localhost", "RuntimeDefault", "Unconfined"`,
  ],
  [
    'spec.containers.0.securityContext',
    { procMount: 'X' },
    `${c}.securityContext.procMount: Unsupported value: "X": supported values: "Default", "Unmasked"`,
  ],
  ['spec.securityContext', { fsGroup: -1 }, `spec.securityContext.fsGroup: Invalid value: -1: ${user}`],
  [
    'spec.securityContext',
    { supplementalGroups: [1, -1] },
    `spec.securityContext.supplementalGroups[1]: Invalid value: -1: ${user}`,
  ],
  [
    'spec.securityContext',
    { fsGroupChangePolicy: 'X' },
    'spec.securityContext.fsGroupChangePolicy: Unsupported value: "X": supported values: "Always", "OnRootMismatch"',
  ],
  [
    'spec.securityContext',
    {
      sysctls: [
        { name: 'a.b', value: '1' },
        { name: 'a.b', value: '1' },
      ],
    },
    'spec.securityContext.sysctls[1].name: Duplicate value: "a.b"',
  ],
];

const v = 'spec.volumes[0]';
const volumes: Row[] = [
  ['spec.volumes', [{ name: 'v' }]],
  ['spec.volumes', [{ emptyDir: {} }], `${v}.name: Required value`],
  ['spec.volumes', [{ name: 'V', emptyDir: {} }], `${v}.name: Invalid value: "V": ${label}`],
  ['spec.volumes', [{ name: 'v' }, { name: 'v' }], 'spec.volumes[1].name: Duplicate value: "v"'],
  [
    'spec.volumes',
    [{ name: 'v', emptyDir: {}, hostPath: { path: '/' } }],
    `${v}.hostPath: Forbidden: may not specify more than 1 volume type`,
  ],
  [
    'spec.volumes',
    [{ name: 'v', emptyDir: { sizeLimit: '-1' } }],
    `${v}.emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity`,
  ],
  ['spec.volumes', [{ name: 'v', hostPath: {} }], `${v}.hostPath.path: Required value`],
  [
    'spec.volumes',
    [{ name: 'v', hostPath: { path: '/a/../b' } }],
    `${v}.hostPath.path: Invalid value: "/a/../b": ${backsteps}`,
  ],
  [
    'spec.volumes',
    [{ name: 'v', hostPath: { path: '/a', type: 'X' } }],
    `${v}.hostPath.type: Unsupported value: "X": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"`,
  ],
  ['spec.volumes', [{ name: 'v', secret: {} }], `${v}.secret.secretName: Required value`],
  [
    'spec.volumes',
    [{ name: 'v', secret: { secretName: 's', defaultMode: 512 } }],
    `${v}.secret.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive`,
  ],
  [
    'spec.volumes',
    [{ name: 'v', secret: { secretName: 's', items: [{ key: 'k', path: '/p' }] } }],
    `${v}.secret.items[0].path: Invalid value: "/p": must be a relative path`,
  ],
  [
    'spec.volumes',
    [{ name: 'v', configMap: { name: 'm', items: [{ key: '', path: '..p' }] } }],
    `${v}.configMap.items[0].key: Required value`,
    `${v}.configMap.items[0].path: Invalid value: "..p": must not start with '..'`,
  ],
  ['spec.volumes', [{ name: 'v', configMap: {} }], `${v}.configMap.name: Required value`],
  ['spec.volumes', [{ name: 'v', persistentVolumeClaim: {} }], `${v}.persistentVolumeClaim.claimName: Required value`],
  [
    'spec.volumes',
    [{ name: 'v', nfs: { server: 's', path: 'p' } }],
    `${v}.nfs.path: Invalid value: "p": must be an absolute path`,
  ],
  [
    'spec.volumes',
    [{ name: 'v', downwardAPI: { items: [{ path: 'p' }] } }],
    `${v}.downwardAPI: Required value: one of fieldRef and resourceFieldRef is required`,
  ],
  [
    'spec.volumes',
    [{ name: 'v', downwardAPI: { items: [{ path: 'p', fieldRef: { fieldPath: 'metadata.labels' } }] } }],
  ],
  ['spec.volumes', [{ name: 'v', projected: { sources: [{}] } }]],
  [
    'spec.volumes',
    [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 1 } }] } }],
    `${v}.projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes`,
    `${v}.projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set`,
  ],
  [
    'spec.volumes',
    [{ name: 'v', csi: {} }],
    `${v}.csi.driver: Required value`,
    `${v}.csi.driver: Invalid value: "": ${subdomain}`,
  ],
  ['spec.volumes', [{ name: 'v', ephemeral: {} }], `${v}.ephemeral.volumeClaimTemplate: Required value`],
  ['spec.containers.0.volumeMounts', [{ name: 'v', mountPath: '/m' }], `${c}.volumeMounts[0].name: Not found: "v"`],
];

const scheduling: Row[] = [
  ['spec.tolerations', [{ operator: 'Exists' }]],
  [
    'spec.tolerations',
    [{ value: 'x' }],
    'spec.tolerations[0].operator: Invalid value: "": operator must be Exists when `key` is empty, which means "match all values and all keys"',
  ],
  [
    'spec.tolerations',
    [{ key: 'k', operator: 'Exists', value: 'v' }],
    'spec.tolerations[0].operator: Invalid value: core.Toleration{Key:"k", Operator:"Exists", Value:"v", Effect:"", TolerationSeconds:(*int64)(nil)}: value must be empty when `operator` is \'Exists\'',
  ],
  [
    'spec.tolerations',
    [{ key: 'k', operator: 'Is' }],
    'spec.tolerations[0].operator: Unsupported value: "Is": supported values: "Equal", "Exists"',
  ],
  [
    'spec.tolerations',
    [{ key: 'k', effect: 'X' }],
    'spec.tolerations[0].effect: Unsupported value: "X": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
  ],
  [
    'spec.tolerations',
    [{ key: 'k', effect: 'NoSchedule', tolerationSeconds: 1 }],
    'spec.tolerations[0].effect: Invalid value: "NoSchedule": effect must be \'NoExecute\' when `tolerationSeconds` is set',
  ],
  [
    'spec.affinity',
    { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: {} } },
    'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least one node selector term',
  ],
  [
    'spec.affinity',
    { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 0, preference: {} }] } },
    'spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 0: must be in the range 1-100',
  ],
  [
    'spec.affinity',
    { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'z', namespaces: ['A'] }] } },
    `spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespace: Invalid value: "A": ${label}`,
  ],
  [
    'spec.topologySpreadConstraints',
    [{ maxSkew: 0, topologyKey: 'z', whenUnsatisfiable: 'DoNotSchedule' }],
    'spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero',
  ],
  [
    'spec.topologySpreadConstraints',
    [{ maxSkew: 1, whenUnsatisfiable: 'X' }],
    'spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty',
    'spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "X": supported values: "DoNotSchedule", "ScheduleAnyway"',
  ],
];

const rest: Row[] = [
  ['metadata.name', 'P', `metadata.name: Invalid value: "P": ${subdomain}`],
  ['metadata.name', undefined, 'metadata.name: Required value: name or generateName is required'],
  ['metadata.namespace', undefined, 'metadata.namespace: Required value'],
  [
    'spec.restartPolicy',
    'Sometimes',
    'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
  ],
  [
    'spec.dnsPolicy',
    'X',
    'spec.dnsPolicy: Unsupported value: "X": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
  ],
  ['spec.dnsPolicy', 'None', 'spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None'],
  [
    'spec.dnsConfig',
    { nameservers: ['1.1.1.1', '2.2.2.2', '3.3.3.3', '4.4.4.4'] },
    'spec.dnsConfig.nameservers: Invalid value: []string{"1.1.1.1", "2.2.2.2", "3.3.3.3", "4.4.4.4"}: must not have more than 3 nameservers',
  ],
  [
    'spec.activeDeadlineSeconds',
    0,
    'spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive',
  ],
  ['spec.hostname', 'a.b', `spec.hostname: Invalid value: "a.b": ${label}`],
  ['spec.nodeName', 'A', `spec.nodeName: Invalid value: "A": ${subdomain}`],
  ['spec.serviceAccountName', 'A', `spec.serviceAccountName: Invalid value: "A": ${subdomain}`],
  [
    'spec.hostAliases',
    [{ ip: 'x', hostnames: ['h'] }],
    'spec.hostAliases.ip: Invalid value: "x": must be valid IP address',
  ],
  [
    'spec.preemptionPolicy',
    'X',
    'spec.preemptionPolicy: Unsupported value: "X": supported values: "PreemptLowerPriority", "Never"',
  ],
  ['spec.os', { name: 'beos' }, 'spec.os: Unsupported value: "beos": supported values: "linux", "windows"'],
];

for (const [what, rows] of Object.entries({
  containers,
  env,
  probes,
  resources,
  security,
  volumes,
  scheduling,
  rest,
})) {
  t.test(`create: ${what}`, (t) => {
    t.strictSame(createFailures(podStrategy, base), [], 'the base is valid');
    for (const [path, value, ...want] of rows) {
      t.strictSame(
        createFailures(podStrategy, withField(base, path, value)),
        want,
        `${path} = ${JSON.stringify(value)}`,
      );
    }
    t.end();
  });
}

t.test('mounts and devices', (t) => {
  const pod = withField(base, 'spec.volumes', [
    { name: 'v' },
    { name: 'b', persistentVolumeClaim: { claimName: 'b' } },
  ]);
  const m = `${c}.volumeMounts[0]`;
  const rows: Row[] = [
    ['spec.containers.0.volumeMounts', [{ name: 'v', mountPath: '/m' }]],
    ['spec.containers.0.volumeMounts', [{ name: 'v' }], `${m}.mountPath: Required value`],
    [
      'spec.containers.0.volumeMounts',
      [
        { name: 'v', mountPath: '/m' },
        { name: 'b', mountPath: '/m' },
      ],
      `${c}.volumeMounts[1].mountPath: Invalid value: "/m": must be unique`,
    ],
    [
      'spec.containers.0.volumeMounts',
      [{ name: 'v', mountPath: '/m', subPath: '../x' }],
      `${c}.volumeMounts.subPath: Invalid value: "../x": ${backsteps}`,
    ],
    [
      'spec.containers.0.volumeMounts',
      [{ name: 'v', mountPath: '/m', subPath: 'x', subPathExpr: 'x' }],
      `${m}.subPathExpr: Invalid value: "x": subPathExpr and subPath are mutually exclusive`,
    ],
    [
      'spec.containers.0.volumeMounts',
      [{ name: 'v', mountPath: '/m', mountPropagation: 'Bidirectional' }],
      `${c}.volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers`,
    ],
    ['spec.containers.0.volumeDevices', [{ name: 'b', devicePath: '/dev/x' }]],
    [
      'spec.containers.0.volumeDevices',
      [{ name: 'v', devicePath: '/dev/x' }],
      `${c}.volumeDevices[0].name: Invalid value: "v": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode`,
    ],
  ];
  for (const [path, value, ...want] of rows) {
    t.strictSame(createFailures(podStrategy, withField(pod, path, value)), want, JSON.stringify(value));
  }
  t.end();
});

t.test('update', (t) => {
  const immutable =
    'spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`, `spec.initContainers[*].image`, `spec.activeDeadlineSeconds`, `spec.tolerations` (only additions to existing tolerations) or `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';
  const old = withField(withField(base, 'spec.containers.0.imagePullPolicy', 'Always'), 'spec.tolerations', [
    { key: 'k', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 },
  ]);
  const rows: Row[] = [
    ['spec.containers.0.image', 'other'],
    ['metadata.labels', { a: 'b' }],
    ['spec.activeDeadlineSeconds', 5],
    ['spec.tolerations.0.tolerationSeconds', 9],
    ['spec.tolerations.1', { key: 'j', operator: 'Exists' }],
    [
      'spec.tolerations',
      [],
      'spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds',
    ],
    [
      'spec.containers.1',
      { name: 'd', image: 'i' },
      'spec.containers: Forbidden: pod updates may not add or remove containers',
    ],
    ['spec.containers.0.command', ['x'], `${immutable}\nchanged: containers\n`],
    ['spec.nodeName', 'n', `${immutable}\nchanged: nodeName\n`],
    ['spec.terminationGracePeriodSeconds', 1, `${immutable}\nchanged: terminationGracePeriodSeconds\n`],
    ['metadata.namespace', 'other', 'metadata.namespace: Invalid value: "other": field is immutable'],
    ['spec.containers.0.image', '', `${c}.image: Required value`, `${c}.image: Required value`],
  ];
  for (const [path, value, ...want] of rows) {
    t.strictSame(
      updateFailures(podStrategy, old, withField(old, path, value)),
      want,
      `${path} = ${JSON.stringify(value)}`,
    );
  }
  const limited = withField(base, 'spec.activeDeadlineSeconds', 5);
  t.strictSame(updateFailures(podStrategy, limited, withField(limited, 'spec.activeDeadlineSeconds', 4)), []);
  t.strictSame(updateFailures(podStrategy, limited, withField(limited, 'spec.activeDeadlineSeconds', 6)), [
    'spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value',
  ]);
  t.strictSame(updateFailures(podStrategy, limited, base), [
    'spec.activeDeadlineSeconds: Invalid value: "null": must not update from a positive integer to nil value',
  ]);
  const negative = withField(base, 'spec.terminationGracePeriodSeconds', -1);
  t.strictSame(updateFailures(podStrategy, negative, withField(negative, 'spec.terminationGracePeriodSeconds', 1)), []);
  t.end();
});

t.test('status update', (t) => {
  const never = withField(base, 'spec.restartPolicy', 'Never');
  const ended = { containerStatuses: [{ name: 'c', state: { terminated: { exitCode: 0 } } }] };
  const running = { containerStatuses: [{ name: 'c', state: { running: {} } }] };
  t.strictSame(statusFailures(podStrategy, base, { old: ended, new: running }), []);
  t.strictSame(statusFailures(podStrategy, never, { old: ended, new: running }), [
    'status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state',
  ]);
  t.strictSame(statusFailures(podStrategy, base, { new: { podIPs: [{ ip: 'x' }] } }), [
    'status.podIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
  ]);
  t.end();
});
