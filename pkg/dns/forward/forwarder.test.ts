/** Queries to the node's resolvers, caching, and resolvers that do not respond. */
import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';
import { type Answer, decode, encode } from 'dns-packet';
import { Registry } from 'prom-client';
import t from 'tap';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { eventLoopTurn, VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import { exchange, type Upstream } from '#dns/forward/exchange.js';
import { Forwarder } from '#dns/forward/forwarder.js';
import { writeQuery } from '#dns/message/query.js';
import { DnsMetrics } from '#dns/metrics/dns-metrics.js';
import { freePort } from '#test/free-port.js';

const upstreams: readonly Upstream[] = ['10.0.0.1', '10.0.0.2'].map((address) => ({ address, port: 53 }));
const address: Answer = { name: 'www.example.com', type: 'A', ttl: 60, data: '192.0.2.1' };
const soa: Answer = {
  name: 'example.com',
  type: 'SOA',
  ttl: 900,
  data: { mname: 'ns.example.com', rname: 'root.example.com', serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 30 },
};
const question = (name = 'www.example.com') => ({
  ...{ labels: name.split('.'), type: 1, dnssecOk: false, checkingDisabled: false },
});

interface Reply {
  readonly code?: number;
  readonly answers?: Answer[];
  readonly authorities?: Answer[];
}

function reply(query: Buffer, { code = 0, ...sections }: Reply): Buffer {
  const { id, questions = [] } = decode(query);
  return encode({ type: 'response', id: id ?? 0, flags: 0x8180 | code, questions, ...sections });
}

/** `answer`: of the resolver at that address; undefined: it stalls. */
function setUp(answer: (address: string, name: string) => Reply | undefined) {
  const clock = new VirtualClock();
  const questions: string[] = [];
  const registry = new Registry();
  const forwarder = new Forwarder({
    clock,
    log: silentLogger,
    metrics: new DnsMetrics(registry, kubernetesDialect, 'dns://:53'),
    randomId: () => 4711,
    exchange: (upstream, query, signal) => {
      const name = decode(query).questions?.[0]?.name ?? '';
      questions.push(`${upstream.address} ${name}`);
      const sections = answer(upstream.address, name);
      if (sections !== undefined) return Promise.resolve(reply(query, sections));
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
  });
  forwarder.setUpstreams(upstreams);
  const ask = async (name?: string) => {
    const { code } = forwarder.cached(question(name)) ?? (await forwarder.ask(question(name), '10.244.0.1'));
    return code;
  };
  return { clock, questions, forwarder, registry, ask };
}

t.test('responses are cached for their TTL', async (t) => {
  const cases: readonly (readonly [string, Reply, number])[] = [
    ['addresses', { answers: [address] }, 60],
    ['no such name', { code: 3, authorities: [soa] }, 30],
    ['no such records', { authorities: [soa] }, 30],
    ['no such name, who knows for how long', { code: 3 }, 0],
    ['a failure', { code: 2 }, 0],
    ['a record that must not be kept', { answers: [{ ...address, ttl: 0 }] }, 0],
    ['a day', { answers: [{ ...address, ttl: 86_400 }] }, 3600],
    ['a TTL that is negative', { answers: [{ ...address, ttl: 0x8000_0000 }] }, 0],
  ];
  for (const [what, sections, seconds] of cases) {
    const { clock, questions, forwarder, ask } = setUp((at) =>
      at === '10.0.0.1' || sections.code === 2 ? sections : undefined,
    );
    await ask();
    const first = questions.length;
    t.equal(forwarder.cached(question()) !== undefined, seconds > 0, what);
    if (seconds === 0) continue;
    await clock.advance(seconds * 1000 - 1);
    await ask();
    t.equal(questions.length, first, `${what}: still known`);
    if (what === 'addresses') {
      const { answers } = forwarder.cached(question())?.content(clock.monotonic()) ?? {};
      t.equal(answers?.bytes.readUInt32BE(answers.bytes.length - 10), 1, 'its TTL is less');
    }
    await clock.advance(1);
    await ask();
    t.equal(questions.length, first + 1, `${what}: questions again`);
  }
});

t.test('equal pending queries share one request', async (t) => {
  const { questions, ask } = setUp(() => ({ answers: [address] }));
  t.same(await Promise.all([ask(), ask(), ask('other.example.com')]), [0, 0, 0]);
  t.equal(questions.length, 2);
});

t.test('a stalled resolver delays only its own queries', async (t) => {
  const { clock, questions, ask } = setUp((at, name) =>
    at === '10.0.0.1' && name.startsWith('slow') ? undefined : { answers: [address] },
  );
  const slow = ask('slow.example.com');
  t.equal(await ask('quick.example.com'), 0, 'other queries do not wait');
  t.same(questions, ['10.0.0.1 slow.example.com', '10.0.0.1 quick.example.com']);
  await clock.advance(2000);
  t.equal(await slow, 0, 'the next resolver is asked');
  t.equal(questions.at(-1), '10.0.0.2 slow.example.com');
});

t.test('a resolver that never responds comes last', async (t) => {
  const { clock, questions, ask, registry } = setUp((at) => (at === '10.0.0.1' ? undefined : { answers: [address] }));
  for (const name of ['a.example.com', 'b.example.com']) {
    const answer = ask(name);
    await clock.advance(2000);
    t.equal(await answer, 0);
  }
  questions.length = 0;
  t.equal(await ask('c.example.com'), 0);
  t.same(questions, ['10.0.0.2 c.example.com']);
  t.match(await registry.metrics(), /coredns_forward_healthcheck_failures_total\{to="10.0.0.1:53"\} 2/);
});

t.test('pending queries are limited, and one client has a third of them', async (t) => {
  const { clock, forwarder, registry } = setUp(() => undefined);
  const refusals = [0, 0, 0];
  const flood = (at: 0 | 1 | 2, count: number, name: (i: number) => string) => {
    for (let i = 0; i < count; i += 1)
      forwarder.ask(question(name(i)), `10.244.0.${at}`).catch(() => {
        refusals[at] = (refusals[at] ?? 0) + 1;
      });
  };
  flood(0, 1100, (i) => `n${i}.example.com`);
  flood(1, 1100, () => 'same.example.com');
  flood(2, 1, () => 'other.example.com');
  await eventLoopTurn();
  t.same(refusals, [1100 - 334, 1100 - 222, 0], 'each flood leaves places, also one of equal questions');
  t.match(await registry.metrics(), /coredns_forward_max_concurrent_rejects_total 1644/);
  await clock.advance(10_000);
  t.same(refusals, [1100, 1100, 1], 'the others have waited for the resolvers');
  flood(0, 300, (i) => `m${i}.example.com`);
  await eventLoopTurn();
  t.same(refusals, [1100, 1100, 1], 'the places are free again');
  await clock.advance(10_000);
});

t.test('the next resolver is asked after a refusal', async (t) => {
  const { ask, questions } = setUp((at) => (at === '10.0.0.1' ? { code: 5 } : { answers: [address] }));
  t.equal(await ask(), 0);
  const refusing = setUp(() => ({ code: 5 }));
  t.equal(await refusing.ask(), 5);
  t.same([questions.length, refusing.questions.length], [2, 2], 'each resolver is asked once');
});

t.test('a resolver that leads back here is not used any more', async (t) => {
  const { forwarder, questions } = setUp(() => ({ code: 3 }));
  await forwarder.findLoops(
    (token) => [token, 'probe'],
    () => questions.length > 0,
  );
  t.notOk(forwarder.hasUpstreams);
  await t.rejects(forwarder.ask(question(), '10.244.0.1'), { message: 'the node has no resolver' });
});

t.test('queries over the network', async (t) => {
  const server = createSocket('udp4');
  // Both protocols share it: an outgoing connection might use a port that the system picks.
  const port = await freePort();
  await new Promise<void>((resolve) => server.bind(port, '127.0.0.1', resolve));
  let withOption = false;
  server.on('message', (query, from) => {
    withOption = decode(query).additionals?.[0]?.type === 'OPT';
    const { name } = decode(query).questions?.[0] ?? { name: '' };
    const right = reply(query, { answers: [{ ...address, name }] });
    const wrongId = Buffer.from(right);
    wrongId.writeUInt16BE(1, 0);
    const wrongName = encode({ type: 'response', id: 7, questions: [{ name: 'other', type: 'A' }], answers: [] });
    const cut = encode({ type: 'response', id: 7, flags: 0x8380, questions: decode(query).questions ?? [] });
    const isLarge = name.startsWith('large');
    for (const message of [wrongId, wrongName, Buffer.alloc(3), query, isLarge ? cut : right])
      server.send(message, from.port, from.address);
  });
  const large = createServer((socket) => {
    socket.once('data', (bytes: Buffer) => {
      const query = bytes.subarray(2);
      const name = decode(query).questions?.[0]?.name ?? '';
      const message = reply(query, { answers: Array.from({ length: 200 }, () => ({ ...address, name })) });
      const length = Buffer.alloc(2);
      length.writeUInt16BE(message.length);
      const whole = Buffer.concat([length, message]);
      socket.write(whole.subarray(0, 100));
      setImmediate(() => socket.end(whole.subarray(100)));
    });
  });
  await new Promise<void>((resolve, reject) => {
    large.once('error', reject);
    large.listen(port, '127.0.0.1', resolve);
  });
  const upstream = { address: '127.0.0.1', port };
  const signal = AbortSignal.timeout(10_000);
  const count = async (name: string) =>
    decode(await exchange(upstream, writeQuery(7, question(name)), signal)).answers?.length;
  t.equal(await count('www.example.com'), 1, 'only the matching response is accepted');
  t.ok(withOption);
  t.equal(await count('large.example.com'), 200, 'a truncated response is requested again over TCP');
  await new Promise<void>((resolve) => server.close(() => resolve()));
  large.close();
  await t.rejects(exchange(upstream, writeQuery(7, question()), signal), { code: 'ECONNREFUSED' }, 'no listener');
  const end = new AbortController();
  const silent = createSocket('udp4');
  await new Promise<void>((resolve) => silent.bind(0, '127.0.0.1', resolve));
  const asking = exchange({ ...upstream, port: silent.address().port }, writeQuery(7, question()), end.signal);
  await eventLoopTurn();
  end.abort(new Error('late'));
  await t.rejects(asking, { message: 'late' });
  silent.close();
});
