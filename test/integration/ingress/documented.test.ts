/** The manifests and rights of docs/ingress.md, against a real API server. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:tls';
import { Registry } from 'prom-client';
import t from 'tap';
import { parseAllDocuments } from 'yaml';
import { events, secrets, services } from '#api/core/v1/resources.gen.js';
import { ingressclasses, ingresses } from '#api/networking/v1/resources.gen.js';
import type { Ingress } from '#api/networking/v1/types.gen.js';
import { clusterrolebindings, clusterroles } from '#api/rbac/v1/resources.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import type { ApiObject } from '#client/client.js';
import { ApiEventRecorder } from '#client/events/recorder.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import { startCluster } from '#cluster/embedded/start-cluster.js';
import { removeIngressClass, setUpIngress } from '#cluster/objects/ingress.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { standardLimits } from '#ingress/http/limits.js';
import { IngressController } from '#ingress/ingress-controller.js';
import { createSelfSigned } from '#pki/self-signed.js';

t.setTimeout(120_000);

/** The page's manifests in the dialect. */
async function documented(dialect: Dialect): Promise<ApiObject[]> {
  // Tests run compiled, below dist.
  const page = await readFile(new URL('../../../../docs/ingress.md', import.meta.url), 'utf8');
  const text = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)]
    .map(([, block]) => block)
    .join('---\n')
    .replaceAll(`.${orchDialect.apiDomain}`, `.${dialect.apiDomain}`)
    .replaceAll(`controller: ${orchDialect.labelDomain}`, `controller: ${dialect.labelDomain}`);
  return parseAllDocuments(text).map((document) => document.toJS() as ApiObject);
}

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(`the ${dialect.name} dialect`, async (t) => {
    const cluster = await startCluster({ dialect: dialect.name, nodes: 0 });
    t.teardown(() => cluster.close());
    const { client } = cluster;
    const namespace = 'default';
    await setUpIngress(client);
    await setUpIngress(client);
    const { items } = await client.resource(ingressclasses).list();
    t.match(items, [
      { metadata: { name: 'built-in', annotations: { [dialect.ingress.defaultClassAnnotation]: 'true' } } },
    ]);

    const classNames = async () =>
      (await client.resource(ingressclasses).list()).items.map(({ metadata }) => metadata.name);
    await removeIngressClass(client);
    await removeIngressClass(client);
    t.same(await classNames(), [], 'the class goes with the controller');
    await setUpIngress(client);
    const ingressClass = await client.resource(ingressclasses).get('built-in');
    const labels = { mine: 'yes' };
    await client.resource(ingressclasses).update({ ...ingressClass, metadata: { ...ingressClass.metadata, labels } });
    await removeIngressClass(client);
    t.same(await classNames(), ['built-in'], 'unless it was changed');

    const types = { ClusterRole: clusterroles, ClusterRoleBinding: clusterrolebindings, IngressClass: ingressclasses };
    const manifests = await documented(dialect);
    t.same(
      manifests.map(({ kind }) => kind),
      ['Ingress', 'ClusterRole', 'ClusterRoleBinding', 'IngressClass'],
    );
    for (const object of manifests.slice(1)) {
      const type = types[object.kind as keyof typeof types];
      await client.resource<ApiObject>(type as typeof clusterroles as never).create(object);
    }
    const shown = (await client.resource(clusterroles).get('ingress')).rules;
    t.same(
      (await client.resource(clusterroles).get('system:ingress-controller')).rules,
      shown,
      'both have the same rights',
    );

    // A user with only the rights of the page.
    const own = cluster.clientAs('edge');
    const informers = new SharedInformerFactory({ client: own, clock, random: Math.random, log });
    const recorder = new ApiEventRecorder({
      client: own,
      source: { component: 'edge' },
      clock,
      random: Math.random,
      log,
    });
    const controller = new IngressController({
      ...{ informers, recorder, clock, random: Math.random, log, metrics: new Registry(), limits: standardLimits },
      ...{ address: '127.0.0.1', httpPort: 0, httpsPort: 0, redirects: true, trustedProxies: [] },
      publishedAddresses: ['192.0.2.1'],
    });
    const stop = new AbortController();
    const informing = informers.start(stop.signal);
    const running = controller.start(stop.signal);
    t.teardown(async () => {
      await controller.close();
      await running;
      await recorder.close();
      stop.abort();
      await informing;
      await own.close();
    });
    await controller.ready();

    await client.resource(ingresses).create(manifests[0] as Ingress, { namespace });
    await client.resource(services).create({
      metadata: { name: 'web', namespace },
      spec: { ports: [{ port: 80 }] },
    } as never);
    const identity = await createSelfSigned({
      commonName: 'shop',
      names: ['shop.example.com'],
      ips: [],
      now: Date.now(),
    });
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    await client.resource(secrets).create({
      metadata: { name: 'shop-certificate', namespace },
      type: dialect.secretTypes.tls,
      data: { 'tls.crt': base64(identity.certificate), 'tls.key': base64(identity.privateKey) },
    });
    const signal = AbortSignal.timeout(30_000);
    const one = { namespace, fieldSelector: 'metadata.name=shop', signal };
    for await (const { object } of client.resource(ingresses).watch(one)) {
      const { ingress = [] } = object.status?.loadBalancer ?? {};
      if (ingress.length === 0) continue;
      t.same(ingress, [{ ip: '192.0.2.1' }]);
      break;
    }
    const { http: port = 0, https: securePort = 0 } = controller.ports;
    const ask = async (host: string, path: string) => {
      const outgoing = request({ host: '127.0.0.1', port, path, headers: { host }, agent: false }).end();
      const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
      answer.resume();
      return answer;
    };
    const served = async () => {
      const socket = connect({
        host: '127.0.0.1',
        port: securePort,
        servername: 'shop.example.com',
        rejectUnauthorized: false,
      });
      await once(socket, 'secureConnect');
      const { subject } = socket.getPeerCertificate();
      socket.destroy();
      return String(subject.CN).split('@')[0];
    };
    while ((await served()) !== 'shop') await clock.sleep(20);
    t.match(await ask('shop.example.com', '/'), { statusCode: 308 });
    t.match(await ask('a.shop.example.com', '/health'), { statusCode: 503 }, 'its service has no endpoints');
    t.match(await ask('a.shop.example.com', '/'), { statusCode: 404 });
    for await (const { object } of client.resource(events).watch({ namespace, signal })) {
      if (object.involvedObject.kind !== 'Ingress') continue;
      t.match(object, { reason: 'BackendNotFound', message: 'there is no service api in this namespace' });
      break;
    }
  });
}
