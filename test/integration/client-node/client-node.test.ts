/** A third-party client with its own types of every kind creates, lists, watches and deletes objects over HTTPS. */
import {
  AppsV1Api,
  BatchV1Api,
  CoreV1Api,
  KubeConfig,
  type KubernetesListObject,
  type KubernetesObject,
  KubernetesObjectApi,
  makeInformer,
  NetworkingV1Api,
  PolicyV1Api,
  RbacAuthorizationV1Api,
  StorageV1Api,
  VersionApi,
} from '@kubernetes/client-node';
import t from 'tap';
import { startCluster } from '#cluster/embedded/start-cluster.js';

const cluster = await startCluster({ dialect: 'kubernetes', nodes: 1, listen: true });
t.teardown(() => cluster.close());
const config = new KubeConfig();
config.loadFromString(cluster.kubeconfig());

const core = config.makeApiClient(CoreV1Api);
const apps = config.makeApiClient(AppsV1Api);
const batch = config.makeApiClient(BatchV1Api);
const networking = config.makeApiClient(NetworkingV1Api);
const policy = config.makeApiClient(PolicyV1Api);
const rbac = config.makeApiClient(RbacAuthorizationV1Api);
const storage = config.makeApiClient(StorageV1Api);

const namespace = 'default';
const name = 'from-node';
const metadata = { name, labels: { app: name } };
const containers = [{ name: 'main', image: 'example/main:1.0' }];
const selector = { matchLabels: { app: name } };

interface Row {
  readonly path: string;
  create(): Promise<KubernetesObject>;
  list(): Promise<KubernetesListObject<KubernetesObject>>;
  remove(): Promise<unknown>;
  /** Fields added by the server. */
  readonly expected: object;
}

const named = { name, namespace };
const rows: Readonly<Record<string, Row>> = {
  ConfigMap: {
    path: '/api/v1/namespaces/default/configmaps',
    create: () => core.createNamespacedConfigMap({ namespace, body: { metadata, data: { a: '1' } } }),
    list: () => core.listNamespacedConfigMap({ namespace }),
    remove: () => core.deleteNamespacedConfigMap(named),
    expected: { data: { a: '1' } },
  },
  Secret: {
    path: '/api/v1/namespaces/default/secrets',
    create: () => core.createNamespacedSecret({ namespace, body: { metadata, stringData: { a: 'x' } } }),
    list: () => core.listNamespacedSecret({ namespace }),
    remove: () => core.deleteNamespacedSecret(named),
    expected: { type: 'Opaque', data: { a: 'eA==' } },
  },
  Service: {
    path: '/api/v1/namespaces/default/services',
    create: () => core.createNamespacedService({ namespace, body: { metadata, spec: { ports: [{ port: 80 }] } } }),
    list: () => core.listNamespacedService({ namespace }),
    remove: () => core.deleteNamespacedService(named),
    expected: { spec: { type: 'ClusterIP', clusterIP: /^172\.20\./, ports: [{ targetPort: 80 }] } },
  },
  Pod: {
    path: '/api/v1/namespaces/default/pods',
    create: () => core.createNamespacedPod({ namespace, body: { metadata, spec: { containers } } }),
    list: () => core.listNamespacedPod({ namespace }),
    remove: () => core.deleteNamespacedPod({ ...named, gracePeriodSeconds: 0 }),
    expected: { spec: { restartPolicy: 'Always', serviceAccountName: 'default' } },
  },
  Deployment: {
    path: '/apis/apps/v1/namespaces/default/deployments',
    create: () =>
      apps.createNamespacedDeployment({
        namespace,
        body: { metadata, spec: { replicas: 0, selector, template: { metadata, spec: { containers } } } },
      }),
    list: () => apps.listNamespacedDeployment({ namespace }),
    remove: () => apps.deleteNamespacedDeployment(named),
    expected: { spec: { strategy: { type: 'RollingUpdate' } } },
  },
  CronJob: {
    path: '/apis/batch/v1/namespaces/default/cronjobs',
    create: () => {
      const template = { spec: { containers, restartPolicy: 'Never' } };
      const spec = { schedule: '0 0 1 1 *', jobTemplate: { spec: { template } } };
      return batch.createNamespacedCronJob({ namespace, body: { metadata, spec } });
    },
    list: () => batch.listNamespacedCronJob({ namespace }),
    remove: () => batch.deleteNamespacedCronJob(named),
    expected: { spec: { concurrencyPolicy: 'Allow' } },
  },
  NetworkPolicy: {
    path: '/apis/networking.k8s.io/v1/namespaces/default/networkpolicies',
    create: () =>
      networking.createNamespacedNetworkPolicy({ namespace, body: { metadata, spec: { podSelector: {} } } }),
    list: () => networking.listNamespacedNetworkPolicy({ namespace }),
    remove: () => networking.deleteNamespacedNetworkPolicy(named),
    expected: { spec: { policyTypes: ['Ingress'] } },
  },
  PodDisruptionBudget: {
    path: '/apis/policy/v1/namespaces/default/poddisruptionbudgets',
    create: () =>
      policy.createNamespacedPodDisruptionBudget({
        namespace,
        body: { metadata, spec: { minAvailable: '50%', selector } },
      }),
    list: () => policy.listNamespacedPodDisruptionBudget({ namespace }),
    remove: () => policy.deleteNamespacedPodDisruptionBudget(named),
    expected: { spec: { minAvailable: '50%' } },
  },
  ClusterRole: {
    path: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
    create: () =>
      rbac.createClusterRole({ body: { metadata, rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] } }),
    list: () => rbac.listClusterRole(),
    remove: () => rbac.deleteClusterRole({ name }),
    expected: { rules: [{ verbs: ['get'] }] },
  },
  StorageClass: {
    path: '/apis/storage.k8s.io/v1/storageclasses',
    create: () => storage.createStorageClass({ body: { metadata, provisioner: 'example.com/disk' } }),
    list: () => storage.listStorageClass(),
    remove: () => storage.deleteStorageClass({ name }),
    expected: { reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' },
  },
};

