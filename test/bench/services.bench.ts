/**
 * The service proxy with `SERVICES=10000` services of `ENDPOINTS=10` endpoints each, in its own network namespace: CPU
 * time, including nft's, of the first program, of an endpoint's change and of a comparison after a restart; memory; and
 * connection times with few and many services.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { connect, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Service } from '#api/core/v1/types.gen.js';
import { trimEndpointSlice } from '#api/discovery/v1/endpointslice/trim.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { Nft } from '#proxy/nft/nft.js';
import { TableState } from '#proxy/nft/table-state.js';
import { runWithInput } from '#proxy/program/run-program.js';
import { servicesBaseTable } from '#proxy/services/nft-base-table.js';
import type { ProxySettings } from '#proxy/services/proxy-settings.js';
import { planService, type ServicePlan } from '#proxy/services/service-plan.js';
import { figure, machineLine, megabytes } from '#test/bench/report.js';

const serviceCount = Number(process.env['SERVICES'] ?? 10_000);
const endpointCount = Number(process.env['ENDPOINTS'] ?? 10);
const fewServices = 10;
const changes = 100;
const connections = 3000;
const inside = 'ORCH_BENCH_IN_NETWORK';

const settings: ProxySettings = {
  table: 'bench',
  clusterCIDRs: { IPv4: '10.0.0.0/12' },
  masqueradeBit: 14,
  masqueradeAll: false,
  nodePortAddresses: [],
  isClusterIPInternal: false,
  isBridgeUnfiltered: false,
};

const address = (n: number): string => `10.${(n >> 16) & 15}.${(n >> 8) & 255}.${n & 255}`;
const clusterIP = (n: number): string => `10.96.${n >> 8}.${n & 255}`;
const serviceOf = (n: number): Service => ({
  metadata: { name: `s${n}`, namespace: 'default' },
  spec: { clusterIP: clusterIP(n), clusterIPs: [clusterIP(n)], ports: [{ name: 'http', protocol: 'TCP', port: 80 }] },
});

/** As the proxy caches it. `first`: number of its first endpoint. */
function sliceOf(n: number, first = n * endpointCount): EndpointSlice {
  const endpoints = Array.from({ length: endpointCount }, (_, i) => ({
    addresses: [address(first + i)],
    conditions: { ready: true, serving: true, terminating: false },
    nodeName: `node-${i}`,
  }));
  const metadata = {
    name: `s${n}-x`,
    namespace: 'default',
    uid: `${n}`,
    labels: { [dialect.labels.serviceName]: `s${n}` },
  };
  return trimEndpointSlice({
    metadata,
    addressType: 'IPv4',
    ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
    endpoints,
  });
}

class Bench {
  readonly nft = new Nft(runWithInput);
  readonly state = new TableState(servicesBaseTable(settings));
  readonly #plans = new Map<number, ServicePlan>();
  readonly #kept: unknown[] = [];

  plan(n: number, slices: readonly EndpointSlice[], keep = false): void {
    const service = serviceOf(n);
    const old = this.#plans.get(n);
    const plan = planService(service, slices, {
      ...{ dialect, settings },
      node: { names: new Set(['node-0']), zone: undefined },
      gates: { topologyAwareHints: true, proxyTerminatingEndpoints: false },
      previousSlots: (key) => old?.slots.get(key) ?? [],
    });
    this.#plans.set(n, plan);
    this.state.contribute(`default/s${n}`, plan.contribution);
    if (keep) this.#kept.push(service, slices);
  }
}

/** CPU seconds of this process and of programs that it ran; and wall time. */
async function costOf(work: () => Promise<void>): Promise<{ readonly cpu: number; readonly wall: number }> {
  const cpu = () => {
    const { userCPUTime, systemCPUTime } = process.resourceUsage();
    return (userCPUTime + systemCPUTime) / 1e6 + childrenSeconds();
  };
  const before = cpu();
  const started = performance.now();
  await work();
  return { cpu: cpu() - before, wall: (performance.now() - started) / 1000 };
}

/** CPU of ended children: fields 16 and 17 of /proc/self/stat, in hundredths of seconds. */
function childrenSeconds(): number {
  const stat = execFileSync('cat', [`/proc/${process.pid}/stat`], { encoding: 'utf8' });
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(13, 15);
  return (Number(user) + Number(system)) / 100;
}

async function connectionMicroseconds(port: number): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < connections; i++) {
    const started = performance.now();
    await new Promise<void>((resolve, reject) => {
      const socket = connect(port, clusterIP(0), () => {
        socket.destroy();
        resolve();
      });
      socket.once('error', reject);
    });
    times.push(performance.now() - started);
  }
  times.sort((a, b) => a - b);
  return (times[Math.floor(connections / 2)] ?? 0) * 1000;
}

async function measure(): Promise<void> {
  process.stdout.write(`${machineLine()}\n`);
  const ip = (...args: string[]) => execFileSync('ip', args);
  ip('link', 'set', 'lo', 'up');
  ip('route', 'add', '10.96.0.0/12', 'dev', 'lo');
  for (let i = 0; i < endpointCount; i++) ip('address', 'add', `${address(i)}/32`, 'dev', 'lo');
  const server = createServer((socket) => socket.destroy()).listen(8080);
  const bench = new Bench();
  const apply = async () => {
    const commands = bench.state.takeChange();
    if (commands !== undefined) await bench.nft.apply(commands);
  };
  for (let n = 0; n < fewServices; n++) bench.plan(n, [sliceOf(n)], true);
  await bench.nft.apply(bench.state.differences(undefined) ?? '');
  const few = await connectionMicroseconds(80);
  const heapBefore = heapBytes();
  const first = await costOf(async () => {
    for (let n = fewServices; n < serviceCount; n++) bench.plan(n, [sliceOf(n)], true);
    await apply();
  });
  figure(`first program of ${serviceCount} services, CPU`, `${first.cpu.toFixed(2)} s`, '10 s');
  figure('… wall time', `${first.wall.toFixed(2)} s`);
  figure('memory', megabytes(heapBytes() - heapBefore), '150 MB');
  const many = await connectionMicroseconds(80);
  figure(`connection with ${fewServices} services, median`, `${few.toFixed(0)} µs`);
  figure(`connection with ${serviceCount} services, median`, `${many.toFixed(0)} µs`);
  const change = await costOf(async () => {
    for (let i = 0; i < changes; i++) {
      const n = (i * 97) % serviceCount;
      bench.plan(n, [sliceOf(n, n * endpointCount + 1)]);
      await apply();
    }
  });
  figure('one endpoint goes and one comes, CPU', `${((change.cpu / changes) * 1000).toFixed(1)} ms`, '20 ms');
  figure('… wall time', `${((change.wall / changes) * 1000).toFixed(1)} ms`);
  const restart = await costOf(async () => {
    const differences = bench.state.differences(await bench.nft.list(settings.table));
    if (differences !== undefined) throw new Error(`there are differences: ${differences.slice(0, 200)}`);
  });
  figure('comparison after a restart, CPU', `${restart.cpu.toFixed(2)} s`);
  server.close();
}

function heapBytes(): number {
  (globalThis as { gc?: () => void }).gc?.();
  return process.memoryUsage().heapUsed;
}

if (process.env[inside] === undefined) {
  const args = ['--net', process.execPath, ...process.execArgv, fileURLToPath(import.meta.url)];
  const { status } = spawnSync('unshare', args, { stdio: 'inherit', env: { ...process.env, [inside]: 'yes' } });
  process.exitCode = status ?? 1;
} else await measure();
