/**
 * A typical operator, written only with the public client library: it creates the definition of `Greeting` and a ConfigMap
 * for each copy of a greeting, reports progress in the status, and writes a farewell when a greeting is deleted. One of several
 * replicas leads. Arguments: the client config, its name, and the groups of definitions and of leases.
 */
import {
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  type KubernetesListObject,
  type KubernetesObject,
  KubernetesObjectApi,
  makeInformer,
  V1MicroTime,
} from '@kubernetes/client-node';

const [configFile = '', identity = '', definitionGroup = '', leaseGroup = ''] = process.argv.slice(2);
const group = 'demo.example.com';
const version = 'v1';
const plural = 'greetings';
const apiVersion = `${group}/${version}`;
const finalizer = `${group}/farewell`;
const leaseSeconds = 2;

const config = new KubeConfig();
config.loadFromFile(configFile);
const core = config.makeApiClient(CoreV1Api);
const custom = config.makeApiClient(CustomObjectsApi);
const objects = KubernetesObjectApi.makeApiClient(config);

interface Greeting extends KubernetesObject {
  spec: { text: string; copies: number };
  status?: object;
}

const isCode = (error: unknown, code: number): boolean => (error as { code?: number }).code === code;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

await objects.create(definition()).catch((error: unknown) => {
  if (!isCode(error, 409)) throw error;
});
process.stdout.write('defined\n');
await lead();
process.stdout.write('leading\n');
setInterval(() => {
  lead().catch(() => process.exit(1));
}, 500);

const list = async () =>
  (await custom.listClusterCustomObject({ group, version, plural })) as KubernetesListObject<Greeting>;
for (;;) {
  try {
    await list();
    break;
  } catch (error) {
    // The definition is not served yet.
    if (!isCode(error, 404)) throw error;
    await sleep(50);
  }
}
const greetings = makeInformer<Greeting>(config, `/apis/${apiVersion}/${plural}`, list);
const maps = makeInformer(config, '/api/v1/configmaps', () => core.listConfigMapForAllNamespaces());
const queue = new Map<string, Greeting>();
const look = (greeting: Greeting) => void queue.set(keyOf(greeting), greeting);
greetings.on('add', look);
greetings.on('update', look);
maps.on('delete', ({ metadata }) => {
  const owner = metadata?.ownerReferences?.find(({ kind }) => kind === 'Greeting');
  const greeting = owner && greetings.get(owner.name, metadata?.namespace);
  if (greeting !== undefined) look(greeting);
});
for (const informer of [greetings, maps]) {
  informer.on('error', () => setTimeout(() => void informer.start(), 500));
  await informer.start();
}
process.stdout.write('running\n');
for (;;) {
  const [first] = queue;
  if (first === undefined) {
    await sleep(20);
    continue;
  }
  const [key, greeting] = first;
  queue.delete(key);
  try {
    await reconcile(greeting);
  } catch (error) {
    process.stderr.write(`${key}: ${String(error)}\n`);
    await sleep(100);
    const latest = greetings.get(greeting.metadata?.name ?? '', greeting.metadata?.namespace);
    if (latest !== undefined) look(latest);
  }
}

function keyOf({ metadata }: KubernetesObject): string {
  return `${metadata?.namespace}/${metadata?.name}`;
}

