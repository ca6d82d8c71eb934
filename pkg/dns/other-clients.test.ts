/** The DNS server as other clients see it: Node.js's resolver, and dig if installed. */
import { execFile } from 'node:child_process';
import { Resolver } from 'node:dns/promises';
import { promisify } from 'node:util';
import { Registry } from 'prom-client';
import t from 'tap';
import { services } from '#api/core/v1/resources.gen.js';
import type { Service } from '#api/core/v1/types.gen.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { DnsServer } from '#dns/dns-server.js';
import { freePort } from '#test/free-port.js';

const local = 'default.svc.cluster.local';
const run = promisify(execFile);
const api = new FakeApi({ dialect, clock, resources: [services, endpointslices] });
const create = (name: string, spec: object) =>
  api.client.resource(services).create({ metadata: { name, namespace: 'default' }, spec } as Service);
await create('web', {
  clusterIP: '10.96.0.7',
  clusterIPs: ['10.96.0.7', 'fd00::7'],
  ports: [{ name: 'http', protocol: 'TCP', port: 80 }],
});
await create('away', { type: 'ExternalName', externalName: `web.${local}` });
await create('pets', { clusterIP: 'None' });
await api.client.resource(endpointslices).create({
  metadata: { name: 'pets-1', namespace: 'default', labels: { [dialect.labels.serviceName]: 'pets' } },
  addressType: 'IPv4',
  ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
  endpoints: Array.from({ length: 200 }, (_, i) => ({ addresses: [`10.244.0.${i + 1}`], hostname: `pet-${i + 1}` })),
} as unknown as EndpointSlice);

// Truncated responses are requested again over TCP, on the same port.
const port = await freePort();
const informers = new SharedInformerFactory({ client: api.client, clock, random: Math.random, log });
const server = new DnsServer({
  ...{ informers, clock, log, metrics: new Registry(), random: Math.random, randomId: () => 1 },
  exchange: () => Promise.reject(new Error('no upstream')),
  ...{ domain: 'cluster.local', addresses: ['127.0.0.1'], port },
  hostResolvers: async () => ({ upstreams: [], searches: [] }),
});
const stop = new AbortController();
const running = Promise.all([informers.start(stop.signal), server.start(stop.signal)]);
t.teardown(() => {
  stop.abort();
  return running;
});
await server.ready();

t.test("Node.js's resolver gets answers", async (t) => {
  const resolver = new Resolver();
  resolver.setServers([`127.0.0.1:${port}`]);
  t.same(await resolver.resolve4(`web.${local}`), ['10.96.0.7']);
  t.same(await resolver.resolve6(`web.${local}`), ['fd00::7']);
  t.equal((await resolver.resolve4(`pets.${local}`)).length, 200, 'over TCP');
  t.equal((await resolver.resolveSrv(`_http._tcp.pets.${local}`)).length, 200);
  t.match(await resolver.resolveSrv(`_http._tcp.web.${local}`), [{ name: `web.${local}`, port: 80, priority: 0 }]);
  t.same(await resolver.resolveCname(`away.${local}`), [`web.${local}`]);
  t.same(await resolver.resolve4(`away.${local}`), ['10.96.0.7']);
  t.same(await resolver.reverse('10.96.0.7'), [`web.${local}`]);
  t.same(await resolver.reverse('fd00::7'), [`web.${local}`]);
  t.same(await resolver.reverse('10.244.0.9'), [`pet-9.pets.${local}`]);
  t.same(await resolver.resolveTxt('dns-version.cluster.local'), [['1.1.0']]);
  t.match(await resolver.resolveSoa('cluster.local'), { nsname: 'ns.dns.cluster.local', minttl: 5 });
  t.same(await resolver.resolveNs('cluster.local'), ['ns.dns.cluster.local']);
  await t.rejects(resolver.resolveMx(`web.${local}`), { code: 'ENODATA' });
  await t.rejects(resolver.resolve4(`nothing.${local}`), { code: 'ENOTFOUND' });
  await t.rejects(resolver.resolve4('example.com'), { code: 'EREFUSED' });
});

const noDig = await run('dig', ['-v']).then(
  () => false,
  () => 'there is no dig on the PATH',
);

t.test('dig gets answers', { skip: noDig }, async (t) => {
  const dig = async (...args: string[]) => (await run('dig', ['@127.0.0.1', '-p', `${port}`, ...args])).stdout;
  const short = async (...args: string[]) => (await dig('+short', ...args)).trim().split('\n').sort();
  t.same(await short(`web.${local}`), ['10.96.0.7']);
  t.same(await short('-x', 'fd00::7'), [`web.${local}.`]);
  t.same(await short(`_http._tcp.web.${local}`, 'SRV'), [`0 100 80 web.${local}.`]);
  t.equal((await short(`pets.${local}`)).length, 200, 'over TCP');
  t.equal((await short('+ignore', '+bufsize=1232', `pets.${local}`)).length, 73, 'as many as fit');
  t.match(await dig(`Web.${local}`), new RegExp(`^Web\\.${local}\\.\\s+5\\s+IN\\s+A\\s+10\\.96\\.0\\.7$`, 'm'));
  const none = await dig('+dnssec', `nothing.${local}`);
  t.match(none, /status: NXDOMAIN/);
  t.match(none, /flags: qr aa rd ra; QUERY: 1, ANSWER: 0, AUTHORITY: 1, ADDITIONAL: 1/);
  t.match(
    none,
    /^cluster\.local\.\s+5\s+IN\s+SOA\s+ns\.dns\.cluster\.local\. hostmaster\.cluster\.local\. \d+ 7200 1800 86400 5$/m,
  );
  t.match(await dig(`web.${local}`, 'ANY'), /status: NOERROR/);
  t.match(await dig('+edns=1', '+noednsneg', `web.${local}`), /status: BADVERS/);
  t.match(await dig('-c', 'CH', 'version.bind', 'TXT'), /status: REFUSED/);
  t.notMatch(await dig(`_http._tcp.pets.${local}`, 'SRV', '+tcp'), /malformed|extra bytes/i);
});
