/** What each daemon says at `/metrics`, judged by Prometheus's own tool. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { get as httpsGet } from 'node:https';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { simulatedEndpoint } from '#nodeagent/simulated/node.js';
import { freePort, startApi, until } from '#test/integration/daemons/api.js';

t.setTimeout(120_000);

function read(
  port: number,
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const request = httpsGet(
      { host: '127.0.0.1', port, path, headers, rejectUnauthorized: false, agent: false },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (part: string) => {
          text += part;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      },
    );
    request.on('error', reject);
  });
}

/** The metrics, once they hold that one. */
async function metricsWith(port: number, headers: Record<string, string>, name: string): Promise<string> {
  let text = '';
  await until(`metric ${name}`, async () => {
    const answer = await read(port, '/metrics', headers);
    text = answer.text;
    return answer.status === 200 && text.includes(name);
  });
  return text;
}

/** What the tool finds fault with; empty when nothing. */
async function faults(text: string): Promise<string> {
  const child = spawn('promtool', ['check', 'metrics'], { stdio: ['pipe', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (part: Buffer) => {
      said += part.toString();
    });
  }
  child.stdin.end(text);
  const [code] = await once(child, 'close');
  return code === 0 ? said : `exit code ${code}\n${said}`;
}

function missingTool(): string | false {
  try {
    execFileSync('promtool', ['--version'], { stdio: 'ignore' });
    return false;
  } catch {
    return 'promtool is not installed';
  }
}

/** Names of release 1.24 and their labels, those of buckets and quantiles left out. */
const common = `
orch_build_info build_date compiler git_commit git_tree_state git_version go_version major minor platform
process_cpu_seconds_total
process_max_fds
process_open_fds
process_resident_memory_bytes
process_start_time_seconds
process_virtual_memory_bytes
process_virtual_memory_max_bytes
rest_client_requests_total code host method
rest_client_request_duration_seconds host verb`;

const ofLoops = `
leader_election_master_status name
workqueue_adds_total name
workqueue_depth name
workqueue_longest_running_processor_seconds name
workqueue_queue_duration_seconds name
workqueue_retries_total name
workqueue_unfinished_work_seconds name
workqueue_work_duration_seconds name`;

/** Of which 1.24 has none. */
const ofInformers = `
informer_handler_failures_total name
reflector_list_duration_seconds_total name
reflector_lists_total name
reflector_watch_events_total name
reflector_watches_total name`;

/** Metric → its labels, in the notation above. */
function shapes(text: string): ReadonlyMap<string, string> {
  const labels = new Map<string, Set<string>>();
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]));
  for (const [, series = '', pairs = ''] of text.matchAll(/^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+$/gm)) {
    const base = series.replace(/_(bucket|sum|count)$/, '');
    const name = types.get(base) === 'histogram' ? base : series;
    const known = labels.get(name) ?? new Set();
    for (const [, label = ''] of pairs.matchAll(/(\w+)="/g)) if (label !== 'le') known.add(label);
    labels.set(name, known);
  }
  return new Map([...labels].map(([name, set]) => [name, [...set].sort().join(' ')]));
}

function hasAll(t: Test, text: string, lines: string, daemon: string): void {
  const found = shapes(text);
  for (const line of lines.trim().split('\n')) {
    const [name = '', ...labels] = line.split(' ');
    t.equal(found.get(name), labels.join(' '), `${daemon}: ${name}`);
  }
}

t.test('promtool accepts the metrics of every daemon', { skip: missingTool() }, async (t) => {
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
    if (daemon !== 'API server') hasAll(t, text, common + ofInformers, daemon);
    if (daemon === 'controller manager') hasAll(t, text, ofLoops, daemon);
    if (daemon === 'scheduler') hasAll(t, text, 'leader_election_master_status name', daemon);
  }
  const { text } = await read(schedulerPort, '/configz');
  t.match(JSON.parse(text), { componentconfig: { leaderElection: { leaderElect: true } } });
});
