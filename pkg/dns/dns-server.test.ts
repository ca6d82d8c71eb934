/** The DNS server as clients see it, over UDP and TCP, with an API and other resolvers. */

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type Answer, type DecodedPacket, decode, encode, type RecordType, streamEncode } from 'dns-packet';
import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { services } from '#api/core/v1/resources.gen.js';
import type { Service } from '#api/core/v1/types.gen.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { deferred } from '#apimachinery/async/deferred.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { frozen } from '#client/testing/frozen.js';
import { type Logger, silentLogger as log } from '#daemon/log/logger.js';
import { DnsServer, type DnsServerOptions } from '#dns/dns-server.js';
import { freePort } from '#test/free-port.js';

const service = (name: string, spec: object): Service =>
  ({ metadata: { name, namespace: 'default' }, spec: { ports: [], ...spec } }) as unknown as Service;

/** A resolver that knows these names, and answers NXDOMAIN for others. */
const upstreamAnswers: Readonly<Record<string, readonly Answer[]>> = {
  'www.example.com': [{ name: 'www.example.com', type: 'A', ttl: 60, data: '192.0.2.1' }],
  'in.corp.test': [
    { name: 'in.corp.test', type: 'CNAME', ttl: 60, data: 'www.example.com' },
    { name: 'www.example.com', type: 'A', ttl: 60, data: '192.0.2.1' },
  ],
};

async function setUp(t: Test, options: Partial<DnsServerOptions> = {}) {
  const api = new FakeApi({ dialect, clock, resources: [services, endpointslices] });
  const all = api.client.resource(services);
  await all.create(service('web', { clusterIP: '10.96.0.7', clusterIPs: ['10.96.0.7'] }));
  await all.create(service('pets', { clusterIP: 'None' }));
  await all.create(service('away', { type: 'ExternalName', externalName: 'in.corp.test' }));
  await all.create(service('here', { type: 'ExternalName', externalName: 'web.default.svc.cluster.local' }));
  await all.create(service('circle', { type: 'ExternalName', externalName: 'circle.default.svc.cluster.local' }));
  const addresses = Array.from({ length: 100 }, (_, i) => `10.244.0.${i + 1}`);
  await api.client.resource(endpointslices).create({
    metadata: { name: 'pets-1', namespace: 'default', labels: { [dialect.labels.serviceName]: 'pets' } },
    addressType: 'IPv4',
    ports: [],
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
  } as unknown as EndpointSlice);
  await api.client.resource(endpointslices).create({
    metadata: { name: 'web-1', namespace: 'default', labels: { [dialect.labels.serviceName]: 'web' } },
    addressType: 'IPv4',
    ports: [],
    endpoints: null,
  } as unknown as EndpointSlice);
  const informers = new SharedInformerFactory({
    client: api.client,
    clock,
    random: Math.random,
    log,
    transform: frozen,
  });
  const questions: string[] = [];
  const metrics = new Registry();
  const server = new DnsServer({
    ...{ informers, clock, log, metrics, random: Math.random, randomId: () => Math.floor(Math.random() * 65_536) },
    exchange: async (_, query) => {
      const { id = 0, questions: asking = [] } = decode(query);
      const name = asking[0]?.name ?? '';
      questions.push(name);
      const answers = [...(upstreamAnswers[name] ?? [])];
      return encode({ type: 'response', id, flags: answers.length > 0 ? 0x8180 : 0x8183, questions: asking, answers });
    },
    ...{ domain: 'cluster.local', addresses: ['127.0.0.1'], port: 0 },
    hostResolvers: async () => ({ upstreams: [{ address: '192.0.2.53', port: 53 }], searches: ['corp.test'] }),
    namespaceOf: () => 'default',
    ...options,
  });
  const stop = new AbortController();
  const informing = informers.start(stop.signal);
  const running = server.start(stop.signal);
  t.teardown(async () => {
    await server.close();
    await running;
    stop.abort();
    await informing;
  });
  await server.ready();
  const [udp = 0, tcp = 0] = server.ports;
  const ask = async (name: string, type: RecordType = 'A') => {
    const query = encode({ type: 'query', id: 7, flags: 0x0100, questions: [{ name, type }] });
    return decode(await overUdp(udp, query));
  };
  return { ask, questions, metrics, udp, tcp };
}

