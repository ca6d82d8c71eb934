/**
 * Three servers and three workers with real containers: the time until all are ready and a workload responds on each, and
 * the longest wait of writes while each machine is killed, restarted, disconnected and reconnected. Needs root, containerd
 * and nft. `hack/bench.sh machines`.
 */
import type { Pod, Service } from '#api/core/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { figure, machineLine, seconds } from '#test/bench/report.js';
import { eventually, whyNoServices } from '#test/e2e/harness.js';
import { refusalMs, WriteLoad } from '#test/e2e/high-availability/load.js';
import { Machines, succeeds } from '#test/e2e/high-availability/machines.js';
import type { Host } from '#test/e2e/hosts.js';
import { busybox, isReady } from '#test/e2e/pods.js';

const why = whyNoServices();
if (why !== undefined) {
  process.stdout.write(`skipped: ${why}\n`);
  process.exit(0);
}
/** How long a machine is disconnected. */
const cutMs = 10_000;
const labels = { app: 'spread' };
const serve = 'mkdir -p /www && echo "$NODE" >/www/index.html && exec httpd -f -p 8080 -h /www';
const node = { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } };
const readinessProbe = { httpGet: { path: '/', port: 8080 }, periodSeconds: 1 };
const container = { name: 'main', image: busybox, command: ['sh', '-c', serve], env: [node], readinessProbe };
const spread = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'spread' },
  spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [container] } } },
};
// Local: the requested node responds itself.
const port = { port: 80, targetPort: 8080 };
const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'spread' },
  spec: { type: 'NodePort', externalTrafficPolicy: 'Local', selector: labels, ports: [port] },
};

process.stdout.write(`${machineLine()}\n`);
const machines = new Machines(6);
const [first, ...others] = machines.hosts as [Host, ...Host[]];
const nodeNames = new Map(
  others.map((host, index) => [host, index < 2 ? `server-${index + 2}` : `worker-${index - 1}`]),
);
const nameOf = (host: Host) => nodeNames.get(host) ?? 'server-1';
const servers = others.slice(0, 2);
const workers = others.slice(2);
const runtime = 'containerd';
const ctl = (...args: string[]) => succeeds(machines.ctl(args));
const up = () => machines.orch(first, 'up', '--detach', '--runtime', runtime, '--node-ip', first.address);
let load: WriteLoad | undefined;

/** The response of a node on the service's port, requested from the first worker. */
async function answerOf(host: Host, nodePort: number): Promise<string> {
  const url = JSON.stringify(`http://${host.address}:${nodePort}/`);
  const script = `fetch(${url},{signal:AbortSignal.timeout(2000)}).then(r=>r.text()).then(t=>console.log(t.trim()))`;
  return (await succeeds((workers[0] ?? first).run(process.execPath, ['-e', script]))).trim();
}

async function allAnswer(): Promise<void> {
  const { spec } = JSON.parse(await ctl('get', 'service', 'spread', '-o', 'json')) as Service;
  const nodePort = spec?.ports?.[0]?.nodePort ?? 0;
  const own = JSON.parse(await ctl('get', 'nodes', '-o', 'json')) as { items: { metadata: { name: string } }[] };
  const names = own.items.map(({ metadata }) => metadata.name);
  for (const host of machines.hosts) {
    const expected = nodeNames.get(host) ?? names.find((name) => ![...nodeNames.values()].includes(name));
    await eventually(`${nameOf(host)} answers`, async () => (await answerOf(host, nodePort)) === expected);
  }
}

async function spreadPods(): Promise<Pod[]> {
  return (JSON.parse(await ctl('get', 'pods', '-l', 'app=spread', '-o', 'json')) as { items: Pod[] }).items;
}

/** Faults of a machine, and its recovery. */
const faults: readonly (readonly [what: string, happens: (host: Host) => Promise<void> | void])[][] = [
  [
    ['is killed', (host) => machines.kill(host)],
    ['comes back', (host) => startAgain(host)],
  ],
  [
    ['is cut off', cutOff],
    ['is there again', (host) => host.reconnect()],
  ],
];

async function cutOff(host: Host): Promise<void> {
  host.cutOff();
  await realClock.sleep(cutMs);
}

/**
 * Prints the longest wait of writes. Each fault happens on all machines before the next fault, because a machine that has
 * just returned is neither leader nor serving.
 */
async function breakAll(writes: WriteLoad, hosts: readonly Host[]): Promise<void> {
  for (const fault of faults)
    for (const host of hosts)
      for (const [what, happens] of fault) {
        const waitMs = await writes.longestWaitMs(`${nameOf(host)} ${what}`, () => happens(host));
        figure(`longest wait for a write, ${nameOf(host)} ${what}`, seconds(waitMs), seconds(refusalMs));
      }
}

async function startAgain(host: Host): Promise<void> {
  await (host === first ? up() : machines.orch(host, 'join', '--detach'));
}

try {
  const began = realClock.monotonic();
  const tookMs = () => realClock.monotonic() - began;
  await up();
  const first1 = tookMs();
  await succeeds(
    machines.ctl(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [spread, service] })),
  );
  const serverLine = await machines.orch(first, 'token', 'create', '--server');
  const workerLine = await ctl('token', 'create', '--print-join-command');
  await Promise.all([
    ...servers.map((host) => machines.join(host, { line: serverLine, runtime, nodeName: nameOf(host) })),
    ...workers.map((host) => machines.join(host, { line: workerLine, runtime, nodeName: nameOf(host) })),
  ]);
  const joined = tookMs();
  await eventually('six pods are ready', async () => {
    const pods = await spreadPods();
    return pods.length === machines.hosts.length && pods.every(isReady);
  });
  await allAnswer();
  const answered = tookMs();
  figure('the first server is there', seconds(first1));
  figure('two servers and three workers have joined', seconds(joined));
  figure('a workload answers on all six', seconds(answered), '90 s');

  // A worker's own programs connect it to the servers, so another worker writes while it is killed.
  const [writer, other] = workers as [Host, Host];
  for (const [host, broken] of [
    [writer, machines.hosts.filter((each) => each !== writer)],
    [other, [writer]],
  ] as const) {
    const running = WriteLoad.start(machines, host, nameOf(host));
    load = running;
    await breakAll(running, broken);
    const { acknowledged, lost = [] } = await running.end();
    figure(`writes of ${nameOf(host)} acknowledged`, `${acknowledged}`);
    figure('of these lost', `${lost.length}`, '0');
    await ctl('delete', 'configmap', '-l', 'purpose=acknowledged');
  }
  const restarts = (await spreadPods()).flatMap(({ status }) => status?.containerStatuses ?? []);
  figure('containers started again', `${restarts.reduce((sum, { restartCount }) => sum + restartCount, 0)}`, '0');
  await allAnswer();
} finally {
  await load?.stop();
  await machines.destroy();
}
