/** A small shop with some troubles, for tests of the pages and their pictures. */
import { customresourcedefinitions } from '#api/apiextensions/v1/resources.gen.js';
import { deployments, statefulsets } from '#api/apps/v1/resources.gen.js';
import { jobs } from '#api/batch/v1/resources.gen.js';
import {
  configmaps,
  namespaces,
  persistentvolumeclaims,
  pods,
  secrets,
  serviceaccounts,
  services,
} from '#api/core/v1/resources.gen.js';
import { networkpolicies } from '#api/networking/v1/resources.gen.js';
import { rolebindings, roles } from '#api/rbac/v1/resources.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';

export const shop = 'shop';

/** The secret's value, which no page may show unasked. */
export const secretValue = 'correct-horse-battery';

interface Workload {
  readonly name: string;
  readonly replicas?: number;
  readonly image?: string;
  readonly cpu?: string;
  readonly memory?: string;
  /** Of the simulated node. */
  readonly behaviour?: Readonly<Record<string, string>>;
}

function template(dialect: Dialect, workload: Workload) {
  const { name, image = 'registry.example/shop:1.4', cpu = '100m', memory = '128Mi', behaviour = {} } = workload;
  const annotations = Object.entries(behaviour).map(([key, value]) => [`sim.${dialect.labelDomain}/${key}`, value]);
  return {
    metadata: {
      labels: { app: name, tier: 'web' },
      annotations: Object.fromEntries(annotations) as Record<string, string>,
    },
    spec: {
      containers: [
        {
          ...{ name: 'main', image, ports: [{ name: 'http', containerPort: 8080 }] },
          resources: { requests: { cpu, memory }, limits: { memory } },
        },
      ],
    },
  };
}

/** Resolves when all objects exist; the troubles show themselves a little after. */
export async function createScene(client: Client, dialect: Dialect): Promise<void> {
  const namespace = { namespace: shop };
  await client.resource(namespaces).create({ metadata: { name: shop }, spec: {} });
  const deploy = (workload: Workload) =>
    client.resource(deployments).create(
      {
        metadata: { name: workload.name, namespace: shop, labels: { app: workload.name } },
        spec: {
          ...{ replicas: workload.replicas ?? 2, selector: { matchLabels: { app: workload.name } } },
          template: template(dialect, workload),
        },
      },
      namespace,
    );
  const serve = (name: string, app: string) =>
    client.resource(services).create(
      {
        metadata: { name, namespace: shop },
        spec: { selector: { app }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
      },
      namespace,
    );
  await Promise.all([
    deploy({
      name: 'storefront',
      replicas: 3,
      behaviour: { 'log-every': '700ms', cpu: 'wave(40m, 180m, 2m)', memory: 'wave(60Mi, 110Mi, 3m)' },
    }),
    deploy({ name: 'cart', behaviour: { 'log-every': '900ms' } }),
    deploy({
      name: 'payments',
      replicas: 1,
      behaviour: { log: 'cannot reach the bank', 'exit-after': '300ms', 'exit-code': '3' },
    }),
    deploy({
      name: 'search',
      replicas: 1,
      image: 'registry.example/serach:1.0',
      behaviour: { 'pull-failure': 'not found' },
    }),
    deploy({ name: 'reports', replicas: 1, cpu: '900' }),
    serve('storefront', 'storefront'),
    serve('cart', 'cart'),
    serve('checkout', 'chekout'),
    client.resource(statefulsets).create(
      {
        metadata: { name: 'db', namespace: shop },
        spec: {
          ...{ replicas: 2, serviceName: 'db', selector: { matchLabels: { app: 'db' } } },
          template: template(dialect, { name: 'db', cpu: '500m', memory: '1Gi' }),
        },
      },
      namespace,
    ),
    client.resource(jobs).create(
      {
        metadata: { name: 'import', namespace: shop },
        spec: {
          template: {
            ...template(dialect, { name: 'import', behaviour: { 'exit-after': '200ms' } }),
            spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'registry.example/import:2.0' }] },
          },
        },
      },
      namespace,
    ),
    client.resource(persistentvolumeclaims).create(
      {
        metadata: { name: 'archive', namespace: shop },
        spec: {
          ...{ accessModes: ['ReadWriteOnce'], storageClassName: 'fast' },
          resources: { requests: { storage: '10Gi' } },
        },
      },
      namespace,
    ),
    client
      .resource(configmaps)
      .create({ metadata: { name: 'settings', namespace: shop }, data: { colour: 'green' } }, namespace),
    client.resource(secrets).create(
      {
        metadata: { name: 'card-key', namespace: shop },
        data: { key: Buffer.from(secretValue).toString('base64') },
      },
      namespace,
    ),
    client.resource(networkpolicies).create(
      {
        metadata: { name: 'only-storefront', namespace: shop },
        spec: {
          podSelector: { matchLabels: { app: 'cart' } },
          ingress: [{ from: [{ podSelector: { matchLabels: { app: 'storefront' } } }] }],
          policyTypes: ['Ingress'],
        },
      },
      namespace,
    ),
    client.resource(serviceaccounts).create({ metadata: { name: 'reader', namespace: shop } }, namespace),
    client.resource(customresourcedefinitions).create(definition),
  ]);
  await client.resource(pods).list({ namespace: shop });
}

const definition = {
  metadata: { name: 'pipelines.ci.example.org' },
  spec: {
    ...{ group: 'ci.example.org', scope: 'Namespaced' as const },
    names: { plural: 'pipelines', singular: 'pipeline', kind: 'Pipeline', shortNames: ['pl'] },
    versions: [
      {
        ...{ name: 'v1', served: true, storage: true },
        additionalPrinterColumns: [{ name: 'Stage', type: 'string', jsonPath: '.spec.stage' }],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', properties: { stage: { type: 'string' } } } },
          },
        },
      },
    ],
  },
};

export const pipelinePath = `/apis/ci.example.org/v1/namespaces/${shop}/pipelines`;

interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
  readonly apiGroup?: string;
}

/** The user may read pods of the shop and their logs, and nothing else. */
export async function allowReading(client: Client, dialect: Dialect, user: string): Promise<void> {
  const role = {
    metadata: { name: 'pod-reader', namespace: shop },
    rules: [{ apiGroups: [''], resources: ['pods', 'pods/log'], verbs: ['get', 'list', 'watch'] }],
  };
  await client.resource(roles).create(role, { namespace: shop });
  const subject = { apiGroup: dialect.groupName('rbac'), kind: 'User', name: user };
  await bind(client, dialect, { name: 'pod-reader', role: 'Role', subject });
}

/** The service account may read the objects of the shop. */
export function allowAccount(client: Client, dialect: Dialect, name: string): Promise<void> {
  return bind(client, dialect, {
    name: 'view',
    role: 'ClusterRole',
    subject: { kind: 'ServiceAccount', name, namespace: shop },
  });
}

async function bind(
  client: Client,
  dialect: Dialect,
  { name, role, subject }: { readonly name: string; readonly role: string; readonly subject: Subject },
): Promise<void> {
  const roleRef = { apiGroup: dialect.groupName('rbac'), kind: role, name };
  await client
    .resource(rolebindings)
    .create({ metadata: { name, namespace: shop }, roleRef, subjects: [subject] }, { namespace: shop });
}
