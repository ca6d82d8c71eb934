/** A Deployment of 3,000 replicas on 100 simulated nodes: duration, and memory of each daemon. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { realClock } from '#apimachinery/clock.js';
import { cpuMs, figure, machineLine, megabytes, residentBytes, seconds } from '#test/bench/report.js';
import { eventually, startTestCluster } from '#test/e2e/harness.js';

const nodes = Number(process.env['NODES'] ?? 100);
const replicas = Number(process.env['REPLICAS'] ?? 3000);
const separate = process.env['SEPARATE'] === '1';

const manifest = JSON.stringify({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'big' },
  spec: {
    replicas,
    selector: { matchLabels: { app: 'big' } },
    template: {
      metadata: { labels: { app: 'big' } },
      spec: {
        containers: [{ name: 'c', image: 'orch/web:1.0', resources: { requests: { cpu: '1m', memory: '1Mi' } } }],
      },
    },
  },
});

process.stdout.write(
  `${machineLine()}\nbin/orch up --detach --runtime simulated --nodes ${nodes}${separate ? ' --separate' : ''}; Deployment of ${replicas} replicas\n`,
);
const cluster = await startTestCluster({ runtime: 'simulated', nodes, separate });
try {
  const files = readdirSync(join(cluster.dataDir, 'run')).filter((file) => file.endsWith('.pid'));
  const processes = files.map((file) => ({
    name: file.replace('.pid', ''),
    pid: (JSON.parse(readFileSync(join(cluster.dataDir, 'run', file), 'utf8')) as { pid: number }).pid,
  }));
  const before = processes.map(({ pid }) => cpuMs(pid));
  const started = realClock.monotonic();
  await cluster.client(join(process.cwd(), 'bin', 'orchctl'), ['create', '-f', '-'], { input: manifest });
  await eventually(
    'all replicas are available',
    async () => {
      const { stdout } = await cluster.ctl('get', 'deployment', 'big', '-o', 'json');
      const { status } = JSON.parse(stdout) as { status?: { availableReplicas?: number } };
      return status?.availableReplicas === replicas;
    },
    600_000,
  );
  const ms = realClock.monotonic() - started;
  figure(`until ${replicas} replicas are Running and Ready`, seconds(ms));
  figure('pods per second', (replicas / (ms / 1000)).toFixed(0));
  for (const [index, { name, pid }] of processes.entries()) {
    figure(`${name}: CPU time`, seconds(cpuMs(pid) - (before[index] ?? 0)));
    figure(`${name}: resident memory`, megabytes(residentBytes(pid)));
  }
} finally {
  await cluster.destroy();
}
