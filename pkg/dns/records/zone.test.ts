/** Names and records of the cluster DNS specification 1.1, as bytes. */
import { decode, encode, type RecordType } from 'dns-packet';
import t from 'tap';
import type { Service, ServiceSpec } from '#api/core/v1/types.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { readQuery } from '#dns/message/query.js';
import { writeResponse } from '#dns/message/response.js';
import { RecordTable } from '#dns/records/table.js';
import { ClusterZone } from '#dns/records/zone.js';
import { contentOf } from '#dns/resolver.js';

const serviceLabel = 'example.com/service-name';
const service = (name: string, spec: Partial<ServiceSpec>, namespace = 'default'): Service =>
  ({ metadata: { name, namespace }, spec }) as Service;
const slice = (name: string, of: string, rest: Partial<EndpointSlice>): EndpointSlice =>
  ({
    metadata: { name, namespace: 'default', labels: { [serviceLabel]: of } },
    addressType: 'IPv4',
    ports: [],
    endpoints: [],
    ...rest,
  }) as EndpointSlice;

function cluster() {
  const table = new RecordTable(serviceLabel);
  const zone = new ClusterZone({ table, domain: 'cluster.local', ttl: 5, serverAddresses: ['169.254.20.10'] });
  const ask = (name: string, type: RecordType) => {
    const read = readQuery(encode({ type: 'query', id: 7, flags: 0x0100, questions: [{ name, type }] }));
    if (read.kind !== 'query') return read.kind;
    const lookup = zone.lookup(read.query.labels, read.query.type);
    if (lookup.kind === 'outside') return lookup.kind;
    if (lookup.kind === 'alias') return `alias ${lookup.target.join('.')}`;
    const limits = { maxBytes: 65_535, random: () => 0 };
    const answer = decode(writeResponse(read.query, contentOf(lookup, read.query, zone), limits));
    if (answer.questions?.[0]?.name !== name) return 'another question';
    const data = (answer.answers ?? []).map((each) => {
      const { data: value } = each as { data: unknown };
      if (each.type === 'SRV') return `${each.data.priority} ${each.data.weight} ${each.data.port} ${each.data.target}`;
      return each.type === 'TXT' ? String(value) : each.type === 'SOA' ? each.data.mname : String(value);
    });
    if (data.length > 0) return data.join(' ');
    const [soa] = answer.authorities ?? [];
    if (soa?.type === 'SOA' && (soa.name.toLowerCase() !== 'cluster.local' || soa.data.minimum !== 5))
      return 'wrong SOA';
    const { rcode } = answer as { rcode?: string };
    const nothing = rcode === 'NOERROR' ? 'nodata' : rcode?.toLowerCase();
    return soa === undefined ? `${nothing} without SOA` : nothing;
  };
  return { table, ask };
}

const web = service('web', {
  clusterIP: '10.96.0.7',
  clusterIPs: ['10.96.0.7', 'fd00::7'],
  ports: [{ name: 'http', port: 80 }, { name: 'dns', protocol: 'UDP', port: 53 }, { port: 9 }],
});
const pets = service('pets', { clusterIP: 'None', ports: [{ name: 'http', port: 80 }] });
const petSlice = slice('pets-1', 'pets', {
  ports: [
    { name: 'http', protocol: 'TCP', port: 8080 },
    { name: '', protocol: 'TCP', port: 9 },
  ],
  endpoints: [
    { addresses: ['10.244.0.2'], hostname: 'cat', conditions: { ready: true } },
    { addresses: ['10.244.0.3'], conditions: {} },
    { addresses: ['10.244.0.4'], hostname: 'dog', conditions: { ready: false } },
  ],
});

