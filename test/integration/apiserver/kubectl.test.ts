/** Existing clients: every kubectl of this machine, in one dialect or both. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import type { ApiServer } from '#apiserver/build/api-server.js';
import { kubectls, kubectlsFor, minorVersion } from '#test/e2e/harness.js';
import { call, startServer } from '#test/integration/apiserver/server.js';

const run = promisify(execFile);

const manifest = (replicas: number) => `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: ${replicas}
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: web, image: nginx }] }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: settings }
data: { a: b }
`;

async function configure(server: ApiServer, directory: string): Promise<string> {
  const path = join(directory, 'config');
  const cluster = { server: `https://127.0.0.1:${server.address?.port}`, 'insecure-skip-tls-verify': true };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user: { token: 'any' } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'c',
  };
  await writeFile(path, JSON.stringify(config));
  return path;
}

const programs = await kubectls();

if (programs.length === 0) t.pass('no kubectl on this machine: nothing to try', { skip: true });

t.setTimeout(300_000);

for (const dialect of [kubernetesDialect, orchDialect]) {
  for (const program of kubectlsFor(dialect.name, programs)) {
    t.test(`${dialect.name} dialect, ${program}`, async (t) => {
      const server = await startServer(t, { https: true, dialect });
      const directory = await mkdtemp(join(tmpdir(), 'kubectl-'));
      t.teardown(() => rm(directory, { recursive: true }));
      const environment = {
        KUBECONFIG: await configure(server, directory),
        HOME: directory,
        PATH: process.env['PATH'],
      };
      const kubectl = async (...args: string[]) => {
        const { stdout } = await run(program, args, { env: environment, timeout: 30_000 });
        return stdout;
      };
      await call(server, 'POST', '/api/v1/namespaces', {
        body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } },
      });
      const file = join(directory, 'manifest.yaml');
      await writeFile(file, manifest(2));
      t.match(await kubectl('apply', '-f', file), /deployment.apps\/web created\nconfigmap\/settings created/);
      await writeFile(file, manifest(3));
      t.match(await kubectl('apply', '-f', file), /deployment.apps\/web configured\nconfigmap\/settings unchanged/);
      t.match(await kubectl('get', 'deployments', '-o', 'wide'), /NAME +READY +UP-TO-DATE.*\nweb +0\/3/);
      t.match(await kubectl('scale', 'deployment/web', '--replicas=4'), /scaled/);
      t.match(await kubectl('set', 'image', 'deployment/web', 'web=nginx:2'), /image updated/);
      t.equal(await kubectl('get', 'deploy', 'web', '-o', 'jsonpath={.spec.replicas}'), '4');
      t.match(await kubectl('describe', 'deployment', 'web'), /Image: +nginx:2/);
      t.match(await kubectl('explain', 'deployment.spec.strategy'), /type\t<string>/);
      const metadata =
        /Standard object's metadata[\s\S]*creationTimestamp\t<string>\s+CreationTimestamp is a timestamp/;
      t.match(await kubectl('explain', 'deployment.metadata'), metadata);
      const unknown = await kubectl('get', 'nothings').catch((error: { stderr: string }) => error.stderr);
      t.match(unknown, /the server doesn't have a resource type "nothings"/);
      await writeFile(file, manifest(5));
      t.match(await kubectl('apply', '--server-side', '--force-conflicts', '-f', file), /web serverside-applied/);
      t.equal(await kubectl('get', 'deploy', 'web', '-o', 'jsonpath={.spec.replicas}'), '5');
      t.match(await kubectl('delete', '-f', file), /"web" deleted/);
      t.equal(await kubectl('get', 'all,configmaps', '-o', 'name'), '');
    });
  }
}

const versionsManifest = `
apiVersion: batch/v1beta1
kind: CronJob
metadata: { name: nightly }
spec:
  schedule: "0 3 * * *"
  jobTemplate: { spec: { template: { spec: { restartPolicy: Never, containers: [{ name: c, image: i }] } } } }
---
apiVersion: autoscaling/v2beta1
kind: HorizontalPodAutoscaler
metadata: { name: web }
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: web }
  maxReplicas: 3
  metrics: [{ type: Resource, resource: { name: cpu, targetAverageUtilization: 60 } }]
`;

/** The oldest and the newest kubectl. */
const byVersion = new Map<number, string>();
for (const program of programs) byVersion.set(await minorVersion(program), program);
const minors = [...byVersion.keys()];
for (const program of new Set([byVersion.get(Math.min(...minors)), byVersion.get(Math.max(...minors))])) {
  if (program === undefined) continue;
  t.test(`several versions of a kind, ${program}`, async (t) => {
    const server = await startServer(t, { https: true });
    const directory = await mkdtemp(join(tmpdir(), 'kubectl-'));
    t.teardown(() => rm(directory, { recursive: true }));
    const env = { KUBECONFIG: await configure(server, directory), HOME: directory, PATH: process.env['PATH'] };
    const kubectl = (...args: string[]) => run(program, args, { env, timeout: 30_000 });
    await call(server, 'POST', '/api/v1/namespaces', { body: { metadata: { name: 'default' } } });
    const listed = (await kubectl('api-resources', '--no-headers')).stdout.split('\n').map((line) => line.split(/ +/));
    const named = (name: string) => listed.filter((row) => row[0] === name).map((row) => row.slice(1));
    t.same(named('cronjobs'), [['cj', 'batch/v1', 'true', 'CronJob']], 'once, in the preferred version');
    t.same(named('horizontalpodautoscalers'), [['hpa', 'autoscaling/v2', 'true', 'HorizontalPodAutoscaler']]);
    t.same(named('podsecuritypolicies'), [['psp', 'policy/v1beta1', 'false', 'PodSecurityPolicy']]);
    const file = join(directory, 'versions.yaml');
    await writeFile(file, versionsManifest);
    const created = await kubectl('apply', '-f', file);
    t.match(created.stdout, /cronjob.batch\/nightly created\nhorizontalpodautoscaler.autoscaling\/web created/);
    t.match(
      created.stderr,
      /Warning: batch\/v1beta1 CronJob is deprecated in v1.21\+, unavailable in v1.25\+; use batch\/v1 CronJob/,
    );
    t.match(
      (await kubectl('apply', '-f', file)).stdout,
      /nightly unchanged\nhorizontalpodautoscaler.autoscaling\/web unchanged/,
    );
    const old = await kubectl('get', 'cronjobs.v1beta1.batch', 'nightly', '-o', 'jsonpath={.apiVersion}');
    t.equal(old.stdout, 'batch/v1beta1');
    t.match((await kubectl('get', 'cronjobs.v1beta1.batch')).stdout, /NAME +SCHEDULE.*\nnightly +0 3 \* \* \* +False/);
    t.match((await kubectl('get', 'hpa')).stdout, /web +Deployment\/web +.*60%/);
    t.match(
      (await kubectl('explain', 'cronjobs', '--api-version=batch/v1beta1')).stdout,
      /VERSION: +(batch\/)?v1beta1/,
    );
    t.match(
      (await kubectl('explain', 'hpa.spec.metrics.resource', '--api-version=autoscaling/v2beta1')).stdout,
      /targetAverageUtilization/,
    );
  });
}
