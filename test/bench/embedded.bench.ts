/**
 * Measures a cluster embedded in a test: the time from the start of `node` to the first response, and the memory of one
 * more cluster in the same process, each in a separate process.
 */
import { fileURLToPath } from 'node:url';
import { figure, machineLine, megabytes, seconds } from '#test/bench/report.js';
import { run } from '#test/e2e/harness.js';

const rounds = 5;
const extraClusters = 5;
/** Time for a new cluster's first control loops. */
const settleMs = 2000;

const module = (path: string) => JSON.stringify(fileURLToPath(new URL(`../../${path}`, import.meta.url)));
const imports = `
  const { startCluster } = await import(${module('pkg/cluster/embedded/start-cluster.js')});
  const { nodes } = await import(${module('pkg/api/core/v1/resources.gen.js')});
`;
const firstAnswer = `${imports}
  const cluster = await startCluster();
  await cluster.client.resource(nodes).list();
  const { user, system } = process.cpuUsage();
  console.log(JSON.stringify({ ms: performance.now(), cpuMs: (user + system) / 1000 }));
  process.exit();
`;
/** Collects garbage before each measurement, so that growth is what a cluster holds. */
const growth = `${imports}
  const settled = () => new Promise((resolve) => setTimeout(resolve, ${settleMs}));
  const clusters = [await startCluster()];
  await settled();
  gc();
  const before = process.memoryUsage.rss();
  for (let i = 0; i < ${extraClusters}; i++) clusters.push(await startCluster());
  await settled();
  gc();
  const after = process.memoryUsage.rss();
  await Promise.all(clusters.map((cluster) => cluster.close()));
  console.log(JSON.stringify({ before, each: (after - before) / ${extraClusters} }));
  process.exit();
`;

async function measured<T>(code: string, ...flags: string[]): Promise<T> {
  const { code: exit, stdout, stderr } = await run(process.execPath, [...flags, '--input-type=module', '-e', code]);
  if (exit !== 0) throw new Error(`ended with ${exit}: ${stderr}`);
  return JSON.parse(stdout) as T;
}

const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

process.stdout.write(
  `${machineLine()}\nstartCluster() with the store in memory and one simulated node, ${rounds} times\n`,
);
const starts: { ms: number; cpuMs: number }[] = [];
for (let round = 0; round < rounds; round++) starts.push(await measured(firstAnswer));
figure('from the start of node to the first answer, median', seconds(median(starts.map(({ ms }) => ms))), '1 s');
figure('CPU time of that, median', seconds(median(starts.map(({ cpuMs }) => cpuMs))));
const { before, each } = await measured<{ before: number; each: number }>(growth, '--expose-gc');
figure('resident memory of a process with one cluster', megabytes(before));
figure(`each of ${extraClusters} more clusters in it`, megabytes(each), '40 MB');
