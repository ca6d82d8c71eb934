import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { events, pods, secrets } from '#api/core/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { containerdPaths, startContainerd } from '#containerd/containerd.js';
import { cleanContainerd } from '#containerd/teardown.js';
import { containerdFixture, skipWithoutContainers } from '#containerd/testing/containerd-fixture.js';
import { GrpcCRI } from '#nodeagent/cri/grpc/client.js';
import { buildImageArchive } from '#nodeagent/images/busybox.js';
import { eventually, testPod } from '#nodeagent/testing/agent-fixture.js';
import { registryLies, serveRegistry } from '#nodeagent/testing/registry.js';

const skip = await skipWithoutContainers();
t.setTimeout(180_000);
const { components, apiDomain, secretTypes } = orchDialect;
const base64 = (text: string) => Buffer.from(text).toString('base64');

t.test('images are pulled with credentials of the pod, of plugins and of the node', { skip }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'pulls-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const layout = join(folder, 'layout');
  await mkdir(layout);
  const { busybox } = await buildImageArchive({ file: join(folder, 'images.tar'), product: 'test' });
  execFileSync('tar', ['-xf', join(folder, 'images.tar'), '-C', layout]);
  const passwords = {
    'of/pod': 'pod:one',
    'of/alpha': 'alpha:two',
    'of/beta': 'beta:three',
    'of/node': 'node:four',
    'of/stranger': 'stranger:five',
  };
  const { address, served } = await serveRegistry(t, { layout, image: busybox, passwords });

  // One plugin for each API version.
  const providers = ['alpha', 'beta'].map((name) => ({
    ...{ name, matchImages: [`${address}/of/${name}`], defaultCacheDuration: '1m' },
    apiVersion: `credentialprovider.${components.nodeAgent}.${apiDomain}/v1${name}1`,
  }));
  for (const { name, apiVersion } of providers) {
    const [username, password] = (passwords as Record<string, string>)[`of/${name}`]?.split(':') ?? [];
    const auth = { [`${address}/of/${name}`]: { username, password } };
    const response = { kind: 'CredentialProviderResponse', apiVersion, cacheKeyType: 'Image', auth };
    await writeFile(join(folder, name), `#!/bin/sh\nread request\necho '${JSON.stringify(response)}'\n`, {
      mode: 0o755,
    });
  }
  const config = join(folder, 'providers.json');
  const header = {
    apiVersion: `${components.nodeAgent}.config.${apiDomain}/v1beta1`,
    kind: 'CredentialProviderConfig',
  };
  await writeFile(config, JSON.stringify({ ...header, providers }));
  const fixture = await containerdFixture(t, {
    args: [
      `--image-credential-provider-config=${config}`,
      `--image-credential-provider-bin-dir=${folder}`,
      '--serialize-image-pulls=false',
    ],
  });
  const { api, dir, isReady, status } = fixture;
  const ofNode = { auths: { [address]: { auth: base64(passwords['of/node']) } } };
  await writeFile(join(dir, 'agent', 'config.json'), JSON.stringify(ofNode));
  api.seed(secrets, {
    metadata: { name: 'registry', namespace: 'default' },
    type: secretTypes.dockerConfigJson,
    data: {
      '.dockerconfigjson': base64(
        JSON.stringify({ auths: { [`${address}/of/pod`]: { auth: base64(passwords['of/pod']) } } }),
      ),
    },
  });
  const start = (name: string, image: string) =>
    api.seed(
      pods,
      testPod(name, {
        containers: [{ name: 'main', image: `${address}/${image}:1`, command: ['sleep', '1000'] }],
        imagePullSecrets: [{ name: 'registry' }],
        terminationGracePeriodSeconds: 0,
      }),
    );
  const names = ['pod', 'alpha', 'beta', 'node'];
  for (const name of names) start(name, `of/${name}`);
  start('open', 'open/app');
  start('stranger', 'of/stranger');
  start('none', 'none/app');
  const waiting = (name: string) => status(name)?.containerStatuses?.[0]?.state?.waiting;
  await eventually(
    () =>
      [...names, 'open'].every(isReady) && ['stranger', 'none'].every((name) => waiting(name)?.message !== undefined),
    'all are pulled that can be',
  ).catch((error: unknown) => t.fail(`${error}: ${[...names, 'stranger', 'none'].map(fixture.describe).join()}`));
  for (const name of names)
    t.ok(
      served.some(({ repository, user }) => repository === `of/${name}` && user === name),
      `as ${name}`,
    );
  t.ok(
    served.some(({ repository }) => repository === 'open/app'),
    'unneeded credentials do no harm',
  );
  t.notOk(served.some(({ repository }) => repository === 'of/stranger'));
  const eventsOf = (pod: string) => api.list(events).filter(({ involvedObject }) => involvedObject.name === pod);
  for (const [name, why] of [
    ['stranger', /^rpc error: code = \w+ desc = failed to pull and unpack image .*(401|authorization|Unauthorized)/],
    ['none', /^rpc error: code = NotFound desc = failed to pull and unpack image .*not found/],
  ] as const) {
    const image = `${address}/${name === 'none' ? 'none/app' : 'of/stranger'}:1`;
    t.match(waiting(name)?.reason, /^(ErrImagePull|ImagePullBackOff)$/);
    await eventually(
      () => eventsOf(name).filter(({ reason }) => reason === 'Failed').length >= 2,
      'the failure is reported',
    );
    const messages = eventsOf(name).map(({ reason, message = '' }) => `${reason} ${message}`);
    const beginning = `Failed Failed to pull image "${image}": `;
    const failure = messages.find((each) => each.startsWith(beginning)) ?? '';
    t.match(failure.slice(beginning.length), why);
    t.ok(messages.includes('Failed Error: ErrImagePull'));
    t.ok(messages.includes(`Pulling Pulling image "${image}"`));
  }

  await t.test('a registry with invalid, hanging or endless responses affects its own pods only', async (t) => {
    for (const lie of registryLies) start(lie, `lies/${lie}`);
    const patient: readonly string[] = ['hangs', 'endless'];
    const failing = registryLies.filter((lie) => !patient.includes(lie));
    await eventually(
      () => failing.every((lie) => /^(ErrImagePull|ImagePullBackOff)$/.test(waiting(lie)?.reason ?? '')),
      'detectable corruption fails',
    ).catch((error: unknown) => t.fail(`${error}: ${failing.map(fixture.describe).join()}`));
    start('beside', 'open/beside');
    // A first failure delays a pull by ten seconds.
    await eventually(() => isReady('beside'), 'other images are pulled meanwhile', 60_000).catch((error: unknown) => {
      throw new Error(fixture.describe('beside'), { cause: error });
    });
    await Promise.all(registryLies.map((lie) => fixture.remove(lie, 0)));
    const images = await fixture.cri.listImages();
    t.notOk(images.some(({ repoTags }) => repoTags.some((tag) => tag.includes('/lies/'))));
  });

  await t.test('a separate image service', async (t) => {
    const second = join(folder, 'second');
    const other = await startContainerd({ dir: second, podCIDR: '10.254.254.0/24', sandboxImage: busybox });
    t.teardown(async () => {
      await other.stop();
      await cleanContainerd(second);
    });
    const [apart, alone] = [
      new GrpcCRI({ endpoint: containerdPaths(dir).socket, imageEndpoint: other.endpoint, clock: realClock }),
      new GrpcCRI({ endpoint: other.endpoint, clock: realClock }),
    ];
    t.teardown(() => Promise.all([apart.close(), alone.close()]));
    const image = `${address}/open/apart:1`;
    await apart.pullImage(image);
    t.match((await apart.imageStatus(image))?.repoTags, [image]);
    t.match((await alone.imageStatus(image))?.repoTags, [image]);
    t.equal(await fixture.cri.imageStatus(image), undefined);
    t.ok((await apart.listContainers()).length >= names.length, 'containers belong to the other runtime');
    t.same(await alone.listContainers(), []);
    t.equal((await apart.imageFsInfo())[0]?.mountpoint, (await alone.imageFsInfo())[0]?.mountpoint);
  });
});
