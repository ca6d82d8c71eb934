/** What each daemon says at `/metrics`, judged by Prometheus's own tool. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import t from 'tap';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { simulatedEndpoint } from '#nodeagent/simulated/node.js';
import { freePort } from '#test/free-port.js';
import { startApi, until } from '#test/integration/daemons/api.js';
import { readMetrics } from '#test/integration/metrics/read-metrics.js';
import { prometheusProgram } from '#test/prometheus.js';

t.setTimeout(120_000);

const promtool = prometheusProgram('promtool');

/** What the tool grumbles about in names that are those of release 1.24. */
const ofTheRelease =
  /^(apiserver_admission_step_admission_duration_seconds_summary|authenticated_user_requests|authentication_attempts|authentication_token_cache_active_fetch_count|node_collector_evictions_number|node_ipam_controller_cidrset_\w+|cadvisor_version_info) .*\n/gm;

/** The metrics, once they hold that one. */
async function metricsWith(port: number, headers: Record<string, string>, name: string): Promise<string> {
  let text = '';
  await until(`metric ${name}`, async () => {
    const answer = await readMetrics(port, '/metrics', headers);
    text = answer.text;
    return answer.status === 200 && text.includes(name);
  });
  return text;
}

/** What the tool finds fault with; empty when nothing. */
async function faults(text: string): Promise<string> {
  const child = spawn(promtool ?? '', ['check', 'metrics'], { stdio: ['pipe', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (part: Buffer) => {
      said += part.toString();
    });
  }
  child.stdin.end(text);
  const [code] = await once(child, 'close');
  // It ends with 3 when it only grumbles.
  const grumbles = said.replaceAll(ofTheRelease, '');
  return code === 0 || code === 3 ? grumbles : `exit code ${code}\n${said}`;
}

t.test(
  'promtool accepts the metrics of every daemon',
  { skip: promtool === undefined ? 'promtool is not installed' : false },
  async (t) => {
    t.match(await faults('# HELP x X\n# TYPE x counter\nx 1\n'), /_total/, 'it does find fault');
    const { config, folder, port: apiPort, start } = await startApi(t, { dialect });
    const loop = async (name: string) => {
      const port = await freePort();
      start(name, [
        `--orchconfig=${config}`,
        '--bind-address=127.0.0.1',
        `--secure-port=${port}`,
        '--authorization-always-allow-paths=/metrics,/configz',
      ]);
      return port;
    };
    const agentPort = await freePort();
    start('nodeagent', [
      `--kubeconfig=${config}`,
      `--container-runtime-endpoint=${simulatedEndpoint}`,
      '--pod-cidr=10.244.0.0/24',
      '--address=127.0.0.1',
      `--port=${agentPort}`,
      '--healthz-port=0',
      '--read-only-port=0',
      `--root-dir=${join(folder, 'node')}`,
      `--cert-dir=${join(folder, 'node-pki')}`,
      '--authorization-mode=AlwaysAllow',
    ]);
    const managerPort = await loop('orch-controller-manager');
    const schedulerPort = await loop('orch-scheduler');
    const rows: [daemon: string, port: number, metric: string][] = [
      ['controller manager', managerPort, 'workqueue_work_duration_seconds_bucket{'],
      ['scheduler', schedulerPort, 'reflector_lists_total{'],
      ['node agent', agentPort, 'reflector_lists_total{'],
      ['API server', apiPort, 'request_duration_seconds_bucket{'],
    ];
    for (const [daemon, port, metric] of rows) {
      const text = await metricsWith(port, daemon === 'API server' ? { authorization: 'Bearer root' } : {}, metric);
      t.match(text, 'orch_build_info{', daemon);
      t.match(text, 'process_cpu_seconds_total ', daemon);
      t.equal(await faults(text), '', daemon);
    }
    for (const page of ['cadvisor', 'resource', 'probes', 'state']) {
      const { text } = await readMetrics(agentPort, `/metrics/${page}`);
      t.equal(await faults(text), '', `node agent: ${page}`);
    }
    const { text } = await readMetrics(schedulerPort, '/configz');
    t.match(JSON.parse(text), { componentconfig: { leaderElection: { leaderElect: true } } });
  },
);