t.test('names and their records', async (t) => {
  const { table, ask } = cluster();
  for (const each of [web, pets]) table.setService(each);
  table.setSlice(petSlice);
  table.setSlice(
    slice('pets-6', 'pets', {
      addressType: 'IPv6',
      endpoints: [{ addresses: ['fd00::2'], hostname: 'cat' }],
    }),
  );
  table.setService(service('empty', { clusterIP: 'None' }));
  // In Protobuf an empty list is absent.
  table.setSlice(slice('empty-1', 'empty', { endpoints: undefined } as unknown as Partial<EndpointSlice>));
  table.setService(service('pending', { clusterIP: '' }));
  table.setService(service('early', { clusterIP: 'None', publishNotReadyAddresses: true }));
  table.setSlice(
    slice('early-1', 'early', { endpoints: [{ addresses: ['10.244.0.9'], conditions: { ready: false } }] }),
  );
  table.setService(service('away', { type: 'ExternalName', externalName: 'www.Example.com.' }));
  table.setService(service('odd', { type: 'ExternalName', externalName: 'a..b' }));
  const local = 'svc.cluster.local';
  const cases: readonly (readonly [string, RecordType, string])[] = [
    ['dns-version.cluster.local', 'TXT', '1.1.0'],
    ['dns-version.cluster.local', 'A', 'nodata'],
    ['a.dns-version.cluster.local', 'A', 'nxdomain'],
    ['cluster.local', 'SOA', 'ns.dns.cluster.local'],
    ['cluster.local', 'NS', 'ns.dns.cluster.local'],
    ['cluster.local', 'A', 'nodata'],
    ['ns.dns.cluster.local', 'A', '169.254.20.10'],
    ['ns.dns.cluster.local', 'AAAA', 'nodata'],
    ['dns.cluster.local', 'A', 'nodata'],
    ['other.dns.cluster.local', 'A', 'nxdomain'],
    ['other.cluster.local', 'A', 'nxdomain'],
    [local, 'A', 'nodata'],
    [`default.${local}`, 'A', 'nodata'],
    [`nowhere.${local}`, 'A', 'nxdomain'],
    [`web.default.${local}`, 'A', '10.96.0.7'],
    [`WEB.Default.${local.toUpperCase()}`, 'A', '10.96.0.7'],
    [`web.default.${local}`, 'AAAA', 'fd00::7'],
    [`web.default.${local}`, 'TXT', 'nodata'],
    [`web.default.${local}`, 'CNAME', 'nodata'],
    [`web.other.${local}`, 'A', 'nxdomain'],
    [`none.default.${local}`, 'AAAA', 'nxdomain'],
    [`a.web.default.${local}`, 'A', 'nxdomain'],
    [`_http._tcp.web.default.${local}`, 'SRV', `0 100 80 web.default.${local}`],
    [`_DNS._UDP.web.default.${local}`, 'SRV', `0 100 53 web.default.${local}`],
    [`_http._tcp.web.default.${local}`, 'A', 'nodata'],
    [`_http._udp.web.default.${local}`, 'SRV', 'nxdomain'],
    [`http.tcp.web.default.${local}`, 'SRV', 'nxdomain'],
    [`_._tcp.web.default.${local}`, 'SRV', 'nxdomain'],
    [`_tcp.web.default.${local}`, 'SRV', 'nodata'],
    [`_sctp.web.default.${local}`, 'SRV', 'nxdomain'],
    [`x._http._tcp.web.default.${local}`, 'SRV', 'nxdomain'],
    [`pending.default.${local}`, 'A', 'nodata'],
    [`pets.default.${local}`, 'A', '10.244.0.2 10.244.0.3'],
    [`pets.default.${local}`, 'AAAA', 'fd00::2'],
    [`cat.pets.default.${local}`, 'A', '10.244.0.2'],
    [`cat.pets.default.${local}`, 'AAAA', 'fd00::2'],
    [`cat.pets.default.${local}`, 'SRV', 'nodata'],
    [`10-244-0-3.pets.default.${local}`, 'A', '10.244.0.3'],
    [`10-244-0-3.pets.default.${local}`, 'AAAA', 'nodata'],
    [`10-244-0-2.pets.default.${local}`, 'A', 'nxdomain'],
    [`dog.pets.default.${local}`, 'A', 'nxdomain'],
    [
      `_http._tcp.pets.default.${local}`,
      'SRV',
      `0 100 8080 cat.pets.default.${local} 0 100 8080 10-244-0-3.pets.default.${local}`,
    ],
    [`empty.default.${local}`, 'A', 'nxdomain'],
    [`early.default.${local}`, 'A', '10.244.0.9'],
    [`away.default.${local}`, 'A', 'alias www.example.com'],
    [`away.default.${local}`, 'MX', 'alias www.example.com'],
    [`a.away.default.${local}`, 'A', 'nxdomain'],
    [`odd.default.${local}`, 'A', 'nodata'],
    ['pod.cluster.local', 'A', 'nodata'],
    ['default.pod.cluster.local', 'A', 'nodata'],
    ['10-244-0-2.default.pod.cluster.local', 'A', '10.244.0.2'],
    ['10-244-0-2.default.pod.cluster.local', 'AAAA', 'nodata'],
    ['fd00--2.default.pod.cluster.local', 'AAAA', 'fd00::2'],
    ['10-244-0-256.default.pod.cluster.local', 'A', 'nxdomain'],
    ['1-2-3.default.pod.cluster.local', 'A', 'nxdomain'],
    ['a.10-244-0-2.default.pod.cluster.local', 'A', 'nxdomain'],
    ['7.0.96.10.in-addr.arpa', 'PTR', `web.default.${local}`],
    ['7.0.96.10.in-addr.arpa', 'A', 'nodata without SOA'],
    [`7.${'0.'.repeat(27)}0.0.d.f.ip6.arpa`, 'PTR', `web.default.${local}`],
    ['2.0.244.10.in-addr.arpa', 'PTR', `cat.pets.default.${local}`],
    ['3.0.244.10.in-addr.arpa', 'PTR', `10-244-0-3.pets.default.${local}`],
    ['4.0.244.10.in-addr.arpa', 'PTR', 'outside'],
    ['244.10.in-addr.arpa', 'PTR', 'outside'],
    ['example.com', 'A', 'outside'],
    ['xcluster.local', 'A', 'outside'],
    ['local', 'A', 'outside'],
  ];
  for (const [name, type, expected] of cases) t.equal(ask(name, type), expected, `${name} ${type}`);
});

