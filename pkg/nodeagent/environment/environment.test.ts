import t from 'tap';
import { searchLimits } from '#api/core/v1/pod/validation/options.js';
import type { ConfigMap, Container, Pod, Secret, Service } from '#api/core/v1/types.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { expandedSearchLimits, parseResolvConf, podDNS } from '#nodeagent/environment/dns.js';
import { containerEnvironment, expand, serviceVariables } from '#nodeagent/environment/environment.js';
import { fieldValue, resourceValue } from '#nodeagent/environment/field-ref.js';
import { hostsFile, podHostname } from '#nodeagent/environment/hosts-file.js';

const facts = {
  nodeName: 'n1',
  hostIP: '192.0.2.1',
  podIPs: ['10.0.0.2', 'fd00::2'],
  allocatable: { cpu: '4', memory: '8Gi' },
};
const pod: Pod = {
  metadata: { name: 'p', namespace: 'ns', uid: 'u', labels: { b: '2', a: 'x"y' }, annotations: { note: 'n' } },
  spec: {
    containers: [{ name: 'main', resources: { limits: { memory: '64Mi' }, requests: { cpu: '250m' } } }],
    serviceAccountName: 'sa',
  },
};
const [main] = pod.spec.containers as [Container];

t.test('$(NAME) is replaced if the variable is defined', async (t) => {
  const variables = new Map([
    ['A', '1'],
    ['B', '$(A)'],
  ]);
  for (const [text, expected] of [
    ['$(A)', '1'],
    ['x$(A)y$(A)', 'x1y1'],
    ['$(NONE)', '$(NONE)'],
    ['$$(A)', '$(A)'],
    ['$$$(A)', '$1'],
    ['$(B)', '$(A)'],
    ['$A $(A', '$A $(A'],
    ['', ''],
  ] as const) {
    t.equal(expand(text, variables), expected, text);
  }
});

t.test('field and resource references yield values of the pod and its node', async (t) => {
  for (const [path, expected] of [
    ['metadata.name', 'p'],
    ['metadata.namespace', 'ns'],
    ['metadata.uid', 'u'],
    ["metadata.labels['b']", '2'],
    ["metadata.annotations['none']", ''],
    ['metadata.labels', 'a="x\\"y"\nb="2"'],
    ['spec.nodeName', 'n1'],
    ['spec.serviceAccountName', 'sa'],
    ['status.hostIP', '192.0.2.1'],
    ['status.podIP', '10.0.0.2'],
    ['status.podIPs', '10.0.0.2,fd00::2'],
  ] as const) {
    t.equal(fieldValue(pod, path, facts), expected, path);
  }
  t.throws(() => fieldValue(pod, 'spec.none', facts), RangeError);
  for (const [resource, divisor, expected] of [
    ['limits.memory', '1Mi', '64'],
    ['limits.memory', undefined, '67108864'],
    ['limits.cpu', undefined, '4'],
    ['requests.cpu', undefined, '1'],
    ['requests.cpu', '1m', '250'],
    ['requests.memory', '1Mi', '64'],
  ] as const) {
    const selector = divisor === undefined ? { resource } : { resource, divisor };
    t.equal(resourceValue(pod, selector, main, facts), expected, `${resource} / ${divisor}`);
  }
  t.throws(() => resourceValue(pod, { resource: 'limits.cpu', containerName: 'none' }, main, facts), RangeError);
});

const objects: { configMaps: Record<string, ConfigMap>; secrets: Record<string, Secret> } = {
  configMaps: { cfg: { metadata: {}, data: { a: 'from-map', 'not a name': 'x' } } },
  secrets: { sec: { metadata: {}, data: { s: Buffer.from('hidden').toString('base64') } } },
};
const input = (container: Container, onInvalidKeys?: (source: string, keys: readonly string[]) => void) => ({
  pod,
  container,
  facts,
  services: new Map([['WEB_SERVICE_HOST', '10.0.0.9']]),
  configMap: async (name: string) => objects.configMaps[name],
  secret: async (name: string) => objects.secrets[name],
  ...(onInvalidKeys === undefined ? {} : { onInvalidKeys }),
});

