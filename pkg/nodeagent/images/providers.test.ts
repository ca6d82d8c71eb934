import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pino from 'pino';
import t from 'tap';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import type { CredentialProvider } from '#nodeagent/images/provider-config.js';
import { CredentialProviders, pluginRunner, type RunPlugin, runPlugin } from '#nodeagent/images/providers.js';
import { eventually } from '#nodeagent/testing/agent-fixture.js';

const apiVersion = 'credentialprovider.kubelet.k8s.io/v1beta1';
const provider: CredentialProvider = {
  path: '/bin/plugin',
  name: 'plugin',
  matchImages: ['*.example.com'],
  defaultCacheMs: 60_000,
  apiVersion,
  args: [],
  env: {},
};
const log = pino({ level: 'silent' });
const auth = (username: string) => ({ username, password: 'p' });
const responseText = (more: object) =>
  JSON.stringify({ kind: 'CredentialProviderResponse', apiVersion, cacheKeyType: 'Image', ...more });

/** A zombie counts as dead. */
async function isDead(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ') Z ');
  return stat.includes(') Z ');
}

function setUp(run: RunPlugin, providers: readonly CredentialProvider[] = [provider]) {
  const clock = new VirtualClock();
  const runs: string[] = [];
  const counted: RunPlugin = (each, request) => {
    runs.push((JSON.parse(request) as { image: string }).image);
    return run(each, request);
  };
  return { clock, runs, plugins: new CredentialProviders(providers, { clock, log, run: counted }) };
}

t.test('responses are cached per image, per registry or globally, for their cache duration', async (t) => {
  const images = ['eu.example.com/a:1', 'eu.example.com/a:2', 'eu.example.com/b', 'us.example.com/a', 'other.org/a'];
  for (const [cacheKeyType, cacheDuration, count] of [
    ['Image', undefined, 3],
    ['Registry', '1m', 2],
    ['Global', '1m', 1],
    ['Global', '0s', 4],
  ] as const) {
    const { plugins, runs, clock } = setUp(async () =>
      responseText({ cacheKeyType, cacheDuration, auth: { '*.example.com': auth('u') } }),
    );
    for (const image of images) {
      t.same(await plugins.credentials(image), image.startsWith('other') ? [] : [auth('u')], image);
    }
    t.equal(runs.length, count, `${cacheKeyType} ${cacheDuration}`);
    await clock.advance(59_999);
    await plugins.credentials('eu.example.com/a');
    t.equal(runs.length, cacheDuration === '0s' ? count + 1 : count);
    await clock.advance(1);
    await plugins.credentials('eu.example.com/a');
    t.equal(runs.length, cacheDuration === '0s' ? count + 2 : count + 1);
  }
});

t.test('concurrent requests for one key share a run', async (t) => {
  const { plugins, runs } = setUp(async () => responseText({ auth: { 'eu.example.com': auth('u') } }));
  await Promise.all([plugins.credentials('eu.example.com/a:1'), plugins.credentials('eu.example.com/a:2')]);
  t.same(runs, ['eu.example.com/a']);
});

t.test('credentials keep the order of the providers, and a failing provider is skipped', async (t) => {
  const named = ['broken', 'first', 'second'].map((name) => ({ ...provider, name }));
  const { plugins } = setUp(async ({ name }) => {
    if (name === 'broken') throw new Error('no');
    return responseText({ auth: { 'eu.example.com': auth(name), [`eu.example.com/${name}`]: auth(`${name} path`) } });
  }, named);
  t.same(await plugins.credentials('eu.example.com/second/a'), [auth('second path'), auth('first'), auth('second')]);
});

t.test('invalid responses give no credentials and are not cached', async (t) => {
  for (const text of [
    'x',
    '7',
    responseText({ apiVersion: 'credentialprovider.kubelet.k8s.io/v1alpha1' }),
    responseText({ kind: 'Other' }),
    responseText({ cacheKeyType: 'constructor' }),
    responseText({ cacheKeyType: { toString: 1 } }),
    responseText({ apiVersion: { toString: 1 }, kind: ['x'.repeat(100_000)] }),
    '['.repeat(500_000),
    `{"auth":${'{"a":'.repeat(100_000)}`,
    'null',
    '',
    responseText({ cacheDuration: 7 }),
    responseText({ cacheDuration: 'long' }),
    responseText({ auth: [] }),
    responseText({ auth: { 'eu.example.com': { username: 1 } } }),
  ]) {
    const { plugins, runs } = setUp(async () => text);
    t.same(await plugins.credentials('eu.example.com/a'), [], text);
    t.same(await plugins.credentials('eu.example.com/a'), [], text);
    t.equal(runs.length, 2);
  }
});

t.test('a real plugin receives the request, arguments and environment', async (t) => {
  const dir = t.testdir();
  const plugin = async (name: string, script: string) => {
    const path = join(dir, name);
    await writeFile(path, `#!/bin/sh\n${script}\n`);
    await chmod(path, 0o755);
    return { ...provider, name, path, args: ['one two'], env: { TOKEN: 'of the file' } };
  };
  const echo = await plugin('echo', 'printf "%s|%s|%s|%s" "$(cat)" "$1" "$TOKEN" "$PATH"');
  t.equal(await runPlugin(echo, '{"image":"x"}'), `{"image":"x"}|one two|of the file|${process.env['PATH']}`);
  await t.rejects(runPlugin(await plugin('endless', 'exec yes'), '{}'), /printed too much output/);
  await t.rejects(runPlugin(await plugin('endless-child', 'yes & exec sleep 1000'), '{}'), /printed too much output/);
  const silent = await plugin('silent', 'exec sleep 1000');
  await t.rejects(pluginRunner(100)(silent, '{}'), /did not answer in time/);
  await t.rejects(runPlugin(await plugin('killed', 'kill -9 $$'), '{}'), /killed failed, signal: SIGKILL/);
  await t.rejects(
    runPlugin(await plugin('grumbles', 'yes why | head -c 5000000 >&2; exit 4'), '{}'),
    /grumbles failed, exit status 4: .{200}$/s,
  );
  await t.rejects(runPlugin(await plugin('fails', 'echo why >&2; exit 3'), '{}'), /why/);
  await t.rejects(runPlugin({ ...provider, path: join(dir, 'missing') }, '{}'), { code: 'ENOENT' });
  const leaves = await plugin('leaves', 'sleep 1000 & echo $! >"$0.pid"; echo {}');
  t.equal(await runPlugin(leaves, '{}'), '{}\n', 'a child that holds the output open does not hold up the answer');
  process.kill(Number(await readFile(`${leaves.path}.pid`, 'utf8')), 'SIGKILL');
  const hides = await plugin('hides', 'sleep 1000 & echo $! >"$0.pid"; wait');
  // A busy machine may need more than the shortest time limits to reach the second line.
  let output = '';
  for (let limitMs = 300; output === '' && limitMs < 60_000; limitMs *= 4) {
    await t.rejects(pluginRunner(limitMs)(hides, '{}'), /did not answer in time/);
    output = await readFile(`${hides.path}.pid`, 'utf8').catch(() => '');
  }
  const pid = Number(output);
  await eventually(() => isDead(pid), 'its child is killed too');
  t.equal(await runPlugin(await plugin('deaf', 'exec <&-; echo {}'), 'x'.repeat(1_000_000)), '{}\n');
});
