import t from 'tap';
import { services } from '#api/core/v1/resources.gen.js';
import type { Service, ServiceSpec } from '#api/core/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import type { Draft } from '#apimachinery/draft.js';
import { IpRange } from '#apiserver/allocators/ip-range.js';
import { NodePortRange } from '#apiserver/allocators/node-port-range.js';
import { Bitmap, RangeFullError, RangeRegistry } from '#apiserver/allocators/range-registry.js';
import { type HeldNumbers, heldAddresses, heldNodePorts, RangeRepair } from '#apiserver/allocators/range-repair.js';
import { ServiceAllocator } from '#apiserver/allocators/service-allocator.js';
import { MemoryObjectReader } from '#apiserver/objects/testing/memory-object-reader.js';
import { silentLogger } from '#daemon/log/logger.js';
import { MemoryStore } from '#storage/memory/memory-store.js';

t.test('address ranges', (t) => {
  const range = new IpRange('10.0.0.7/29');
  t.match(
    { cidr: range.cidr, size: range.size, first: range.at(0), last: range.at(5) },
    {
      cidr: '10.0.0.0/29',
      size: 6,
      first: '10.0.0.1',
      last: '10.0.0.6',
    },
  );
  for (const [ip, offset] of [
    ['10.0.0.1', 0],
    ['10.0.0.6', 5],
    ['10.0.0.0', undefined],
    ['10.0.0.7', undefined],
    ['10.0.1.1', undefined],
    ['fd00::1', undefined],
    ['nonsense', undefined],
  ] as const)
    t.equal(range.offsetOf(ip), offset, ip);
  const six = new IpRange('fd00:0:0:1::/108');
  t.equal(six.size, 65_536);
  t.equal(six.at(0), 'fd00:0:0:1::1');
  t.equal(six.at(65_535), 'fd00::1:0:0:1:0');
  t.equal(six.offsetOf('fd00::1:0:0:0:ff'), 254);
  for (const bad of ['10.0.0.0', '10.0.0.0/33', 'x/8', '10.0.0.0/31', '10.0.0.0/8/8', ''])
    t.throws(() => new IpRange(bad), RangeError);
  for (const bad of ['x', '5-', '10-5', '1-70000']) t.throws(() => new NodePortRange(bad), RangeError);
  t.match(new NodePortRange('5'), { first: 5, last: 5 });
  t.end();
});

t.test('bitmaps', (t) => {
  const bitmap = new Bitmap(20);
  t.ok(bitmap.take(19));
  t.notOk(bitmap.take(19));
  t.ok(new Bitmap(20, bitmap.toBuffer()).has(19));
  bitmap.free(19);
  t.notOk(bitmap.has(19));
  const order = Array.from({ length: 20 }, () => {
    const next = bitmap.next(() => 0, 16) ?? -1;
    bitmap.take(next);
    return next;
  });
  t.same(order.slice(0, 5), [16, 17, 18, 19, 0], 'the reserved part comes last');
  t.equal(
    bitmap.next(() => 0.5, 16),
    undefined,
  );
  t.end();
});

const registryOf = (store: MemoryStore, name: string, size: number, random = Math.random) =>
  new RangeRegistry({ store, key: `/registry/ranges/${name}`, range: name, size, reserved: 0, random });

t.test('several servers never allocate a number twice', async (t) => {
  const store = new MemoryStore({ clock: realClock });
  t.teardown(() => store.close());
  const servers = [1, 2, 3].map(() => registryOf(store, 'r', 60, () => 0));
  const numbers = await Promise.all(servers.flatMap((server) => Array.from({ length: 20 }, () => server.takeNext())));
  t.equal(new Set(numbers).size, 60);
  await t.rejects(async () => {
    await servers[0]?.takeNext();
  }, RangeFullError);
  await servers[1]?.free([7]);
  t.equal(await servers[0]?.takeNext(), 7, 'another server has freed it');
  t.equal(await servers[2]?.take(7), false);
});