async function reconcile(greeting: Greeting): Promise<void> {
  const { metadata = {}, spec } = greeting;
  const { name = '', namespace = '', uid = '', finalizers = [] } = metadata;
  const own = { group, version, namespace, plural, name };
  if (metadata.deletionTimestamp !== undefined) {
    if (!finalizers.includes(finalizer)) return;
    await create(namespace, { metadata: { name: `farewell-${name}` }, data: { by: identity } });
    const left = finalizers.filter((each) => each !== finalizer);
    await custom.replaceNamespacedCustomObject({
      ...own,
      body: { ...greeting, metadata: { ...metadata, finalizers: left } },
    });
    return;
  }
  if (!finalizers.includes(finalizer)) {
    const body = { ...greeting, metadata: { ...metadata, finalizers: [...finalizers, finalizer] } };
    await custom.replaceNamespacedCustomObject({ ...own, body });
    return;
  }
  const owner = { apiVersion, kind: 'Greeting', name, uid, controller: true, blockOwnerDeletion: true };
  const labels = { greeting: name };
  const { items } = await core.listNamespacedConfigMap({ namespace, labelSelector: `greeting=${name}` });
  const there = new Set(items.map((item) => item.metadata?.name));
  const mapNames = Array.from({ length: spec.copies }, (_, i) => `${name}-${i}`);
  for (const each of mapNames) {
    if (there.has(each)) continue;
    const data = { text: spec.text };
    await create(namespace, { metadata: { name: each, labels, ownerReferences: [owner] }, data });
  }
  for (const each of there) {
    if (each !== undefined && !mapNames.includes(each)) await core.deleteNamespacedConfigMap({ name: each, namespace });
  }
  const status = {
    copies: mapNames.length,
    selector: `greeting=${name}`,
    by: identity,
    observedGeneration: metadata.generation,
    conditions: [{ type: 'Ready', status: 'True', reason: 'Copied', message: '' }],
  };
  const oldStatus = greeting.status;
  if (oldStatus !== undefined && JSON.stringify({ ...status, ...oldStatus }) === JSON.stringify(status)) return;
  await custom.replaceNamespacedCustomObjectStatus({ ...own, body: { ...greeting, status } });
}

async function create(namespace: string, body: object): Promise<void> {
  await core.createNamespacedConfigMap({ namespace, body }).catch((error: unknown) => {
    if (!isCode(error, 409)) throw error;
  });
}

/** Resolves when this replica has acquired or renewed the lease. */
async function lead(): Promise<void> {
  const header = { apiVersion: `${leaseGroup}/v1`, kind: 'Lease', metadata: { name: 'greeter', namespace: 'default' } };
  const spec = () => ({
    holderIdentity: identity,
    leaseDurationSeconds: leaseSeconds,
    renewTime: new V1MicroTime(),
  });
  for (;;) {
    try {
      const lease = (await objects.read(header)) as KubernetesObject & {
        spec: { holderIdentity: string; renewTime: string };
      };
      const age = Date.now() - new Date(lease.spec.renewTime).getTime();
      if (lease.spec.holderIdentity === identity || age > leaseSeconds * 1000) {
        await objects.replace({ ...lease, spec: spec() } as KubernetesObject);
        return;
      }
    } catch (error) {
      if (isCode(error, 404)) {
        await objects.create({ ...header, spec: spec() } as KubernetesObject).catch(() => undefined);
      } else if (!isCode(error, 409)) throw error;
    }
    await sleep(200);
  }
}

function definition(): KubernetesObject {
  const integer = { type: 'integer', minimum: 0 };
  const text = { type: 'string' };
  const condition = { type: 'object', properties: { type: text, status: text, reason: text, message: text } };
  const spec = {
    type: 'object',
    description: 'What is said, and how often.',
    required: ['text'],
    properties: { text: { type: 'string', maxLength: 80 }, copies: { ...integer, default: 1 } },
  };
  const status = {
    type: 'object',
    properties: {
      copies: integer,
      selector: text,
      by: text,
      observedGeneration: integer,
      conditions: { type: 'array', items: condition },
    },
  };
  const object = {
    apiVersion: `${definitionGroup}/v1`,
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, singular: 'greeting', kind: 'Greeting', shortNames: ['gr'], categories: ['demo'] },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              description: 'A kind word.',
              required: ['spec'],
              properties: { spec, status },
            },
          },
          subresources: {
            status: {},
            scale: {
              specReplicasPath: '.spec.copies',
              statusReplicasPath: '.status.copies',
              labelSelectorPath: '.status.selector',
            },
          },
          additionalPrinterColumns: [
            { name: 'Text', type: 'string', jsonPath: '.spec.text' },
            { name: 'Copies', type: 'integer', jsonPath: '.status.copies' },
          ],
        },
      ],
    },
  };
  return object as KubernetesObject;
}