function overUdp(port: number, query: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = createSocket('udp4');
    socket.once('error', reject);
    socket.once('message', (message) => {
      socket.close();
      resolve(message);
    });
    socket.send(query, port, '127.0.0.1');
  });
}

function answerText({ answers = [], ...packet }: DecodedPacket): string {
  const { rcode } = packet as { rcode?: string };
  return [rcode, ...answers.map((answer) => `${answer.name} ${String((answer as { data: unknown }).data)}`)].join(', ');
}

t.test('answers queries over UDP and TCP', async (t) => {
  const { ask, questions, metrics, udp, tcp } = await setUp(t);
  const local = 'default.svc.cluster.local';
  questions.length = 0;
  t.equal(
    answerText(await ask(`Web.${local}`)),
    `NOERROR, Web.${local} 10.96.0.7`,
    'names have the case of the question',
  );
  t.equal(answerText(await ask('WWW.example.com')), 'NOERROR, www.example.com 192.0.2.1');
  await ask('www.example.com');
  t.same(questions, ['www.example.com'], 'answers are kept');
  const web = `web.${local}`;
  t.equal(answerText(await ask(`here.${local}`)), `NOERROR, here.${local} ${web}, ${web} 10.96.0.7`);
  const inside = 'in.corp.test www.example.com, www.example.com 192.0.2.1';
  t.equal(
    answerText(await ask(`away.${local}`)),
    `NOERROR, away.${local} in.corp.test, ${inside}`,
    'the whole way at once',
  );
  t.equal(answerText(await ask(`circle.${local}`)), 'SERVFAIL');
  t.equal(answerText(await ask('none.example.com')), 'NXDOMAIN');

  const searched: readonly (readonly [string, string])[] = [
    ['web.default.svc.cluster.local', `web.default.svc.cluster.local, ${web} 10.96.0.7`],
    ['web.default.svc', `${web}, ${web} 10.96.0.7`],
    ['web.default', `${web}, ${web} 10.96.0.7`],
    ['www.example.com', 'www.example.com, www.example.com 192.0.2.1'],
    ['in', `in.corp.test, ${inside}`],
  ];
  for (const [name, answer] of searched)
    t.equal(
      answerText(await ask(`${name}.${local}`)),
      `NOERROR, ${name}.${local} ${answer}`,
      `${name}, in one round trip`,
    );
  t.equal(answerText(await ask(`nothing.at.all.${local}`)), 'NXDOMAIN');
  t.equal(answerText(await ask(`web.${local}`, 'MX')), 'NOERROR', 'existing names are not searched');

  const pets = await ask(`pets.${local}`);
  t.ok(pets.flag_tc && (pets.answers?.length ?? 0) > 20, 'a truncated response is marked');
  const whole = await new Promise<DecodedPacket[]>((resolve, reject) => {
    const questions = [`pets.${local}`, 'www.example.com', `web.${local}`];
    const socket = connect(tcp, '127.0.0.1', () => {
      for (const name of questions) socket.write(streamEncode({ type: 'query', questions: [{ name, type: 'A' }] }));
    });
    socket.once('error', reject);
    let received: Buffer = Buffer.alloc(0);
    const packets: DecodedPacket[] = [];
    socket.on('data', (part: Buffer) => {
      received = Buffer.concat([received, part]);
      while (received.length > 2 && received.length >= 2 + received.readUInt16BE(0)) {
        packets.push(decode(received.subarray(2)));
        received = received.subarray(2 + received.readUInt16BE(0));
      }
      if (packets.length < questions.length) return;
      socket.destroy();
      resolve(packets);
    });
  });
  t.same(
    whole.map(({ answers }) => answers?.length),
    [100, 1, 1],
    'several questions on one connection',
  );

  const text = await metrics.metrics();
  t.match(
    text,
    /coredns_dns_requests_total\{server="dns:\/\/:0",zone="cluster.local.",proto="udp",family="1",type="A"\} \d/,
  );
  t.match(text, /coredns_dns_responses_total\{server="dns:\/\/:0",zone=".",rcode="NXDOMAIN"\} 1/);
  t.match(text, /coredns_autopath_success_total\{[^}]*\} 5/);
  t.equal((await overUdp(udp, Buffer.concat([Buffer.alloc(12), Buffer.alloc(8, 0xff)]))).readUInt16BE(2) & 0xf, 1);
});

