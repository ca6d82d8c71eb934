/** Pods with waiting claims: the scheduler and the volume binder with a real API server. */
import { Registry } from 'prom-client';
import t from 'tap';
import { namespaces, nodes, persistentvolumeclaims, persistentvolumes, pods } from '#api/core/v1/resources.gen.js';
import type { PersistentVolume, Pod } from '#api/core/v1/types.gen.js';
import { storageclasses } from '#api/storage/v1/resources.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { ApiEventRecorder } from '#client/events/recorder.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { schedulerMetrics } from '#scheduler/metrics/metrics.js';
import { Scheduler } from '#scheduler/scheduler.js';
import { startCluster, until } from '#test/integration/controllers/cluster.js';

const namespace = 'default';
const random = Math.random;

t.setTimeout(180_000);

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(`binds claims of pods, ${dialect.name}`, async (t) => {
    const client = await startCluster(t, { dialect, controllers: ['persistentvolume-binder'] });
    await client.resource(namespaces).create({ metadata: { name: namespace }, spec: {} });
    const recorder = new ApiEventRecorder({ client, source: { component: 'default-scheduler' }, clock, random, log });
    const metrics = schedulerMetrics(new Registry());
    const scheduler = new Scheduler({ client, recorder, dialect, clock, random, log, metrics });
    const stop = new AbortController();
    const scheduling = scheduler.start(stop.signal);
    t.teardown(async () => {
      stop.abort();
      await scheduling;
      await recorder.close();
    });
    await scheduler.ready();
    for (const name of ['n1', 'n2']) {
      const allocatable = { cpu: '2', memory: '1Gi', pods: '10' };
      await client.resource(nodes).create({
        metadata: { name, labels: { [dialect.labels.hostname]: name } },
        spec: {},
        status: { capacity: allocatable, allocatable },
      });
    }
    const claims = client.resource(persistentvolumeclaims);
    const storageClass = (name: string, provisioner: string) =>
      client.resource(storageclasses).create({
        metadata: { name },
        provisioner,
        volumeBindingMode: 'WaitForFirstConsumer',
      });
    const claim = (name: string, storageClassName: string) =>
      claims.create({
        metadata: { name, namespace },
        spec: { accessModes: ['ReadWriteOnce'], storageClassName, resources: { requests: { storage: '1Gi' } } },
      });
    const volume = (name: string, node: string, spec: Partial<PersistentVolume['spec']>) =>
      client.resource(persistentvolumes).create({
        metadata: { name },
        spec: {
          capacity: { storage: '1Gi' },
          accessModes: ['ReadWriteOnce'],
          local: { path: `/mnt/${name}` },
          nodeAffinity: {
            required: {
              nodeSelectorTerms: [
                { matchExpressions: [{ key: dialect.labels.hostname, operator: 'In', values: [node] }] },
              ],
            },
          },
          ...spec,
        },
      });
    const pod = (name: string, claimName: string) =>
      client.resource(pods).create({
        metadata: { name, namespace },
        spec: {
          containers: [{ name: 'c', image: 'i' }],
          volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }],
        },
      });
    const podNow = (name: string) => () => client.resource(pods).get(name, { namespace });
    const claimNow = (name: string) => () => claims.get(name, { namespace });
    const bound = ({ spec }: Pod) => (spec.nodeName ?? '') !== '';
    const message = ({ status }: Pod) => status?.conditions?.find(({ type }) => type === 'PodScheduled')?.message ?? '';

    await storageClass('local', `${dialect.labelDomain}/no-provisioner`);
    await storageClass('made', 'example.com/maker');

    // An existing volume, reachable from one node only.
    await claim('here', 'local');
    await pod('first', 'here');
    const waiting = await until('told why', podNow('first'), (each) => message(each) !== '');
    t.equal(
      message(waiting),
      "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind. " +
        'preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.',
    );
    await volume('disk', 'n2', { storageClassName: 'local' });
    t.equal((await until('bound', podNow('first'), bound)).spec.nodeName, 'n2');
    t.equal((await claimNow('here')()).spec.volumeName, 'disk');

    // A volume provisioned for the pod's node.
    await claim('new', 'made');
    await pod('second', 'new');
    const { selectedNode } = dialect.annotations;
    const chosen = await until(
      'a node',
      claimNow('new'),
      ({ metadata }) => metadata.annotations?.[selectedNode] !== undefined,
    );
    t.notOk(bound(await podNow('second')()), 'the pod waits for its volume');
    const on = chosen.metadata.annotations?.[selectedNode] ?? '';
    await volume('made-disk', on, {
      storageClassName: 'made',
      claimRef: { namespace, name: 'new', uid: chosen.metadata.uid ?? '' },
    });
    const second = await until('bound', podNow('second'), bound);
    t.equal(second.spec.nodeName, on);

    // A claim that is bound independent of pods.
    await claim('at-once', '');
    await pod('third', 'at-once');
    const third = await until('told why', podNow('third'), (each) => message(each) !== '');
    t.match(message(third), /^0\/2 nodes are available: 2 pod has unbound immediate PersistentVolumeClaims\. /);
    await volume('third-disk', 'n2', { storageClassName: '' });
    t.equal((await until('bound', podNow('third'), bound)).spec.nodeName, 'n2');
  });
}