t.test('changes take effect immediately, in any order', async (t) => {
  const { table, ask } = cluster();
  const pet = 'pets.default.svc.cluster.local';
  const reverse = '2.0.244.10.in-addr.arpa';
  table.setSlice(petSlice);
  t.same([ask(pet, 'A'), ask(reverse, 'PTR')], ['nxdomain', 'outside'], 'endpoints without their service');
  t.equal(ask('default.svc.cluster.local', 'A'), 'nxdomain');
  table.setService(pets);
  t.same([ask(pet, 'A'), ask(reverse, 'PTR')], ['10.244.0.2 10.244.0.3', `cat.${pet}`], 'then the service');
  const moved = { ...petSlice, endpoints: [{ addresses: ['10.244.0.5'], hostname: 'cat' }] };
  table.setSlice(moved, petSlice);
  t.same([ask(pet, 'A'), ask(reverse, 'PTR')], ['10.244.0.5', 'outside']);
  const labels = { [serviceLabel]: 'others' };
  const others = { ...moved, metadata: { ...moved.metadata, labels } };
  table.setService(service('others', { clusterIP: 'None' }));
  table.setSlice(others, moved);
  t.same([ask(pet, 'A'), ask('5.0.244.10.in-addr.arpa', 'PTR')], ['nxdomain', `cat.others.default.svc.cluster.local`]);
  table.setSlice(moved, others);
  const shown = { ...pets, spec: { ...pets.spec, publishNotReadyAddresses: true } } as Service;
  table.setSlice(petSlice, moved);
  table.setService(shown);
  t.same([ask(`dog.${pet}`, 'A'), ask('4.0.244.10.in-addr.arpa', 'PTR')], ['10.244.0.4', `dog.${pet}`]);
  table.setService(pets);
  t.same([ask(`dog.${pet}`, 'A'), ask('4.0.244.10.in-addr.arpa', 'PTR')], ['nxdomain', 'outside']);
  table.setService(web);
  table.setService({ ...web, spec: { ...web.spec, type: 'ExternalName', externalName: 'example.com' } } as Service);
  t.equal(ask('web.default.svc.cluster.local', 'A'), 'alias example.com');
  t.equal(ask('7.0.96.10.in-addr.arpa', 'PTR'), 'outside');
  table.deleteService(pets);
  t.same([ask(pet, 'A'), ask(reverse, 'PTR')], ['nxdomain', 'outside']);
  table.deleteSlice(petSlice);
  table.setService(pets);
  t.equal(ask(pet, 'A'), 'nxdomain', 'no record of the endpoints is left');
});

t.test(
  'a service with a hundred ports of thousands of endpoints has as many SRV records as an answer holds',
  async (t) => {
    const table = new RecordTable(serviceLabel);
    const zone = new ClusterZone({ table, domain: 'cluster.local', ttl: 5, serverAddresses: [] });
    table.setService(service('many', { clusterIP: 'None', ports: [] }));
    const ports = Array.from({ length: 100 }, (_, i) => ({ name: `p${i}`, port: i + 1 }));
    const endpoints = Array.from({ length: 5000 }, (_, i) => ({ addresses: [`10.${i >> 8}.${i & 255}.1`] }));
    table.setSlice(slice('many-1', 'many', { ports, endpoints }));
    const records = (labels: string[]) => {
      const lookup = zone.lookup([...labels, 'many', 'default', 'svc', 'cluster', 'local'], 33);
      return lookup.kind === 'records' ? lookup.answers : undefined;
    };
    t.equal(records([])?.count, 2200, 'of all ports');
    t.ok((records([])?.bytes.length ?? 0) > 65_535, 'an answer over TCP is full');
    t.equal(records(['_p0', '_tcp'])?.count, 2200, 'of a port');
  },
);