t.test('variables: later sources win and may refer to earlier ones', async (t) => {
  const invalid: string[] = [];
  const result = await containerEnvironment(
    input(
      {
        name: 'main',
        envFrom: [{ prefix: 'C_', configMapRef: { name: 'cfg' } }, { secretRef: { name: 'none', optional: true } }],
        env: [
          { name: 'A', value: '$(C_a) $(WEB_SERVICE_HOST)' },
          { name: 'S', valueFrom: { secretKeyRef: { name: 'sec', key: 's' } } },
          { name: 'GONE', valueFrom: { secretKeyRef: { name: 'sec', key: 'none', optional: true } } },
          { name: 'B', value: '$(A)-$(S)-$(GONE)' },
          { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
        ],
      },
      (_source, keys) => invalid.push(...keys),
    ),
  );
  t.same(Object.fromEntries(result), {
    C_a: 'from-map',
    A: 'from-map 10.0.0.9',
    S: 'hidden',
    B: 'from-map 10.0.0.9-hidden-$(GONE)',
    IP: '10.0.0.2',
    WEB_SERVICE_HOST: '10.0.0.9',
  });
  t.same(invalid, ['C_not a name']);
});

t.test('missing references raise a ContainerConfigError', async (t) => {
  for (const [container, message] of [
    [{ name: 'm', envFrom: [{ configMapRef: { name: 'none' } }] }, 'configmap "none" not found'],
    [
      { name: 'm', env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'none', key: 'k' } } }] },
      'secret "none" not found',
    ],
    [
      { name: 'm', env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'cfg', key: 'k' } } }] },
      "couldn't find key k in ConfigMap ns/cfg",
    ],
    [{ name: 'm', env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'no' } } }] }, 'unsupported fieldPath: no'],
  ] as const) {
    await t.rejects(containerEnvironment(input(container as unknown as Container)), {
      name: 'ContainerConfigError',
      message,
    });
  }
});

t.test('service variables: services of the namespace and the API', async (t) => {
  const service = (namespace: string, name: string, clusterIP: string): Service => ({
    metadata: { name, namespace },
    spec: {
      clusterIP,
      ports: [
        { name: 'https', port: 443, protocol: 'TCP' },
        { port: 53, protocol: 'UDP' },
      ],
    },
  });
  const all = [
    service('default', 'orch', '10.0.0.1'),
    service('ns', 'my-db', '10.0.0.5'),
    service('other', 'x', '10.0.0.6'),
    service('ns', 'headless', 'None'),
  ];
  const api = { apiNamespace: 'default' };
  const linked = serviceVariables(all, { ...api, namespace: 'ns', enableServiceLinks: true }, orchDialect);
  t.equal(linked.get('ORCH_SERVICE_HOST'), '10.0.0.1');
  t.equal(linked.get('ORCH_SERVICE_PORT'), '443');
  t.equal(linked.get('ORCH_SERVICE_PORT_HTTPS'), '443');
  t.equal(linked.get('MY_DB_PORT'), 'tcp://10.0.0.5:443');
  t.equal(linked.get('MY_DB_PORT_53_UDP_ADDR'), '10.0.0.5');
  t.notOk([...linked.keys()].some((name) => name.startsWith('X_') || name.startsWith('HEADLESS')));
  const alone = serviceVariables(all, { ...api, namespace: 'ns', enableServiceLinks: false }, orchDialect);
  t.notOk(alone.has('MY_DB_SERVICE_HOST'));
  t.ok(alone.has('ORCH_SERVICE_HOST'));
  const elsewhere = { apiNamespace: 'other', namespace: 'ns', enableServiceLinks: true };
  t.notOk(
    serviceVariables(all, elsewhere, orchDialect).has('ORCH_SERVICE_HOST'),
    'only the namespace of the API is searched',
  );
  t.notOk(
    serviceVariables(all, { ...api, namespace: 'a', enableServiceLinks: true }, kubernetesDialect).has(
      'ORCH_SERVICE_HOST',
    ),
  );
});

const forming = { limits: searchLimits, agent: 'kubelet' };

