/**
 * The cost of custom resources: 1,000 unused definitions with three versions each, and 100,000 custom objects compared with
 * as many pods.
 *
 * `hack/bench.sh definitions [--definitions 1000] [--objects 100000] [--rounds 5] [--only definitions,objects]`
 *
 * `--node=--cpu-prof` passes an option of `node` to the server.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { schemeFor } from '#api/scheme.js';
import { realClock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { ask } from '#test/bench/access/pods.js';
import { type ApiPeer, apiPeer, type RunningServer } from '#test/bench/access/servers.js';
import { inGroups } from '#test/bench/controllers/objects.js';
import { type NamedDefinition, operatorDefinitions } from '#test/bench/definitions/definitions.js';
import { likenessRows } from '#test/bench/definitions/object-comparison.js';
import { Machine } from '#test/bench/machine/machine.js';
import { cpuMs, figure, machineLine, megabytes, residentBytes, seconds } from '#test/bench/report.js';
import { kubectls, minorVersion } from '#test/e2e/harness.js';

const { values } = parseArgs({
  options: {
    definitions: { type: 'string', default: '1000' },
    objects: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '5' },
    only: { type: 'string', default: 'definitions,objects' },
    node: { type: 'string', multiple: true, default: [] },
    arg: { type: 'string', multiple: true, default: [] },
  },
});
const count = Number(values.definitions);
const objects = Number(values.objects);
const only = new Set(values.only.split(','));
const run = promisify(execFile);

const limits = { cpuMs: 60_000, bytes: 150e6, coldMs: 1500, restartMs: 3000, holdMs: 20 };
/** Twice the delay after which an idle server collects garbage. */
const settleMs = 12_000;
/** Concurrent creates, as by an installer of operators. */
const writers = 8;
const pingMs = 2;
const path = `/apis/${dialect.groupName('apiextensions')}/v1/customresourcedefinitions`;
const over: string[] = [];

function limited(name: string, value: number, limit: number, text: (value: number) => string): void {
  figure(name, text(value), text(limit));
  if (value > limit) over.push(name);
}

const ms = (value: number): string => `${value.toFixed(1)} ms`;
const kilobytes = (bytes: number): string => `${(bytes / 1000).toFixed(1)} kB`;

async function metric(server: RunningServer, name: string): Promise<number> {
  const { body } = await ask(server, 'GET', '/metrics');
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(body.toString())?.[1]);
}

interface Sizes {
  readonly resident: number;
  readonly heap: number;
}

async function sizes(server: RunningServer): Promise<Sizes> {
  await realClock.sleep(settleMs);
  return { resident: residentBytes(server.pid), heap: await metric(server, 'nodejs_heap_size_used_bytes') };
}

/** Creates all definitions, and waits until the last one is served. */
async function create(server: RunningServer, all: Iterator<NamedDefinition>): Promise<void> {
  let bytes = 0;
  const before = cpuMs(server.pid);
  await inGroups(
    count,
    async () => {
      const next = all.next();
      if (next.done === true) return;
      bytes += next.value.json.length;
      await ask(server, 'POST', path, { body: next.value.json, way: 'http2' });
    },
    writers,
  );
  const served = async () => {
    const { body } = await ask(server, 'GET', '/apis');
    const last = `team${Math.floor((count - 1) / 25)}.example.com/v1`;
    if (!body.includes(last)) return false;
    const response = await ask(server, 'GET', `/apis/${last}`);
    return response.body.includes(`kind${String(count - 1).padStart(4, '0')}s"`);
  };
  while (!(await served())) await realClock.sleep(50);
  figure('JSON of all definitions', megabytes(bytes));
  limited(`${count} definitions: CPU of the server`, cpuMs(server.pid) - before, limits.cpuMs, seconds);
}

/** The maximum latency of other requests during `work`. */
async function longestWait(server: RunningServer, work: () => Promise<unknown>): Promise<number> {
  let done = false;
  let longest = 0;
  const pings = (async () => {
    while (!done) {
      const began = performance.now();
      await server.http1.request('GET', '/livez/ping');
      longest = Math.max(longest, performance.now() - began);
      await realClock.sleep(pingMs);
    }
  })();
  await work();
  done = true;
  await pings;
  return longest;
}

const v2Protobuf = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';