t.test('a resolver that forwards to this server is not used', async (t) => {
  const port = deferred<number>();
  const reported = deferred();
  const { ask, udp } = await setUp(t, {
    exchange: async (_, query) => overUdp(await port.promise, query),
    log: Object.assign(Object.create(log), { error: () => reported.resolve() }) as Logger,
  });
  port.resolve(udp);
  await reported.promise;
  t.match(await ask('www.example.com'), { rcode: 'REFUSED' }, 'no query is forwarded in a loop');
});

t.test('the server waits for an address in use', async (t) => {
  const other = createSocket('udp4');
  // Reserve the TCP port, too: an outgoing connection might use a port that the system picks.
  const port = await freePort();
  await new Promise<void>((resolve) => other.bind(port, '127.0.0.1', resolve));
  let refused = 0;
  const refuse = () => {
    if (++refused === 1) other.close();
  };
  const { ask } = await setUp(t, { port, log: Object.assign(Object.create(log), { error: refuse }) as Logger });
  t.ok(refused > 0, 'the first attempt was refused');
  t.equal(answerText(await ask('web.default.svc.cluster.local')), 'NOERROR, web.default.svc.cluster.local 10.96.0.7');
});

t.test('connections without queries are closed', async (t) => {
  const { tcp } = await setUp(t);
  const sent = Buffer.from([0xff, 0xff, 0, 0]);
  const socket = connect(tcp, '127.0.0.1', () => socket.write(sent));
  await new Promise<void>((resolve) => socket.once('close', () => resolve()));
  t.pass('at once');
});

t.test('one client has a third of the TCP connections, and another still gets one', async (t) => {
  const { tcp } = await setUp(t);
  const attempts = 300;
  const share = 167;
  const sockets = Array.from({ length: attempts }, () => connect({ port: tcp, host: '127.0.0.1' }));
  t.teardown(() => sockets.map((socket) => socket.destroy()));
  const refused = deferred();
  let closed = 0;
  for (const socket of sockets) {
    socket.on('error', () => undefined);
    socket.once('close', () => {
      closed += 1;
      if (closed === attempts - share) refused.resolve();
    });
  }
  await refused.promise;
  const query = encode({ type: 'query', id: 7, questions: [{ name: 'web.default.svc.cluster.local', type: 'A' }] });
  const other = connect({ port: tcp, host: '127.0.0.1', localAddress: '127.0.0.2' });
  t.teardown(() => other.destroy());
  other.write(Buffer.concat([Buffer.from([0, query.length]), query]));
  const [answer] = (await once(other, 'data')) as [Buffer];
  t.equal(decode(answer.subarray(2)).answers?.length, 1, 'the answer to the other');
  t.equal(closed, attempts - share, 'closed connections of the first');
});

t.test('a stalled resolver delays only its own queries', async (t) => {
  const silence = deferred<Buffer>();
  const { ask } = await setUp(t, { exchange: () => silence.promise });
  const waiting = Array.from({ length: 100 }, (_, i) => ask(`n${i}.example.com`));
  t.equal(answerText(await ask('web.default.svc.cluster.local')), 'NOERROR, web.default.svc.cluster.local 10.96.0.7');
  // In the client's namespace the rest of the search list, also outside the cluster, would follow.
  t.equal(answerText(await ask('none.other.svc.cluster.local')), 'NXDOMAIN');
  silence.reject(new Error('it never answered'));
  for (const answer of await Promise.all(waiting)) t.equal(answerText(answer), 'SERVFAIL');
});

t.test("without resolvers the cluster's names are still answered", async (t) => {
  const { ask } = await setUp(t, { hostResolvers: async () => ({ upstreams: [], searches: [] }) });
  t.equal(answerText(await ask('www.example.com')), 'REFUSED');
  t.equal(answerText(await ask('web.default.svc.cluster.local')), 'NOERROR, web.default.svc.cluster.local 10.96.0.7');
  t.equal(answerText(await ask('www.example.com.default.svc.cluster.local')), 'NXDOMAIN');
});
