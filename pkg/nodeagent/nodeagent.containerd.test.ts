import { once } from 'node:events';
import { mkdir, readdir, readFile, statfs, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import t, { type Test } from 'tap';
import {
  configmaps,
  events,
  persistentvolumeclaims,
  persistentvolumes,
  pods,
  secrets,
} from '#api/core/v1/resources.gen.js';
import type { PodSpec } from '#api/core/v1/types.gen.js';
import { runtimeclasses } from '#api/node/v1/resources.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { containerdPaths } from '#containerd/containerd.js';
import {
  type ContainerdFixture,
  containerdFixture,
  skipWithoutContainers,
} from '#containerd/testing/containerd-fixture.js';
import { cgroupVersion } from '#nodeagent/node/prerequisites.js';
import { RuntimeLabels } from '#nodeagent/runtime/labels.js';
import { CgroupReader } from '#nodeagent/stats/cgroup-usage.js';
import { diskUsage } from '#nodeagent/stats/disk-usage.js';
import { eventually, testPod } from '#nodeagent/testing/agent-fixture.js';
import { openPortForward, webSocketSession } from '#nodeagent/testing/web-socket-session.js';

interface Summary {
  pods: {
    podRef: { name: string };
    containers: { startTime: string; cpu: { time: string }; memory: { time: string }; rootfs: { time: string } }[];
  }[];
}

/** Returns the body of an agent endpoint. */
async function read(port: number, path: string): Promise<string> {
  const call = request({ host: '127.0.0.1', port, path, rejectUnauthorized: false, agent: false });
  call.end();
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  return text(response);
}

/** Compares the summary of pod `web` with its cgroup files, its volumes and its log. */
async function summaryOfWeb(t: Test, { dir, agent, cri }: ContainerdFixture, uid: string): Promise<void> {
  const readSummary = async (query = '') => JSON.parse(await read(agent().agent.port, `/stats/summary${query}`));
  const before = await readSummary();
  const [sandbox] = await cri.listPodSandbox();
  const version = await cgroupVersion();
  const cgroup = `${containerdPaths(dir).cgroupRoot}/orchpods/pod${uid}`;
  const cgroups = new CgroupReader({ mountPoint: '/sys/fs/cgroup', version });
  const kernel = await cgroups.usage(cgroup);
  const after = await readSummary();
  const podOf = (summary: typeof before) =>
    summary.pods.find((each: { podRef: { uid: string } }) => each.podRef.uid === uid);
  const [older, newer] = [podOf(before), podOf(after)];
  const nanoSeconds = (kernel?.cpu.totalSeconds ?? 0) * 1e9;
  t.ok(sandbox !== undefined && nanoSeconds > 0);
  t.ok(older.cpu.usageCoreNanoSeconds <= nanoSeconds + 1, `${older.cpu.usageCoreNanoSeconds} then ${nanoSeconds}`);
  t.ok(newer.cpu.usageCoreNanoSeconds >= nanoSeconds - 1, `${nanoSeconds} then ${newer.cpu.usageCoreNanoSeconds}`);
  const { memory } = newer.containers[0];
  t.equal(memory.availableBytes + memory.workingSetBytes, 64 << 20, 'the rest of the limit is available');
  const running = [
    sandbox?.id ?? '',
    ...(await cri.listContainers({ state: 'CONTAINER_RUNNING' })).map(({ id }) => id),
  ];
  // Probes start and end processes between the two reads.
  await eventually(async () => {
    const inside = await Promise.all(running.map((id) => cgroups.processes(`${cgroup}/${id}`)));
    return podOf(await readSummary()).process_stats.process_count === inside.flat().length;
  }, 'the summary counts the processes that the kernel has');
  const page = () => read(agent().agent.port, '/metrics/cadvisor');
  await cadvisorOfWeb(t, page, cgroups, [cgroup, ...running.map((id) => `${cgroup}/${id}`)]);
  t.match(newer.network, { name: 'eth0', interfaces: [{ name: 'eth0' }] });
  t.ok(newer.network.rxBytes > 0);
  t.same(newer.volume.map(({ name }: { name: string }) => name).sort(), ['cfg', 'data', 'sec']);
  const data = newer.volume.find(({ name }: { name: string }) => name === 'data');
  const onDisk = await diskUsage([join(dir, 'agent', 'pods', uid, 'volumes', 'orch.io~empty-dir', 'data')]);
  t.same([{ usedBytes: data.usedBytes, inodesUsed: data.inodesUsed }], [...onDisk.values()]);
  t.ok(newer.containers[0].logs.usedBytes > 0);
  t.ok(newer['ephemeral-storage'].usedBytes >= data.usedBytes + newer.containers[0].logs.usedBytes);
  const { bsize, blocks } = await statfs('/');
  t.equal(after.node.fs.capacityBytes, bsize * blocks);
  t.ok(after.node.rlimit.curproc > 0 && after.node.rlimit.maxpid > after.node.rlimit.curproc);
  // The runtime measures its images every ten seconds, so usage may still be 0.
  t.ok(after.node.runtime.imageFs.capacityBytes > 0);
  const small = await readSummary('?only_cpu_and_memory=true');
  t.same(Object.keys(small.node).sort(), ['cpu', 'memory', 'nodeName', 'startTime', 'systemContainers']);
  const ofPods = small.node.systemContainers.find(({ name }: { name: string }) => name === 'pods');
  // Equal if the only pod has been idle since: the kernel's value was converted to seconds and lost a fraction.
  const ofAll = ofPods.cpu.usageCoreNanoSeconds;
  t.ok(ofAll >= nanoSeconds - 1, `all pods have used what one of them has: ${ofAll}, ${nanoSeconds}`);
  t.ok(ofPods.memory.usageBytes > 0);
  t.same(Object.keys(podOf(small)).sort(), ['containers', 'cpu', 'memory', 'podRef', 'startTime']);
}

/** The kernel's values of a cgroup, by their names in `/metrics/cadvisor`. */
async function kernelFigures(cgroups: CgroupReader, path: string): Promise<Record<string, number>> {
  const [usage, processes, devices] = await Promise.all([
    cgroups.usage(path),
    cgroups.processes(path),
    cgroups.devices(path),
  ]);
  const limits = await readFile(`/proc/${processes[0]}/limits`, 'utf8').catch(() => '');
  const files = await Promise.all(processes.map((each) => readdir(`/proc/${each}/fd`).catch(() => [])));
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  const all: Record<string, number | undefined> = {
    container_processes: processes.length,
    container_threads: usage?.threads,
    container_threads_max: usage?.maxThreads ?? 0,
    container_file_descriptors: files.flat().length,
    container_spec_memory_limit_bytes: usage?.limits.memoryBytes ?? 0,
    container_spec_memory_swap_limit_bytes: usage?.limits.memorySwapBytes ?? 0,
    container_oom_events_total: usage?.memory.oomKills,
    container_ulimits_soft: soft === undefined ? undefined : Number(soft),
  };
  for (const { device, bytes, operations } of devices) {
    all[`container_fs_reads_bytes_total ${device}`] = bytes['Read'];
    all[`container_fs_writes_total ${device}`] = operations['Write'];
  }
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

/** Compares the page with the kernel at a moment when no process of the pod starts or ends. */
async function cadvisorOfWeb(
  t: Test,
  readPage: () => Promise<string>,
  cgroups: CgroupReader,
  paths: readonly string[],
) {
  let kernel: Record<string, number>[] = [];
  let page: typeof kernel = [];
  const agree = async () => {
    kernel = await Promise.all(paths.map((path) => kernelFigures(cgroups, path)));
    const lines = (await readPage()).split('\n');
    page = paths.map((path, index) => {
      const entries = Object.keys(kernel[index] ?? {}).map((key) => {
        const [name, device] = key.split(' ');
        const isOf = (line: string) => line.startsWith(`${name}{`) && line.includes(`id="${path}"`);
        const line = lines.find((each) => isOf(each) && (device === undefined || each.includes(`device="${device}"`)));
        return [key, Number(/\} (\S+) \d+$/.exec(line ?? '')?.[1])] as const;
      });
      return Object.fromEntries(entries);
    });
    return isDeepStrictEqual(page, kernel);
  };
  // Remaining differences are reported below.
  await eventually(agree).catch(() => undefined);
  t.same(page, kernel);
}

const skip = await skipWithoutContainers();
t.setTimeout(180_000);

t.test('an agent on containerd', { skip }, async (t) => {
  const fixture = await containerdFixture(t);
  const { dir, cri, api, images, podPrefix, status, isReady } = fixture;

  await t.test('a pod with volumes, variables and probes runs and is removed', async (t) => {
    api.seed(configmaps, { metadata: { name: 'cfg', namespace: 'default' }, data: { greeting: 'hello' } });
    api.seed(secrets, {
      metadata: { name: 'sec', namespace: 'default' },
      data: { token: Buffer.from('s3cret').toString('base64') },
    });
    const script =
      'cat /cfg/greeting /sec/token; echo; echo $GREETING $POD_IP; mount | grep /sec | wc -l; echo done > /dev/termination-log; exec /bin/web';
    api.seed(
      pods,
      testPod('web', {
        initContainers: [
          {
            name: 'init',
            image: images.busybox,
            resources: { limits: { memory: '64Mi', cpu: '200m' }, requests: { memory: '64Mi', cpu: '200m' } },
            command: ['sh', '-c', 'echo created > /data/file'],
            volumeMounts: [{ name: 'data', mountPath: '/data' }],
          },
        ],
        containers: [
          {
            name: 'main',
            image: images.web,
            imagePullPolicy: 'IfNotPresent',
            command: ['sh', '-c', script],
            env: [
              { name: 'GREETING', valueFrom: { configMapKeyRef: { name: 'cfg', key: 'greeting' } } },
              { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
            ],
            ports: [{ name: 'http', containerPort: 8080 }],
            readinessProbe: { httpGet: { path: '/', port: 'http' }, periodSeconds: 1 },
            livenessProbe: { exec: { command: ['cat', '/data/file'] }, periodSeconds: 1 },
            resources: { limits: { memory: '64Mi', cpu: '200m' }, requests: { memory: '64Mi', cpu: '200m' } },
            volumeMounts: [
              { name: 'data', mountPath: '/data' },
              { name: 'cfg', mountPath: '/cfg' },
              { name: 'sec', mountPath: '/sec' },
            ],
          },
        ],
        volumes: [
          { name: 'data', emptyDir: {} },
          { name: 'cfg', configMap: { name: 'cfg' } },
          { name: 'sec', secret: { secretName: 'sec' } },
        ],
      }),
    );
    await eventually(() => isReady('web'), 'the pod is ready').catch((error) => {
      throw new Error(fixture.describe('web'), { cause: error });
    });
    const podStatus = status('web');
    t.match(podStatus, { phase: 'Running', hostIP: '127.0.0.1', qosClass: 'Guaranteed' });
    t.ok(podStatus?.podIP?.startsWith(podPrefix), `the address ${podStatus?.podIP} is in the node's range`);
    const [pod] = api.list(pods);
    const uid = pod?.metadata.uid ?? '';
    const logFile = join(dir, 'logs', `default_web_${uid}`, 'main', '0.log');
    const logged = await readFile(logFile, 'utf8');
    t.match(logged, /stdout F hellos3cret\n/);
    t.match(logged, new RegExp(`hello ${podStatus?.podIP}\n`));
    const used = await read(fixture.agent().agent.port, '/metrics/cadvisor');
    const main =
      '\\{container="main",id="/.*/pod[^"]+/[0-9a-f]{64}",.*,name="[0-9a-f]{64}",namespace="default",pod="web"';
    t.match(used, new RegExp(`^container_cpu_usage_seconds_total${main},cpu="total"\\} 0\\.\\d+ \\d{13}$`, 'm'));
    t.match(used, new RegExp(`^container_memory_working_set_bytes${main}\\} [1-9]\\d+ \\d{13}$`, 'm'));
    t.match(used, new RegExp(`^container_spec_memory_limit_bytes${main}\\} ${64 << 20} \\d{13}$`, 'm'));
    t.match(used, new RegExp(`^container_cpu_cfs_periods_total${main}\\} \\d+ \\d{13}$`, 'm'));
    t.match(used, /^container_network_receive_bytes_total\{container="",.*pod="web",interface="eth0"\} [1-9]/m);
    t.match(used, /^machine_memory_bytes\{boot_id="[^"]+",.*\} [1-9]/m);
    await t.test('the summary agrees with the kernel', (t) => summaryOfWeb(t, fixture, uid));
    const resources = await read(fixture.agent().agent.port, '/metrics/resource');
    t.match(resources, /^node_cpu_usage_seconds_total [1-9]/m);
    t.match(resources, /^pod_cpu_usage_seconds_total\{namespace="default",pod="web"\} 0\.\d+ /m);
    api.change(configmaps, 'default/cfg', (object) => {
      object.data = { greeting: 'changed' };
    });
    const containerId = podStatus?.containerStatuses?.[0]?.containerID?.split('//')[1] ?? '';
    await eventually(async () => {
      const { stdout } = await cri.execSync({ containerId, cmd: ['cat', '/cfg/greeting'], timeoutSeconds: 5 });
      return stdout.toString() === 'changed';
    }, 'the changed file is seen');

    await fixture.restartAgent();
    await eventually(() => isReady('web'), 'the pod is ready after a restart of the agent');
    t.equal((await cri.listContainers({ state: 'CONTAINER_RUNNING' })).length, 1, 'nothing runs twice');
    t.equal(status('web')?.containerStatuses?.[0]?.restartCount, 0);

    await fixture.remove('web', 10);
    t.same(await cri.listPodSandbox(), []);
    t.same(await cri.listContainers(), []);
    t.same(await readdir(join(dir, 'agent', 'pods')), []);
    t.same(await readdir(join(dir, 'logs')), []);
  });

  await t.test("a pod on the host's network starts once, and DNS options are applied", async (t) => {
    const script = 'cat /etc/resolv.conf /etc/hosts; hostname; exec sleep 1000';
    api.seed(
      pods,
      testPod('host', {
        hostNetwork: true,
        dnsPolicy: 'None',
        dnsConfig: {
          nameservers: ['192.0.2.53'],
          searches: ['example.test'],
          options: [{ name: 'ndots', value: '3' }, { name: 'rotate' }],
        },
        containers: [{ name: 'main', image: images.busybox, command: ['sh', '-c', script] }],
      }),
    );
    await eventually(() => isReady('host'), 'the pod is ready');
    t.equal(status('host')?.podIP, '127.0.0.1');
    const uid = api.get(pods, 'default/host')?.metadata.uid ?? '';
    const logFile = join(dir, 'logs', `default_host_${uid}`, 'main', '0.log');
    const output = async () => (await readFile(logFile, 'utf8')).replaceAll(/^\S+ stdout F /gm, '');
    await eventually(async () => (await output()).includes(`${hostname()}\n`), 'the container has said all');
    t.match(await output(), /^options ndots:3 rotate$/m);
    t.match(await output(), /^# Orch-managed hosts file \(host network\)\.$/m);
    t.equal((await cri.listPodSandbox({ labelSelector: { [new RuntimeLabels(orchDialect).podUID]: uid } })).length, 1);
    await fixture.remove('host');
  });

  await t.test("claims, disks and memory volumes in containers match the kernel's mounts", async (t) => {
    const disk = join(dir, 'disk');
    await mkdir(join(disk, 'part'), { recursive: true });
    await writeFile(join(disk, 'part', 'file'), 'kept', { mode: 0o600 });
    const claim = { metadata: { name: 'disk', namespace: 'default', uid: 'uid-of-claim' } };
    api.seed(persistentvolumeclaims, { ...claim, spec: { volumeName: 'pv' }, status: { phase: 'Pending' } });
    api.seed(persistentvolumes, {
      metadata: { name: 'pv', annotations: { 'pv.beta.orch.io/gid': '4321' } },
      spec: { local: { path: disk }, claimRef: { uid: 'uid-of-claim' } },
    });
    const at = (name: string, more: object = {}) => ({ name, mountPath: `/${name}`, ...more });
    const script = 'id -G; stat -c "%n %g %a" /disk /disk/part/file /mem; exec sleep 1000';
    const claimed = (readOnly: boolean) => ({ persistentVolumeClaim: { claimName: 'disk', readOnly } });
    api.seed(
      pods,
      testPod('claims', {
        terminationGracePeriodSeconds: 1,
        securityContext: { fsGroup: 1234, fsGroupChangePolicy: 'OnRootMismatch' },
        containers: [
          {
            name: 'main',
            image: images.busybox,
            command: ['sh', '-c', script],
            resources: { limits: { memory: '64Mi' } },
            volumeMounts: [at('disk'), at('part', { name: 'disk', subPath: 'part' }), at('seen'), at('mem')],
          },
        ],
        volumes: [
          { name: 'disk', ...claimed(false) },
          { name: 'seen', ...claimed(true) },
          { name: 'mem', emptyDir: { medium: 'Memory' } },
          { name: 'unused', csi: { driver: 'none' } },
        ],
      }),
    );
    const eventsOfClaims = () => api.list(events).filter(({ involvedObject }) => involvedObject.name === 'claims');
    await eventually(() => eventsOfClaims().some(({ reason }) => reason === 'FailedMount'), 'the claim is not bound');
    t.match(
      eventsOfClaims().find(({ reason }) => reason === 'FailedMount')?.message,
      'Unable to attach or mount volumes: unmounted volumes=[disk seen], unattached volumes=[disk seen mem]: error processing PVC default/disk: PVC is not bound',
    );
    api.change(persistentvolumeclaims, 'default/disk', (object) => {
      object.status = { phase: 'Bound' };
    });
    await eventually(() => isReady('claims'), 'the pod is ready').catch((error) => {
      throw new Error(fixture.describe('claims'), { cause: error });
    });
    const uid = api.get(pods, 'default/claims')?.metadata.uid ?? '';
    const logFile = join(dir, 'logs', `default_claims_${uid}`, 'main', '0.log');
    const output = async () => (await readFile(logFile, 'utf8')).replaceAll(/^\S+ stdout F /gm, '');
    await eventually(async () => (await output()).includes('/mem '), 'the container has said all');
    t.match(await output(), /^0( \d+)* 1234 4321$|^0( \d+)* 4321 1234$/m);
    t.match(await output(), /^\/disk 1234 2775\n\/disk\/part\/file 1234 660\n\/mem 1234 3777$/m);
    const processes = await readdir('/proc');
    const tables = await Promise.all(
      processes
        .filter((each) => /^\d+$/.test(each))
        .map((each) => readFile(`/proc/${each}/mountinfo`, 'utf8').catch(() => '')),
    );
    const table = tables.find((each) => each.includes(' /seen ') && each.includes(' /part ')) ?? '';
    const mounted = (path: string) => table.split('\n').find((line) => line.split(' ')[4] === path) ?? '';
    t.match(mounted('/disk'), / rw,/);
    t.match(mounted('/seen'), / ro,/);
    t.ok(mounted('/part').split(' ')[3]?.endsWith('/disk/part'), mounted('/part'));
    t.match(mounted('/mem'), / - tmpfs tmpfs rw,size=65536k/);

    const summary = JSON.parse(await read(fixture.agent().agent.port, '/stats/summary'));
    const measured = summary.pods.find((each: { podRef: { uid: string } }) => each.podRef.uid === uid)?.volume ?? [];
    t.match(measured.find(({ name }: { name: string }) => name === 'disk')?.pvcRef, { name: 'disk' });

    await fixture.restartAgent();
    await eventually(() => isReady('claims'), 'the pod is ready after a restart of the agent');
    const own = (await readFile('/proc/self/mounts', 'utf8')).split('\n').filter((line) => line.includes(` ${dir}/`));
    t.same(
      own.flatMap((line) => line.split(`/agent/pods/${uid}/`)[1]?.split(' ')[0] ?? []).sort(),
      ['volume-subpaths/disk/main/1', 'volumes/orch.io~empty-dir/mem', 'volumes/orch.io~local-volume/pv'],
      'nothing is mounted twice',
    );
    await fixture.remove('claims');
    t.same(await readdir(join(disk, 'part')), ['file']);
    t.same(await readdir(join(dir, 'agent', 'pods')), []);
  });

  await t.test('available features are granted, and missing ones are rejected with a reason', async (t) => {
    const main = (script: string) => ({ name: 'main', image: images.busybox, command: ['sh', '-c', script] });
    const set = (name: string) => ({ securityContext: { sysctls: [{ name, value: '777' }] } });
    const run = (name: string, spec: Partial<PodSpec>) =>
      api.seed(pods, testPod(name, { restartPolicy: 'Never', ...spec }));
    const container = (name: string) => status(name)?.containerStatuses?.[0];
    const stop = api.intercept(({ subresource, body }) =>
      subresource === 'token' ? { ...(body as object), status: { token: 'secret' } } : undefined,
    );
    t.teardown(stop);
    api.seed(runtimeclasses, { metadata: { name: 'odd' }, handler: 'odd' });
    const show = 'cat /proc/sys/net/core/somaxconn > /dev/termination-log';
    run('tuned', { ...set('net.core.somaxconn'), containers: [main(show)] });
    run('forbidden', { ...set('kernel.msgmax'), containers: [main('true')] });
    run('odd', { runtimeClassName: 'odd', containers: [main('true')] });
    run('reader', {
      securityContext: { runAsUser: 1234 },
      volumes: [
        { name: 'v', projected: { sources: [{ serviceAccountToken: { path: 'token' } }], defaultMode: 0o644 } },
      ],
      containers: [
        {
          ...main('(cat /v/token; echo; ls -lnL /v/token) > /dev/termination-log'),
          volumeMounts: [{ name: 'v', mountPath: '/v' }],
        },
      ],
    });
    const ended = (name: string) => container(name)?.state?.terminated !== undefined;
    await eventually(() => ended('tuned') && ended('reader'), 'they have run');
    t.equal(container('tuned')?.state?.terminated?.message, '777\n');
    t.match(container('reader')?.state?.terminated?.message, /^secret\n-rw-------\s+1 1234 /);
    await eventually(() => status('forbidden')?.phase === 'Failed', 'it is refused');
    t.match(status('forbidden'), { reason: 'SysctlForbidden', message: /"kernel.msgmax" not allowlisted$/ });
    const message = () => {
      const ofPod = api.list(events).filter(({ involvedObject }) => involvedObject.name === 'odd');
      return ofPod.find(({ reason }) => reason === 'FailedCreatePodSandBox')?.message ?? '';
    };
    await eventually(() => message() !== '', 'the runtime has rejected it');
    t.match(message(), /no runtime for "odd" is configured/);
    // Reported for ten seconds, until the next attempt.
    run('broken', { restartPolicy: 'Always', containers: [{ ...main(''), command: ['/nowhere'] }] });
    await eventually(() => container('broken')?.state?.waiting?.reason === 'RunContainerError', 'it cannot run');
    t.match(container('broken')?.state?.waiting?.message, /\/nowhere.*no such file/);
    for (const name of ['tuned', 'forbidden', 'odd', 'broken', 'reader']) await fixture.remove(name, 1);
  });

  await t.test("a terminated container's values have the time of the request", async (t) => {
    const container = { name: 'main', image: images.busybox, command: ['true'] };
    api.seed(pods, testPod('over', { restartPolicy: 'Never', containers: [container] }));
    await eventually(() => status('over')?.phase === 'Succeeded', 'the pod has ended');
    const requestedAt = Date.now() - 1000;
    const summary = JSON.parse(await read(fixture.agent().agent.port, '/stats/summary'));
    const pod = (summary as Summary).pods.find(({ podRef }) => podRef.name === 'over');
    t.equal(pod?.containers.length, 1);
    for (const { startTime, cpu, memory, rootfs } of pod?.containers ?? []) {
      t.ok(Date.parse(startTime) > requestedAt - 60_000, `started ${startTime}`);
      for (const { time } of [cpu, memory, rootfs]) t.ok(Date.parse(time) >= requestedAt - 1000, time);
    }
    await fixture.remove('over');
  });

  await t.test('sessions reach the container', async (t) => {
    api.seed(pods, testPod('shell', { containers: [{ name: 'main', image: images.web, imagePullPolicy: 'Never' }] }));
    await eventually(() => isReady('shell'), 'the pod is ready');
    const base = `wss://127.0.0.1:${fixture.agent().agent.port}`;
    const main = `${base}/exec/default/shell/main`;
    const script = encodeURIComponent('cat; echo err >&2; exit 5');
    const piped = await webSocketSession(
      `${main}?input=1&output=1&error=1&command=sh&command=-c&command=${script}`,
      (socket) => {
        socket.send(Buffer.from('\0hello '));
        socket.send(Buffer.from('\0world'));
        socket.send(Buffer.from([255, 0]));
      },
    );
    t.match(piped, { 1: 'hello world', 2: 'err\n' });
    t.match(JSON.parse(piped[3] ?? ''), { reason: 'NonZeroExitCode', details: { causes: [{ message: '5' }] } });
    const terminal = await webSocketSession(`${main}?input=1&output=1&tty=1&command=sh`, (socket) => {
      socket.send(Buffer.concat([Buffer.from([4]), Buffer.from('{"Width":123,"Height":45}')]));
      // The size travels separately, so it is queried until it arrives.
      const type = setInterval(() => socket.send(Buffer.from('\0stty size\n')), 100);
      socket.once('close', () => clearInterval(type));
      let received = '';
      socket.on('message', (data: Buffer) => {
        received += data.toString('latin1', 1);
        if (!received.includes('45 123\r\n')) return;
        clearInterval(type);
        socket.send(Buffer.from('\0exit 0\n'));
      });
    });
    t.match(terminal[1], /45 123\r\n/);
    const large = encodeURIComponent('dd if=/dev/zero bs=1024 count=5000 2>/dev/null');
    const bytes = await webSocketSession(`${main}?output=1&command=sh&command=-c&command=${large}`);
    t.equal(bytes[1]?.length, 5000 * 1024);

    const { socket, spdy } = await openPortForward(`${base}/portForward/default/shell`);
    spdy.open({ streamtype: 'error', port: '8080', requestid: '0' }).end();
    const data = spdy.open({ streamtype: 'data', port: '8080', requestid: '0' });
    // The input stays open: the runtime only waits one second for a response afterwards.
    data.write('GET / HTTP/1.0\r\n\r\n');
    let page = '';
    for await (const chunk of data) page += String(chunk);
    t.match(page, /200 OK/);
    spdy.close();
    socket.terminate();
  });

  await t.test('the agent reconnects to a restarted runtime, and containers keep running', async (t) => {
    const before = (await cri.listContainers({ state: 'CONTAINER_RUNNING' })).map((container) => container.id);
    await fixture.restartRuntime(() =>
      api.seed(pods, testPod('after', { containers: [{ name: 'main', image: images.web, imagePullPolicy: 'Never' }] })),
    );
    await eventually(() => isReady('after'), 'the new pod is ready');
    const running = (await cri.listContainers({ state: 'CONTAINER_RUNNING' })).map((container) => container.id);
    t.ok(before.every((id) => running.includes(id)));
    t.equal(running.length, before.length + 1);
    t.equal(status('shell')?.containerStatuses?.[0]?.restartCount, 0);
  });

  t.same([...fixture.missingFields.paths], [], 'the description of the runtime interface has every field');
});
