/** A cluster whose admission and conversion webhooks are one hostile server. */
import type { Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { type Reply, startWebhookCluster, type WebhookCluster } from '#test/integration/apiserver/webhooks/cluster.js';
import { type HostileServer, startHostileServer } from '#test/integration/apiserver/webhooks/hostile-server.js';

export interface HostileCluster {
  readonly cluster: WebhookCluster;
  readonly hostile: HostileServer;
  /**
   * A request that an admission webhook is asked about.
   * @param patience Of the webhook's configuration: `short` ends answers that never come, `long` those that are slow only
   *   because the machine is.
   */
  write(patience?: Patience): Promise<Reply>;
  /** A request that needs a conversion. */
  convert(more?: string): Promise<Reply>;
  /** A request for an extension server, whose client waits a second. */
  serve(): Promise<void>;
  /** An unrelated request. */
  other(): Promise<Reply>;
}

export type Patience = 'short' | 'long';
const timeoutSeconds: Readonly<Record<Patience, number>> = { short: 1, long: 30 };

const definition = (clientConfig: object) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.hostile.example.com' },
  spec: {
    group: 'hostile.example.com',
    scope: 'Namespaced',
    names: { plural: 'things', kind: 'Thing' },
    versions: ['v1', 'v2'].map((name) => ({
      name,
      served: true,
      storage: name === 'v1',
      schema: { openAPIV3Schema: { type: 'object' } },
    })),
    conversion: { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig } },
  },
});

const servedGroup = 'served.example.com';

/** Registers the hostile server for an API as an available one. */
async function serveBy({ send }: WebhookCluster, port: number): Promise<void> {
  const service = { type: 'ExternalName', externalName: 'localhost' };
  await send('POST', '/api/v1/namespaces/default/services', {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'served' },
    spec: service,
  });
  const services = '/apis/apiregistration.k8s.io/v1/apiservices';
  const name = `v1.${servedGroup}`;
  await send('POST', services, {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name },
    spec: {
      group: servedGroup,
      version: 'v1',
      service: { namespace: 'default', name: 'served', port },
      groupPriorityMinimum: 1000,
      versionPriority: 10,
      insecureSkipTLSVerify: true,
    },
  });
  for (;;) {
    const { body } = await send('GET', `${services}/${name}`);
    if (body.status?.conditions?.[0]?.status === 'True') return;
    await realClock.sleep(20);
  }
}

export async function startHostileCluster(
  t: Pick<Test, 'teardown'>,
  args: readonly string[] = [],
): Promise<HostileCluster> {
  const cluster = await startWebhookCluster(t, kubernetesDialect, args);
  const hostile = await startHostileServer();
  t.teardown(() => hostile.stop());
  const { send } = cluster;
  const clientConfig = { url: `https://127.0.0.1:${hostile.port}/`, caBundle: hostile.caBundle };
  const maps = '/api/v1/namespaces/default/configmaps';
  await cluster.configure(
    'Validating',
    'hostile',
    (['short', 'long'] as const).map((patience) => ({
      name: `${patience}.hostile.b.test`,
      clientConfig,
      rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
      objectSelector: { matchLabels: { path: 'hostile', patience } },
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      timeoutSeconds: timeoutSeconds[patience],
    })),
  );
  await send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition(clientConfig));
  await serveBy(cluster, hostile.port);
  const things = (version: string) => `/apis/hostile.example.com/${version}/namespaces/default/things`;
  const thing = { apiVersion: 'hostile.example.com/v1', kind: 'Thing', metadata: { name: 'one' } };
  while ((await send('POST', things('v1'), thing)).status !== 201) await new Promise(setImmediate);
  const map = (metadata: object) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata });
  let created = 0;
  return {
    cluster,
    hostile,
    write: (patience = 'short') =>
      send('POST', `${maps}?dryRun=All`, map({ generateName: 'm-', labels: { path: 'hostile', patience } })),
    // Converted objects are cached, so each is a new one.
    convert: async (more = '') => {
      const name = `created-${created++}`;
      await send('POST', things('v1'), { ...thing, metadata: { name } });
      return send('GET', `${things('v2')}/${name}?${more}`);
    },
    serve: async () => {
      const patience = new AbortController();
      const timer = realClock.setTimer(() => patience.abort(), 1000);
      await cluster.begin(`/apis/${servedGroup}/v1/things?timeout=1s`, patience.signal);
      timer.cancel();
    },
    other: () => send('POST', `${maps}?dryRun=All`, map({ name: 'other' })),
  };
}
