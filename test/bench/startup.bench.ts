/** Measures the time until a cluster responds and is Ready, from the second start on. `RUNTIME=simulated|containerd`. */
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { realClock } from '#apimachinery/clock.js';
import { parseKubeconfig } from '#client/kubeconfig/file.js';
import { clientConfigFrom } from '#client/kubeconfig/load.js';
import { figure, machineLine, seconds } from '#test/bench/report.js';
import { startTestCluster } from '#test/e2e/harness.js';

const runtime = process.env['RUNTIME'] === 'containerd' ? 'containerd' : 'simulated';
const rounds = 3;

/** Whether the API server is ready. */
async function answers(configFile: string): Promise<boolean> {
  const parsed = parseKubeconfig(readFileSync(configFile, 'utf8'));
  const config = clientConfigFrom(parsed, { clock: realClock, directory: '.' });
  const tls = await config.tls?.current();
  return new Promise((resolve) => {
    const options = { ca: tls?.ca, cert: tls?.cert, key: tls?.key, agent: false };
    const readiness = request(`${config.server}/readyz`, options, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    readiness.on('error', () => resolve(false));
    readiness.end();
  });
}

process.stdout.write(`${machineLine()}\nbin/orch up --detach --runtime ${runtime}, ${rounds} times after the first\n`);
const cluster = await startTestCluster({ runtime });
try {
  const api: number[] = [];
  const ready: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await cluster.down();
    const started = realClock.monotonic();
    const upped = cluster.up();
    while (!(await answers(cluster.config))) await realClock.sleep(10);
    api.push(realClock.monotonic() - started);
    await upped;
    ready.push(realClock.monotonic() - started);
  }
  figure('until /readyz answers, slowest', seconds(Math.max(...api)), '2 s');
  figure('until the node is Ready and orch up returns, slowest', seconds(Math.max(...ready)), '5 s');
} finally {
  await cluster.destroy();
}