function setup() {
  const store = new MemoryStore({ clock: realClock });
  const range = new IpRange('10.0.0.0/28');
  const ports = new NodePortRange('30000-30009');
  const ips = [{ range, registry: registryOf(store, 'ips', range.size) }];
  const nodePorts = { range: ports, registry: registryOf(store, 'ports', ports.size) };
  return { store, ips, nodePorts, allocator: new ServiceAllocator({ ips, nodePorts }) };
}

const service = (spec: Draft<ServiceSpec> = {}): Draft<Service> => ({
  metadata: { name: 's' },
  spec: { type: 'ClusterIP', ...spec },
});

t.test('Services get addresses and ports', async (t) => {
  const { store, allocator } = setup();
  t.teardown(() => store.close());
  const write = async (object: Draft<Service>, old?: Service, dryRun = false) => {
    await allocator.allocate(object, old, dryRun);
    if (old !== undefined && !dryRun) await allocator.afterUpdate(object, old);
    return object;
  };
  // First, since any later Service may get any address.
  const fixed = await write(service({ clusterIP: '10.0.0.10' }));
  const plain = await write(service());
  t.match(plain.spec?.clusterIP, /^10\.0\.0\.\d+$/);
  t.match(plain.spec, { clusterIPs: [plain.spec?.clusterIP], ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' });
  t.same(fixed.spec?.clusterIPs, ['10.0.0.10']);
  await t.rejects(write(service({ clusterIP: '10.0.0.10' })), {
    message: /spec.clusterIPs: .*10.0.0.10: provided IP is already allocated/,
  });
  await t.rejects(write(service({ clusterIP: '10.9.0.1' })), {
    message: /not in the valid range. The range of valid IPs is 10.0.0.0\/28/,
  });
  t.match((await write(service({ clusterIP: 'None', selector: { a: 'b' } }))).spec, {
    clusterIPs: ['None'],
    ipFamilyPolicy: 'SingleStack',
  });
  t.match((await write(service({ clusterIP: 'None' }))).spec, {
    ipFamilyPolicy: 'RequireDualStack',
    ipFamilies: ['IPv4', 'IPv6'],
  });
  t.same((await write(service({ type: 'ExternalName', externalName: 'x' }))).spec, {
    type: 'ExternalName',
    externalName: 'x',
  });
  await t.rejects(write(service({ ipFamilyPolicy: 'RequireDualStack' })), { message: /not configured for dual-stack/ });
  await t.rejects(write(service({ ipFamilies: ['IPv6'] })), {
    message: /spec.ipFamilies\[0\]: .*not configured on this cluster/,
  });
  t.match((await write(service({ ipFamilyPolicy: 'PreferDualStack' }))).spec?.ipFamilies, ['IPv4']);

  const dns = [
    { name: 'a', port: 53, protocol: 'UDP' },
    { name: 'b', port: 53, protocol: 'TCP' },
    { name: 'c', port: 80 },
  ];
  const node = await write(service({ type: 'NodePort', ports: structuredClone(dns) }));
  const [a, b, c] = node.spec?.ports?.map(({ nodePort }) => nodePort) ?? [];
  t.ok(a !== undefined && a === b && c !== a, 'one port over two protocols shares its number');
  await t.rejects(write(service({ type: 'NodePort', ports: [{ port: 1, nodePort: 80 }] })), {
    message: /spec.ports\[0\].nodePort: Invalid value: 80: provided port is not in the valid range/,
  });
  await t.rejects(write(service({ type: 'NodePort', ports: [{ port: 1, nodePort: c ?? 0 }] })), {
    message: /provided port is already allocated/,
  });
  const balanced = await write(service({ type: 'LoadBalancer', externalTrafficPolicy: 'Local', ports: [{ port: 1 }] }));
  t.ok((balanced.spec?.healthCheckNodePort ?? 0) >= 30_000);

  const again = await write(service({ type: 'NodePort', ports: structuredClone(dns) }), node);
  t.same(again.spec, node.spec, 'an update keeps omitted fields');
  const inner = await write(
    { ...structuredClone(node), spec: { ...structuredClone(node.spec), type: 'ClusterIP' } },
    node,
  );
  t.same(
    inner.spec?.ports?.map(({ nodePort }) => nodePort),
    [undefined, undefined, undefined],
  );
  t.ok(
    await write(service({ type: 'NodePort', ports: [{ port: 1, nodePort: c ?? 0 }] })),
    'given back by the change of type',
  );
  const named = await write(
    service({ type: 'ExternalName', externalName: 'x', clusterIP: '10.0.0.10', clusterIPs: ['10.0.0.10'] }),
    fixed,
  );
  t.equal(named.spec?.clusterIP, undefined);
  t.ok(await write(service({ clusterIP: '10.0.0.10' })), 'free again');
});

t.test('dry runs and failed writes leave nothing claimed', async (t) => {
  const { store, allocator, ips } = setup();
  t.teardown(() => store.close());
  await allocator.allocate(service({ clusterIP: '10.0.0.3' }), undefined, true);
  const undo = await allocator.allocate(service({ clusterIP: '10.0.0.3' }), undefined, false);
  await undo?.();
  const half = service({ type: 'NodePort', clusterIP: '10.0.0.3', ports: [{ port: 1, nodePort: 1 }] });
  await t.rejects(allocator.allocate(half, undefined, false), { message: /provided port/ });
  t.equal((await ips[0]?.registry.snapshot())?.has(2), false);
});

t.test('repair records held numbers and frees unowned ones at the second pass', async (t) => {
  const { store, ips, nodePorts } = setup();
  t.teardown(() => store.close());
  const reader = new MemoryObjectReader();
  reader.put(services, service({ type: 'NodePort', clusterIP: '10.0.0.5', ports: [{ port: 1, nodePort: 30_004 }] }));
  await ips[0]?.registry.take(9);
  const reasons: string[] = [];
  const report = ({ reason }: { reason: string }) => reasons.push(reason);
  const repair = new RangeRepair({ reader, clock: realClock, log: silentLogger, ips, nodePorts, report });
  const has = async (offset: number) => (await ips[0]?.registry.snapshot())?.has(offset);
  await repair.pass();
  t.same(reasons, ['ClusterIPNotAllocated', 'PortNotAllocated']);
  t.equal(await has(4), true);
  t.equal((await nodePorts.registry.snapshot()).has(4), true);
  t.equal(await has(9), true, 'its Service may not be written yet');
  await repair.pass();
  t.equal(await has(9), false);
  t.equal(await has(4), true);
});

t.test('unrepairable numbers are reported', (t) => {
  const named = (name: string, spec: Draft<ServiceSpec>): Draft<Service> => ({
    metadata: { name },
    spec: { type: 'NodePort', ...spec },
  });
  const all = [
    named('a', {
      clusterIP: '10.0.0.5',
      ports: [
        { port: 1, nodePort: 30_004 },
        { port: 1, nodePort: 30_004 },
      ],
    }),
    named('b', { clusterIPs: ['10.0.0.5', 'fd00::5'], ports: [{ port: 1, nodePort: 30_004 }] }),
    named('c', { clusterIPs: ['10.9.0.5', 'fd00::5'], ports: [{ port: 1, nodePort: 80 }] }),
    named('d', { clusterIP: 'None' }),
  ];
  const texts = ({ findings }: HeldNumbers) =>
    findings.map(({ service: { metadata }, reason, message }) => `${metadata.name} ${reason}: ${message}`);
  t.same(texts(heldAddresses(all, new IpRange('10.0.0.0/28'))), [
    'b ClusterIPAlreadyAllocated: Cluster IP [IPv4]:10.0.0.5 was assigned to multiple services; please recreate service',
    'c ClusterIPOutOfRange: Cluster IP [IPv4]:10.9.0.5 is not within the service CIDR 10.0.0.0/28; please recreate service',
  ]);
  t.same(texts(heldAddresses(all, new IpRange('fd00::/120'))), [
    'c ClusterIPAlreadyAllocated: Cluster IP [IPv6]:fd00::5 was assigned to multiple services; please recreate service',
  ]);
  t.same(texts(heldNodePorts(all, new NodePortRange('30000-30009'))), [
    'b PortAlreadyAllocated: Port 30004 was assigned to multiple services; please recreate service',
    'c PortOutOfRange: Port 80 is not within the port range 30000-30009; please recreate service',
  ]);
  t.end();
});
