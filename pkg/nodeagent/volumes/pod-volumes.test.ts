import { execFileSync, spawnSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { configmaps, persistentvolumeclaims, persistentvolumes } from '#api/core/v1/resources.gen.js';
import type { PersistentVolumeSpec, Pod, PodSpec, Volume } from '#api/core/v1/types.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import { mountsBelow } from '#nodeagent/files/mounts.js';
import { ReferencedObjects } from '#nodeagent/objects/referenced-objects.js';
import { noSmallDisks } from '#nodeagent/testing/small-disk.js';
import { PodDirectories } from '#nodeagent/volumes/pod-directories.js';
import { PodVolumes } from '#nodeagent/volumes/pod-volumes.js';
import { TokenManager } from '#nodeagent/volumes/tokens.js';
import { VolumesError } from '#nodeagent/volumes/volume-error.js';
import { VolumeMounter } from '#nodeagent/volumes/volume-mounter.js';

const facts = { nodeName: 'n', hostIP: '', allocatable: { memory: '1Gi' }, podIPs: [] };
const { signal } = new AbortController();
const noDrivers = { mount: () => Promise.reject(new Error('no drivers')) };

async function setUp(t: Test) {
  const dir = await mkdtemp(join(tmpdir(), 'volumes-'));
  const clock = new VirtualClock();
  const api = new FakeApi({
    dialect: orchDialect,
    clock,
    resources: [configmaps, persistentvolumeclaims, persistentvolumes],
  });
  const { client } = api;
  const objects = new ReferencedObjects({ client, clock, random: () => 0.5, log: silentLogger });
  const warnings: string[] = [];
  const directories = await PodDirectories.open(dir, 'orch.io');
  const node = { metadata: { name: 'n', labels: { disk: 'here' } }, spec: {} };
  const events = {
    pod: (...[, , reason, message]: [Pod, string, string, string]) => warnings.push(`${reason}: ${message}`),
  };
  /** The volumes of an agent after its start. */
  const start = (more: { keepsEnded?: boolean } = {}) =>
    new PodVolumes({
      ...more,
      ...{ clock, client, objects, directories },
      tokens: new TokenManager({ client, clock }),
      mounter: new VolumeMounter({
        dialect: orchDialect,
        directories,
        events,
        node: () => node,
        limitsMemory: true,
        csi: noDrivers,
      }),
    });
  t.teardown(async () => {
    objects.close();
    for (const uid of await directories.list()) await directories.remove(uid);
    await rm(dir, { recursive: true });
  });
  /** Creates a volume and a claim of the same name bound to it. */
  const persist = (name: string, spec: PersistentVolumeSpec) => {
    const uid = `uid-of-${name}`;
    api.seed(persistentvolumeclaims, {
      metadata: { name, namespace: 'default', uid },
      spec: { volumeName: `pv-${name}` },
      status: { phase: 'Bound' },
    });
    api.seed(persistentvolumes, { metadata: { name: `pv-${name}` }, spec: { claimRef: { uid }, ...spec } });
    return { name, persistentVolumeClaim: { claimName: name } };
  };
  const failures = async (volumes: PodVolumes, pod: Pod) => {
    const error = await volumes.setUp(pod, { facts, signal }).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (!(error instanceof VolumesError)) throw new Error(`did not fail as expected: ${String(error)}`);
    return error.events.map(({ message }) => message);
  };
  return { dir, clock, api, directories, start, persist, failures, warnings };
}

/** A pod with one container that uses all of the volumes. */
function podOf(uid: string, volumes: readonly Volume[], spec: Partial<PodSpec> = {}): Pod {
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  return {
    metadata: { name: uid, namespace: 'default', uid },
    spec: { containers: [{ name: 'c', volumeMounts }], volumes: [...volumes], ...spec },
  };
}

t.test('claims resolve to their volumes or to a reason', async (t) => {
  const { api, start, persist, failures } = await setUp(t);
  const volume = persist('data', { hostPath: { path: '/' } });
  const text = (why: string) =>
    `Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[data]: ${why}`;
  const processing = (why: string) => text(`error processing PVC default/data: ${why}`);
  const pod = podOf('u', [volume]);
  const volumes = start();
  t.same(await failures(volumes, podOf('u', [{ name: 'data', persistentVolumeClaim: { claimName: 'none' } }])), [
    text(
      'error processing PVC default/none: failed to fetch PVC from API server: persistentvolumeclaims "none" not found',
    ),
  ]);
  api.change(persistentvolumeclaims, 'default/data', (object) => {
    object.status = { phase: 'Pending' };
  });
  t.same(await failures(volumes, pod), [processing('PVC is not bound')]);
  api.change(persistentvolumeclaims, 'default/data', (object) => {
    object.status = { phase: 'Bound' };
  });
  api.change(persistentvolumes, 'pv-data', (object) => {
    object.spec = { hostPath: { path: '/' }, claimRef: { uid: 'other' } };
  });
  t.same(await failures(volumes, pod), [
    processing('found PV object pv-data but its pv.Spec.ClaimRef.UID other does not point to claim.UID uid-of-data'),
  ]);
  api.change(persistentvolumes, 'pv-data', (object) => {
    object.spec = { hostPath: { path: '/' } };
  });
  t.same(await failures(volumes, pod), [
    processing('found PV object pv-data but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim'),
  ]);
  api.change(persistentvolumes, 'pv-data', (object) => {
    object.spec = { hostPath: { path: '/' }, claimRef: { uid: 'uid-of-data' }, volumeMode: 'Block' };
  });
  t.same(await failures(volumes, pod), [text('volume data has volumeMode Block, but is specified in volumeMounts')]);
  api.change(persistentvolumes, 'pv-data', (object) => {
    object.spec = { hostPath: { path: '/' }, claimRef: { uid: 'uid-of-data' } };
  });
  t.equal(await volumes.setUp(pod, { facts, signal }), Number.POSITIVE_INFINITY);
  t.same([...volumes.mounted('u')], [['data', { path: '/', kind: 'files', readOnly: false }]]);
  api.remove(persistentvolumeclaims, 'default/data');
  await volumes.setUp(pod, { facts, signal });
  t.pass('what is there needs its claim no more');

  persist('e-eph', { hostPath: { path: '/' } });
  const ephemeral = podOf('e', [{ name: 'eph', ephemeral: {} }]);
  t.match(
    (await failures(volumes, ephemeral))[0],
    /PVC default\/e-eph was not created for pod default\/e \(pod is not owner\)$/,
  );
  api.change(persistentvolumeclaims, 'default/e-eph', (object) => {
    object.metadata.ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name: 'e', uid: 'e', controller: true }];
  });
  await volumes.setUp(ephemeral, { facts, signal });
});