t.test('a resolver configuration is cut to the limits of resolvers', async (t) => {
  const host = { servers: ['1.1.1.1', '2.2.2.2'], searches: ['a', 'b', 'x'.repeat(254)], options: [] };
  const events: string[] = [];
  const report = (reason: string, message: string) => events.push(`${reason}: ${message}`);
  const dnsConfig = { nameservers: ['3.3.3.3', '4.4.4.4'], searches: ['c', 'd', 'e', 'f'] };
  const spec = { ...pod.spec, dnsPolicy: 'Default', dnsConfig };
  t.same(podDNS({ ...pod, spec }, { servers: [], domain: '' }, host, { ...forming, report }), {
    servers: ['1.1.1.1', '2.2.2.2', '3.3.3.3'],
    searches: ['a', 'b', 'c', 'd', 'e'],
    options: [],
  });
  t.same(events.splice(0), [
    'DNSConfigForming: Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 1.1.1.1 2.2.2.2 3.3.3.3',
    'DNSConfigForming: Search Line limits were exceeded, some search paths have been omitted, the applied search line is: a b c d e',
  ]);
  const long = { servers: [], searches: ['x'.repeat(200), 'y'.repeat(55), 'z'], options: [] };
  const ofHost = { ...pod, spec: { ...pod.spec, dnsPolicy: 'Default' } };
  const searches = (limits: typeof expandedSearchLimits) =>
    podDNS(ofHost, { servers: [], domain: '' }, long, { ...forming, limits }).searches.length;
  t.equal(searches(searchLimits), 2);
  t.equal(searches(expandedSearchLimits), 3);
  podDNS(pod, { servers: [], domain: '' }, { servers: [], searches: [], options: [] }, { ...forming, report });
  t.same(events, [
    'MissingClusterDNS: pod: "p_ns(u)". kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.',
  ]);
});

t.test('the DNS policy determines the resolver configuration', async (t) => {
  const host = parseResolvConf('# x\nnameserver 9.9.9.9\nsearch corp.example lan.\noptions timeout:1\n');
  t.same(host, { servers: ['9.9.9.9'], searches: ['corp.example', 'lan'], options: ['timeout:1'] });
  const cluster = { servers: ['10.0.0.10'], domain: 'cluster.local' };
  const withSpec = (spec: object): Pod => ({ ...pod, spec: { ...pod.spec, ...spec } });
  t.same(podDNS(withSpec({}), cluster, host, forming), {
    servers: ['10.0.0.10'],
    searches: ['ns.svc.cluster.local', 'svc.cluster.local', 'cluster.local', 'corp.example', 'lan'],
    options: ['ndots:5'],
  });
  t.same(podDNS(withSpec({ dnsPolicy: 'Default' }), cluster, host, forming), host);
  t.same(podDNS(withSpec({ hostNetwork: true }), cluster, host, forming), host);
  t.same(
    podDNS(withSpec({ hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' }), cluster, host, forming).servers,
    ['10.0.0.10'],
  );
  const dnsConfig = {
    nameservers: ['1.1.1.1'],
    searches: ['own'],
    options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }],
  };
  t.same(podDNS(withSpec({ dnsPolicy: 'None', dnsConfig }), cluster, host, forming), {
    servers: ['1.1.1.1'],
    searches: ['own'],
    options: ['ndots:2', 'edns0'],
  });
});

t.test('hostname and hosts file follow the spec of the pod', async (t) => {
  const withSpec = (spec: object): Pod => ({ ...pod, spec: { ...pod.spec, ...spec } });
  t.same(podHostname(pod, 'cluster.local'), { hostname: 'p', hostDomain: '' });
  const named = withSpec({ hostname: 'h', subdomain: 's', hostAliases: [{ ip: '1.2.3.4', hostnames: ['x', 'y'] }] });
  const { hostname, hostDomain } = podHostname(named, 'cluster.local');
  t.equal(hostDomain, 'h.s.ns.svc.cluster.local');
  const text = hostsFile({
    pod: named,
    podIPs: ['10.0.0.2'],
    hostname,
    hostDomain,
    hostFile: '',
    productName: kubernetesDialect.displayName,
  });
  t.match(text, /^# Kubernetes-managed hosts file\.\n127\.0\.0\.1\tlocalhost\n/);
  t.match(text, '10.0.0.2\th.s.ns.svc.cluster.local\th\n');
  t.match(text, '1.2.3.4\tx\ty\n');
  const onHost = hostsFile({
    pod: withSpec({ hostNetwork: true }),
    podIPs: ['192.0.2.1'],
    hostname,
    hostDomain,
    hostFile: '127.0.0.1\tlocalhost\n',
    productName: orchDialect.displayName,
  });
  t.equal(onHost, '# Orch-managed hosts file (host network).\n127.0.0.1\tlocalhost\n');
});
