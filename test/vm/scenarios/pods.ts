/** Everything that pods use of a machine with cgroups of version 2 and systemd. */
import { services } from '#api/core/v1/resources.gen.js';
import { namespace, pod, shell, sleeper, statusOf } from '#test/e2e/pods.js';
import { type Lab, nodeName, type Scenario } from '#test/vm/lab.js';

export const pods: Scenario = {
  name: 'pods',
  what: 'pods: limits in cgroups of version 2, out of memory, sessions, services, names, probes, volumes, static pods, figures',
  async run(lab) {
    const { checks, cluster, machine } = lab;
    checks.equal(await machine.sh('stat -f -c %T /sys/fs/cgroup'), 'cgroup2fs', 'the hierarchy is of version 2');
    checks.equal(await machine.sh('cat /proc/1/comm'), 'systemd', 'systemd is process 1');
    await cluster.install('--nodeagent-arg=pod-manifest-path=/etc/manifests');
    checks.equal(await machine.sh('systemctl is-enabled orch.service'), 'enabled', 'the unit is enabled');
    await checks.part('limits of pods', () => limits(lab));
    await checks.part('memory of a container', () => outOfMemory(lab));
    await checks.part('services and sessions', () => servicesAndSessions(lab));
    await checks.part('probes', () => probes(lab));
    await checks.part('volumes', () => volumes(lab));
    await checks.part('static pods', () => staticPods(lab));
    await checks.part('figures', () => figures(lab));
    checks.equal(await machine.sh('systemctl --failed --no-legend'), '', 'no unit has failed');
  },
};

