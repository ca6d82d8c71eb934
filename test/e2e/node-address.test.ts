/** A cluster on a machine with a network, which is a separate namespace so that no packet leaves the machine. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import type { Endpoints, Node } from '#api/core/v1/types.gen.js';
import { eventually, type RunResult, root, run } from '#test/e2e/harness.js';

t.setTimeout(180_000);
const namespace = `orch-${process.pid}`;
const address = '198.51.100.7';

/** False if this process may not create networks. */
async function makeNetwork(): Promise<boolean> {
  if (process.getuid?.() !== 0) return false;
  const added = await run('ip', ['netns', 'add', namespace]).catch(() => undefined);
  if (added?.code !== 0) return false;
  const commands = [
    'link set lo up',
    'link add v0 type veth peer name v1',
    `addr add ${address}/24 dev v0`,
    'link set v1 up',
    'link set v0 up',
    'route add default via 198.51.100.1',
  ];
  for (const command of commands) {
    const { code, stderr } = await run('ip', ['-n', namespace, ...command.split(' ')]);
    if (code !== 0) throw new Error(`ip ${command}: ${stderr}`);
  }
  return true;
}

const skip = (await makeNetwork()) ? false : 'no network namespaces can be made here';

t.test('nodes have the address of the default route', { skip }, async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'oe2e-'));
  const inside = (program: string, ...args: string[]): Promise<RunResult> =>
    run('ip', ['netns', 'exec', namespace, join(root, 'bin', program), ...args], {
      env: { ORCHCONFIG: join(dataDir, 'client.config') },
    });
  t.teardown(async () => {
    const down = await run(join(root, 'bin', 'orch'), ['down', '--delete', `--data-dir=${dataDir}`]);
    await run('ip', ['netns', 'delete', namespace]);
    if (down.code !== 0) throw new Error(`orch down --delete ended with ${down.code}\n${down.stdout}\n${down.stderr}`);
    rmSync(dataDir, { recursive: true, force: true });
  });
  const started = await inside(
    'orch',
    ...['up', '--detach', '--store=memory', '--runtime=simulated', '--nodes=2', `--data-dir=${dataDir}`],
  );
  t.equal(started.code, 0, started.stderr);
  const get = async <T>(...what: string[]): Promise<T> =>
    JSON.parse((await inside('orchctl', 'get', ...what, '-o', 'json')).stdout) as T;
  const { items } = await get<{ items: Node[] }>('nodes');
  t.same(
    items.map(({ status }) => status?.addresses?.find(({ type }) => type === 'InternalIP')?.address),
    [address, address],
  );
  const ports = new Set(items.map(({ status }) => status?.daemonEndpoints?.kubeletEndpoint?.Port));
  t.equal(ports.size, 2, 'each agent has a port of its own');
  t.ok(ports.has(10250), 'the first the one where clients look for it');
  t.equal(new Set(items.map(({ spec }) => spec.podCIDR ?? '')).size, 2, 'and each node a range of its own');
  t.ok(
    items.every(({ spec }) => /^10\.244\.\d+\.0\/24$/.test(spec.podCIDR ?? '')),
    'of the range of the cluster',
  );

  const created = await inside('orchctl', 'apply', '-f', join(root, 'test', 'e2e', 'testdata', 'host-network.yaml'));
  t.equal(created.code, 0, created.stderr);
  const endpoints = await eventually('the Service of a pod in the network of the host has an endpoint', async () => {
    const endpoints = await get<Endpoints>('endpoints', 'host').catch(() => undefined);
    return (endpoints?.subsets?.length ?? 0) > 0 ? endpoints : undefined;
  });
  t.match(endpoints?.subsets, [{ addresses: [{ ip: address }], ports: [{ port: 8080 }] }]);
  const logs = await inside('orchctl', 'logs', 'host');
  t.equal(logs.code, 0, `the API server reaches the agent: ${logs.stderr}`);
});
