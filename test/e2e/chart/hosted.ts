/** Parts of the test of a control plane in a cluster: its files, its members of etcd, and a backup that is restored. */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { cronjobs, jobs } from '#api/batch/v1/resources.gen.js';
import { configmaps, pods, secrets } from '#api/core/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import type { Client } from '#client/client.js';
import { createAuthority } from '#pki/certificate.js';
import { chartExamples, joined } from '#test/e2e/chart/examples.js';
import { eventually, type TestCluster } from '#test/e2e/harness.js';
import { apply } from '#test/e2e/observing/operator.js';

const namespace = 'default';

/** The values file of all programs' files, as in docs/helm-examples.md; creates the objects that they need. */
export async function filesOfPrograms(cluster: TestCluster, work: string): Promise<string> {
  const { values, objects } = chartExamples();
  const key = randomBytes(32).toString('base64');
  for (const text of objects) await apply(cluster, text.replaceAll('KEY', key));
  const { certificate } = await createAuthority({ commonName: 'id', now: realClock.now(), validityMs: 3_600_000 });
  const oidc = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'orch-oidc' },
    data: { 'ca.crt': certificate },
  };
  await apply(cluster, JSON.stringify(oidc));
  const titles = ['Audit policy', 'Encryption at rest', 'Users of an identity provider', 'Admission plugins'];
  const chosen = values.filter(({ title }) => [...titles, 'Profiles of the scheduler'].includes(title));
  const path = join(work, 'files.json');
  writeFileSync(path, JSON.stringify(joined(chosen.map((each) => each.values))));
  return path;
}

/** That the programs use their files. */
export async function usesFiles(t: Test, cluster: TestCluster, hosted: Client): Promise<void> {
  await hosted
    .resource(secrets)
    .create({ metadata: { name: 'hidden', namespace }, stringData: { a: 'not to be read' } });
  const stored = await etcdctl(cluster, 'get', '--print-value-only', '/registry/secrets/default/hidden');
  t.match(stored, /^k8s:enc:aescbc:v1:first:|^orch:enc:aescbc:v1:first:/, 'Secrets are encrypted');
  t.notMatch(stored, 'not to be read');
  await eventually('the log of audit events has the creation', async () => {
    const { stdout } = await cluster.ctl('logs', '--selector=app.kubernetes.io/component=apiserver', '--tail=-1');
    return /"kind":"Event".*"name":"hidden"/.test(stdout);
  });
  const privileged = { name: 'a', image: 'a', securityContext: { privileged: true } };
  const wrong = { metadata: { name: 'wrong', namespace }, spec: { containers: [privileged] } };
  await t.rejects(hosted.resource(pods).create(wrong), /violates PodSecurity "baseline:latest"/);
  const packed = { schedulerName: 'packed', containers: [{ name: 'main', image: 'orch/web:1.0' }] };
  await hosted.resource(pods).create({ metadata: { name: 'packed', namespace }, spec: packed });
  await eventually('the other profile schedules', async () => {
    const { spec } = await hosted.resource(pods).get('packed', { namespace });
    return spec?.nodeName !== undefined;
  });
}

async function etcdctl(cluster: TestCluster, ...args: string[]): Promise<string> {
  const files = ['--cacert=/pki/etcd-ca.crt', '--cert=/pki/client.crt', '--key=/pki/client.key'];
  const endpoint = '--endpoints=https://orch-etcd-0.orch-etcd.default.svc:2379';
  const { code, stdout, stderr } = await cluster.ctl(
    'exec',
    'orch-etcd-0',
    '--',
    'etcdctl',
    endpoint,
    ...files,
    ...args,
  );
  if (code !== 0) throw new Error(`etcdctl ${args.join(' ')}: ${stderr}`);
  return stdout;
}

/** Number of members of etcd with a vote. */
export async function membersOf(cluster: TestCluster): Promise<number> {
  const lines = (await etcdctl(cluster, 'member', 'list')).trim().split('\n');
  return lines.filter((line) => /, started, .*, false$/.test(line)).length;
}

/** Makes a backup by the schedule's own Job, and resolves with its name. */
export async function makeBackup(cluster: TestCluster, host: Client): Promise<string> {
  const { spec } = await host.resource(cronjobs).get('orch-backup', { namespace });
  const job = spec?.jobTemplate.spec;
  if (job === undefined) throw new Error('no schedule of backups');
  await host.resource(jobs).create({ metadata: { name: 'backup-now', namespace }, spec: job });
  await eventually('a backup is made', async () => {
    const { status } = await host.resource(jobs).get('backup-now', { namespace });
    return status?.succeeded === 1;
  });
  const { stdout } = await cluster.ctl('logs', '--selector=job-name=backup-now');
  // It is not the release's.
  await host.resource(jobs).delete('backup-now', { namespace, propagationPolicy: 'Background' });
  return /\/backups\/(orch-\S+)/.exec(stdout)?.[1] ?? stdout;
}

/** Names of the ConfigMaps of the hosted cluster that tests have made. */
export async function namesOf(hosted: Client): Promise<Set<string | undefined>> {
  const { items } = await hosted.resource(configmaps).list({ namespace });
  return new Set(items.map(({ metadata }) => metadata.name));
}
