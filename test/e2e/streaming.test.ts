/**
 * exec, attach, port-forward, logs -f and cp on real containers, with every kubectl there is from 1.20 on (those before
 * 1.31 speak SPDY), the client library for Node.js, and Python's client; attach and run on simulated ones too.
 */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import { whyNoContainers } from '#cluster/machine/preflight.js';
import {
  eventually,
  kubectls,
  minorVersion,
  ownRanges,
  rangeArguments,
  root,
  startTestCluster,
  tools,
} from '#test/e2e/harness.js';
import { clientNodeStreams } from '#test/e2e/streaming/client-node.js';
import { kubectlInput, kubectlStreams } from '#test/e2e/streaming/kubectl.js';
import { echoServer, proxiedStreams } from '#test/e2e/streaming/proxied.js';

t.setTimeout(900_000);
const programs = await kubectls();
const skip = whyNoContainers({ path: process.env['PATH'] ?? '', isRoot: process.getuid?.() === 0 }) ?? false;

if (programs.length === 0) t.pass('no kubectl on this machine', { skip: true });

t.test('input for simulated containers', { skip: programs.length === 0, timeout: 300_000 }, async (t) => {
  const cluster = await startTestCluster({ dialect: 'kubernetes', runtime: 'simulated', store: 'memory' });
  t.teardown(() => cluster.destroy());
  t.jobs = 3;
  const runs = programs.map((kubectl) =>
    t.test(basename(kubectl), { buffered: true }, (t) => kubectlInput(t, { cluster, kubectl, image: 'app' })),
  );
  await Promise.all(runs);
});

t.test('clients that others wrote', { skip, timeout: 900_000 }, async (t) => {
  const cluster = await startTestCluster({
    dialect: 'kubernetes',
    runtime: 'containerd',
    args: rangeArguments(await ownRanges()),
  });
  t.teardown(() => cluster.destroy());
  const image = 'orch/busybox:1.0';
  const echoPort = 8081;
  const serve = `${echoServer(echoPort)}
    mkdir -p /www; head -c 1048576 /dev/zero > /www/big; echo ready; exec httpd -f -p 8080 -h /www`;
  const pods = [
    { name: 'serving', args: ['sh', '-c', serve] },
    { name: 'reading', args: ['cat'], stdin: true },
  ].map(({ name, ...container }) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: name } },
    spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image, ...container }] },
  }));
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'echo' },
    spec: {
      selector: { app: 'serving' },
      ports: [
        { name: 'main', port: 81, targetPort: echoPort },
        { name: 'web', port: 80, targetPort: 8080 },
      ],
    },
  };
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [...pods, service] });
  const orchctl = join(root, 'bin', 'orchctl');
  t.equal((await cluster.client(orchctl, ['apply', '-f', '-'], { input })).code, 0);
  const node = await eventually('the pods run', async () => {
    const { stdout } = await cluster.ctl('get', 'pods', '-o', 'json');
    const { items } = JSON.parse(stdout) as { items: Pod[] };
    const run = items.length === 2 && items.every(({ status }) => status?.phase === 'Running');
    return run && items[0]?.spec.nodeName;
  });

  const versions = await Promise.all(programs.map(minorVersion));
  const extremes = [Math.min(...versions), Math.max(...versions)];
  // The tests mostly wait.
  t.jobs = 3;
  const runs: PromiseLike<unknown>[] = [];
  for (const [i, kubectl] of programs.entries()) {
    const minor = versions[i] ?? 0;
    const megabytes = extremes.includes(minor) ? 30 : 3;
    const options = { cluster, kubectl, megabytes, pod: 'serving', service: 'echo', image };
    runs.push(
      t.test(`kubectl 1.${minor}`, { buffered: true, timeout: 300_000 }, async (t) => {
        await kubectlStreams(t, options);
        await kubectlInput(t, options);
      }),
    );
  }
  await Promise.all(runs);
  await t.test('sessions and upgrades through the proxies', { timeout: 120_000 }, (t) => {
    const echo = { pod: 'serving', port: echoPort, service: 'echo', servicePort: 'main' };
    return proxiedStreams(t, { kubeconfig: cluster.config, node, ...echo });
  });
  await t.test('the client library for Node.js', { timeout: 120_000 }, (t) =>
    clientNodeStreams(t, { config: cluster.config, pod: 'serving', reader: 'reading' }),
  );
  const python = join(tools, 'python', 'bin', 'python');
  await t.test('Python’s client', { skip: existsSync(python) ? false : 'it is not installed' }, async (t) => {
    const script = join(root, 'test', 'e2e', 'streaming', 'python_client.py');
    const result = await cluster.client(python, [script, 'serving', 'reading', String(3 * 1024 * 1024)]);
    t.equal(result.code, 0, result.stderr);
    t.match(result.stdout, /ok exec\nok exit code\nok both ways\nok attach\nok port-forward\nok no error\nok logs\n/);
  });
});
