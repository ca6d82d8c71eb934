import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { formatTime } from '#apimachinery/clock.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { ExecCredentials, execConfigOf } from '#client/kubeconfig/exec-credentials.js';
import { execMetrics } from '#client/kubeconfig/exec-metrics.js';
import { childProcessPlugins, type PluginCall, type PluginResult } from '#client/kubeconfig/exec-plugin.js';
import type { Cluster, ExecEntry } from '#client/kubeconfig/file.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { staticTls } from '#http/client/credentials.js';
import { createAuthority, issueCertificate } from '#pki/certificate.js';

const v1 = `client.authentication.${kubernetesDialect.apiDomain}/v1`;

function setUp(entry: Partial<ExecEntry> = {}, cluster: Cluster = {}, terminal = false) {
  const clock = new VirtualClock();
  const registry = new Registry();
  const calls: PluginCall[] = [];
  const results: (PluginResult | object)[] = [];
  const config = execConfigOf({ apiVersion: v1, command: 'plugin', interactiveMode: 'Never', ...entry }, 'test');
  const exec = new ExecCredentials(config, {
    clock,
    readFile: (path) => Promise.resolve(Buffer.from(`content of ${path}`)),
    cluster: { server: 'https://h', ...cluster },
    proxy: new URL('http://proxy:1'),
    metrics: execMetrics(registry, clock),
    plugins: {
      terminal,
      run(call) {
        calls.push(call);
        const result = results.shift() ?? { kind: 'failed', reason: 'no more' };
        if ('kind' in result) return Promise.resolve(result as PluginResult);
        const stdout = JSON.stringify({ kind: 'ExecCredential', apiVersion: config.apiVersion, status: result });
        return Promise.resolve({ kind: 'ended', code: 0, stdout });
      },
    },
  });
  return { clock, registry, calls, results, exec };
}

t.test('a credential is requested once and cached until it expires or is refused', async (t) => {
  const { clock, calls, results, exec } = setUp();
  results.push({ token: 'a', expirationTimestamp: formatTime(clock.now() + 60_000) }, { token: 'b' }, { token: 'c' });
  t.same(await Promise.all([exec.token(), exec.token()]), ['a', 'a']);
  await clock.advance(59_999);
  t.equal(await exec.token(), 'a');
  t.equal(calls.length, 1);
  await clock.advance(1);
  t.same(await Promise.all([exec.token(), exec.token()]), ['b', 'b']);
  await clock.advance(1e9);
  t.equal(await exec.token(), 'b', 'without an expiry it stays valid');
  exec.invalidate();
  t.equal(await exec.token(), 'c');
  t.equal(calls.length, 3);
  exec.invalidate();
  await t.rejects(exec.token(), { message: /no more/ });
  results.push({ token: 'd' });
  t.equal(await exec.token(), 'd', 'a failure is not cached');
});

t.test('the plugin receives the cluster', async (t) => {
  const cluster: Cluster = {
    'certificate-authority': '/ca',
    'tls-server-name': 'api',
    extensions: [{ name: `client.authentication.${kubernetesDialect.apiDomain}/exec`, extension: { audience: 'x' } }],
  };
  const entry = { args: ['-x'], env: [{ name: 'A', value: 'b' }], provideClusterInfo: true };
  const { calls, results, exec } = setUp({ ...entry, interactiveMode: 'IfAvailable' }, cluster, true);
  results.push({ token: 'a' });
  await exec.token();
  const { env, ...call } = calls[0] as PluginCall;
  t.same(call, { command: 'plugin', args: ['-x'], interactive: true });
  t.equal(env['A'], 'b');
  t.same(JSON.parse(env[`${kubernetesDialect.serviceEnvPrefix}_EXEC_INFO`] ?? ''), {
    kind: 'ExecCredential',
    apiVersion: v1,
    spec: {
      cluster: {
        server: 'https://h',
        'tls-server-name': 'api',
        'certificate-authority-data': Buffer.from('content of /ca').toString('base64'),
        'proxy-url': 'http://proxy:1/',
        config: { audience: 'x' },
      },
      interactive: true,
    },
  });
  const plain = setUp({ apiVersion: v1.replace('v1', 'v1beta1') });
  plain.results.push({ token: 'a' });
  await plain.exec.token();
  t.match(Object.values(plain.calls[0]?.env ?? {})[0], /"spec":\{"interactive":false\}/);
});

