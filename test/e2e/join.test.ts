/** Machines join a cluster with the commands of docs/join.md: on the network of the first machine, and behind a router. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { pods as podType } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { layoutOf } from '#cluster/config/layout.js';
import { readIdentity } from '#cluster/process/identity.js';
import { documentedCommands } from '#test/e2e/documented.js';
import { type RunResult, root, whyNoServices } from '#test/e2e/harness.js';
import { type Host, makeHosts } from '#test/e2e/hosts.js';

t.setTimeout(300_000);

/** Commands of the page. */
const documented = documentedCommands('join.md');

t.test('three machines', { skip: whyNoServices() ?? false }, async (t) => {
  const network = makeHosts([2, 1]);
  const [first, near, far] = network.hosts as [Host, Host, Host];
  const folders = new Map(network.hosts.map((host) => [host, mkdtempSync(join(tmpdir(), 'oj-'))]));
  const dirOf = (host: Host) => folders.get(host) ?? '';
  const kubeconfig = layoutOf(dirOf(first)).clientConfig;
  const bin = (name: string) => join(root, 'bin', name);
  const ctl = (args: readonly string[], input = '') =>
    first.run(bin('orchctl'), args, { env: { KUBECONFIG: kubeconfig }, input });
  const ok = async (running: Promise<RunResult>): Promise<string> => {
    const { code, stdout, stderr } = await running;
    t.equal(code, 0, 'succeeds', { stdout, stderr });
    return stdout;
  };
  /** Runs the page's command with this beginning on a host, with the test's data directory and addresses. */
  const page = (host: Host, beginning: string, ...more: string[]): Promise<string> => {
    const line = documented.find((each) => each.startsWith(beginning)) ?? '';
    t.ok(line, `the page has ${beginning}`);
    const [program = '', ...args] = line.split(' ');
    const dir = program === 'bin/orch' ? ['--data-dir', dirOf(host)] : [];
    const [subcommand = '', ...rest] = args;
    const env = { KUBECONFIG: kubeconfig };
    return ok(host.run(join(root, program), [subcommand, ...rest, ...dir, ...more], { env, timeoutMs: 180_000 }));
  };
  t.teardown(async () => {
    for (const host of [far, near, first]) {
      const dataDir = dirOf(host);
      if (existsSync(layoutOf(dataDir).settings))
        await host.run(bin('orch'), ['down', '--delete', '--data-dir', dataDir], { timeoutMs: 180_000 });
      rmSync(dataDir, { recursive: true, force: true });
    }
    network.destroy();
  });

  await page(first, 'bin/orch up', '--node-ip', first.address);
  const line = (await page(first, 'bin/orchctl token create')).trim();
  t.match(line, `orch join https://${first.address}:6443 --token `);
  const joining = (host: Host, name: string) => {
    const args = [...line.split(' ').slice(1), '--detach', '--data-dir', dirOf(host), '--node-ip', host.address];
    return host.run(bin('orch'), [...args, '--node-name', name], { timeoutMs: 180_000 });
  };

  await t.test('a machine with the right CA hash becomes a node', async (t) => {
    const wrong = line
      .replace(/sha256:.*/, `sha256:${'0'.repeat(64)}`)
      .split(' ')
      .slice(1);
    const refused = await near.run(bin('orch'), [...wrong, '--data-dir', dirOf(near)]);
    t.equal(refused.code, 1);
    t.match(refused.stderr, /does not match --ca-hash/);
    t.notOk(existsSync(layoutOf(dirOf(near)).settings), 'nothing is left of it');
    await Promise.all([ok(joining(near, 'worker-a')), ok(joining(far, 'worker-b'))]);
    const api = await ok(ctl(['get', 'endpoints', orchDialect.apiServiceName]));
    t.match(api, `${first.address}:6443`, 'pods of other machines reach the API server, too');
    t.match(await page(first, 'bin/orchctl get nodes'), /worker-a +Ready[\s\S]*worker-b +Ready/);
    t.notOk(existsSync(layoutOf(dirOf(near)).componentConfig('bootstrap')), 'the token is forgotten');
    t.match((await joining(far, 'worker-a')).stdout, /is already running/);
  });

  await t.test('pods reach pods and services on every node', async (t) => {
    const example = readFileSync(join(root, 'examples', 'web.yaml'), 'utf8');
    const spread = `topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: ${orchDialect.labels.hostname}
          whenUnsatisfiable: DoNotSchedule
          labelSelector: { matchLabels: { app: web } }
      `;
    const input = example.replace('terminationGracePeriodSeconds', (field) => spread + field);
    await ok(ctl(['apply', '-f', '-'], input));
    await ok(ctl(['rollout', 'status', 'deployment/web', '--timeout', '90s']));
    const { items } = JSON.parse(await ok(ctl(['get', podType.resource, '-l', 'app=web', '-o', 'json']))) as {
      items: Pod[];
    };
    t.equal(new Set(items.map(({ spec }) => spec.nodeName)).size, 3, 'one on each node');
    const service = await ok(ctl(['get', 'service', 'web', '-o', 'json']));
    const { clusterIP = '' } = (JSON.parse(service) as { spec: { clusterIP?: string } }).spec;
    const apiAddress = (await ok(ctl(['get', 'service', orchDialect.apiServiceName]))).split('\n')[1]?.split(/ +/)[2];
    for (const { metadata, spec } of items) {
      const name = metadata.name ?? '';
      const get = (address: string, port: number) =>
        `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 5 ${address} ${port} | tail -n 1`;
      const script = [
        ...items.map(({ status }) => get(status?.podIP ?? '', 8080)),
        ...Array.from({ length: 4 }, () => get(clusterIP, 80)),
        `nc -w 5 ${apiAddress} 443 < /dev/null && echo api`,
        'nslookup web.default.svc.cluster.local | tail -n 3',
        // Full-size packets: path MTU discovery must find the size of the tunnel.
        ...items.map(({ status }) => `ping -c 2 -W 2 -s 1400 ${status?.podIP} > /dev/null && echo large`),
      ];
      const said = await ok(ctl(['exec', name, '--', 'sh', '-c', script.join('\n')]));
      for (const other of items)
        t.match(said, `from ${other.metadata.name}`, `${spec.nodeName} reaches ${other.spec.nodeName}`);
      t.equal(said.match(/Hello from orch from web-/g)?.length, 7, `${spec.nodeName}: pods and service answer`);
      t.match(said, /^api$/m, 'the API server is reached');
      t.match(said, clusterIP, 'names are known');
      t.equal(said.match(/^large$/gm)?.length, 3);
    }
    const [onFirst] = items.filter(({ spec }) => !spec.nodeName?.startsWith('worker'));
    const [onFar] = items.filter(({ spec }) => spec.nodeName === 'worker-b');
    const logs = await ok(ctl(['logs', onFar?.metadata.name ?? '']));
    t.match(logs, `[::ffff:${onFirst?.status?.podIP}]`, 'pods are known by their own addresses');
  });

  await t.test('a node is upgraded, and its containers stay the same', async (t) => {
    const containers = async () => {
      const args = ['get', podType.resource, '--field-selector', 'spec.nodeName=worker-b', '-o', 'json'];
      const { items } = JSON.parse(await ok(ctl(args))) as { items: Pod[] };
      return items.map(({ status }) => status?.containerStatuses?.map(({ containerID }) => containerID));
    };
    const before = await containers();
    t.equal(before.length, 1);
    const said = await ok(far.run(bin('orch'), ['upgrade', '--data-dir', dirOf(far)], { timeoutMs: 180_000 }));
    t.match(said, /Nothing is in the way\.\n[\s\S]*pods left running[\s\S]*node Ready[\s\S]*Done\./);
    t.match(await ok(ctl(['get', 'node', 'worker-b'])), / Ready /);
    t.same(await containers(), before);
  });

  await t.test('a node is drained, stopped and started again', async (t) => {
    t.match(await page(first, 'bin/orchctl drain worker-a'), /node\/worker-a drained/);
    const dir = ['--data-dir', dirOf(near)];
    await ok(near.run(bin('orch'), ['down', ...dir], { timeoutMs: 180_000 }));
    await ok(near.run(bin('orch'), ['join', '--detach', ...dir], { timeoutMs: 180_000 }));
    await page(first, 'bin/orchctl uncordon worker-a');
    t.match(await ok(ctl(['get', 'node', 'worker-a'])), / Ready /);
    t.equal(
      (await ok(ctl(['get', 'csr', '-o', 'name']))).trim().split('\n').length,
      4,
      'no certificate is asked for again',
    );
  });

  await t.test('an agent that is killed leaves its pods alone', async (t) => {
    const dir = dirOf(far);
    const identity = readIdentity(layoutOf(dir).process);
    process.kill(identity?.pid ?? 0, 'SIGKILL');
    await ok(far.run(bin('orch'), ['join', '--detach', '--data-dir', dir], { timeoutMs: 180_000 }));
    const selector = ['-l', 'app=web', '--field-selector', 'spec.nodeName=worker-b'];
    const { items } = JSON.parse(await ok(ctl(['get', 'pods', ...selector, '-o', 'json']))) as { items: Pod[] };
    t.match(items, [{ status: { phase: 'Running', containerStatuses: [{ restartCount: 0 }] } }]);
  });

  // A running systemd would really start the unit.
  const systemd = existsSync('/run/systemd/system') && 'this machine is run by systemd';
  await t.test('systemd units are installed', { skip: systemd }, async (t) => {
    const units = ['--unit-dir', join(dirOf(near), 'units')];
    const option = '--nodeagent-arg=max-pods=50';
    t.match(await page(near, 'bin/orch install', ...units, '--', option), /Wrote \S+orch\.service/);
    const unit = readFileSync(join(dirOf(near), 'units', 'orch.service'), 'utf8');
    t.match(unit, new RegExp(`ExecStart=\\S+node .*orch\\S* join --data-dir ${dirOf(near)} ${option}\n`));
    await ok(
      first.run(bin('orch'), ['install', '--data-dir', dirOf(first), ...units, '--', '--node-ip', first.address]),
    );
    t.match(
      readFileSync(join(dirOf(near), 'units', 'orch.service'), 'utf8'),
      ` up --data-dir ${dirOf(first)} --node-ip `,
    );
    const wrong = await first.run(bin('orch'), ['install', '--data-dir', dirOf(first), ...units, '--', '--nonsense']);
    t.equal(wrong.code, 2);
    await page(near, 'bin/orch uninstall', ...units);
    t.notOk(existsSync(join(dirOf(near), 'units', 'orch.service')));
  });

  await t.test('a node leaves', async (t) => {
    await page(far, 'bin/orch leave');
    t.notMatch(await ok(ctl(['get', 'nodes'])), 'worker-b');
    t.notOk(existsSync(dirOf(far)), 'nothing is left on its disk');
    const left = await ok(far.run('ip', ['-o', 'link']));
    t.match(left.trim().split('\n').length, 2, 'only lo and eth0 are left', { left });
    t.equal((await ok(far.run('iptables-save', ['-t', 'nat']))).match(/^-A/gm), null);
  });
});
