/** Scenarios that check pods in the kernel and the runtime: cgroups, mounts, processes, the OCI configuration. */

import { existsSync } from 'node:fs';
import { open, readdir, readFile, readlink } from 'node:fs/promises';
import { createServer as createHTTP } from 'node:http';
import { type AddressInfo, createServer as createTCP, type Server } from 'node:net';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { pino } from 'pino';
import type { Test } from 'tap';
import { events, pods } from '#api/core/v1/resources.gen.js';
import type { Container, Probe } from '#api/core/v1/types.gen.js';
import { runtimeclasses } from '#api/node/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { ContainerdFixture } from '#containerd/testing/containerd-fixture.js';
import { KernelView } from '#containerd/testing/kernel-view.js';
import { DiskLogFiles } from '#nodeagent/logs/disk-log-files.js';
import { LogRotator } from '#nodeagent/logs/rotator.js';
import { cgroupVersion } from '#nodeagent/node/prerequisites.js';
import { serveHealth } from '#nodeagent/testing/health-server.js';
import type { Scenario, World } from '#nodeagent/testing/scenarios.js';

/** Listens on loopback until the test ends, and resolves with the port. */
async function listen(t: Test, server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

const mi = 2 ** 20;

export function kernelSituations(fixture: ContainerdFixture, world: World): readonly Scenario[] {
  const kernel = new KernelView(fixture.dir, world);
  const ready = (...names: string[]) =>
    world.until(() => names.every((name) => world.isReady(name)), `${names.join()} are ready`);
  const sleeping = (more: Partial<Container> = {}) => world.shell('exec sleep 1000', more);

  return [
    {
      name: 'QoS classes, pods and containers have cgroups with their limits',
      async run(t) {
        const both = { cpu: '100m', memory: '32Mi' };
        world.run('class-g', { containers: [sleeping({ resources: { requests: both, limits: both } })] });
        const some = { requests: { cpu: '250m', memory: '16Mi' }, limits: { memory: '64Mi' } };
        world.run('class-b', { containers: [sleeping({ resources: some })] });
        world.run('class-e', { containers: [sleeping()] });
        await ready('class-g', 'class-b', 'class-e');
        const unified = (await cgroupVersion()) === 2;
        const shares = unified ? 'cpu.weight' : 'cpu.shares';
        const limit = unified ? 'memory.max' : 'memory.limit_in_bytes';
        const g = `pod${world.uid('class-g')}`;
        const b = `burstable/pod${world.uid('class-b')}`;
        const e = `besteffort/pod${world.uid('class-e')}`;
        const expected = unified ? ['4', '10', '1'] : ['102', '256', '2'];
        t.same(await Promise.all([g, b, e].map((path) => kernel.cgroupFile('cpu', path, shares))), expected);
        t.equal(await kernel.cgroupFile('memory', g, limit), String(32 * mi));
        t.equal(await kernel.cgroupFile('memory', b, limit), String(64 * mi));
        t.equal(await kernel.cgroupFile('pids', e, 'pids.max'), '200');
        t.equal(await kernel.cgroupFile('cpu', 'besteffort', shares), unified ? '1' : '2');
        const sum = Number(await kernel.cgroupFile('cpu', 'burstable', shares));
        t.ok(sum >= (unified ? 10 : 256), `burstable pods share ${sum}`);
        const own = kernel.container('class-b');
        t.equal(await kernel.cgroupFile('memory', `${b}/${own}`, limit), String(64 * mi));
        const pid = await kernel.pid(own);
        const score = Number(await readFile(`/proc/${pid}/oom_score_adj`, 'utf8'));
        t.ok(score >= 3 && score < 1000, `oom_score_adj of a burstable container is ${score}`);
        t.match(await readFile(`/proc/${pid}/cgroup`, 'utf8'), `/${b}/${own}`);
        const enforced = fixture.api.list(events).some((event) => event.reason === 'NodeAllocatableEnforced');
        t.ok(enforced, 'all pods are limited to the allocatable resources');
      },
    },
    {
      name: 'procMount, privilege escalation and SELinux options apply to the container',
      async run(t) {
        world.run('masked', { containers: [sleeping()] });
        world.run('unmasked', {
          securityContext: { seLinuxOptions: { level: 's0:c1,c2', type: 'container_t' } },
          containers: [sleeping({ securityContext: { procMount: 'Unmasked', allowPrivilegeEscalation: false } })],
        });
        await ready('masked', 'unmasked');
        const of = async (pod: string) => {
          const { process, linux } = (await kernel.view(kernel.container(pod))).Spec;
          const mounts = await readFile(`/proc/${await kernel.pid(kernel.container(pod))}/mounts`, 'utf8');
          return { process, linux, mounts };
        };
        const [masked, unmasked] = await Promise.all([of('masked'), of('unmasked')]);
        t.ok(masked.linux.maskedPaths?.includes('/proc/kcore'));
        t.ok(masked.linux.readonlyPaths?.includes('/proc/sys'));
        const mountedIn = (mounts: string) => masked.linux.maskedPaths?.filter((path) => mounts.includes(` ${path} `));
        t.same(
          mountedIn(masked.mounts),
          masked.linux.maskedPaths?.filter((path) => existsSync(path)),
        );
        t.match(masked.mounts, /^\S+ \/proc\/sys proc ro/m);
        t.same([unmasked.linux.maskedPaths ?? [], unmasked.linux.readonlyPaths ?? []], [[], []]);
        t.same(mountedIn(unmasked.mounts), []);
        t.ok(unmasked.process.noNewPrivileges);
        t.notOk(masked.process.noNewPrivileges);
        const { selinux_options } = await kernel.securityContext(kernel.container('unmasked'));
        t.match(selinux_options, { level: 's0:c1,c2', type: 'container_t' }, 'SELinux options reach the runtime');
      },
    },
    {
      name: 'the DNS policy determines the resolver configuration',
      async run(t) {
        const containers = [world.shell('cat /etc/resolv.conf; exit 7')];
        const options = [{ name: 'ndots', value: '2' }];
        const [cluster, host, none] = await Promise.all([
          world.outputOf('dns-cluster', { dnsPolicy: 'ClusterFirst', dnsConfig: { options }, containers }),
          world.outputOf('dns-host', { dnsPolicy: 'Default', containers }),
          world.outputOf('dns-none', { dnsPolicy: 'None', dnsConfig: { nameservers: ['192.0.2.1'] }, containers }),
        ]);
        t.match(cluster, /^nameserver 192\.0\.2\.10$/m);
        t.match(cluster, /^search default\.svc\.cluster\.local svc\.cluster\.local cluster\.local/m);
        t.match(cluster, /^options .*ndots:2\b/m);
        const servers = (text: string) => [...text.matchAll(/^nameserver\s+(\S+)/gm)].map(([, each]) => each);
        t.same(servers(host), servers(await readFile('/etc/resolv.conf', 'utf8')).slice(0, 3));
        t.same(servers(none), ['192.0.2.1']);
      },
    },
    {
      name: 'handler and overhead of a runtime class and sysctls of a pod apply',
      async run(t) {
        world.api.seed(runtimeclasses, { metadata: { name: 'plain' }, handler: 'runc' });
        const amount = { cpu: '200m', memory: '40Mi' };
        world.run('classed', {
          ...{ runtimeClassName: 'plain', overhead: { cpu: '50m', memory: '24Mi' } },
          securityContext: { sysctls: [{ name: 'kernel.shm_rmid_forced', value: '1' }] },
          containers: [sleeping({ resources: { requests: amount, limits: amount } })],
        });
        await ready('classed');
        const { Spec, Runtime } = await kernel.view(await kernel.sandbox('classed'));
        t.match(Runtime.Name, /runc/);
        t.equal(Spec.linux.sysctl?.['kernel.shm_rmid_forced'], '1');
        const containerId = kernel.container('classed');
        const cmd = ['cat', '/proc/sys/kernel/shm_rmid_forced'];
        t.equal((await world.cri.execSync({ containerId, cmd, timeoutSeconds: 60 })).stdout.toString(), '1\n');
        const limit = (await cgroupVersion()) === 2 ? 'memory.max' : 'memory.limit_in_bytes';
        const path = `pod${world.uid('classed')}`;
        t.equal(await kernel.cgroupFile('memory', path, limit), String(64 * mi), 'the overhead counts');
        // containerd before 1.6 has no such annotation.
        const specMemory = Spec.annotations['io.kubernetes.cri.sandbox-memory'];
        if (specMemory !== undefined) t.equal(specMemory, String(40 * mi));
      },
    },
    {
      name: 'an ephemeral container sees the processes of its target',
      async run(t) {
        world.run('target', { containers: [sleeping()] });
        await ready('target');
        world.api.change(pods, 'default/target', ({ spec }) => {
          spec.ephemeralContainers = [{ ...copyJson(sleeping({ name: 'debug' })), targetContainerName: 'main' }];
        });
        const debug = () => world.status('target')?.ephemeralContainerStatuses?.[0]?.state?.running;
        await world.until(() => debug() !== undefined, 'the ephemeral container runs');
        const namespace = async (name: string) =>
          readlink(`/proc/${await kernel.pid(kernel.container('target', name))}/ns/pid`);
        t.equal(await namespace('debug'), await namespace('main'));
      },
    },
    {
      name: 'HTTP, TCP and gRPC probes determine readiness',
      async run(t) {
        const http = await listen(
          t,
          createHTTP((request, response) => {
            const isRight = request.url === '/ready' && request.headers['x-probe'] === 'yes';
            response.writeHead(isRight ? 200 : 500).end();
          }),
        );
        const tcp = await listen(
          t,
          createTCP((socket) => socket.end()),
        );
        const grpc = await serveHealth(t, { good: 1, bad: 2 });
        const httpHeaders = [{ name: 'X-Probe', value: 'yes' }];
        const probes: Record<string, Probe> = {
          'probe-http': { httpGet: { path: '/ready', port: http, httpHeaders } },
          'probe-tcp': { tcpSocket: { port: tcp } },
          'probe-grpc': { grpc: { port: grpc, service: 'good' } },
          'bad-http': { httpGet: { path: '/other', port: http, httpHeaders } },
          'bad-tcp': { tcpSocket: { port: 1 } },
          'bad-grpc': { grpc: { port: grpc, service: 'bad' } },
        };
        for (const [name, probe] of Object.entries(probes)) {
          const readinessProbe = { ...probe, periodSeconds: 1, timeoutSeconds: 5, failureThreshold: 1 };
          world.run(name, { hostNetwork: true, containers: [sleeping({ readinessProbe })] });
        }
        await ready('probe-http', 'probe-tcp', 'probe-grpc');
        const unhealthy = (name: string) => world.eventMessages(name, 'Unhealthy')[0] ?? '';
        const bad = ['bad-http', 'bad-tcp', 'bad-grpc'];
        await world.until(() => bad.every((name) => unhealthy(name) !== ''), 'the others fail');
        t.equal(unhealthy('bad-http'), 'Readiness probe failed: HTTP probe failed with statuscode: 500');
        t.equal(unhealthy('bad-tcp'), 'Readiness probe failed: dial tcp 127.0.0.1:1: connect: connection refused');
        t.equal(unhealthy('bad-grpc'), 'Readiness probe failed: service unhealthy (responded with "NOT_SERVING")');
        for (const name of bad) t.notOk(world.isReady(name), name);
      },
    },
    {
      name: 'the preStop hook runs before SIGTERM, both within the grace period',
      async run(t) {
        const script = "trap 'echo signal; exit 0' TERM; echo up; while :; do sleep 0.1; done";
        const lifecycle = { preStop: { exec: { command: ['sh', '-c', 'echo hook > /proc/1/fd/1'] } } };
        world.run('polite', { containers: [world.shell(script, { lifecycle })] });
        await ready('polite');
        // The file is deleted with the pod, but stays readable through this descriptor.
        const log = await open(join(kernel.logDirectory('polite'), '0.log'));
        t.teardown(() => log.close());
        await world.until(
          async () => (await readFile(join(kernel.logDirectory('polite'), '0.log'), 'utf8')).includes('up'),
          'the container runs',
        );
        const uid = world.uid('polite');
        await world.delete('polite', 600);
        await world.untilGone('polite', uid);
        const lines = (await log.readFile('utf8')).trim().split('\n');
        t.same(
          lines.map((line) => line.split(' ').at(-1)),
          ['up', 'hook', 'signal'],
        );
        t.same(world.eventMessages('polite', 'FailedPreStopHook'), []);
      },
    },
    {
      name: 'a log is rotated while it grows, and old files are compressed',
      async run(t) {
        world.run('talking', {
          containers: [world.shell('i=0; while :; do i=$((i+1)); echo line $i; sleep 0.02; done')],
        });
        await ready('talking');
        const status = await world.cri.containerStatus(kernel.container('talking'));
        const containers = [{ ...status, podSandboxId: '' }];
        const talking = { uid: world.uid('talking'), name: 'talking', namespace: 'default', sandboxes: [], containers };
        const folder = kernel.logDirectory('talking');
        const file = join(folder, '0.log');
        let now = realClock.now();
        const rotator = new LogRotator({
          cri: world.cri,
          files: new DiskLogFiles(),
          clock: { ...realClock, now: () => now },
          log: pino({ level: 'silent' }),
          pods: () => [talking],
          ...{ maxBytes: 100, maxFiles: 3 },
        });
        const grown = () => world.until(async () => (await readFile(file, 'utf8')).length > 100, 'the log has grown');
        for (let i = 0; i < 3; i++) {
          await grown();
          await rotator.rotateAll();
          now += 1000;
        }
        await grown();
        const names = (await readdir(folder)).sort();
        t.equal(names.length, 3, names.join());
        const packed = names.filter((name) => name.endsWith('.gz'));
        t.equal(packed.length, 1, names.join());
        const numbers = (text: string) => [...text.matchAll(/line (\d+)$/gm)].map(([, each]) => Number(each));
        const rotated = names.find((name) => name !== '0.log' && !name.endsWith('.gz')) ?? '';
        const all = [
          ...numbers(gunzipSync(await readFile(join(folder, packed[0] ?? ''))).toString()),
          ...numbers(await readFile(join(folder, rotated), 'utf8')),
          ...numbers(await readFile(file, 'utf8')),
        ];
        const first = all[0] ?? 0;
        t.same(
          all,
          all.map((_, i) => first + i),
          'no line is lost or repeated',
        );
      },
    },
    {
      name: 'downwardAPI files contain values of the pod and follow its changes',
      async run(t) {
        const items = [
          { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
          { path: 'cpu', resourceFieldRef: { containerName: 'main', resource: 'limits.cpu', divisor: '1m' } },
          {
            path: 'memory',
            mode: 0o400,
            resourceFieldRef: { containerName: 'main', resource: 'limits.memory', divisor: '1Ki' },
          },
        ];
        world.run('described', {
          volumes: [{ name: 'info', downwardAPI: { items } }],
          containers: [
            sleeping({
              resources: { limits: { cpu: '300m', memory: '48Mi' } },
              volumeMounts: [{ name: 'info', mountPath: '/info' }],
            }),
          ],
        });
        await ready('described');
        const root = `/proc/${await kernel.pid(kernel.container('described'))}/root/info`;
        const text = (name: string) => readFile(join(root, name), 'utf8');
        t.same(await Promise.all(['labels', 'cpu', 'memory'].map(text)), ['', '300', String(48 * 1024)]);
        world.api.change(pods, 'default/described', ({ metadata }) => {
          metadata.labels = { tier: 'back' };
        });
        await world.until(async () => (await text('labels')) === 'tier="back"', 'the file has changed');
      },
    },
  ];
}
