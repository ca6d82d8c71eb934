/**
 * The ingress controller with `INGRESSES=1000` Ingresses of ten rules each: CPU per request, cost of a plan, and
 * memory. Clients and backend are a separate process, since they cost more than the controller.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Registry } from 'prom-client';
import { events, secrets, services } from '#api/core/v1/resources.gen.js';
import type { Service } from '#api/core/v1/types.gen.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { ingressclasses, ingresses } from '#api/networking/v1/resources.gen.js';
import type { Ingress } from '#api/networking/v1/types.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { standardLimits } from '#ingress/http/limits.js';
import { IngressController } from '#ingress/ingress-controller.js';
import { planRoutes } from '#ingress/routing/plan.js';
import { figure, machineLine, megabytes } from '#test/bench/report.js';

const count = Number(process.env['INGRESSES'] ?? 1000);
const seconds = Number(process.env['SECONDS'] ?? 5);
const rulesEach = 10;
/** Concurrent requests. */
const window = 32;

const cpuSeconds = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

const heap = (): number => {
  global.gc?.();
  const { external, heapUsed } = process.memoryUsage();
  return heapUsed + external;
};

const namespace = 'default';
const service = (name: string) => ({ metadata: { name, namespace }, spec: { ports: [{ port: 80 }] } }) as Service;

function ingress(n: number): Ingress {
  const paths = Array.from({ length: rulesEach }, (_, i) => ({
    path: `/part-${i}`,
    pathType: 'Prefix',
    backend: { service: { name: 'web', port: { number: 80 } } },
  }));
  const metadata = { name: `i${n}`, namespace, uid: `${n}` };
  return { metadata, spec: { ingressClassName: 'own', rules: [{ host: `h${n}.example.com`, http: { paths } }] } };
}

async function measure(): Promise<void> {
  const resources = [events, secrets, services, endpointslices, ingresses, ingressclasses];
  const api = new FakeApi({ dialect, clock, resources });
  const child = fork(fileURLToPath(import.meta.url), ['clients']);
  const backend = await message(child);
  const own = { metadata: { name: 'own' }, spec: { controller: dialect.ingress.controller } };
  await api.client.resource(ingressclasses).create(own);
  await api.client.resource(services).create(service('web'));
  await api.client.resource(endpointslices).create({
    metadata: { name: 'web-1', namespace, labels: { [dialect.labels.serviceName]: 'web' } },
    addressType: 'IPv4',
    ports: [{ name: '', port: backend }],
    endpoints: [{ addresses: ['127.0.0.1'] }],
  } as EndpointSlice);
  const all = Array.from({ length: count }, (_, n) => ingress(n));
  for (const each of all) await api.client.resource(ingresses).create(each);
  const observed = {
    ...{ dialect, classes: [own], ingresses: all },
    service: () => service('web'),
    secret: () => undefined,
    whyUnusable: () => undefined,
  };
  const before = heap();
  const started = cpuSeconds();
  const plan = planRoutes(observed);
  figure(
    `a plan of ${count} Ingresses with ${rulesEach} rules each: CPU`,
    `${((cpuSeconds() - started) * 1000).toFixed(0)} ms`,
  );
  figure('  memory', megabytes(heap() - before));
  if (plan.problems.length > 0) throw new Error('the plan has problems');

  const informers = new SharedInformerFactory({ client: api.client, clock, random: Math.random, log });
  const controller = new IngressController({
    ...{ informers, clock, log, metrics: new Registry(), random: Math.random, limits: standardLimits },
    recorder: { record: () => undefined },
    ...{ address: '127.0.0.1', httpPort: 0, httpsPort: undefined, redirects: false },
    ...{ publishedAddresses: [], trustedProxies: [] },
  });
  const stop = new AbortController();
  const informing = informers.start(stop.signal);
  const running = controller.start(stop.signal);
  await controller.ready();
  for (const method of ['GET', 'POST']) {
    const beforeCpu = cpuSeconds();
    child.send({ method, port: controller.ports.http });
    const answers = await message(child);
    const used = cpuSeconds() - beforeCpu;
    const bodies = method === 'GET' ? '1 KB back' : '1 KB there and back';
    figure(`${method}, ${bodies}: requests for each second of CPU time`, `${Math.round(answers / used)}/s`);
  }
  child.disconnect();
  stop.abort();
  await Promise.all([informing, running]);
}

function message(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('message', (value) => resolve(Number(value)));
    child.once('error', reject);
  });
}

/** The backend, and clients that send requests as fast as they are answered. */
async function clients(): Promise<void> {
  const body = Buffer.alloc(1024, 'x');
  const server = createServer((request, response) => {
    request.resume();
    request.once('end', () => response.end(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const agent = new Agent({ keepAlive: true, maxSockets: window });
  process.on('message', async ({ method, port }: { method: string; port: number }) => {
    const end = clock.monotonic() + seconds * 1000;
    let answers = 0;
    const ask = async () => {
      while (clock.monotonic() < end) {
        const n = answers % count;
        const headers = { host: `h${n}.example.com`, ...(method === 'POST' ? { 'content-length': body.length } : {}) };
        const options = { host: '127.0.0.1', port, method, path: `/part-${n % rulesEach}/page`, headers, agent };
        const asking = request(options).end(method === 'POST' ? body : undefined);
        const [answer] = (await once(asking, 'response')) as [NodeJS.ReadableStream & { statusCode: number }];
        if (answer.statusCode !== 200) throw new Error(`answered with ${answer.statusCode}`);
        answer.resume();
        await once(answer, 'end');
        answers += 1;
      }
    };
    await Promise.all(Array.from({ length: window }, ask));
    process.send?.(answers);
  });
  process.once('disconnect', () => process.exit());
  process.send?.((server.address() as AddressInfo).port);
}

if (process.argv[2] === 'clients') await clients();
else {
  process.stdout.write(`${machineLine()}\n`);
  await measure();
}
