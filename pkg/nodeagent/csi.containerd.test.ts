import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { events, nodes, persistentvolumeclaims, persistentvolumes, pods } from '#api/core/v1/resources.gen.js';
import type { PodSpec, Volume } from '#api/core/v1/types.gen.js';
import { csidrivers, csinodes, volumeattachments } from '#api/storage/v1/resources.gen.js';
import { containerdFixture, skipWithoutContainers } from '#containerd/testing/containerd-fixture.js';
import { attachmentName } from '#nodeagent/csi/volumes/paths.js';
import { mountsBelow } from '#nodeagent/files/mounts.js';
import { RegisteringPlugin } from '#nodeagent/plugins/testing/registering-plugin.js';
import { eventually, testPod } from '#nodeagent/testing/agent-fixture.js';
import { TestDriver } from '#nodeagent/testing/csi-driver.js';

t.setTimeout(180_000);
const skip = await skipWithoutContainers();
const noDevices = existsSync('/dev/loop-control') ? false : 'needs loop devices';
const driverName = 'test.driver';
const node = 'node-1';

t.test('containers use the volumes of a CSI driver', { skip }, async (t) => {
  const fixture = await containerdFixture(t);
  const { api, images } = fixture;
  const dir = await realpath(fixture.dir);
  const root = join(dir, 'agent');
  const socket = join(root, 'plugins', driverName, 'csi.sock');
  await mkdir(join(root, 'plugins', driverName), { recursive: true });
  const driver = new TestDriver({ dir: join(dir, 'volumes'), socket, info: { nodeId: 'n', maxVolumesPerNode: 9 } });
  await mkdir(join(dir, 'volumes'));
  await driver.start();
  t.teardown(async () => {
    await driver.clean();
    await driver.stop();
  });
  const describe = () => ({
    ...{ type: 'CSIPlugin', name: driverName, endpoint: socket, supportedVersions: ['1.0.0'] },
  });
  const plugin = new RegisteringPlugin(join(root, 'plugins_registry', `${driverName}-reg.sock`), describe);
  t.teardown(() => plugin.stop());
  api.seed(csidrivers, {
    metadata: { name: driverName },
    spec: {
      ...{ attachRequired: true, podInfoOnMount: true, requiresRepublish: false },
      ...{ volumeLifecycleModes: ['Persistent', 'Ephemeral'], fsGroupPolicy: 'File' },
    },
  });
  const persist = (handle: string, volumeMode = 'Filesystem', storage = '1Gi') => {
    const claimRef = { uid: `uid-of-${handle}`, name: handle, namespace: 'default' };
    api.seed(persistentvolumeclaims, {
      metadata: { name: handle, namespace: 'default', uid: claimRef.uid },
      spec: { volumeName: `pv-${handle}` },
      status: { phase: 'Bound', capacity: { storage: '1Gi' } },
    });
    api.seed(persistentvolumes, {
      metadata: { name: `pv-${handle}` },
      spec: {
        ...{ accessModes: ['ReadWriteOnce'], capacity: { storage }, claimRef, volumeMode },
        csi: { driver: driverName, volumeHandle: handle },
      },
    });
  };
  const claim = (name: string, readOnly = false): Volume => ({
    name,
    persistentVolumeClaim: { claimName: name, readOnly },
  });
  /** As the controllers and the external attacher do, once the node says that it uses the volume. */
  const attach = async (handle: string) => {
    const name = `orch.io/csi/${driverName}^${handle}`;
    await eventually(() => api.get(nodes, node)?.status?.volumesInUse?.includes(name) === true, `${handle} is in use`);
    api.seed(volumeattachments, {
      metadata: { name: attachmentName(handle, driverName, node) },
      spec: { attacher: driverName, nodeName: node, source: { persistentVolumeName: `pv-${handle}` } },
      status: { attached: true, attachmentMetadata: { path: handle } },
    });
    api.change(nodes, node, ({ status = {} }) => {
      status.volumesAttached = [...(status.volumesAttached ?? []), { name, devicePath: '' }];
    });
  };
  const start = (name: string, script: string, spec: Partial<PodSpec>, container: object) =>
    api.seed(
      pods,
      testPod(name, {
        terminationGracePeriodSeconds: 1,
        containers: [{ name: 'main', image: images.busybox, command: ['sh', '-c', script], ...container }],
        ...spec,
      }),
    );
  const ready = async (name: string) => {
    await eventually(() => fixture.isReady(name), `${name} is ready`).catch((error) => {
      throw new Error(fixture.describe(name), { cause: error });
    });
  };
  const log = async (name: string) => {
    const uid = api.get(pods, `default/${name}`)?.metadata.uid ?? '';
    const text = await readFile(join(dir, 'logs', `default_${name}_${uid}`, 'main', '0.log'), 'utf8');
    return text.replaceAll(/^\S+ std\w+ F /gm, '');
  };

  persist('data');
  start(
    'early',
    'echo written > /data/file; exec sleep 1000',
    { volumes: [claim('data')], securityContext: { fsGroup: 2345 } },
    { volumeMounts: [{ name: 'data', mountPath: '/data' }] },
  );
  await attach('data');
  const unknown = `driver name ${driverName} not found in the list of registered CSI drivers`;
  await eventually(
    () => api.list(events).some(({ reason, message }) => reason === 'FailedMount' && message?.includes(unknown)),
    'the driver is missing',
  );
  await plugin.start();
  await eventually(() => plugin.statuses.includes('registered'), 'the driver is registered');
  t.match(api.get(csinodes, node)?.spec.drivers, [{ name: driverName, nodeID: 'n', allocatable: { count: 9 } }]);
  t.equal(api.get(nodes, node)?.metadata.annotations?.['csi.volume.orch.io/nodeid'], `{"${driverName}":"n"}`);
  await ready('early');
  const content = () => readFile(join(dir, 'volumes/data/file'), 'utf8').catch(() => '');
  await eventually(async () => (await content()) === 'written\n', 'the container has written');

  await mkdir(join(dir, 'volumes/data/below'));
  await writeFile(join(dir, 'volumes/data/below/file'), 'part');
  start(
    'reader',
    'exec 2>&1; cat /part/file /data/file; echo x > /data/new || echo refused; echo y > /own/file && echo stored; exec sleep 1000',
    {
      volumes: [claim('data', true), { name: 'own', csi: { driver: driverName } }],
    },
    {
      volumeMounts: [
        { name: 'data', mountPath: '/data' },
        { name: 'data', mountPath: '/part', subPath: 'below' },
        { name: 'own', mountPath: '/own' },
      ],
    },
  );
  await ready('reader');
  await eventually(async () => (await log('reader')).includes('stored'), 'the container has said all');
  t.match(await log('reader'), /^partwritten\n.*Read-only file system\nrefused\nstored\n$/s);

  await t.test('a device', { skip: noDevices }, async () => {
    persist('disk', 'Block');
    start(
      'block',
      'test -b /dev/disk && echo mark | dd of=/dev/disk conv=notrunc 2> /dev/null && head -c 5 /dev/disk; exec sleep 1000',
      { volumes: [claim('disk')] },
      { volumeDevices: [{ name: 'disk', devicePath: '/dev/disk' }] },
    );
    await attach('disk');
    await ready('block');
    await eventually(async () => (await log('block')).includes('mark'), 'the device keeps what is written');
  });

  const before = driver.log('NodePublishVolume').length;
  const mounted = (await mountsBelow(root)).length;
  const status = api.get(pods, 'default/early')?.status?.containerStatuses?.[0];
  await fixture.restartAgent();
  await eventually(() => driver.log('NodePublishVolume').length >= before + 3, 'the agent publishes again');
  await ready('early');
  t.equal((await mountsBelow(root)).length, mounted, 'nothing is mounted twice');
  t.equal(api.get(pods, 'default/early')?.status?.containerStatuses?.[0]?.containerID, status?.containerID);

  for (const name of ['early', 'reader', ...(noDevices === false ? ['block'] : [])]) await fixture.remove(name);
  await eventually(() => (api.get(nodes, node)?.status?.volumesInUse ?? []).length === 0, 'no volume is in use');
  t.same([[...driver.staged.keys()], [...driver.published.keys()]], [[], []]);
  const left = (await mountsBelow(root)).filter((path) => path.includes('csi'));
  t.same(left, []);
  t.same(await readdir(join(root, 'pods')), []);
});
