/**
 * Measures a client: an informer over 50,000 pods, by CPU time until it has synced and by memory relative to the JSON of
 * the pods; and the operations of a work queue. `PODS=50000`.
 *
 * The server, with the pods in memory, and each informer run in separate processes.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import { dropManagedFields } from '#client/informer/transforms.js';
import { Connection } from '#client/rest/connection.js';
import { WorkQueue } from '#client/workqueue/queue.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { encodeStored } from '#storage/layout.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import { benchPod } from '#test/bench/pod.js';
import { figure, machineLine, megabytes, seconds } from '#test/bench/report.js';
import { call, runServer } from '#test/integration/apiserver/server.js';

const count = Number(process.env['PODS'] ?? 50_000);
const self = fileURLToPath(import.meta.url);

interface Served {
  readonly url: string;
  /** Bytes of all pods in JSON. */
  readonly jsonBytes: number;
}

interface Synced {
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly heapBytes: number;
}

const [, , role = 'bench', ...args] = process.argv;
if (role === 'server') await serve();
else if (role === 'informer') await inform(args[0] ?? '', args[1] ?? '', args[2] === 'slim');
else await bench();

/** Pods like those of a controller: copies of one that went through the server, with other names and nodes. */
async function serve(): Promise<void> {
  const store = new MemoryStore({ clock });
  const first = await runServer({ dialect, store, unfrozen: true });
  const url = '/api/v1/namespaces/default/pods';
  const { json } = await call(first.server, 'POST', url, { body: benchPod('web-0') });
  await first.stop();
  const template = json as Pod;
  let jsonBytes = 0;
  for (let i = 0; i < count; i++) {
    const pod = podLike(template, i);
    const { resourceVersion: _, ...metadata } = pod.metadata;
    await store.create(`/registry/pods/default/${metadata.name}`, encodeStored({ ...pod, metadata }));
    jsonBytes += Buffer.byteLength(JSON.stringify(pod));
  }
  const { server } = await runServer({ dialect, store, https: true, unfrozen: true });
  process.send?.({ url: `https://127.0.0.1:${server.address?.port}`, jsonBytes } satisfies Served);
}

function podLike(template: Pod, i: number): Pod {
  const ip = `10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`;
  const time = new Date(1_651_536_000_000 + i * 50).toISOString().replace(/\.\d+/, '');
  const id = i.toString(16).padStart(12, '0');
  const conditions = ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'];
  return {
    ...template,
    metadata: { ...template.metadata, name: `web-${i}`, uid: `6d4cf56d-b6c0-4ffe-8000-${id}`, creationTimestamp: time },
    spec: { ...template.spec, nodeName: `node-${i % 1000}` },
    status: {
      phase: 'Running',
      podIP: ip,
      podIPs: [{ ip }],
      hostIP: `172.16.${(i >> 8) & 3}.${i & 255}`,
      startTime: time,
      conditions: conditions.map((type) => ({ type, status: 'True', lastTransitionTime: time })),
    },
  };
}

async function inform(url: string, contentType: string, slim: boolean): Promise<void> {
  const config = { server: url, insecureSkipVerify: true, namespace: 'default', compression: false };
  const connection = new Connection(config, { dialect, clock, program: 'bench', qps: 0, burst: 1, contentType });
  const client = connection.client('informer');
  // Warm up the program and its connection.
  for (let i = 0; i < 20; i++) await client.resource(pods).list({ namespace: 'default', limit: 10 });
  global.gc?.();
  const heap = process.memoryUsage().heapUsed;
  const cpu = process.cpuUsage();
  const startedAt = clock.monotonic();
  const factory = new SharedInformerFactory({
    client,
    clock,
    random: Math.random,
    log,
    ...(slim ? { transform: dropManagedFields } : {}),
  });
  const informer = factory.informer(pods);
  const stop = new AbortController();
  const running = factory.start(stop.signal);
  await factory.waitForSync();
  const { user, system } = process.cpuUsage(cpu);
  const wallMs = clock.monotonic() - startedAt;
  if (informer.size !== count) throw new Error(`${informer.size} pods`);
  // Garbage of the list must not count as the informer's memory.
  await clock.sleep(100);
  global.gc?.();
  global.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  process.send?.({ cpuMs: (user + system) / 1000, wallMs, heapBytes: heapUsed + external - heap } satisfies Synced);
  stop.abort();
  await running;
  await connection.close();
  process.exit();
}

async function child<R>(...parameters: string[]): Promise<{ answer: R; stop: () => Promise<void> }> {
  const started = fork(self, parameters, { execArgv: ['--expose-gc', '--max-old-space-size=4096'] });
  const exited = once(started, 'exit');
  const answer = await Promise.race([once(started, 'message'), exited.then(() => undefined)]);
  if (answer === undefined) throw new Error(`${parameters[0]} ended early`);
  return {
    answer: answer[0] as R,
    stop: async () => {
      started.kill();
      await exited;
    },
  };
}

async function bench(): Promise<void> {
  process.stdout.write(`${machineLine()}\n`);
  queue();
  const { answer: served, stop } = await child<Served>('server');
  try {
    const bytes = served.jsonBytes;
    process.stdout.write(`${count} pods, ${megabytes(bytes)} of JSON\n`);
    const rows: [string, string, boolean][] = [
      ['Protobuf', dialect.protobufMediaType, false],
      ['Protobuf, managedFields dropped', dialect.protobufMediaType, true],
      ['JSON', 'application/json', false],
      ['JSON, managedFields dropped', 'application/json', true],
    ];
    for (const [name, contentType, slim] of rows) {
      // The best of several runs, since other programs only add time.
      const runs: Synced[] = [];
      for (let round = 0; round < 3; round++) {
        const informer = await child<Synced>('informer', served.url, contentType, slim ? 'slim' : 'whole');
        await informer.stop();
        runs.push(informer.answer);
      }
      const least = (of: (run: Synced) => number) => Math.min(...runs.map(of));
      figure(`${name}: CPU until synced`, seconds(least(({ cpuMs }) => cpuMs)), '4 s');
      figure(`${name}: time until synced`, seconds(least(({ wallMs }) => wallMs)));
      const ratio = least(({ heapBytes }) => heapBytes) / bytes;
      figure(`${name}: memory, in bytes of JSON`, `${ratio.toFixed(2)} ×`, '2.5 ×');
    }
  } finally {
    await stop();
  }
}

/** Keys as in controllers, with the queue's metrics off. */
function queue(): void {
  const keys = Array.from({ length: 10_000 }, (_, i) => `namespace-${i % 50}/pod-${i}`);
  const rounds = 100;
  const pass = (work: WorkQueue) => {
    for (const key of keys) work.add(key);
    for (let item = work.tryGet(); item !== undefined; item = work.tryGet()) work.done(item);
  };
  let best = Number.POSITIVE_INFINITY;
  for (let series = 0; series < 5; series++) {
    const work = new WorkQueue({ clock });
    const startedAt = clock.monotonic();
    for (let round = 0; round < rounds; round++) pass(work);
    best = Math.min(best, clock.monotonic() - startedAt);
  }
  const perSecond = (keys.length * rounds) / (best / 1000);
  figure('work queue: add, get, done', `${Math.round(perSecond / 1000)} k/s`, '500 k/s');
}
