/** A scheduler in a separate process explains to authorized users why a pod is pending. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import type { Test } from 'tap';
import type { TokenRequest } from '#api/authentication/v1/types.gen.js';
import { serviceaccounts } from '#api/core/v1/resources.gen.js';
import { clusterrolebindings, clusterroles } from '#api/rbac/v1/resources.gen.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { formatKubeconfig, singleContext } from '#client/kubeconfig/file.js';
import type { Explanation } from '#scheduler/explain/explanation.js';
import { until } from '#test/integration/controllers/cluster.js';
import type { RunningApiServer } from '#test/integration/peers/implementations.js';

const page = '/debug/scheduler/explain';

interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const orchctl = fileURLToPath(import.meta.resolve('#cmd/orchctl/main.js'));

function ctl(config: string, ...args: string[]): Promise<CommandResult> {
  return new Promise((resolve) => {
    const env = { ...process.env, ORCHCONFIG: config };
    execFile(process.execPath, [orchctl, ...args], { env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
    });
  });
}

/** `pod` in the namespace `shop` fits no node; the scheduler serves at `port`, and the API server authorizes requests. */
export async function schedulerExplains(t: Test, server: RunningApiServer, port: number, pod: string): Promise<void> {
  const { adminConfig, client } = server;
  const folder = await mkdtemp(join(tmpdir(), 'explaining-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const address = `https://127.0.0.1:${port}`;
  const named = ['why', 'pod', pod, '-n', 'shop', '-o', 'json'];
  const ask = (config: string) =>
    ctl(config, ...named, '--ask-scheduler', `--server=${address}`, '--insecure-skip-tls-verify');

  const both = async () => [await ask(adminConfig), await ctl(adminConfig, ...named)] as const;
  const same = ([remote, local]: readonly [CommandResult, CommandResult]) =>
    remote.code === 0 && local.code === 0 && isDeepStrictEqual(JSON.parse(remote.stdout), JSON.parse(local.stdout));
  const [remote] = await until("the scheduler's explanation equals orchctl's", both, same);
  const explanation = JSON.parse(remote.stdout) as Explanation;
  t.match(explanation, { outcome: 'FitsNowhere', message: /Insufficient cpu/ });
  t.ok(explanation.remedies.length > 0);
  t.match(await ctl(adminConfig, 'why', '--drain', 'a1', '--ask-scheduler'), { code: 1, stderr: /--ask-scheduler/ });

  const configOf = async (name: string, token?: string) => {
    const path = join(folder, `${name}.conf`);
    const user = { clusterName: 'test', userName: name, ...(token === undefined ? {} : { token }) };
    await writeFile(path, formatKubeconfig(singleContext({ server: address, ...user })), { mode: 0o600 });
    return path;
  };
  t.match(await ask(await configOf('anonymous')), { code: 1, stderr: /system:anonymous/ });
  await client.resource(clusterroles).create({
    metadata: { name: 'explainer' },
    rules: [{ verbs: ['get'], nonResourceURLs: [page] }],
  });
  await client.resource(clusterrolebindings).create({
    metadata: { name: 'explainer' },
    roleRef: { apiGroup: dialect.groupName('rbac'), kind: 'ClusterRole', name: 'explainer' },
    subjects: [{ kind: 'ServiceAccount', namespace: 'shop', name: 'curious' }],
  });
  for (const [name, code] of Object.entries({ stranger: 1, curious: 0 })) {
    await client.resource(serviceaccounts).create({ metadata: { name, namespace: 'shop' } });
    const request: TokenRequest = { spec: { audiences: [] } };
    const accounts = client.resource(serviceaccounts);
    const { status } = await accounts.createSubresource(name, 'token', request, { namespace: 'shop' });
    const config = await configOf(name, status?.token ?? '');
    // The scheduler's caches may not show the role yet.
    const result =
      code === 0
        ? await until(
            `${name} may ask`,
            () => ask(config),
            (one) => one.code === 0,
          )
        : await ask(config);
    t.equal(result.code, code);
    if (code === 1) t.match(result.stderr, new RegExp(`${name}.*cannot get path.*${page}`));
    else t.match(JSON.parse(result.stdout), { outcome: 'FitsNowhere' });
  }
}
