/**
 * The cluster's DNS server: responses per second of CPU time from memory and over UDP, and the memory and update cost
 * of `SERVICES=10000` services with `ENDPOINTS=10` endpoints each.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { fileURLToPath } from 'node:url';
import { encode } from 'dns-packet';
import { Registry } from 'prom-client';
import { services } from '#api/core/v1/resources.gen.js';
import type { Service } from '#api/core/v1/types.gen.js';
import { trimEndpointSlice } from '#api/discovery/v1/endpointslice/trim.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { DnsServer } from '#dns/dns-server.js';
import { readQuery } from '#dns/message/query.js';
import { writeResponse } from '#dns/message/response.js';
import { RecordTable } from '#dns/records/table.js';
import { ClusterZone } from '#dns/records/zone.js';
import { contentOf } from '#dns/resolver.js';
import { figure, machineLine, megabytes } from '#test/bench/report.js';

const serviceCount = Number(process.env['SERVICES'] ?? 10_000);
const endpointCount = Number(process.env['ENDPOINTS'] ?? 10);
const seconds = Number(process.env['SECONDS'] ?? 5);

const query = (name: string): Buffer =>
  encode({
    type: 'query',
    id: 7,
    flags: 0x0100,
    questions: [{ name: `${name}.default.svc.cluster.local`, type: 'A' }],
  });
const address = (n: number): string => `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;
const headless = (n: number): Service =>
  ({ metadata: { name: `s${n}`, namespace: 'default' }, spec: { clusterIP: 'None' } }) as Service;
const withAddress = (n: number): Service => {
  const { metadata } = headless(n);
  return { metadata, spec: { clusterIP: address(n), clusterIPs: [address(n)], ports: [] } } as unknown as Service;
};

/** As the API server sends it. */
function sliceOf(service: number, first: number): EndpointSlice {
  const endpoints = Array.from({ length: endpointCount }, (_, i) => ({
    addresses: [address(first + i)],
    conditions: { ready: true, serving: true, terminating: false },
    nodeName: `node-${i}`,
    targetRef: { kind: 'Pod', namespace: 'default', name: `s${service}-${i}`, uid: `${service}-${i}` },
  }));
  const labels = { [dialect.labels.serviceName]: `s${service}`, [dialect.labels.headlessService]: '' };
  const metadata = { name: `s${service}-x`, namespace: 'default', uid: `${service}`, resourceVersion: '1', labels };
  const ports = [{ name: 'http', protocol: 'TCP', port: 8080 }];
  return JSON.parse(JSON.stringify({ metadata, addressType: 'IPv4', ports, endpoints })) as EndpointSlice;
}

function cluster() {
  const table = new RecordTable(dialect.labels.serviceName);
  const zone = new ClusterZone({ table, domain: 'cluster.local', ttl: 5, serverAddresses: ['127.0.0.1'] });
  const limits = { maxBytes: 512, random: () => 0 };
  const answer = (bytes: Buffer): Buffer => {
    const read = readQuery(bytes);
    if (read.kind !== 'query') throw new Error(read.kind);
    const lookup = zone.lookup(read.query.labels, read.query.type);
    if (lookup.kind === 'alias' || lookup.kind === 'outside') throw new Error(lookup.kind);
    return writeResponse(read.query, contentOf(lookup, read.query, zone), limits);
  };
  return { table, answer };
}

