import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import type { Pod, Secret } from '#api/core/v1/types.gen.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import type { Logger } from '#daemon/log/logger.js';
import { pullCredentials } from '#nodeagent/images/credentials.js';
import { DockerConfig, readDockerConfig } from '#nodeagent/images/docker-config.js';
import type { ReferencedObjects } from '#nodeagent/objects/referenced-objects.js';

const base64 = (text: string) => Buffer.from(text).toString('base64');

const defaults = { onFailure: () => undefined, signal: new AbortController().signal };

async function credentials(image: string, contents: Readonly<Record<string, unknown>>, raw = false) {
  const secretOf = (name: string): Secret | undefined => {
    if (!Object.hasOwn(contents, name)) return undefined;
    const old = name.startsWith('old');
    const text = raw ? String(contents[name]) : JSON.stringify(old ? contents[name] : { auths: contents[name] });
    return {
      metadata: { name },
      type: old ? dialect.secretTypes.dockercfg : dialect.secretTypes.dockerConfigJson,
      data: { [old ? '.dockercfg' : '.dockerconfigjson']: base64(text) },
    };
  };
  const objects = {
    get: async (_resource: unknown, { name }: { name: string }) => secretOf(name),
  } as unknown as Pick<ReferencedObjects, 'get'>;
  const imagePullSecrets = ['missing', ...Object.keys(contents)].map((name) => ({ name }));
  const pod: Pod = { metadata: { name: 'p', namespace: 'n', uid: 'u' }, spec: { containers: [], imagePullSecrets } };
  return pullCredentials(pod, image, { ...defaults, objects, dialect });
}

t.test('an unreadable secret is skipped, and a terminating pod reads none', async (t) => {
  const reads: string[] = [];
  const failed: string[] = [];
  const stop = new AbortController();
  const objects = {
    get: async (_resource: unknown, { name }: { name: string }) => {
      reads.push(name);
      if (name === 'last') stop.abort(new Error('the pod has gone'));
      throw new Error('timed out');
    },
  } as unknown as Pick<ReferencedObjects, 'get'>;
  const credentialsOf = (...names: string[]) => {
    const imagePullSecrets = names.map((name) => ({ name }));
    const pod: Pod = { metadata: { name: 'p', namespace: 'n', uid: 'u' }, spec: { containers: [], imagePullSecrets } };
    const onFailure = (name: string) => failed.push(name);
    return pullCredentials(pod, 'app:1', { objects, dialect, onFailure, signal: stop.signal });
  };
  t.same(await credentialsOf('one', 'two'), []);
  t.same(failed, ['one', 'two']);
  await t.rejects(credentialsOf('last', 'never'), { message: 'the pod has gone' });
  t.same(reads, ['one', 'two', 'last']);
});

t.test('secrets of both formats are used, the most specific registry first', async (t) => {
  const result = await credentials('eu.example.com/team/app:1', {
    one: { '*.example.com': { auth: base64('glob:with:colon') }, 'other.org': { auth: base64('no:no') } },
    two: { 'https://eu.example.com/v1/team': { username: 'path', password: 'p', auth: base64('x:y') } },
    old: { 'eu.example.com': { identitytoken: 'token' } },
  });
  t.same(result, [
    { username: 'path', password: 'p' },
    { identityToken: 'token' },
    { username: 'glob', password: 'with:colon' },
  ]);
});

t.test("the default registry's names are equivalent", async (t) => {
  const hub = { one: { 'https://index.docker.io/v1/': { auth: base64('u:p') } } };
  for (const image of ['busybox', 'docker.io/busybox:1', 'team/app']) {
    t.same(await credentials(image, hub), [{ username: 'u', password: 'p' }], image);
  }
  t.same(await credentials('example.com/app', hub), []);
});

t.test('secrets with other contents are skipped', async (t) => {
  for (const text of [
    '{',
    'null',
    '7',
    '[]',
    '{"auths":[]}',
    '{"auths":{"example.com":7}}',
    '{"auths":{"example.com":{}}}',
  ])
    t.same(await credentials('example.com/app', { one: text }, true), [], text);
  t.same(await credentials('example.com/app', { one: '{"auths":{"example.com":{"auth":7}}}' }, true), []);
});

t.test('the first readable docker configuration is used and cached for five minutes', async (t) => {
  const config = (user: string) => ({ 'example.com': { auth: base64(`${user}:p`) } });
  const files = new Map([
    ['/node/config.json', '{ not JSON: "secret"'],
    ['/home/.docker/config.json', JSON.stringify({ auths: config('home') })],
    ['/node/.dockercfg', JSON.stringify(config('old'))],
  ]);
  const clock = new VirtualClock();
  const warnings: unknown[] = [];
  const log = { warn: (...args: unknown[]) => warnings.push(args) } as unknown as Logger;
  const read = async (path: string) => files.get(path);
  const docker = new DockerConfig({ rootDir: '/node', homeDir: '/home', clock, log, read });
  t.same(await docker.credentials('example.com/app'), [{ username: 'home', password: 'p' }]);
  t.same(await docker.credentials('other.com/app'), []);
  t.equal(warnings.length, 1);
  t.notMatch(JSON.stringify(warnings), 'secret');
  files.delete('/home/.docker/config.json');
  await clock.advance(299_999);
  t.same(await docker.credentials('example.com/app'), [{ username: 'home', password: 'p' }]);
  await clock.advance(1);
  t.same(await docker.credentials('example.com/app'), [{ username: 'old', password: 'p' }]);
});

t.test('an invalid docker configuration is ignored', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'docker-'));
  t.teardown(() => rm(dir, { recursive: true }));
  await writeFile(join(dir, 'small'), '{}');
  await writeFile(join(dir, 'large'), Buffer.alloc((1 << 20) + 1));
  t.equal(await readDockerConfig(join(dir, 'small')), '{}');
  t.equal(await readDockerConfig(join(dir, 'none')), undefined);
  t.equal(await readDockerConfig(dir), undefined);
  t.equal(await readDockerConfig(join(dir, 'small', 'none')), undefined);
  await t.rejects(readDockerConfig(join(dir, 'large')), /larger than/);
});
