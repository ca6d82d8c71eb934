/** Measures an idle cluster. `MINUTES=5`, `SEPARATE=1`, `RUNTIME=containerd`. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { realClock } from '#apimachinery/clock.js';
import { cpuMs, figure, machineLine, megabytes, residentBytes } from '#test/bench/report.js';
import { startTestCluster } from '#test/e2e/harness.js';

const minutes = Number(process.env['MINUTES'] ?? 5);
const separate = process.env['SEPARATE'] === '1';
const runtime = process.env['RUNTIME'] === 'containerd' ? 'containerd' : 'simulated';
/** Programs of other projects are not counted. */
const foreign = new Set(['etcd']);

process.stdout.write(
  `${machineLine()}\nbin/orch up --detach --runtime ${runtime}${separate ? ' --separate' : ''}, idle for ${minutes} minutes\n`,
);
const cluster = await startTestCluster({ runtime, separate });
try {
  const folder = join(cluster.dataDir, 'run');
  const processes = readdirSync(folder)
    .map((file) => ({
      name: file.replace('.pid', ''),
      pid: (JSON.parse(readFileSync(join(folder, file), 'utf8')) as { pid: number }).pid,
    }))
    .filter(({ name }) => !foreign.has(name));
  // Work left over from the start does not count as idling.
  await realClock.sleep(20_000);
  const before = processes.map(({ pid }) => cpuMs(pid));
  await realClock.sleep(minutes * 60_000);
  let memory = 0;
  let cpu = 0;
  for (const [index, { name, pid }] of processes.entries()) {
    const used = cpuMs(pid) - (before[index] ?? 0);
    const resident = residentBytes(pid);
    memory += resident;
    cpu += used;
    figure(`${name}: resident memory`, megabytes(resident));
    figure(`${name}: share of one core`, `${((used / (minutes * 60_000)) * 100).toFixed(2)} %`);
  }
  figure('together: resident memory', megabytes(memory), separate ? '450 MB' : '250 MB');
  figure('together: share of one core', `${((cpu / (minutes * 60_000)) * 100).toFixed(2)} %`, '2 %');
} finally {
  await cluster.destroy();
}