async function limits({ checks, cluster }: Lab): Promise<void> {
  const resources = { requests: { cpu: '100m', memory: '32Mi' }, limits: { cpu: '200m', memory: '64Mi' } };
  const equal = { cpu: '150m', memory: '48Mi' };
  await cluster.create(pod('burstable', [shell(sleeper, { resources })]));
  await cluster.create(pod('guaranteed', [shell(sleeper, { resources: { requests: equal, limits: equal } })]));
  await cluster.create(pod('best-effort', [shell(sleeper)]));
  for (const name of ['burstable', 'guaranteed', 'best-effort']) await cluster.podReady(name);
  const files = ['cpu.weight', 'cpu.max', 'memory.max', '../cpu.weight', '../cpu.max', '../memory.max'];
  const { path, ...burstable } = await cluster.cgroup('burstable', files);
  checks.match(path ?? '', /\/orchpods\/burstable\/pod[0-9a-f-]{36}\//, 'a burstable pod is in its class');
  const expected = { 'cpu.weight': '4', 'cpu.max': '20000 100000', 'memory.max': '67108864' };
  const ofPod = Object.fromEntries(Object.entries(expected).map(([name, value]) => [`../${name}`, value]));
  checks.equal(burstable, { ...expected, ...ofPod }, 'its pod and container have their limits');
  const guaranteed = await cluster.cgroup('guaranteed', ['cpu.max', 'memory.max', '../memory.max']);
  checks.equal(guaranteed['cpu.max'], '15000 100000', 'a guaranteed container has its quota');
  checks.equal(guaranteed['../memory.max'], String(48 * 2 ** 20), 'its pod has its limit of memory');
  const bestEffort = await cluster.cgroup('best-effort', ['cpu.weight', 'memory.max', '../../cpu.weight']);
  checks.equal([bestEffort['cpu.weight'], bestEffort['memory.max']], ['1', 'max'], 'best effort has the least');
  checks.equal(
    await cluster.exec('best-effort', 'cat /proc/self/cgroup'),
    '0::/',
    'a container sees its own cgroup as root',
  );
  const scores = await cluster.exec('guaranteed', 'cat /proc/1/oom_score_adj');
  checks.equal(scores, '-997', 'a guaranteed container is killed last');
}

async function outOfMemory({ checks, cluster }: Lab): Promise<void> {
  const limited = { resources: { limits: { memory: '32Mi' } } };
  // A variable of the shell grows without bounds.
  const grow = 'x=0123456789; while true; do x=$x$x; done';
  await cluster.create(pod('grows', [shell(grow, limited)], { restartPolicy: 'Never' }));
  const ended = await cluster.untilPod('grows', 'ends', ({ status }) => status?.phase === 'Failed');
  const terminated = statusOf(ended)?.state?.terminated;
  checks.equal(
    [terminated?.reason, terminated?.exitCode],
    ['OOMKilled', 137],
    'the kernel ends a container beyond its limit',
  );
  const child = `(${grow}) & wait $!; echo "child $?"; ${sleeper}`;
  await cluster.create(pod('child-grows', [shell(child, limited)]));
  await cluster.podReady('child-grows');
  await cluster.eventually('the child of a container is killed alone', async () => {
    const log = await cluster.ctl('logs', 'child-grows');
    if (!log.includes('child 137')) throw new Error(log);
  });
  checks.equal(
    statusOf(await cluster.get('child-grows'))?.restartCount,
    0,
    'a container survives the end of its child',
  );
}

async function servicesAndSessions({ checks, cluster, machine }: Lab): Promise<void> {
  const web = pod('web', [{ name: 'main', image: 'orch/web:1.0', ports: [{ containerPort: 8080, hostPort: 18080 }] }]);
  await cluster.create({ ...web, metadata: { ...web.metadata, labels: { app: 'web' } } });
  await cluster.client.resource(services).create({
    metadata: { name: 'web', namespace },
    spec: { type: 'NodePort', selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080, nodePort: 30080 }] },
  });
  await cluster.podReady('web');
  const page = 'Hello from web';
  await cluster.eventually('a pod reaches a service by its name', async () => {
    const text = await cluster.exec('best-effort', 'wget -qO- http://web.default.svc.cluster.local');
    if (text !== page) throw new Error(text);
  });
  checks.ok(true, 'a pod reaches a service by its name');
  // bash speaks TCP itself.
  const get = (place: string) =>
    machine.sh(`exec 4<>/dev/tcp/${place}; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&4; timeout 20 cat <&4 | tail -1`);
  checks.equal(await get('10.0.2.15/30080'), page, 'the node serves the port of a service');
  checks.equal(await get('10.0.2.15/18080'), page, 'the node serves the port of a pod');
  checks.match(await machine.sh('nft list tables'), /orch|kube/, 'rules of services are in nftables');
  checks.equal(await cluster.exec('web', 'hostname'), 'web', 'exec');
  checks.match(await cluster.ctl('logs', 'web'), /serving on port 8080/, 'logs');
  const echo = shell('while read line; do echo "got $line"; done', { stdin: true, stdinOnce: true });
  await cluster.create(pod('echo', [echo], { restartPolicy: 'Never' }));
  await cluster.podReady('echo');
  const attached = await cluster.run(['attach', '-i', 'echo'], 60_000, 'hello\n');
  checks.match(attached.stdout, /got hello/, 'attach');
  checks.equal(await cluster.forwarded('web', 8080), page, 'port-forward');
}

async function probes({ checks, cluster }: Lab): Promise<void> {
  const livenessProbe = { exec: { command: ['test', '-e', '/tmp/alive'] }, periodSeconds: 1, failureThreshold: 1 };
  const script = `touch /tmp/alive; sleep 15; rm /tmp/alive; ${sleeper}`;
  await cluster.create(pod('probed', [shell(script, { livenessProbe: { ...livenessProbe, initialDelaySeconds: 5 } })]));
  const restarted = await cluster.untilPod('probed', 'restarts', (each) => (statusOf(each)?.restartCount ?? 0) > 0);
  checks.ok(statusOf(restarted) !== undefined, 'a failed liveness probe restarts a container');
}

async function volumes({ checks, cluster, machine }: Lab): Promise<void> {
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '16Mi' } } },
  };
  await cluster.apply(claim);
  const mounts = ['data', 'memory', 'scratch'].map((name) => ({ name, mountPath: `/${name}` }));
  const script = `echo kept > /data/file; echo scratch > /scratch/file; ${sleeper}`;
  await cluster.create(
    pod('with-volumes', [shell(script, { volumeMounts: mounts })], {
      volumes: [
        { name: 'data', persistentVolumeClaim: { claimName: 'data' } },
        { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '8Mi' } },
        { name: 'scratch', emptyDir: {} },
      ],
    }),
  );
  await cluster.podReady('with-volumes');
  checks.match(
    await cluster.exec('with-volumes', 'mount | grep /memory'),
    /tmpfs .*size=8192k/,
    'a volume in memory has its size',
  );
  checks.equal(await cluster.exec('with-volumes', 'cat /data/file'), 'kept', 'a volume of the node');
  await cluster.ctl('delete', 'pod', 'with-volumes', '--wait=true');
  const left = await machine.until(
    `grep -c volumes/orch.io~empty-dir/memory /proc/mounts || true`,
    (text) => text === '0',
  );
  checks.equal(left, '0', 'the volumes of a deleted pod are unmounted');
}