t.test("the client reads the server's version", async (t) => {
  t.match(await config.makeApiClient(VersionApi).getCode(), { major: '1', minor: '24' });
  // Controllers create the account shortly after the cluster's start.
  await followed('/api/v1/namespaces/default/serviceaccounts', () => core.listNamespacedServiceAccount({ namespace }), {
    until: (event, object) => event === 'add' && object.metadata?.name === 'default',
  });
});

for (const [kind, row] of Object.entries(rows)) {
  t.test(kind, { timeout: 300_000 }, async (t) => {
    const own = (object: KubernetesObject) => object.metadata?.name === name;
    const seen: string[] = [];
    let created: KubernetesObject | undefined;
    await followed(row.path, row.list, {
      start: async () => {
        created = await row.create();
        t.match(created, { metadata: { name, uid: /-/, creationTimestamp: Date } });
        t.match(created, row.expected);
      },
      until: async (event, object) => {
        if (!own(object)) return false;
        if (seen.at(-1) !== event) seen.push(event);
        if (event === 'add') {
          const list = await row.list();
          t.equal(list.items.filter(own).length, 1, 'list');
          t.ok(list.metadata?.resourceVersion);
          await row.remove();
        }
        return event === 'delete';
      },
    });
    t.equal(seen[0], 'add');
    t.equal(seen.at(-1), 'delete');
    t.notOk((await row.list()).items.some(own), 'it is gone');
  });
}

t.test('generic objects: read, apply, patch and failures', async (t) => {
  const objects = KubernetesObjectApi.makeApiClient(config);
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'any', namespace }, data: { a: '1' } };
  await objects.create(object);
  t.match(await objects.read(object), { kind: 'ConfigMap', data: { a: '1' } });
  t.match(await objects.patch({ ...object, data: { b: '2' } }), { data: { a: '1', b: '2' } });
  const list = await objects.list('v1', 'ConfigMap', namespace);
  t.match(list, { kind: 'ConfigMapList', items: [{ metadata: { name: 'any' }, data: { a: '1' } }] });
  await t.rejects(objects.create(object), { code: 409 });
  const invalid = { ...object, metadata: { name: 'Not_A_Name', namespace } };
  await t.rejects(objects.create(invalid), { code: 422, body: /FieldValueInvalid/ });
  await objects.delete(object);
  await t.rejects(objects.read(object), { code: 404 });
});

type Event = 'add' | 'update' | 'delete';

interface Following {
  /** Called once the informer has its first list. */
  start?(): Promise<void>;
  /** True once enough events have arrived. */
  until(event: Event, object: KubernetesObject): boolean | Promise<boolean>;
}

/** Watches a collection with an informer, which is stopped at the end. */
async function followed(path: string, list: Row['list'], { start, until }: Following): Promise<void> {
  const informer = makeInformer(config, path, list);
  try {
    await new Promise<void>((resolve, reject) => {
      for (const event of ['add', 'update', 'delete'] as const) {
        informer.on(event, (object) => {
          const look = async () => {
            if (await until(event, object)) resolve();
          };
          look().catch(reject);
        });
      }
      informer.on('error', reject);
      informer
        .start()
        .then(() => start?.())
        .catch(reject);
    });
  } finally {
    await informer.stop();
  }
}