async function documents(server: RunningServer): Promise<void> {
  await ask(server, 'GET', '/livez/ping');
  const requests: readonly (readonly [string, string, Record<string, string>])[] = [
    ['/openapi/v3, first', '/openapi/v3', {}],
    ['one version, first', '/openapi/v3/apis/team3.example.com/v1', {}],
    ['one version, again', '/openapi/v3/apis/team3.example.com/v1', {}],
    ['/openapi/v2, first', '/openapi/v2', { 'accept-encoding': 'gzip' }],
    ['/openapi/v2, again', '/openapi/v2', { 'accept-encoding': 'gzip' }],
    ['/openapi/v2 as Protobuf, first', '/openapi/v2', { accept: v2Protobuf, 'accept-encoding': 'gzip' }],
  ];
  for (const [name, url, headers] of requests) {
    const before = cpuMs(server.pid);
    let bytes = 0;
    const wait = await longestWait(server, async () => {
      bytes = (await ask(server, 'GET', url, { headers })).body.length;
    });
    figure(`${name}: CPU (${kilobytes(bytes)})`, ms(cpuMs(server.pid) - before));
    limited(`${name}: longest wait of others`, wait, limits.holdMs, ms);
  }
}

/** `get pods` of a kubectl without a discovery cache. */
async function coldKubectl(server: RunningServer): Promise<void> {
  const responses = await Promise.all(
    (await kubectls()).map(async (kubectl) => [await minorVersion(kubectl), kubectl] as const),
  );
  const [newest] = responses.sort(([a], [b]) => b - a);
  if (newest === undefined) return figure('kubectl get pods, nothing cached', 'no kubectl');
  const [minor, kubectl] = newest;
  const times: number[] = [];
  const before = cpuMs(server.pid);
  for (let round = 0; round < 3; round++) {
    const home = await mkdtemp(join(tmpdir(), 'bench-kubectl-'));
    const config = join(home, 'config');
    const cluster = { server: server.url, 'insecure-skip-tls-verify': true };
    const text = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user: { token: 'secret' } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    };
    await writeFile(config, JSON.stringify(text));
    const began = performance.now();
    await run(kubectl, ['get', 'pods', '--kubeconfig', config], { env: { ...process.env, HOME: home } });
    times.push(performance.now() - began);
    await rm(home, { recursive: true, force: true });
  }
  times.sort((a, b) => a - b);
  limited(`kubectl 1.${minor} get pods, nothing cached`, times[1] ?? 0, limits.coldMs, seconds);
  figure('the same: CPU of the server', ms((cpuMs(server.pid) - before) / times.length));
}

async function definitionRows(peer: ApiPeer): Promise<RunningServer> {
  const definitions = operatorDefinitions(schemeFor(dialect), count);
  const { server } = await peer.start();
  const before = await sizes(server);
  await create(server, definitions);
  const after = await sizes(server);
  limited('memory that they add', after.resident - before.resident, limits.bytes, megabytes);
  figure('heap of each definition', kilobytes((after.heap - before.heap) / count));
  await coldKubectl(server);
  await documents(server);
  const responseSizes = await sizes(server);
  figure('memory once all documents were asked for', megabytes(responseSizes.resident - before.resident));
  await server.stop();
  const again = await peer.start();
  limited('restart until /readyz answers', again.startMs, limits.restartMs, seconds);
  // Regardless of other load on the machine.
  figure('the same: CPU of the server', seconds(again.cpuMs));
  const restarted = await sizes(again.server);
  figure('memory that they add after a restart', megabytes(restarted.resident - before.resident));
  figure('heap of each definition after a restart', kilobytes((restarted.heap - before.heap) / count));
  return again.server;
}

process.stdout.write(`${machineLine()}\n`);
// Before anything else runs, and only if costs are compared.
const machine = only.has('objects') ? await Machine.calibrated() : undefined;
const peer = await apiPeer(undefined, values.node, values.arg);
try {
  let server = only.has('definitions') ? await definitionRows(peer) : undefined;
  if (machine !== undefined) {
    server ??= (await peer.start()).server;
    over.push(...(await likenessRows(server, objects, { judge: machine, rounds: Number(values.rounds), repeats: 3 })));
  }
  await server?.stop();
} finally {
  await peer.destroy();
  machine?.close();
}
if (over.length > 0) {
  process.stdout.write(`over the limit: ${over.join(', ')}\n`);
  process.exitCode = 1;
}
