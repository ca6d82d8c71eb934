import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import t from 'tap';
import { configmaps, events, pods, secrets } from '#api/core/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { startContainerd } from '#nodeagent/containerd/containerd.js';
import { runtimePrerequisites } from '#nodeagent/containerd/machine.js';
import { cleanContainerd, removeAllSandboxes } from '#nodeagent/containerd/teardown.js';
import { GrpcCRI } from '#nodeagent/cri/grpc/client.js';
import { buildImageArchive, clusterImages } from '#nodeagent/images/busybox.js';
import { loadImageArchive } from '#nodeagent/images/load.js';
import { DiskLogFiles } from '#nodeagent/logs/disk-log-files.js';
import { LocalMachine } from '#nodeagent/node/machine.js';
import { RuntimeChecker } from '#nodeagent/probes/checker.js';
import { standardServer } from '#nodeagent/server/standard-server.js';
import { eventually, nodeName, startAgent, testPod, testResources } from '#nodeagent/testing/agent-fixture.js';
import { openPortForward, webSocketSession } from '#nodeagent/testing/web-socket-session.js';

const { root, missing } = await runtimePrerequisites();
const skip = !root || missing.length > 0 ? 'needs root and containerd' : false;
t.setTimeout(180_000);

t.test('an agent on containerd', { skip }, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'na-'));
  const log = pino({ level: process.env['LOG'] ?? 'silent' }, pino.destination(2));
  // Its own: the bridge of another run may be there still.
  const podPrefix = `10.${200 + Math.floor(Math.random() * 40)}.${Math.floor(Math.random() * 256)}.`;
  const podCIDR = `${podPrefix}0/24`;
  const sandboxImage = clusterImages('test').pause;
  let containerd = await startContainerd({ dir, podCIDR, sandboxImage });
  const cri = new GrpcCRI({ endpoint: containerd.endpoint, clock: realClock });
  t.teardown(async () => {
    await removeAllSandboxes(cri);
    await cri.close();
    await containerd.stop();
    await cleanContainerd(dir);
    await rm(dir, { recursive: true });
  });
  const api = new FakeApi({ dialect: orchDialect, clock: realClock, resources: testResources });
  const images = await buildImageArchive({ file: join(dir, 'images.tar'), product: 'test' });
  await loadImageArchive(join(dir, 'images.tar'), containerd.socket);
  const server = standardServer({ client: api.client, dialect: orchDialect, clock: realClock, log, nodeName });
  const args = [
    '--port=0',
    '--address=127.0.0.1',
    '--cert-dir=',
    `--root-dir=${dir}/agent`,
    `--pod-logs-dir=${dir}/logs`,
    '--node-ip=127.0.0.1',
  ];
  const dependencies = {
    cri,
    machine: new LocalMachine(dir),
    checker: new RuntimeChecker(cri, 'probe'),
    logFiles: new DiskLogFiles(),
    writeFiles: true,
    server,
  };
  let fixture = startAgent({ args, dependencies, api, log });
  t.teardown(() => fixture.stop());
  await fixture.agent.ready();

  const status = (name: string) => api.get(pods, `default/${name}`)?.status;
  const isReady = (name: string) =>
    status(name)?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') === true;

  await t.test('runs a pod with volumes, variables and probes, and lets it go', async (t) => {
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
            command: ['sh', '-c', 'echo made > /data/file'],
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
      console.error(
        JSON.stringify(status('web'), null, 1),
        api.list(events).map((e) => e.message),
      );
      throw error;
    });
    const found = status('web');
    t.match(found, { phase: 'Running', hostIP: '127.0.0.1', qosClass: 'Guaranteed' });
    t.ok(found?.podIP?.startsWith(podPrefix), `the address ${found?.podIP} is of the node's range`);
    const [pod] = api.list(pods);
    const uid = pod?.metadata.uid ?? '';
    const logFile = join(dir, 'logs', `default_web_${uid}`, 'main', '0.log');
    const text = await (await import('node:fs/promises')).readFile(logFile, 'utf8');
    t.match(text, /stdout F hellos3cret\n/);
    t.match(text, new RegExp(`hello ${found?.podIP}\n`));
    api.change(configmaps, 'default/cfg', (object) => {
      object.data = { greeting: 'changed' };
    });
    const containerId = found?.containerStatuses?.[0]?.containerID?.split('//')[1] ?? '';
    await eventually(async () => {
      const { stdout } = await cri.execSync({ containerId, cmd: ['cat', '/cfg/greeting'], timeoutSeconds: 5 });
      return stdout.toString() === 'changed';
    }, 'the changed file is seen');

    await fixture.stop();
    fixture = startAgent({ args, dependencies, api, log });
    await fixture.agent.ready();
    await eventually(() => isReady('web'), 'the pod is ready after a restart of the agent');
    t.equal((await cri.listContainers({ state: 'CONTAINER_RUNNING' })).length, 1, 'nothing runs twice');
    t.equal(status('web')?.containerStatuses?.[0]?.restartCount, 0);

    await api.client.resource(pods).delete('web', { namespace: 'default', gracePeriodSeconds: 10 });
    await eventually(() => api.get(pods, 'default/web') === undefined, 'the pod is gone');
    t.same(await cri.listPodSandbox(), []);
    t.same(await cri.listContainers(), []);
    t.same(await readdir(join(dir, 'agent', 'pods')), []);
    t.same(await readdir(join(dir, 'logs')), []);
  });

  await t.test('a crash is seen at once and waits longer each time', async (t) => {
    api.seed(
      pods,
      testPod('crash', {
        containers: [{ name: 'main', image: images.busybox, command: ['sh', '-c', 'sleep 0.1; exit 3'] }],
      }),
    );
    await eventually(
      () => status('crash')?.containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff',
      'back-off',
    );
    t.match(status('crash')?.containerStatuses?.[0], {
      restartCount: 1,
      lastState: { terminated: { exitCode: 3, reason: 'Error' } },
      state: { waiting: { message: /^back-off 10s restarting failed container=main pod=crash_default\(/ } },
    });
    await api.client.resource(pods).delete('crash', { namespace: 'default', gracePeriodSeconds: 1 });
    await eventually(() => api.get(pods, 'default/crash') === undefined, 'the pod is gone');
    t.same(await cri.listPodSandbox(), []);
  });

  await t.test('sessions end in the container', async (t) => {
    api.seed(pods, testPod('shell', { containers: [{ name: 'main', image: images.web, imagePullPolicy: 'Never' }] }));
    await eventually(() => isReady('shell'), 'the pod is ready');
    const base = `wss://127.0.0.1:${fixture.agent.port}`;
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
      const type = setInterval(() => socket.send(Buffer.from('\0stty size; exit 0\n')), 100);
      socket.once('close', () => clearInterval(type));
    });
    t.match(terminal[1], /45 123\r\n/);
    const large = encodeURIComponent('dd if=/dev/zero bs=1024 count=5000 2>/dev/null');
    const bytes = await webSocketSession(`${main}?output=1&command=sh&command=-c&command=${large}`);
    t.equal(bytes[1]?.length, 5000 * 1024);

    const { socket, spdy } = await openPortForward(`${base}/portForward/default/shell`);
    spdy.open({ streamtype: 'error', port: '8080', requestid: '0' }).end();
    const data = spdy.open({ streamtype: 'data', port: '8080', requestid: '0' });
    data.end('GET / HTTP/1.0\r\n\r\n');
    let page = '';
    for await (const chunk of data) page += String(chunk);
    t.match(page, /200 OK/);
    spdy.close();
    socket.terminate();
  });

  await t.test('a killed runtime is found again, and what ran in it runs on', async (t) => {
    const before = (await cri.listContainers({ state: 'CONTAINER_RUNNING' })).map((container) => container.id);
    process.kill(containerd.pid, 'SIGKILL');
    api.seed(pods, testPod('after', { containers: [{ name: 'main', image: images.web, imagePullPolicy: 'Never' }] }));
    containerd = await startContainerd({ dir, podCIDR, sandboxImage });
    await eventually(() => isReady('after'), 'the new pod is ready');
    const running = (await cri.listContainers({ state: 'CONTAINER_RUNNING' })).map((container) => container.id);
    t.ok(before.every((id) => running.includes(id)));
    t.equal(running.length, before.length + 1);
    t.equal(status('shell')?.containerStatuses?.[0]?.restartCount, 0);
  });
});
