/**
 * Three servers and a worker, as docs/high-availability.md says, while the worker's programs write all the time: each server
 * is killed and cut off in turn. Nothing that was acknowledged is lost, and writes go on.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import type { Pod, Secret } from '#api/core/v1/types.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { formatKubeconfig, parseKubeconfig, singleContext } from '#client/kubeconfig/file.js';
import { layoutOf } from '#cmd/orch/context/layout.js';
import { readIdentity } from '#cmd/orch/process/identity.js';
import { pointAt } from '#cmd/orch/servers/point-at.js';
import { documentedCommands } from '#test/e2e/documented.js';
import { eventually, Running, type RunResult, root, whyNoServices } from '#test/e2e/harness.js';
import { type Host, makeHosts } from '#test/e2e/hosts.js';
import { busybox, sleeper } from '#test/e2e/pods.js';
import type { LoadReport } from '#test/e2e/write-load.js';

t.setTimeout(300_000);

/** Lines of the page that a shell is to run. */
const documented = documentedCommands('high-availability.md');

/** In which writes go on, whatever became of a server. */
const refusalMs = 5000;
/** Writes after which they are said to go on. */
const someWrites = 20;
const bin = (name: string) => join(root, 'bin', name);

t.test('three servers and a worker', { skip: whyNoServices() ?? false }, async (t) => {
  const network = makeHosts([4]);
  const [first, second, third, worker] = network.hosts as [Host, Host, Host, Host];
  const names = new Map([
    [second, 'server-b'],
    [third, 'server-c'],
    [worker, 'worker-a'],
  ]);
  const folders = new Map(network.hosts.map((host) => [host, mkdtempSync(join(tmpdir(), 'oh-'))]));
  const dirOf = (host: Host) => folders.get(host) ?? '';
  const dirArgs = (host: Host) => ['--data-dir', dirOf(host)];
  const admin = layoutOf(dirOf(first)).clientConfig;
  const ok = async (running: Promise<RunResult>): Promise<string> => {
    const { code, stdout, stderr } = await running;
    t.equal(code, 0, 'succeeds', { stdout, stderr });
    return stdout;
  };
  const ctl = (args: readonly string[], input = '') =>
    first.run(bin('orchctl'), args, { env: { KUBECONFIG: admin }, input });
  const orch = (host: Host, ...args: string[]) =>
    ok(host.run(bin('orch'), [...args, ...dirArgs(host)], { timeoutMs: 180_000 }));
  /** The line of the page that begins so, on a host; its data directory and addresses are the test's. */
  const page = (host: Host, beginning: string, ...more: string[]): Promise<string> => {
    const line = documented.find((each) => each.startsWith(beginning)) ?? '';
    t.ok(line, `the page has ${beginning}`);
    const [program = '', ...args] = line.split(' ');
    const dir = program === 'bin/orch' ? dirArgs(host) : [];
    const env = { KUBECONFIG: admin };
    return ok(host.run(join(root, program), [...args, ...dir, ...more], { env, timeoutMs: 180_000 }));
  };
  const start = (host: Host) =>
    host === first
      ? page(first, 'bin/orch up', '--runtime', 'simulated', '--node-ip', first.address)
      : orch(host, 'join', '--detach');
  const joins = (host: Host, line: string, runtime: string) => {
    const own = ['--detach', '--runtime', runtime, '--node-ip', host.address, '--node-name', names.get(host) ?? ''];
    return orch(host, ...line.trim().split(' ').slice(1), ...own);
  };
  const kill = async (host: Host) => {
    const { run } = layoutOf(dirOf(host));
    for (const program of ['orch', 'etcd'])
      process.kill(readIdentity(join(run, `${program}.pid`))?.pid ?? 0, 'SIGKILL');
  };
  let load: Running | undefined;
  t.teardown(async () => {
    await load?.stop();
    for (const host of network.hosts) host.reconnect();
    for (const host of [worker, third, second, first])
      if (existsSync(layoutOf(dirOf(host)).settings))
        await host.run(bin('orch'), ['down', '--delete', ...dirArgs(host)], { timeoutMs: 180_000 });
    for (const folder of folders.values()) rmSync(folder, { recursive: true, force: true });
    network.destroy();
  });
  const reports = () =>
    (load?.stdout ?? '')
      .trim()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as LoadReport);
  const report = async (): Promise<LoadReport> => {
    const before = reports().length;
    load?.write('\n');
    return eventually('the load reports', async () => reports()[before]);
  };
  const longest: string[] = [];
  /** Writes go on after what happens, and the longest wait for one is printed. */
  const goesOn = async (what: string, happens: () => Promise<void> | void): Promise<void> => {
    const { acknowledged } = await report();
    await happens();
    let longestMs = 0;
    // The first that comes after it may have been on its way before.
    await eventually(
      `writes go on: ${what}`,
      async () => {
        const now = await report();
        longestMs = Math.max(longestMs, now.longestMs);
        return now.acknowledged >= acknowledged + someWrites;
      },
      2 * refusalMs,
    );
    longest.push(`${what}: ${longestMs} ms`);
  };

  await page(first, 'bin/orch up', '--runtime', 'simulated', '--node-ip', first.address);
  const nodeLine = await ok(ctl(['token', 'create', '--print-join-command']));
  await joins(worker, nodeLine, 'containerd');
  const config = readFileSync(layoutOf(dirOf(worker)).componentConfig('node-worker-a'), 'utf8');
  const way = parseKubeconfig(config).clusters[0]?.cluster.server ?? '';
  const loadConfig = join(dirOf(worker), 'load.config');
  writeFileSync(loadConfig, readFileSync(admin), { mode: 0o600 });
  pointAt(loadConfig, way);
  const [program, args] = worker.command(process.execPath, [join(root, 'dist/test/e2e/write-load.js'), loadConfig]);
  load = new Running(program, args, {});
  const manifest = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'stays' },
    spec: { nodeName: 'worker-a', containers: [{ name: 'main', image: busybox, command: ['sh', '-c', sleeper] }] },
  };
  await ok(ctl(['create', '-f', '-'], JSON.stringify(manifest)));

  await t.test('servers join under load', async (t) => {
    let line = '';
    await goesOn('the cluster is opened to servers', async () => {
      line = await page(first, 'bin/orch token create');
    });
    t.match(line, `orch join https://${first.address}:6443 --token `);
    const [, id = ''] = /--token (\w{6})\./.exec(line) ?? [];
    const secret = JSON.parse(
      await ok(ctl(['get', 'secret', `server-invitation-${id}`, '-n', orchDialect.namespaces.system, '-o', 'json'])),
    ) as Secret;
    const sealed = Buffer.from(secret.data?.['sealed'] ?? '', 'base64').toString();
    t.notMatch(Buffer.from(sealed, 'base64').toString('latin1'), /PRIVATE|BEGIN/, 'no key can be read');
    const [, nodeToken = ''] = /--token (\S+)/.exec(nodeLine) ?? [];
    const asNode = join(dirOf(first), 'node-token.config');
    const ca = readFileSync(join(layoutOf(dirOf(first)).pki, 'ca.crt'));
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
      await goesOn(`${name} is killed`, () => kill(host));
      await goesOn(`${name} comes back`, async () => void (await start(host)));
    });
  }
  for (const host of servers) {
    const name = names.get(host) ?? 'the first';
    await t.test(`${name} is cut off`, async () => {
      await goesOn(`${name} is cut off`, () => host.cutOff());
      await goesOn(`${name} is there again`, async () => {
        host.reconnect();
        const own = { env: { KUBECONFIG: layoutOf(dirOf(host)).clientConfig } };
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
        t.match(await orch(host, 'upgrade', '--backup=false'), /Nothing is in the way\.\n[\s\S]*Done\./);
      });
    });
  }

  await t.test('nothing is lost, and no container started again', async (t) => {
    load?.end();
    const code = await load?.exited;
    const last = reports().at(-1);
    t.equal(code, 0, 'the load ends well', { stderr: load?.stderr });
    t.same(last?.lost, []);
    const pod = JSON.parse(await ok(ctl(['get', 'pod', 'stays', '-o', 'json']))) as Pod;
    t.match(pod.status, { phase: 'Running', containerStatuses: [{ restartCount: 0 }] });
    t.comment(`${last?.acknowledged} writes acknowledged, ${last?.unanswered} tried again`);
    for (const each of longest) t.comment(`longest wait for a write: ${each}`);
  });

  await t.test('servers are taken out', async (t) => {
    await kill(third);
    await page(first, 'bin/orch etcd remove-member');
    await page(first, 'bin/orchctl delete node');
    await page(second, 'bin/orch leave');
    t.notOk(existsSync(dirOf(second)), 'nothing is left on its disk');
    t.notMatch(await page(first, 'bin/orch etcd members'), /server-/);
    t.notMatch(await page(first, 'bin/orchctl get nodes'), /server-/);
  });
});
