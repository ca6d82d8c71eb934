import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { imageArchive } from '#nodeagent/images/archive.js';
import { clusterImageDefinitions, clusterImages } from '#nodeagent/images/busybox.js';
import { imageNameProblem, pullPolicy, withDefaultTag } from '#nodeagent/images/puller.js';
import { tar } from '#nodeagent/images/tar.js';

t.test('archives are readable by tar and deterministic', async (t) => {
  const definitions = clusterImageDefinitions('test', Buffer.from('busybox'));
  const archive = imageArchive([{ arch: 'x64', images: definitions }]);
  t.ok(archive.equals(imageArchive([{ arch: 'x64', images: definitions }])));
  const dir = await mkdtemp(join(tmpdir(), 'images-'));
  t.teardown(() => rm(dir, { recursive: true }));
  await writeFile(join(dir, 'a.tar'), archive);
  const { stdout } = await promisify(execFile)('tar', ['tf', join(dir, 'a.tar')]);
  const names = stdout.trim().split('\n');
  t.ok(names.includes('oci-layout') && names.includes('index.json'));
  const index = (await promisify(execFile)('tar', ['xOf', join(dir, 'a.tar'), 'index.json'])).stdout;
  const { manifests } = JSON.parse(index);
  t.same(
    manifests.map((m: { annotations: Record<string, string> }) => m.annotations['io.containerd.image.name']),
    Object.values(clusterImages('test')),
  );
  t.equal(
    names.filter((name) => name.startsWith('blobs/')).length,
    1 + 2 * definitions.length,
    'the shared layer is stored once',
  );
});

t.test('one image for several architectures', async (t) => {
  const of = (arch: string) => ({ arch, images: clusterImageDefinitions('test', Buffer.from(arch)) });
  const dir = t.testdir();
  await writeFile(join(dir, 'a.tar'), imageArchive([of('x64'), of('arm64')]));
  const read = async (path: string) => {
    const { stdout } = await promisify(execFile)('tar', ['xOf', join(dir, 'a.tar'), path]);
    return JSON.parse(stdout) as { architecture?: string; manifests: Descriptor[]; config: Descriptor };
  };
  const blob = (digest: string) => read(`blobs/${digest.replace(':', '/')}`);
  const { manifests } = await read('index.json');
  t.same(
    manifests.map(({ annotations }) => annotations?.['io.containerd.image.name']),
    Object.values(clusterImages('test')),
    'each name once',
  );
  const [first] = manifests;
  t.equal(first?.mediaType, 'application/vnd.oci.image.index.v1+json');
  const index = await blob(first?.digest ?? '');
  for (const [at, architecture] of ['amd64', 'arm64'].entries()) {
    const each = index.manifests[at];
    t.same(each?.platform, { architecture, os: 'linux' });
    const { config } = await blob(each?.digest ?? '');
    t.equal((await blob(config.digest)).architecture, architecture);
  }
});

interface Descriptor {
  readonly digest: string;
  readonly mediaType: string;
  readonly platform?: object;
  readonly annotations?: Readonly<Record<string, string>>;
}

t.test('long paths are rejected, not truncated', async (t) => {
  t.throws(() => tar([{ type: 'directory', path: 'x'.repeat(200), mode: 0o755 }]), RangeError);
});

t.test('image references get the default tag, and invalid ones are rejected', async (t) => {
  for (const [image, tagged] of [
    ['busybox', 'busybox:latest'],
    ['busybox:1', 'busybox:1'],
    ['localhost:5000/a/b', 'localhost:5000/a/b:latest'],
    ['quay.io/a/b:2', 'quay.io/a/b:2'],
  ] as const) {
    t.equal(withDefaultTag(image), tagged);
    t.equal(imageNameProblem(image), undefined, image);
  }
  for (const bad of ['', 'A B', 'x:', 'http://x/y', `x@sha256:1`]) t.ok(imageNameProblem(bad), bad);
  t.equal(pullPolicy({ image: 'a' }), 'Always');
  t.equal(pullPolicy({ image: 'a:1' }), 'IfNotPresent');
  t.equal(pullPolicy({ image: 'a', imagePullPolicy: 'Never' }), 'Never');
});
