/** A device plugin, real containers that see its devices, and restarts of both sides. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import protobuf from 'protobufjs';
import t from 'tap';
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import { containerdFixture, skipWithoutContainers } from '#containerd/testing/containerd-fixture.js';
import { TestDevicePlugin } from '#nodeagent/devices/testing/device-plugin.js';
import { GrpcChannel, type Message } from '#nodeagent/grpc/channel.js';
import { RegisteringPlugin } from '#nodeagent/plugins/testing/registering-plugin.js';
import { podResourcesV1 } from '#nodeagent/protocols/pod-resources-v1.gen.js';
import { eventually, nodeName, testPod } from '#nodeagent/testing/agent-fixture.js';

const skip = await skipWithoutContainers();
t.setTimeout(180_000);

const gpu = 'example.com/gpu';

t.test('devices of plugins', { skip }, async (t) => {
  const fixture = await containerdFixture(t, { args: ['--node-status-update-frequency=1s'] });
  const { dir, api, images, status } = fixture;
  const files = join(dir, 'driver');
  await mkdir(files);
  await writeFile(join(files, 'version'), 'version 7');
  const directory = join(dir, 'agent/device-plugins');
  const newPlugin = async () => {
    const plugin = new TestDevicePlugin({
      socket: join(directory, 'gpu.sock'),
      resource: gpu,
      preStart: true,
      devices: ['a', 'b', 'c'].map((id) => ({ id, nodes: [0] })),
      allocate: (ids) => ({
        envs: { GPUS: ids.join() },
        devices: ids.map((id) => ({ containerPath: `/dev/gpu-${id}`, hostPath: '/dev/null', permissions: 'rw' })),
        mounts: [{ containerPath: '/driver', hostPath: files, readOnly: true }],
      }),
    });
    await plugin.start();
    t.teardown(() => plugin.stop());
    return plugin;
  };
  const amounts = () => {
    const { capacity, allocatable } = api.get(nodes, nodeName)?.status ?? {};
    return `${allocatable?.[gpu]} of ${capacity?.[gpu]}`;
  };
  const seed = (name: string, count: number, script: string) =>
    api.seed(
      pods,
      testPod(name, {
        restartPolicy: 'Never',
        terminationGracePeriodSeconds: 1,
        containers: [
          {
            name: 'main',
            image: images.busybox,
            command: ['sh', '-c', script],
            resources: { limits: { [gpu]: String(count) }, requests: { [gpu]: String(count) } },
          },
        ],
      }),
    );
  const reached = (name: string, phase: string) =>
    eventually(() => status(name)?.phase === phase, `${name} ${phase}`, 60_000).catch((error: unknown) => {
      throw new Error(fixture.describe(name), { cause: error });
    });
  const resources = async (method: string): Promise<Message> => {
    const channel = new GrpcChannel({
      socket: join(dir, 'agent/pod-resources/kubelet.sock'),
      root: protobuf.Root.fromJSON(podResourcesV1),
      timeoutMs: 10_000,
    });
    try {
      return await channel.call(`v1.PodResourcesLister/${method}`, {});
    } finally {
      channel.close();
    }
  };
  const held = async (name: string) => {
    const listed = (await resources('List'))['podResources'] as Message[];
    const containers = (listed.find((pod) => pod['name'] === name)?.['containers'] ?? []) as Message[];
    return containers.flatMap((container) => container['devices'] as Message[]);
  };
  const device = (id: string) => ({ resourceName: gpu, deviceIds: [id], topology: { nodes: [{ ID: '0' }] } });
  const plugin = await newPlugin();

  await t.test('the node advertises them, and containers get device files, mounts and variables', async (t) => {
    await plugin.register();
    await eventually(() => amounts() === '3 of 3', 'capacity');
    seed(
      'ends',
      2,
      'echo "$GPUS $(ls /dev/gpu-* | tr "\\n" " ")$(cat /driver/version)" > /dev/termination-log; echo > /dev/gpu-a',
    );
    await reached('ends', 'Succeeded');
    const message = status('ends')?.containerStatuses?.[0]?.state?.terminated?.message;
    t.equal(message, 'a,b /dev/gpu-a /dev/gpu-b version 7\n', 'what the container sees');
    t.same(plugin.calls, ['Allocate a b', 'PreStartContainer a b'], 'calls');
  });

  await t.test('pods that have ended free them, and a pod that gets none is refused', async (t) => {
    seed('holds', 2, 'exec sleep 1000');
    await reached('holds', 'Running');
    seed('refused', 2, 'exec sleep 1000');
    await reached('refused', 'Failed');
    const { reason, message } = status('refused') ?? {};
    const why = `requested number of devices unavailable for ${gpu}. Requested: 2, Available: 1`;
    t.equal(reason, 'UnexpectedAdmissionError', 'reason');
    t.equal(message, `Pod Allocate failed due to ${why}, which is unexpected`, 'message');
  });

  await t.test('other programs see who has them', async (t) => {
    t.same(await held('holds'), [device('a'), device('b')], 'of a pod');
    t.same(await held('ends'), [], 'of a pod that has ended');
    const all = await resources('GetAllocatableResources');
    t.same(all['devices'], ['a', 'b', 'c'].map(device), 'of the node');
  });

  await t.test('the agent restarts: pods keep them, and the plugin registers again', async (t) => {
    const { containerID } = status('holds')?.containerStatuses?.[0] ?? {};
    await fixture.restartAgent();
    await eventually(() => amounts() === '0 of 0', 'no capacity');
    t.same(
      await held('holds'),
      [device('a'), device('b')].map((each) => ({ ...each })),
      'the pod has them',
    );
    await plugin.stop();
    const again = await newPlugin();
    const registration = new RegisteringPlugin(join(dir, 'agent/plugins_registry/gpu.sock'), () => ({
      ...{ type: 'DevicePlugin', name: gpu, endpoint: join(directory, 'gpu.sock') },
      supportedVersions: ['v1beta1'],
    }));
    await registration.start();
    t.teardown(() => registration.stop());
    await eventually(() => amounts() === '3 of 3', 'capacity');
    t.same(registration.statuses, ['registered'], 'by the plugin watcher');
    seed('next', 1, 'exec sleep 1000');
    await reached('next', 'Running');
    t.same(await held('next'), [device('c')], 'another pod gets another one');
    t.equal(status('holds')?.containerStatuses?.[0]?.containerID, containerID, 'and the container still runs');
    await again.stop();
    await eventually(() => amounts() === '0 of 3', 'no capacity without the plugin');
    t.equal(status('holds')?.phase, 'Running', 'pods keep running');
  });

  t.same([...fixture.missingFields.paths], [], 'every field is known');
});
