/** Pod settings as seen by containers and the machine, and static pods. */
import { mkdir, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { events, pods } from '#api/core/v1/resources.gen.js';
import type { Container, PodSpec } from '#api/core/v1/types.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { containerdFixture, skipWithoutContainers } from '#containerd/testing/containerd-fixture.js';
import { kernelSituations } from '#containerd/testing/kernel-situations.js';
import { eventually, nodeName, testPod } from '#nodeagent/testing/agent-fixture.js';
import { podScenarios } from '#nodeagent/testing/pod-scenarios.js';
import { runScenarios, scenarioArguments, World } from '#nodeagent/testing/scenarios.js';

const skip = await skipWithoutContainers();
t.setTimeout(180_000);

t.test('pod scenarios on containerd', { skip }, async (t) => {
  const fixture = await containerdFixture(t, { args: scenarioArguments });
  const { dir, cri, api, images, status, isReady } = fixture;
  const shell = (script: string, more: Partial<Container> = {}): Container => ({
    ...{ name: 'main', image: images.busybox, command: ['sh', '-c', script] },
    ...more,
  });
  const until = async (name: string, condition: () => boolean | Promise<boolean>) => {
    await eventually(condition, `pod ${name}`).catch((error) => {
      throw new Error(fixture.describe(name), { cause: error });
    });
  };
  /** Runs a pod and returns its container's output. */
  const outputOf = async (name: string, spec: Partial<PodSpec>) => {
    api.seed(pods, testPod(name, { restartPolicy: 'Never', ...spec }));
    const terminated = () => status(name)?.containerStatuses?.[0]?.state?.terminated;
    await until(name, () => terminated() !== undefined);
    const { message = '', exitCode } = terminated() ?? {};
    await fixture.remove(name);
    return { message, exitCode };
  };
  const messagesOf = (name: string, reason: string) =>
    api
      .list(events)
      .flatMap((event) => (event.involvedObject.name === name && event.reason === reason ? [event.message ?? ''] : []));

  await t.test('a static pod outlives its mirror and follows its file', async (t) => {
    const name = `own-${nodeName}`;
    const file = join(dir, 'manifests', 'own.yaml');
    const write = (word: string) =>
      writeFile(
        file,
        [
          'apiVersion: v1',
          'kind: Pod',
          'metadata: {name: own}',
          'spec:',
          '  terminationGracePeriodSeconds: 1',
          '  hostNetwork: true',
          '  containers:',
          `  - {name: main, image: "${images.busybox}", imagePullPolicy: IfNotPresent,`,
          `     command: [sh, -c, "echo ${word}; exec sleep 1000"]}`,
        ].join('\n'),
      );
    await mkdir(join(dir, 'manifests'), { recursive: true });
    await write('first');
    await until(name, () => isReady(name));
    const ids = async () => (await cri.listContainers({ state: 'CONTAINER_RUNNING' })).map(({ id }) => id);
    const before = await ids();
    t.equal(before.length, 1);
    const link = () => join(dir, 'containers', `${name}_default_main-${before[0]}.log`);
    await until(name, async () => (await readFile(link(), 'utf8')).includes('stdout F first'));

    const image = api.get(pods, `default/${name}`)?.metadata.uid;
    await api.client.resource(pods).delete(name, { namespace: 'default', gracePeriodSeconds: 30 });
    await until(name, () => api.get(pods, `default/${name}`)?.metadata.uid !== image && isReady(name));
    t.same(await ids(), before);
    await fixture.restartAgent();
    await until(name, () => isReady(name));
    t.same(await ids(), before);

    await write('second');
    const hash = () => api.get(pods, `default/${name}`)?.metadata.annotations?.[orchDialect.annotations.configMirror];
    const old = hash();
    await until(name, async () => hash() !== old && isReady(name) && (await ids()).length === 1);
    t.notSame(await ids(), before);
    await rm(file);
    await until(name, () => api.get(pods, `default/${name}`) === undefined);
    t.same(await cri.listPodSandbox(), []);
    t.same(await readdir(join(dir, 'containers')), []);
  });

  await t.test('a security context is enforced by the kernel', async (t) => {
    const own =
      "grep -E '^(Uid|Gid|Groups|NoNewPrivs|Seccomp|CapBnd|CapEff):' /proc/self/status > /dev/termination-log";
    const { message } = await outputOf('secure', {
      securityContext: {
        ...{ runAsUser: 1000, runAsGroup: 2000, supplementalGroups: [3000], fsGroup: 4000, runAsNonRoot: true },
        seccompProfile: { type: 'RuntimeDefault' },
      },
      containers: [
        shell(`touch /new 2>/dev/null && exit 9; ${own}`, {
          securityContext: {
            ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
            capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] },
          },
        }),
      ],
    });
    t.match(message, /^Uid:\t1000\t/m);
    t.match(message, /^Gid:\t2000\t/m);
    t.match(message, /^Groups:\t.*\b3000 4000\b/m);
    t.match(message, /^NoNewPrivs:\t1$/m);
    t.match(message, /^Seccomp:\t2$/m);
    t.match(message, /^CapBnd:\t0000000000000400$/m);
    const open = await outputOf('open', { containers: [shell(own, { securityContext: { privileged: true } })] });
    t.match(open.message, /^NoNewPrivs:\t0$/m);
    t.match(open.message, /^Seccomp:\t0$/m);

    await mkdir(join(dir, 'agent', 'seccomp'), { recursive: true });
    const profile = {
      defaultAction: 'SCMP_ACT_ALLOW',
      syscalls: [{ names: ['mkdir', 'mkdirat'], action: 'SCMP_ACT_ERRNO' }],
    };
    await writeFile(join(dir, 'agent', 'seccomp', 'no-mkdir.json'), JSON.stringify(profile));
    const confined = await outputOf('confined', {
      securityContext: { seccompProfile: { type: 'Localhost', localhostProfile: 'no-mkdir.json' } },
      containers: [shell('mkdir /tmp/x 2> /dev/termination-log')],
    });
    t.match(confined, { exitCode: 1, message: /Operation not permitted/ });

    api.seed(pods, testPod('root', { securityContext: { runAsNonRoot: true }, containers: [shell('true')] }));
    await until('root', () => status('root')?.containerStatuses?.[0]?.state?.waiting?.message !== undefined);
    t.match(status('root')?.containerStatuses?.[0]?.state?.waiting, {
      reason: 'CreateContainerConfigError',
      message: /^container has runAsNonRoot and image will run as root \(pod: "root_default\(.*\)", container: main\)$/,
    });
    await fixture.remove('root');
  });

  await t.test("namespaces are the host's, the pod's or the container's", async (t) => {
    const namespaceScript = 'for n in pid ipc net; do readlink /proc/self/ns/$n; done > /dev/termination-log';
    const ofHost = await Promise.all(['pid', 'ipc', 'net'].map((name) => readlink(`/proc/self/ns/${name}`)));
    const host = await outputOf('host', {
      hostPID: true,
      hostIPC: true,
      hostNetwork: true,
      containers: [shell(namespaceScript)],
    });
    t.same(host.message.trim().split('\n'), ofHost);
    const alone = await outputOf('alone', {
      containers: [shell(`${namespaceScript}; echo $$$$ >> /dev/termination-log`)],
    });
    const [pid, ipc, net, self] = alone.message.trim().split('\n');
    for (const namespace of [pid, ipc, net]) t.notOk(ofHost.includes(namespace ?? ''));
    t.equal(self, '1');
    const shared = await outputOf('shared', {
      shareProcessNamespace: true,
      containers: [shell('echo $$$$ $(cat /proc/1/comm) > /dev/termination-log')],
    });
    t.match(shared.message, /^(?!1 )\d+ sleep\n$/);
  });

  await t.test('a fork bomb affects its pod only', async (t) => {
    const fork = 'n=0; while [ $n -lt 400 ]; do sleep 5 & n=$((n+1)); done';
    const { message } = await outputOf('forks', {
      containers: [shell(`(${fork}) 2>&1 | head -n 1 > /dev/termination-log; exit 0`)],
    });
    t.match(message, /can't fork/);
  });

  await t.test('an HTTP hook fails without a response, whatever the status', async (t) => {
    const web = {
      ...{ name: 'main', image: images.web, imagePullPolicy: 'IfNotPresent' },
      readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1 },
      lifecycle: { preStop: { httpGet: { path: '/', port: 8080 } } },
    };
    const unreachable = {
      ...shell('exec sleep 1000', { name: 'other' }),
      lifecycle: { preStop: { httpGet: { path: '/x', port: 9 } } },
    };
    api.seed(pods, testPod('web-hooked', { containers: [web, unreachable] }));
    await until('web-hooked', () => isReady('web-hooked'));
    await fixture.remove('web-hooked', 5);
    t.match(messagesOf('web-hooked', 'FailedPreStopHook'), [
      /^Http lifecycle hook \(\/x\) for Container "other" in Pod "web-hooked_/,
    ]);
  });

  await t.test('shared scenarios, including kernel effects', async (t) => {
    const world = new World({
      ...{ api, cri, image: images.busybox },
      until: (condition, what) => eventually(condition, what, 120_000),
    });
    const situations = [...podScenarios, ...kernelSituations(fixture, world)];
    await runScenarios(t, situations, { world, together: true });
  });
});