const heap = (): number => {
  global.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

const cpuSeconds = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

/** Operations per second of CPU time. */
function rate(times: number, work: (n: number) => void): string {
  const before = cpuSeconds();
  for (let n = 0; n < times; n++) work(n);
  return `${Math.round(times / (cpuSeconds() - before))}/s`;
}

function inMemory(): void {
  const { table, answer } = cluster();
  const before = heap();
  const started = cpuSeconds();
  for (let n = 0; n < serviceCount; n++) {
    table.setService(headless(n));
    table.setSlice(trimEndpointSlice(sliceOf(n, n * endpointCount)));
  }
  const cpuUsed = cpuSeconds() - started;
  figure(
    `${serviceCount} headless services, ${serviceCount * endpointCount} endpoints: CPU`,
    `${cpuUsed.toFixed(2)} s`,
  );
  figure('  memory, with the objects that informers keep', megabytes(heap() - before), '150 MB');
  const queries = Array.from({ length: serviceCount }, (_, n) => query(`s${n}`));
  for (const each of queries) answer(each);
  figure('  memory when every name has been asked for', megabytes(heap() - before), '150 MB');
  const none = query('nothing');
  const repeated = 300_000;
  figure(
    'answers in memory: addresses of a headless service',
    rate(repeated, (n) => answer(queries[n % serviceCount] ?? none)),
  );
  figure(
    'answers in memory: no such name',
    rate(repeated, () => answer(none)),
  );
  let wrong = 0;
  const changes = rate(50_000, (n) => {
    const service = (n * 7919) % serviceCount;
    const first = (n + 1) * 16;
    table.setSlice(trimEndpointSlice(sliceOf(service, first)));
    const [bytes] = [answer(queries[service] ?? none)];
    const ip = address(first).split('.').map(Number);
    // The only record that starts with the slice's first address.
    if (!bytes.includes(Buffer.from([0, 4, ...ip]))) wrong += 1;
  });
  figure('changes of a slice, each followed by its question', changes, 'at least 1000/s');
  figure('  wrong answers among them', String(wrong), '0');
  wrong = 0;
  const missing = 3;
  const churn = rate(50_000, (n) => {
    const name = query(`t${n}`);
    const service = { ...withAddress(n), metadata: { name: `t${n}`, namespace: 'default' } };
    table.setService(service);
    const there = answer(name);
    if (!there.includes(Buffer.from([0, 4, ...address(n).split('.').map(Number)]))) wrong += 1;
    table.deleteService(service);
    if (((answer(name)[3] ?? 0) & 15) !== missing) wrong += 1;
  });
  figure('names that come and go, each asked for before and after', churn, 'at least 1000/s');
  figure('  wrong answers among them', String(wrong), '0');
}

async function overUdp(): Promise<void> {
  const api = new FakeApi({ dialect, clock, resources: [services, endpointslices] });
  const names = Array.from({ length: 100 }, (_, n) => n);
  for (const n of names) await api.client.resource(services).create(withAddress(n));
  const informers = new SharedInformerFactory({ client: api.client, clock, random: Math.random, log });
  const server = new DnsServer({
    ...{ informers, clock, log, metrics: new Registry(), random: Math.random, randomId: () => 1 },
    exchange: () => Promise.reject(new Error('no upstream')),
    ...{ domain: 'cluster.local', addresses: ['127.0.0.1'], port: 0 },
    hostResolvers: async () => ({ upstreams: [], searches: [] }),
  });
  const stop = new AbortController();
  const informing = informers.start(stop.signal);
  const running = server.start(stop.signal);
  await server.ready();
  const client = fork(fileURLToPath(import.meta.url), ['client', String(server.ports[0])]);
  await message(client);
  const before = cpuSeconds();
  const startedMs = clock.monotonic();
  client.send('start');
  const answers = await message(client);
  const cpu = cpuSeconds() - before;
  figure('answers over UDP', `${Math.round((answers * 1000) / (clock.monotonic() - startedMs))}/s`);
  figure('  for each second of CPU time of the server', `${Math.round(answers / cpu)}/s`, 'at least 20000/s');
  client.disconnect();
  stop.abort();
  await Promise.all([informing, running]);
}

function message(client: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    client.once('message', (value) => resolve(Number(value)));
    client.once('error', reject);
  });
}

/** Sends queries as fast as they are answered, with this many pending. */
function ask(port: number): void {
  const window = 64;
  const socket = createSocket({ type: 'udp4', lookup: (host, _, callback) => callback(null, host, 4) });
  const queries = Array.from({ length: 100 }, (_, n) => query(`s${n}`));
  let answers = 0;
  const send = () => socket.send(queries[answers % queries.length] ?? '', port, '127.0.0.1');
  socket.on('message', () => {
    answers += 1;
    send();
  });
  process.once('message', () => {
    for (let n = 0; n < window; n++) send();
    setTimeout(() => {
      process.send?.(answers);
      socket.close();
    }, seconds * 1000);
  });
  process.send?.(0);
}

if (process.argv[2] === 'client') ask(Number(process.argv[3]));
else {
  process.stdout.write(`${machineLine()}\n`);
  inMemory();
  await overUdp();
}
