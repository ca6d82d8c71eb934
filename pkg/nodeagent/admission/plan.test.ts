import t from 'tap';
import type { Node, Pod, PodSpec } from '#api/core/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { refusal } from '#nodeagent/admission/plan.js';
import { allowedSysctlErrors } from '#nodeagent/admission/sysctls.js';

const node: Node = {
  metadata: { name: 'n1', labels: { disk: 'ssd' } },
  spec: { taints: [{ key: 'broken', effect: 'NoExecute' }] },
  status: {
    allocatable: {
      ...{ cpu: '2', memory: '1Gi', 'ephemeral-storage': '10Gi', pods: '3' },
      ...{ 'example.com/fpga': '2', 'hugepages-2Mi': '4Mi' },
    },
  },
};

const tolerations = [{ key: 'broken', operator: 'Exists' }];

function pod(uid: string, spec: Partial<PodSpec> = {}, annotations: Record<string, string> = {}): Pod {
  return {
    metadata: { name: uid, uid, annotations },
    spec: { nodeName: 'n1', containers: [{ name: 'a' }], tolerations, ...spec },
  };
}

const asking = (requests: Record<string, string>): Partial<PodSpec> => ({
  containers: [{ name: 'a', resources: { requests } }],
});
const onPort = (hostPort: number, hostIP?: string, protocol = 'TCP'): Partial<PodSpec> => ({
  containers: [{ name: 'a', ports: [{ containerPort: 80, hostPort, protocol, ...(hostIP ? { hostIP } : {}) }] }],
});
const setting = (name: string): Partial<PodSpec> => ({ securityContext: { sysctls: [{ name, value: '1' }] } });
const selecting = (key: string, values: string[]): Partial<PodSpec> => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'In', values }] }],
      },
    },
  },
});
const short = (resource: string, requested: number, used: number, capacity: number): [string, string] => [
  `OutOf${resource}`,
  `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`,
];
const predicate = (name: string): [string, string] => [name, `Predicate ${name} failed`];
const forbidden = (text: string): [string, string] => ['SysctlForbidden', `forbidden sysctl: ${text}`];

