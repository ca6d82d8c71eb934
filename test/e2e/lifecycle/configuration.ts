/** Containers get variables, files, access to the API, and limits from the cluster. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { configmaps, nodes, pods, secrets, services } from '#api/core/v1/resources.gen.js';
import { blockContains, parseCIDR } from '#apimachinery/net/ip.js';
import { eventually, run } from '#test/e2e/harness.js';
import { type Bench, create, exec } from '#test/e2e/lifecycle/bench.js';
import { namespace, pod, shell, sleeper, statusOf, untilPodReady } from '#test/e2e/pods.js';

export async function variables(t: Test, bench: Bench): Promise<void> {
  const { client } = bench;
  await client.resource(configmaps).create({ metadata: { name: 'settings', namespace }, data: { COLOUR: 'blue' } });
  await client
    .resource(secrets)
    .create({ metadata: { name: 'hidden', namespace }, stringData: { password: 'secret' } });
  await create(
    bench,
    pod('variables', [
      shell(sleeper, {
        envFrom: [{ prefix: 'MAP_', configMapRef: { name: 'settings' } }],
        env: [
          { name: 'FROM_MAP', valueFrom: { configMapKeyRef: { name: 'settings', key: 'COLOUR' } } },
          { name: 'FROM_SECRET', valueFrom: { secretKeyRef: { name: 'hidden', key: 'password' } } },
          { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
          { name: 'MEMORY', valueFrom: { resourceFieldRef: { resource: 'limits.memory' } } },
          { name: 'JOINED', value: 'is $(POD_NAME)' },
          { name: 'MISSING', valueFrom: { configMapKeyRef: { name: 'none', key: 'none', optional: true } } },
        ],
        resources: { limits: { memory: '32Mi' } },
      }),
    ]),
  );
  const created = await untilPodReady(client, 'variables');
  const lines = (await exec(bench, 'variables', 'env')).split('\n');
  for (const line of [
    'MAP_COLOUR=blue',
    'FROM_MAP=blue',
    'FROM_SECRET=secret',
    'POD_NAME=variables',
    `POD_IP=${created.status?.podIP}`,
    `MEMORY=${32 * 1024 * 1024}`,
    'JOINED=is variables',
  ]) {
    t.ok(lines.includes(line), line, { lines });
  }
  t.notOk(lines.some((line) => line.startsWith('MISSING=')));
  const { podCIDRs } = (await client.resource(nodes).get(created.spec.nodeName ?? '')).spec;
  const range = parseCIDR(podCIDRs?.[0] ?? '');
  t.ok(range && blockContains(range, created.status?.podIP ?? ''), 'the address is of the range of the node', {
    podCIDRs,
    podIP: created.status?.podIP,
  });
}

export async function volumeUpdates(t: Test, bench: Bench): Promise<void> {
  const { client } = bench;
  await create(
    bench,
    pod(
      'volumes',
      [
        shell(sleeper, {
          volumeMounts: [
            { name: 'map', mountPath: '/map' },
            { name: 'secret', mountPath: '/secret' },
            { name: 'all', mountPath: '/all' },
          ],
        }),
      ],
      {
        volumes: [
          { name: 'map', configMap: { name: 'settings' } },
          { name: 'secret', secret: { secretName: 'hidden', defaultMode: 0o400 } },
          {
            name: 'all',
            projected: {
              sources: [
                { secret: { name: 'hidden', items: [{ key: 'password', path: 'deep/password' }] } },
                { downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.name' } }] } },
              ],
            },
          },
        ],
      },
    ),
  );
  await untilPodReady(client, 'volumes');
  const show = 'cat /map/COLOUR /secret/password /all/deep/password /all/labels';
  t.equal(await exec(bench, 'volumes', show), 'bluesecretsecretvolumes');
  t.equal(await exec(bench, 'volumes', 'stat -L -c %a /secret/password'), '400');
  await client.resource(configmaps).patch('settings', { data: { COLOUR: 'red' } }, { namespace, type: 'merge' });
  await client.resource(secrets).patch('hidden', { stringData: { password: 'new' } }, { namespace, type: 'merge' });
  await eventually('the new content is seen', async () => (await exec(bench, 'volumes', show)) === 'rednewnewvolumes');
  t.pass('changes arrive');
  const env = await exec(bench, 'variables', 'echo $FROM_MAP');
  t.equal(env, 'blue', 'variables stay as they were');
}

export async function apiAccess(t: Test, bench: Bench): Promise<void> {
  const { dialect } = bench.client;
  const folder = dialect.serviceAccountPath;
  t.equal(await exec(bench, 'variables', `cat ${folder}/namespace`), namespace);
  t.match(await exec(bench, 'variables', `cat ${folder}/ca.crt`), /BEGIN CERTIFICATE/);
  const [, payload = ''] = (await exec(bench, 'variables', `cat ${folder}/token`)).split('.');
  const { sub } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { sub: string };
  t.equal(sub, `system:serviceaccount:${namespace}:default`);
  const host = await exec(bench, 'variables', `echo $${dialect.serviceEnvPrefix}_SERVICE_HOST`);
  const port = await exec(bench, 'variables', `echo $${dialect.serviceEnvPrefix}_SERVICE_PORT`);
  const api = await bench.client.resource(services).get(dialect.apiServiceName, { namespace });
  t.equal(host, api.spec.clusterIP, 'variables tell where the API is');
  // The image's client is too old for this TLS, so the machine's client runs in the pod's network with the pod's files.
  const pid = await processIn(bench, 'variables');
  const client = `
    const { readFileSync } = require('node:fs');
    const [url, folder, anonymous] = process.argv.slice(1);
    const ca = readFileSync(folder + '/ca.crt');
    const headers = anonymous ? {} : { authorization: 'Bearer ' + readFileSync(folder + '/token') };
    require('node:https').get(url, { ca, headers }, (answer) => {
      console.log(answer.statusCode);
      answer.pipe(process.stdout);
    });`;
  const inPod = ['--target', String(pid), '--net', process.execPath, '-e', client];
  const ask = (...more: string[]) =>
    run('nsenter', [...inPod, `https://${host}:${port}/api`, `/proc/${pid}/root${folder}`, ...more]);
  const answer = await ask();
  t.match(answer.stdout, /^200\n.*APIVersions/s, 'the token is taken', { stderr: answer.stderr });
  // Discovery requires authentication.
  t.match((await ask('anonymous')).stdout, /^403\n/, 'and needed');
}

/** PID on this machine of a process in the pod's container. */
async function processIn({ client }: Bench, name: string): Promise<number> {
  const pod = await client.resource(pods).get(name, { namespace });
  const id = statusOf(pod)?.containerID?.replace('containerd://', '') ?? '';
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const groups = await readFile(join('/proc', pid, 'cgroup'), 'utf8').catch(() => '');
    if (groups.includes(id)) return Number(pid);
  }
  throw new Error(`container ${id} has no process`);
}

export async function limits(t: Test, bench: Bench): Promise<void> {
  const resources = { requests: { cpu: '100m', memory: '16Mi' }, limits: { cpu: '200m', memory: '32Mi' } };
  await create(bench, pod('limited', [shell(sleeper, { resources })]));
  await untilPodReady(bench.client, 'limited');
  const value = (one: string, two: string) =>
    exec(bench, 'limited', `cd /sys/fs/cgroup; if [ -e cgroup.controllers ]; then cat ${two}; else cat ${one}; fi`);
  t.equal(await value('memory/memory.limit_in_bytes', 'memory.max'), String(32 * 1024 * 1024));
  t.match(await value('cpu/cpu.cfs_quota_us cpu/cpu.cfs_period_us', 'cpu.max'), /^20000\s100000$/);
  t.match(await value('cpu/cpu.shares', 'cpu.weight'), /^(102|4)$/);
}