t.test('unsupported volumes are reported at once and delay no others', async (t) => {
  const { clock, start, persist, failures } = await setUp(t);
  const volumes = start();
  const elsewhere = {
    required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'disk', operator: 'In', values: ['there'] }] }] },
  };
  const rows: [volume: Volume, expected: string | RegExp][] = [
    [
      { name: 'v', iscsi: { targetPortal: 'p', iqn: 'i', lun: 0 } },
      /: failed to get Plugin from volumeSpec for volume "v" err=no volume plugin matched: .* of type iscsi$/,
    ],
    [persist('rbd', { rbd: { monitors: ['m'], image: 'i' } }), /for volume "pv-rbd" err=.* of type rbd$/],
    [
      persist('far', { local: { path: '/' }, nodeAffinity: elsewhere }),
      'MountVolume.NodeAffinity check failed for volume "pv-far" : no matching NodeSelectorTerms',
    ],
    [
      persist('options', { hostPath: { path: '/' }, mountOptions: ['ro'] }),
      'MountVolume.MountOptionSupport check failed for volume "pv-options" : Mount options are not supported for this volume type',
    ],
    [
      persist('missing', { local: { path: '/nowhere' } }),
      'MountVolume.NewMounter initialization failed for volume "pv-missing" : path "/nowhere" does not exist',
    ],
    [
      persist('file', { local: { path: '/etc/hosts' } }),
      'MountVolume.NewMounter initialization failed for volume "pv-file" : only directory and block device are supported',
    ],
  ];
  for (const [n, [volume, expected]] of rows.entries()) {
    const pod = podOf(`u${n}`, [{ name: 'ok', hostPath: { path: '/' } }, volume]);
    const reasons = await failures(volumes, pod);
    t.match(reasons, [expected]);
    t.same([...volumes.mounted(`u${n}`).keys()], ['ok']);
  }
  const late = podOf('late', [persist('gone', { local: { path: '/nowhere' } })]);
  t.equal((await failures(volumes, late)).length, 1);
  await clock.advance(123_000);
  t.equal(
    (await failures(volumes, late))[1],
    'Unable to attach or mount volumes: unmounted volumes=[gone], unattached volumes=[gone]: timed out waiting for the condition',
  );
  t.equal((await failures(volumes, late)).length, 1, 'not again at once');
  const unused = podOf('unused', [{ name: 'v', csi: { driver: 'd' } }], { containers: [{ name: 'c' }] });
  await volumes.setUp(unused, { facts, signal });
  t.pass('what no container uses is left alone');
});

