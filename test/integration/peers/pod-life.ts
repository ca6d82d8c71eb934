/** The behaviour of a release's node agent in the API, independent of the implementation. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Test } from 'tap';
import { leases } from '#api/coordination/v1/resources.gen.js';
import { configmaps, events, namespaces, nodes, pods, secrets, serviceaccounts } from '#api/core/v1/resources.gen.js';
import type { Container, Pod, PodSpec } from '#api/core/v1/types.gen.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import type { RestClient } from '#client/rest/rest-client.js';
import { until } from '#test/integration/controllers/cluster.js';
import type { RunningNode } from '#test/integration/peers/node-agent.js';

const namespace = 'shop';
const where = { namespace };
const condition = (pod: { status?: { conditions?: readonly { type: string; status: string }[] } }, type: string) =>
  pod.status?.conditions?.find((each) => each.type === type)?.status;
const phaseIs = (phase: string) => (pod: Pod) => pod.status?.phase === phase;

/** Creates the namespace objects that controllers would create. `ca`: the cluster's authority. */
export async function makeNamespace(client: Client, name: string, ca: string): Promise<void> {
  await client.resource(namespaces).create({ metadata: { name }, spec: {} });
  await client.resource(serviceaccounts).create({ metadata: { name: 'default', namespace: name } });
  const metadata = { name: 'kube-root-ca.crt', namespace: name };
  await client.resource(configmaps).create({ metadata, data: { 'ca.crt': ca } });
}