async function staticPods({ checks, cluster, machine }: Lab): Promise<void> {
  const manifest = JSON.stringify({ apiVersion: 'v1', kind: 'Pod', ...pod('static', [shell(sleeper)]) });
  await machine.sh(`mkdir -p /etc/manifests; cat >/etc/manifests/static.json <<'END'\n${manifest}\nEND`);
  await cluster.podReady(`static-${nodeName}`);
  checks.ok(true, 'a pod from a file runs');
  await machine.sh('rm /etc/manifests/static.json');
  await cluster.eventually('the static pod ends', async () => {
    const list = await cluster.ctl('get', 'pods', '-o', 'name');
    if (list.includes('static-')) throw new Error(list);
  });
}

async function figures({ checks, cluster }: Lab): Promise<void> {
  const busy = pod('busy', [
    shell('while true; do :; done', { resources: { limits: { cpu: '100m', memory: '32Mi' } } }),
  ]);
  await cluster.create(busy);
  await cluster.podReady('busy');
  const summary = await cluster.eventually('the summary has the pod', async () => {
    const text = JSON.parse(await cluster.agent('/stats/summary')) as Summary;
    const each = text.pods.find(({ podRef }) => podRef.name === 'busy');
    if ((each?.cpu?.usageNanoCores ?? 0) === 0) throw new Error(JSON.stringify(each));
    return { node: text.node, each };
  });
  const nanoCores = summary.each?.cpu?.usageNanoCores ?? 0;
  checks.ok(nanoCores > 20e6 && nanoCores < 200e6, 'the summary shows a tenth of a core', `${nanoCores}`);
  checks.equal(summary.each?.memory?.availableBytes === undefined, false, 'memory that a pod has left');
  checks.ok((summary.node.memory?.workingSetBytes ?? 0) > 50e6, 'memory of the node');
  const cadvisor = await cluster.agent('/metrics/cadvisor');
  for (const metric of [
    'container_cpu_usage_seconds_total',
    'container_cpu_cfs_throttled_periods_total',
    'container_memory_working_set_bytes',
    'container_memory_usage_bytes',
    'container_spec_memory_limit_bytes',
    'container_fs_writes_bytes_total',
    'container_network_receive_bytes_total',
    'container_oom_events_total',
  ])
    checks.ok(new RegExp(`^${metric}\\{[^}]*\\} [0-9.e+]+`, 'm').test(cadvisor), `cAdvisor's ${metric}`);
  const throttled = /^container_cpu_cfs_throttled_periods_total\{[^}]*pod="busy"[^}]*\} (\d+)/m.exec(cadvisor)?.[1];
  checks.ok(Number(throttled) > 0, 'throttled periods of a container at its quota', throttled);
  checks.match(await cluster.agent('/metrics/resource'), /^scrape_error 0$/m, 'resource metrics');
  const top = await cluster.eventually('top shows the pod', async () => {
    const text = await cluster.ctl('top', 'pods');
    if (!/^busy /m.test(text)) throw new Error(text);
    return text;
  });
  checks.match(top, /^busy +\d+m +\d+Mi/m, 'top of pods');
  checks.match(await cluster.ctl('top', 'nodes'), /^vm +\d+m/m, 'top of nodes');
}

interface Usage {
  readonly usageNanoCores?: number;
  readonly workingSetBytes?: number;
  readonly availableBytes?: number;
}

interface Summary {
  readonly node: { readonly memory?: Usage };
  readonly pods: readonly {
    readonly podRef: { readonly name: string };
    readonly cpu?: Usage;
    readonly memory?: Usage;
  }[];
}