t.test('local volumes', { skip: noSmallDisks }, async (t) => {
  const fixture = await setUp(t);
  const { dir, api, directories, start, persist, failures, warnings } = fixture;
  const disk = join(dir, 'disk');
  await mkdir(disk);
  await writeFile(join(disk, 'file'), 'kept', { mode: 0o600 });
  const local = persist('local', { local: { path: disk } });
  const group = (fsGroup: number): Partial<PodSpec> => ({ securityContext: { fsGroup } });
  const options = (path: string) =>
    readFile('/proc/self/mountinfo', 'utf8').then((text) =>
      text.split('\n').flatMap((line) => (line.split(' ')[4] === path ? [line.split(' ')[5]?.split(',')[0]] : [])),
    );
  const volumes = start();

  await t.test('a directory gets the group of its first pod and outlives the pod', async (t) => {
    await volumes.setUp(podOf('a', [local], group(77)), { facts, signal });
    const place = join(dir, 'pods', 'a', 'volumes', 'orch.io~local-volume', 'pv-local');
    t.equal(volumes.mounted('a').get('local')?.path, place);
    t.equal(await readFile(join(place, 'file'), 'utf8'), 'kept');
    t.equal(((await stat(join(disk, 'file'))).mode & 0o777).toString(8), '660');
    t.same(await options(place), ['rw']);
    await volumes.setUp(podOf('b', [local], group(78)), { facts, signal });
    t.equal((await stat(disk)).gid, 77);
    t.same(warnings, [
      'AlreadyMountedVolume: The requested fsGroup is 78, but the volume pv-local has GID 77. The volume may not be shareable.',
    ]);
    const readOnly = { name: 'local', persistentVolumeClaim: { claimName: 'local', readOnly: true } };
    await volumes.setUp(podOf('c', [readOnly]), { facts, signal });
    const mountedPath = join(dir, 'pods', 'c', 'volumes', 'orch.io~local-volume', 'pv-local');
    t.same(await options(mountedPath), ['ro']);
    t.equal(volumes.mounted('c').get('local')?.readOnly, true);

    const next = start();
    await next.setUp(podOf('a', [local], group(77)), { facts, signal });
    t.same(await options(place), ['rw'], 'the next agent mounts nothing twice');
    for (const uid of ['a', 'b', 'c']) await next.tearDown(uid);
    t.same(await directories.list(), []);
    t.same(await readdir(disk), ['file'], 'what is on the disk stays');
  });

  const image = join(dir, 'image');
  await writeFile(image, '');
  await truncate(image, 8 << 20);
  const loop = spawnSync('losetup', ['-f', '--show', image], { encoding: 'utf8' });
  const tools = [loop, ...['mkfs.ext4', 'blkid'].map((tool) => spawnSync(tool, ['-V']))];
  const noDevices = tools.some(({ status }) => status !== 0) && 'needs losetup, mkfs.ext4 and blkid';
  await t.test('a device is formatted once, or passed through as a raw device', { skip: noDevices }, async (t) => {
    const device = loop.stdout.trim();
    t.teardown(() => execFileSync('losetup', ['-d', device]));
    const volume = persist('device', { local: { path: device } });
    await Promise.all(['a', 'b'].map((uid) => volumes.setUp(podOf(uid, [volume]), { facts, signal })));
    const at = (uid: string) => volumes.mounted(uid).get('device')?.path ?? '';
    await writeFile(join(at('a'), 'file'), 'x');
    t.same((await readdir(at('b'))).sort(), ['file', 'lost+found']);
    for (const uid of ['a', 'b']) await volumes.tearDown(uid);
    await volumes.setUp(podOf('a', [volume]), { facts, signal });
    t.ok((await readdir(at('a'))).includes('file'));
    await volumes.tearDown('a');

    const raw = persist('raw', { local: { path: device }, volumeMode: 'Block' });
    const containers = [{ name: 'c', volumeDevices: [{ name: 'raw', devicePath: '/dev/raw' }] }];
    const pod = podOf('raw', [raw], { containers });
    await volumes.setUp(pod, { facts, signal });
    t.same(volumes.mounted('raw').get('raw'), { path: device, kind: 'device', readOnly: false });
  });

  await t.test('an unreachable server or missing helper is reported', async (t) => {
    const nfs = persist('nfs', { nfs: { server: '127.0.0.1', path: '/export' }, mountOptions: ['soft', 'retry=0'] });
    const [reason = ''] = await failures(volumes, podOf('n', [nfs]));
    const start = 'MountVolume.SetUp failed for volume "pv-nfs" : mount failed: exit status ';
    t.ok(reason.startsWith(start), reason);
    t.match(reason, /\nMounting command: mount\nMounting arguments: -t nfs -o soft,retry=0 127.0.0.1:\/export \//);
    await volumes.tearDown('n');
  });

  await t.test("a memory directory has the setgid bit for the pod's group", async (t) => {
    const pod = podOf('g', [{ name: 'mem', emptyDir: { medium: 'Memory' } }], { securityContext: { fsGroup: 1234 } });
    await volumes.setUp(pod, { facts, signal });
    const { mode, gid } = await stat(volumes.mounted('g').get('mem')?.path ?? '');
    t.same({ mode: mode & 0o7777, gid }, { mode: 0o3777, gid: 1234 });
    await volumes.tearDown('g');
  });

  await t.test('the next agent leaves existing volumes unchanged', async (t) => {
    api.seed(configmaps, { metadata: { name: 'cfg', namespace: 'default' }, data: { a: '1' } });
    const list: Volume[] = [
      { name: 'cfg', configMap: { name: 'cfg' } },
      { name: 'dir', emptyDir: {} },
      { name: 'mem', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
    ];
    const pod = podOf('r', list);
    await volumes.setUp(pod, { facts, signal });
    const path = (name: string) => volumes.mounted('r').get(name)?.path ?? '';
    t.match(execFileSync('findmnt', ['-no', 'FSTYPE,SIZE', path('mem')], { encoding: 'utf8' }), /^tmpfs +1M/);
    t.equal((await stat(path('mem'))).mode & 0o7777, 0o1777, 'in memory, files are removed by their owners only');
    await chmod(path('dir'), 0o700);
    const version = await readlink(join(path('cfg'), '..data'));
    const next = start();
    await next.setUp(pod, { facts, signal });
    t.equal(await readlink(join(path('cfg'), '..data')), version, 'its files are current');
    t.equal((await stat(path('dir'))).mode & 0o777, 0o700, 'the mode set by a container is kept');
    t.equal((await mountsBelow(join(dir, 'pods', 'r'))).length, 1);
    await rm(join(path('cfg'), '..data', 'a'));
    await start().setUp(pod, { facts, signal });
    t.equal(await readFile(join(path('cfg'), 'a'), 'utf8'), '1', 'damaged files are restored');
    await start({ keepsEnded: true }).release('r');
    t.equal(await readFile(join(path('cfg'), 'a'), 'utf8'), '1', 'what is to be kept after its end is');
    await next.tearDown('r');
    t.same(await directories.list(), []);
  });
});