t.test(
  'an address of thousands of endpoints has so many names, which change in time independent of their number',
  async (t) => {
    const { table, ask } = cluster();
    table.setService(pets);
    const crowd = (n: number, hosts: number): EndpointSlice =>
      slice(`crowd-${n}`, 'pets', {
        endpoints: Array.from({ length: hosts }, (_, i) => ({ addresses: ['10.244.9.9'], hostname: `h${n}-${i}` })),
      });
    for (let n = 0; n < 20; n += 1) table.setSlice(crowd(n, 1000));
    // A search among twenty thousand names for each of a thousand took a second.
    for (let round = 0; round < 20; round += 1) table.setSlice(crowd(19, 1000), crowd(19, 1000));
    t.equal(String(ask('9.9.244.10.in-addr.arpa', 'PTR')).split(' ').length, 100, 'names in an answer');
    for (let n = 1; n < 20; n += 1) table.deleteSlice(crowd(n, 1000));
    table.setSlice(crowd(0, 1), crowd(0, 1000));
    table.setSlice({ ...crowd(0, 1), metadata: { ...crowd(0, 1).metadata, name: 'copy' } });
    table.deleteSlice(crowd(0, 1));
    t.equal(ask('9.9.244.10.in-addr.arpa', 'PTR'), 'h0-0.pets.default.svc.cluster.local', 'of two slices one is left');
  },
);

t.test('thousands of changes followed by queries give no wrong answer', async (t) => {
  const random = seededRandom(53);
  const below = (limit: number) => Math.floor(random() * limit);
  const { table, ask } = cluster();
  const nameOf = (n: number) => `s${n}.default.svc.cluster.local`;
  const reverseOf = (address: string) => `${address.split('.').reverse().join('.')}.in-addr.arpa`;
  interface Entry {
    service: Service | undefined;
    slice: EndpointSlice | undefined;
  }
  const entries = Array.from({ length: 1000 }, (): Entry => ({ service: undefined, slice: undefined }));
  const endpointsOf = (each: Entry) => (each.slice?.endpoints ?? []).flatMap(({ addresses }) => addresses);
  /** The answer of a table without any state. */
  const expected = (each: Entry): string => {
    if (each.service === undefined) return 'nxdomain';
    const { clusterIP = '' } = each.service.spec;
    if (clusterIP !== 'None') return clusterIP;
    return endpointsOf(each).length === 0 ? 'nxdomain' : endpointsOf(each).join(' ');
  };
  const wrong: string[] = [];
  const compare = (name: string, type: RecordType, expected: string) => {
    const answered = String(ask(name, type)).split(' ').sort().join(' ');
    if (answered !== expected.split(' ').sort().join(' ')) wrong.push(`${name} ${type}: ${answered}, not ${expected}`);
  };
  for (let step = 0; step < 3000; step++) {
    const n = below(entries.length);
    const entry = entries[n] as Entry;
    const { service: had, slice: hadSlice } = entry;
    const what = random();
    if (had !== undefined && what < 0.3) {
      table.deleteService(had);
      entry.service = undefined;
    } else if (what < 0.7) {
      const clusterIP = random() < 0.4 ? 'None' : `10.96.${step >> 8}.${step & 255}`;
      entry.service = service(`s${n}`, clusterIP === 'None' ? { clusterIP } : { clusterIP, clusterIPs: [clusterIP] });
      table.setService(entry.service);
    } else if (hadSlice !== undefined && what < 0.8) {
      table.deleteSlice(hadSlice);
      entry.slice = undefined;
    } else {
      const endpoints = Array.from({ length: below(4) }, (_, i) => ({
        addresses: [`10.${128 + i}.${step >> 8}.${step & 255}`],
      }));
      entry.slice = slice(`s${n}-1`, `s${n}`, { endpoints });
      table.setSlice(entry.slice, hadSlice);
    }
    compare(nameOf(n), 'A', expected(entry));
    const other = below(entries.length);
    compare(nameOf(other), 'A', expected(entries[other] as Entry));
    const before = had?.spec.clusterIP ?? 'None';
    if (before !== 'None') {
      const isStill = entry.service?.spec.clusterIP === before;
      compare(reverseOf(before), 'PTR', isStill ? nameOf(n) : 'outside');
    }
  }
  t.same(wrong, []);
});