t.test('an unchanged certificate is the same object, a rotation is counted', async (t) => {
  const { clock, registry, results, exec } = setUp();
  const authority = await createAuthority({ commonName: 'ca', now: clock.now() });
  const issue = async () => {
    const subject = { commonName: 'u', organizations: [] };
    const issued = await issueCertificate(authority, { subject, usages: ['client'], now: clock.now() });
    return { clientCertificateData: issued.certificate, clientKeyData: issued.privateKey };
  };
  const tls = exec.tls(staticTls({ ca: 'CA', cert: 'not this' }));
  const first = await issue();
  const expirationTimestamp = formatTime(clock.now() + 1000);
  results.push({ ...first, expirationTimestamp }, { ...first, expirationTimestamp }, await issue());
  const material = await tls.current();
  t.same(material, { ca: 'CA', cert: first.clientCertificateData, key: first.clientKeyData });
  t.equal(await exec.token(), '');
  t.equal(await tls.current(), material);
  t.match(await registry.metrics(), /rest_client_exec_plugin_ttl_seconds 31\d{6}/);
  await clock.advance(3_600_000);
  t.equal(await tls.current(), material);
  t.not(await tls.current(), material);
  t.match(await registry.metrics(), 'rest_client_exec_plugin_certificate_rotation_age_count 1');
});

t.test('reports failures of the plugin', async (t) => {
  const printed = (value: unknown): PluginResult => ({ kind: 'ended', code: 0, stdout: JSON.stringify(value) });
  const rows: [PluginResult | object, RegExp][] = [
    [{ kind: 'notFound' }, /executable plugin not found\n\ninstall it/],
    [{ kind: 'ended', code: 3, stdout: '' }, /failed with exit code 3/],
    [{ kind: 'ended', code: 0, stdout: '{' }, /decoding stdout/],
    [printed([]), /no ExecCredential/],
    [printed({ kind: 'ExecCredential', apiVersion: 'x', status: {} }), /API version .*v1, it returned version x/],
    [printed({ kind: 'ExecCredential', apiVersion: v1 }), /status field/],
    [{}, /token or cert\/key pair/],
    [{ token: 7 }, /status.token is not a string/],
    [{ clientCertificateData: 'x' }, /only certificate or key/],
    [{ clientCertificateData: 'x', clientKeyData: 'y' }, /bad certificate/],
    [{ token: 'x', expirationTimestamp: 'tomorrow' }, /"tomorrow" is not a time/],
  ];
  const { registry, results, exec } = setUp({ installHint: 'install it' });
  for (const [result, message] of rows) {
    results.push(result);
    await t.rejects(exec.token(), { name: 'CredentialError', message }, String(message));
  }
  const always = setUp({ interactiveMode: 'Always' });
  await t.rejects(always.exec.token(), { message: /not a terminal/ });
  const text = await registry.metrics();
  t.match(text, 'rest_client_exec_plugin_call_total{code="3",call_status="plugin_execution_error"} 1');
  t.match(text, 'rest_client_exec_plugin_call_total{code="1",call_status="plugin_not_found_error"} 1');
  t.match(text, 'rest_client_exec_plugin_ttl_seconds +Inf');
});

async function script(t: Test, text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'plugin-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const path = join(folder, 'plugin');
  await writeFile(path, `#!/bin/sh\n${text}\n`);
  await chmod(path, 0o755);
  return path;
}

t.test('runs plugins as processes', async (t) => {
  const plugins = childProcessPlugins({ PATH: '/usr/bin:/bin', OUTER: 'o' });
  const run = async (text: string) =>
    plugins.run({ command: await script(t, text), args: ['x'], env: { INNER: 'i' }, interactive: false });
  t.same(await run('echo $OUTER $INNER $1; cat; exit 4'), { kind: 'ended', code: 4, stdout: 'o i x\n' });
  t.same(await plugins.run({ command: 'no-such-plugin', args: [], env: {}, interactive: false }), { kind: 'notFound' });
  t.match(await run('kill -9 $$'), { kind: 'failed', reason: /SIGKILL/ });
  t.match(await run('cat /dev/zero'), { kind: 'failed', reason: /more than/ });
});
