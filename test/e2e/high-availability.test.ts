/**
 * Three servers and a worker, set up as in docs/high-availability.md, while programs on the worker write all the time: each
 * server is killed and cut off in turn. No acknowledged write is lost, and writes continue.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Pod, Secret } from '#api/core/v1/types.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { formatKubeconfig, singleContext } from '#client/kubeconfig/file.js';
import { documentedCommands } from '#test/e2e/documented.js';
import { eventually, root, whyNoServices } from '#test/e2e/harness.js';
import { WriteLoad } from '#test/e2e/high-availability/load.js';
import { bin, Machines, succeeds } from '#test/e2e/high-availability/machines.js';
import type { Host } from '#test/e2e/hosts.js';
import { busybox, sleeper } from '#test/e2e/pods.js';

t.setTimeout(300_000);

/** Commands of the page. */
const documented = documentedCommands('high-availability.md');

t.test('three servers and a worker', { skip: whyNoServices() ?? false }, async (t) => {
  const machines = new Machines(4);
  const [first, second, third, worker] = machines.hosts as [Host, Host, Host, Host];
  const names = new Map([
    [second, 'server-b'],
    [third, 'server-c'],
    [worker, 'worker-a'],
  ]);
  let load: WriteLoad | undefined;
  t.teardown(async () => {
    await load?.stop();
    await machines.destroy();
  });
  /** Runs the page's command with this beginning on a host, with the test's data directory and addresses. */
  const page = (host: Host, beginning: string, ...more: string[]): Promise<string> => {
    const line = documented.find((each) => each.startsWith(beginning)) ?? '';
    t.ok(line, `the page has ${beginning}`);
    const [program = '', ...args] = line.split(' ');
    const dir = program === 'bin/orch' ? ['--data-dir', machines.dirOf(host)] : [];
    const env = { KUBECONFIG: machines.admin };
    return succeeds(host.run(join(root, program), [...args, ...dir, ...more], { env, timeoutMs: 180_000 }));
  };
  const up = () => page(first, 'bin/orch up', '--runtime', 'simulated', '--node-ip', first.address);
  const start = (host: Host) => (host === first ? up() : machines.orch(host, 'join', '--detach'));
  const joins = (host: Host, line: string, runtime: 'containerd' | 'simulated') =>
    machines.join(host, { line, runtime, nodeName: names.get(host) ?? '' });
  const ctl = (...args: Parameters<Machines['ctl']>) => succeeds(machines.ctl(...args));
  const longest: string[] = [];
  /** Writes continue after the fault; prints the longest wait for an acknowledgement. */
  const goesOn = async (what: string, happens: () => Promise<void> | void): Promise<void> => {
    longest.push(`${what}: ${await load?.longestWaitMs(what, happens)} ms`);
  };

  await up();
  const nodeLine = await ctl(['token', 'create', '--print-join-command']);
  await joins(worker, nodeLine, 'containerd');
  load = WriteLoad.start(machines, worker, 'worker-a');
  const manifest = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'stays' },
    spec: { nodeName: 'worker-a', containers: [{ name: 'main', image: busybox, command: ['sh', '-c', sleeper] }] },
  };
  await ctl(['create', '-f', '-'], JSON.stringify(manifest));

  await t.test('servers join under load', async (t) => {
    let line = '';
    await goesOn('the cluster is opened to servers', async () => {
      line = await page(first, 'bin/orch token create');
    });
    t.match(line, `orch join https://${first.address}:6443 --token `);
    const [, id = ''] = /--token (\w{6})\./.exec(line) ?? [];
    const secret = JSON.parse(
      await ctl(['get', 'secret', `server-invitation-${id}`, '-n', orchDialect.namespaces.system, '-o', 'json']),
    ) as Secret;
    const sealed = Buffer.from(secret.data?.['sealed'] ?? '', 'base64').toString();
    t.notMatch(Buffer.from(sealed, 'base64').toString('latin1'), /PRIVATE|BEGIN/, 'no key can be read');
    const [, nodeToken = ''] = /--token (\S+)/.exec(nodeLine) ?? [];
    const asNode = join(machines.dirOf(first), 'node-token.config');
    const ca = readFileSync(join(machines.layout(first).pki, 'ca.crt'));
    const names = { clusterName: 'c', userName: 'u' };
    const target = { server: `https://${first.address}:6443`, ca, token: nodeToken, ...names };
    writeFileSync(asNode, formatKubeconfig(singleContext(target)), { mode: 0o600 });
    const invitation = ['get', 'secret', `server-invitation-${id}`, '-n', orchDialect.namespaces.system];
    const refused = await first.run(bin('orchctl'), invitation, { env: { KUBECONFIG: asNode } });
    t.match(refused.stderr, /cannot get|forbidden/i, 'tokens of nodes do not get it');
    await goesOn('two servers join', async () => {
      await Promise.all([joins(second, line, 'simulated'), joins(third, line, 'simulated')]);
    });
    t.match(await page(first, 'bin/orch etcd members'), /server-b +voter[\s\S]*|server-c +voter/);
    t.match(await page(first, 'bin/orchctl get nodes'), /server-b +Ready[\s\S]*server-c +Ready/);
  });

  const servers = [first, second, third];
  for (const host of servers) {
    const name = names.get(host) ?? 'the first';
    await t.test(`${name} is killed`, async () => {
      await goesOn(`${name} is killed`, () => machines.kill(host));
      await goesOn(`${name} comes back`, async () => void (await start(host)));
    });
  }
  for (const host of servers) {
    const name = names.get(host) ?? 'the first';
    await t.test(`${name} is cut off`, async () => {
      await goesOn(`${name} is cut off`, () => host.cutOff());
      await goesOn(`${name} is there again`, async () => {
        host.reconnect();
        const own = { env: { KUBECONFIG: machines.layout(host).clientConfig } };
        await eventually(`${name} serves`, async () => {
          const { code } = await host.run(bin('orchctl'), ['get', 'namespace', 'default'], own);
          return code === 0;
        });
      });
    });
  }

  for (const host of [first, second]) {
    const name = names.get(host) ?? 'the first';
    await t.test(`the programs of ${name} are exchanged`, async (t) => {
      await goesOn(`the programs of ${name} are exchanged`, async () => {
        t.match(await machines.orch(host, 'upgrade', '--backup=false'), /Nothing is in the way\.\n[\s\S]*Done\./);
      });
    });
  }

  await t.test('certificates are renewed', async (t) => {
    await goesOn('certificates are renewed', async () => {
      for (const host of servers)
        t.match(await page(host, 'bin/orch certs renew'), /^etcd-server\.crt renewed$[\s\S]*no restart is needed/m);
      const said = await machines.orch(worker, 'certs', 'renew', '--force');
      t.match(said, /nodeagent-client-current\.pem renewed\n.*nodeagent-server-current\.pem renewed/);
    });
  });

  await t.test('nothing is lost, and no container started again', async (t) => {
    const last = await load?.end();
    t.same(last?.lost, []);
    const pod = JSON.parse(await ctl(['get', 'pod', 'stays', '-o', 'json'])) as Pod;
    t.match(pod.status, { phase: 'Running', containerStatuses: [{ restartCount: 0 }] });
    t.comment(`${last?.acknowledged} writes acknowledged, ${last?.unanswered} tried again`);
    for (const each of longest) t.comment(`longest wait for a write: ${each}`);
  });

  await t.test('servers are taken out', async (t) => {
    machines.kill(third);
    await page(first, 'bin/orch etcd remove-member');
    await page(first, 'bin/orchctl delete node');
    await page(second, 'bin/orch leave');
    t.notOk(existsSync(machines.dirOf(second)), 'nothing is left on its disk');
    t.notMatch(await page(first, 'bin/orch etcd members'), /server-/);
    t.notMatch(await page(first, 'bin/orchctl get nodes'), /server-/);
  });
});