const mebi = 2 ** 20;
const table: {
  name: string;
  pod: Pod;
  others?: Pod[];
  allowed?: string[];
  isStatic?: boolean;
  expected?: [string, string];
}[] = [
  { name: 'no requests', pod: pod('p') },
  { name: 'fits', pod: pod('p', asking({ cpu: '2', memory: '1Gi', 'example.com/fpga': '2' })) },
  { name: 'a thousand CPUs', pod: pod('p', asking({ cpu: '1k' })), expected: short('cpu', 1_000_000, 0, 2000) },
  {
    name: 'no CPU left',
    pod: pod('p', asking({ cpu: '600m' })),
    others: [pod('o', asking({ cpu: '1500m' }))],
    expected: short('cpu', 600, 1500, 2000),
  },
  {
    name: 'overhead is added',
    pod: pod('p', { ...asking({ cpu: '2' }), overhead: { cpu: '1m' } }),
    expected: short('cpu', 2001, 0, 2000),
  },
  {
    name: 'the largest init container decides',
    pod: pod('p', { initContainers: [{ name: 'i', resources: { requests: { memory: '2Gi' } } }] }),
    expected: short('memory', 2048 * mebi, 0, 1024 * mebi),
  },
  {
    name: 'no storage left',
    pod: pod('p', asking({ 'ephemeral-storage': '11Gi' })),
    expected: short('ephemeral-storage', 11 * 1024 * mebi, 0, 10 * 1024 * mebi),
  },
  {
    name: 'no huge pages left',
    pod: pod('p', asking({ 'hugepages-2Mi': '4Mi' })),
    others: [pod('o', asking({ 'hugepages-2Mi': '2Mi' }))],
    expected: short('hugepages-2Mi', 4 * mebi, 2 * mebi, 4 * mebi),
  },
  {
    name: 'no device left',
    pod: pod('p', asking({ 'example.com/fpga': '1' })),
    others: [pod('o', asking({ 'example.com/fpga': '2' }))],
    expected: short('example.com/fpga', 1, 2, 2),
  },
  {
    name: 'a resource that the node does not list is left to the cluster',
    pod: pod('p', asking({ 'example.com/gpu': '9' })),
  },
  {
    name: 'no pod slots left',
    pod: pod('p'),
    others: [pod('a'), pod('b'), pod('c')],
    expected: short('pods', 1, 3, 3),
  },
  { name: 'another selector', pod: pod('p', { nodeSelector: { disk: 'hdd' } }), expected: predicate('NodeAffinity') },
  { name: 'the right selector', pod: pod('p', { nodeSelector: { disk: 'ssd' } }) },
  { name: 'another affinity', pod: pod('p', selecting('disk', ['hdd'])), expected: predicate('NodeAffinity') },
  { name: 'the right affinity', pod: pod('p', selecting('disk', ['hdd', 'ssd'])) },
  { name: 'another node', pod: pod('p', { nodeName: 'n2' }), expected: predicate('NodeName') },
  {
    name: 'a port in use',
    pod: pod('p', onPort(80, '10.0.0.1')),
    others: [pod('o', onPort(80))],
    expected: predicate('NodePorts'),
  },
  {
    name: 'the same port of another address or protocol',
    pod: pod('p', onPort(80, '10.0.0.1')),
    others: [pod('o', onPort(80, '10.0.0.2')), pod('q', onPort(80, '10.0.0.1', 'UDP'))],
  },
  { name: 'a taint', pod: pod('p', { tolerations: [] }), expected: predicate('TaintToleration') },
  {
    name: 'static pods ignore taints',
    pod: pod('p', { tolerations: [] }),
    isStatic: true,
  },
  {
    name: 'the config source annotation does not make an API pod static',
    pod: pod('p', { tolerations: [] }, { [dialect.annotations.configSource]: 'file' }),
    expected: predicate('TaintToleration'),
  },
  {
    name: 'static pods still need resources',
    pod: pod('p', asking({ cpu: '3' })),
    isStatic: true,
    expected: short('cpu', 3000, 0, 2000),
  },
  {
    name: 'another operating system',
    pod: pod('p', { os: { name: 'windows' } }),
    expected: ['PodOSNotSupported', "Failed to admit pod as the OS field doesn't match node OS"],
  },
  { name: 'this operating system', pod: pod('p', { os: { name: 'linux' } }) },
  {
    name: 'another operating system by label',
    pod: { ...pod('p'), metadata: { name: 'p', labels: { [dialect.labels.os]: 'windows' } } },
    expected: [
      'PodOSSelectorNodeLabelDoesNotMatch',
      `Failed to admit pod as the \`${dialect.labels.os}\` label doesn't match node label`,
    ],
  },
  { name: 'a safe sysctl', pod: pod('p', setting('net.ipv4.tcp_syncookies')) },
  { name: 'a safe sysctl with slashes', pod: pod('p', setting('net/ipv4/tcp_syncookies')) },
  {
    name: 'an unsafe sysctl',
    pod: pod('p', setting('kernel.msgmax')),
    expected: forbidden('"kernel.msgmax" not allowlisted'),
  },
  {
    name: 'an allowed sysctl',
    pod: pod('p', setting('kernel.msgmax')),
    allowed: ['kernel.msg*', 'net.core.somaxconn'],
  },
  {
    name: 'a sysctl of the host',
    pod: pod('p', { ...setting('net.core.somaxconn'), hostNetwork: true }),
    allowed: ['net.*'],
    expected: forbidden('"net.core.somaxconn" not allowed with host net enabled'),
  },
  {
    name: 'a safe sysctl of the host',
    pod: pod('p', { ...setting('kernel.shm_rmid_forced'), hostIPC: true }),
    expected: forbidden('"kernel.shm_rmid_forced" not allowed with host ipc enabled'),
  },
];

for (const { name, others = [], allowed = [], isStatic = false, expected, ...row } of table) {
  t.test(name, async (t) => {
    const result = refusal({ dialect, pod: row.pod, node, others, allowedUnsafeSysctls: allowed, isStatic });
    t.same(result, expected && { reason: expected[0], message: expected[1] });
  });
}

t.test('only namespaced sysctls can be allowed', async (t) => {
  t.same(allowedSysctlErrors(['net.*', 'kernel.msgmax', 'kernel.sem', 'fs.mqueue.msg_max']), []);
  t.same(allowedSysctlErrors(['kernel.panic', '*']), [
    'the sysctl "kernel.panic" is not known to be namespaced',
    'the sysctl "*" is not known to be namespaced',
  ]);
});