/** Runs all checks. `client` has all rights; no controller or scheduler runs. */
export async function nodeAgentWorks(t: Test, client: RestClient, node: RunningNode): Promise<void> {
  const image = node.images.busybox;
  const shell = (script: string, more: Partial<Container> = {}): Container => ({
    ...{ name: 'main', image, command: ['sh', '-c', script] },
    ...more,
  });
  const create = (name: string, spec: Omit<PodSpec, 'nodeName'>) =>
    client.resource(pods).create({
      metadata: { name, namespace },
      spec: { nodeName: node.name, terminationGracePeriodSeconds: 1, ...spec },
    });
  const seen = (name: string, what: string, isSo: (pod: Pod) => boolean) =>
    until(`pod ${name} ${what}`, () => client.resource(pods).get(name, where), isSo);

  const joined = await until(
    'the node is ready',
    () => client.resource(nodes).get(node.name),
    (pod) => condition(pod, 'Ready') === 'True',
  );
  t.match(joined.status, {
    addresses: [{ type: 'InternalIP', address: node.address }, { type: 'Hostname' }],
    nodeInfo: { containerRuntimeVersion: /^containerd:\/\//, operatingSystem: 'linux' },
  });
  t.match(joined.metadata.labels, { 'kubernetes.io/hostname': node.name, 'kubernetes.io/os': 'linux' });
  const lease = await until(
    'its lease',
    () => client.resource(leases).get(node.name, { namespace: 'kube-node-lease' }),
    ({ spec }) => spec?.renewTime !== undefined,
  );
  t.match(lease, { spec: { holderIdentity: node.name }, metadata: { ownerReferences: [{ name: node.name }] } });

  await client.resource(configmaps).create({ metadata: { name: 'files', namespace }, data: { greeting: 'hello' } });
  await client.resource(secrets).create({ metadata: { name: 'words', namespace }, stringData: { word: 'secret' } });
  const tokens = '/var/run/secrets/kubernetes.io/serviceaccount';
  const say = `cat /files/greeting; echo; echo $WORD $NAME; cat /shared/first; ls ${tokens}; touch /tmp/ready`;
  await create('web', {
    initContainers: [shell('echo came first > /shared/first', { name: 'init', volumeMounts: [mount('shared')] })],
    containers: [
      shell(`${say}; trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done`, {
        volumeMounts: [mount('shared'), mount('files')],
        env: [
          { name: 'WORD', valueFrom: { secretKeyRef: { name: 'words', key: 'word' } } },
          { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
        ],
        readinessProbe: { exec: { command: ['cat', '/tmp/ready'] }, periodSeconds: 1 },
      }),
    ],
    volumes: [
      { name: 'shared', emptyDir: {} },
      { name: 'files', configMap: { name: 'files' } },
    ],
  });
  const always = { restartPolicy: 'Always' };
  await Promise.all([
    create('ends', { restartPolicy: 'Never', containers: [shell('exit 0')] }),
    create('fails', { restartPolicy: 'Never', containers: [shell('echo because > /dev/termination-log; exit 3')] }),
    create('crashes', { ...always, containers: [shell('exit 1')] }),
    create('dies', {
      ...always,
      containers: [
        shell('sleep 3600', {
          livenessProbe: { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 1 },
        }),
      ],
    }),
    create('elsewhere', { nodeSelector: { disk: 'fast' }, containers: [shell('sleep 3600')] }),
    create('unknown', { containers: [shell('true', { image: '127.0.0.1:1/missing:1.0' })] }),
  ]);

  const web = await seen('web', 'is ready', (pod) => condition(pod, 'Ready') === 'True');
  t.match(web.status, {
    phase: 'Running',
    hostIP: node.address,
    podIP: /^10\./,
    qosClass: 'BestEffort',
    initContainerStatuses: [{ state: { terminated: { exitCode: 0, reason: 'Completed' } } }],
    containerStatuses: [{ ready: true, started: true, restartCount: 0, containerID: /^containerd:\/\// }],
  });
  t.equal(
    await text((await client.open({ method: 'GET', path: `/api/v1/namespaces/${namespace}/pods/web/log` })).body),
    'hello\nsecret web\ncame first\nca.crt\nnamespace\ntoken\n',
  );
  await seen('ends', 'has succeeded', phaseIs('Succeeded'));
  t.match((await seen('fails', 'has failed', phaseIs('Failed'))).status?.containerStatuses, [
    { state: { terminated: { exitCode: 3, reason: 'Error', message: 'because\n' } } },
  ]);
  await seen('crashes', 'waits after its crash', ({ status }) => {
    const [container] = status?.containerStatuses ?? [];
    return container?.state?.waiting?.reason === 'CrashLoopBackOff' && container.restartCount > 0;
  });
  await seen('dies', 'is restarted', ({ status }) => (status?.containerStatuses?.[0]?.restartCount ?? 0) > 0);
  t.match((await seen('elsewhere', 'is refused', phaseIs('Failed'))).status, { reason: 'NodeAffinity' });
  await seen('unknown', 'has no image', ({ status }) =>
    ['ErrImagePull', 'ImagePullBackOff'].includes(status?.containerStatuses?.[0]?.state?.waiting?.reason ?? ''),
  );

  const reasons = async () =>
    (await client.resource(events).list(where)).items.map(
      ({ involvedObject, reason }) => `${involvedObject.name} ${reason}`,
    );
  for (const expected of [
    'web Pulled',
    'web Created',
    'web Started',
    'dies Unhealthy',
    'dies Killing',
    'crashes BackOff',
  ]) {
    await until(`the event ${expected}`, reasons, (reasons) => reasons.includes(expected));
  }
  await staticPodIsMirrored(t, client, node);

  await client.resource(pods).delete('web', where);
  await until(
    'the pod is deleted',
    () =>
      client
        .resource(pods)
        .get('web', where)
        .catch((error: unknown) => {
          if (isNotFound(error)) return undefined;
          throw error;
        }),
    (pod) => pod === undefined,
  );
}

const mount = (name: string) => ({ name, mountPath: `/${name}` });

async function staticPodIsMirrored(t: Test, client: Client, node: RunningNode): Promise<void> {
  await mkdir(node.manifests, { recursive: true });
  const metadata = { name: 'fixed', namespace };
  const spec = { containers: [{ name: 'main', image: node.images.busybox, command: ['sleep', '3600'] }] };
  const manifest = { apiVersion: 'v1', kind: 'Pod', metadata, spec };
  await writeFile(join(node.manifests, 'fixed.yaml'), JSON.stringify(manifest));
  const mirror = await until(
    'the static pod runs',
    () => client.resource(pods).get(`fixed-${node.name}`, where),
    phaseIs('Running'),
  );
  t.match(mirror.metadata, {
    annotations: { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.mirror': /./ },
    ownerReferences: [{ kind: 'Node', name: node.name, controller: true }],
  });
}
