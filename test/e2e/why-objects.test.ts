/** `orchctl why TYPE NAME` on a running cluster: the controllers bring the objects into their states. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { type Answer, rootCauses } from '#insight/inquiry/finding.js';
import { eventually, root as projectRoot, startTestCluster } from '#test/e2e/harness.js';

t.setTimeout(300_000);
const cluster = await startTestCluster({ runtime: 'simulated', store: 'memory' });
t.teardown(() => cluster.destroy());

async function apply(...objects: object[]): Promise<void> {
  const file = join(cluster.dataDir, 'objects.json');
  writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
  const { code, stderr } = await cluster.ctl('apply', '-f', file);
  if (code !== 0) throw new Error(stderr);
}

async function why(...args: string[]): Promise<Answer> {
  const { code, stderr, stdout } = await cluster.ctl('why', ...args, '-o', 'json');
  if (code !== 0) throw new Error(`orchctl why ${args.join(' ')} ended with ${code}\n${stderr}`);
  return JSON.parse(stdout) as Answer;
}

/** Resolves with the answer once its first root cause has that reason. */
async function root(reason: string, ...args: string[]): Promise<Answer> {
  let answer: Answer | undefined;
  await eventually(`the root cause of ${args.join(' ')} is ${reason}`, async () => {
    answer = await why(...args);
    return rootCauses(answer.findings)[0]?.reason === reason;
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}\n${JSON.stringify(answer, undefined, 2)}`);
  });
  return answer as Answer;
}

const template = (labels: object, more: object = {}) => ({
  metadata: { labels },
  spec: { containers: [{ name: 'app', image: 'shop/web:1', ports: [{ name: 'http', containerPort: 8080 }] }], ...more },
});
const deployment = (name: string, replicas: number, more: object = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: { replicas, selector: { matchLabels: { app: name } }, template: template({ app: name }, more) },
});
const service = (name: string, selector: object, targetPort: string | number = 'http') => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { selector, ports: [{ name: 'http', port: 80, targetPort }] },
});

t.test('healthy objects are not accused', async (t) => {
  await apply(deployment('web', 2), service('web', { app: 'web' }));
  await eventually('the deployment is available', async () => (await why('deployment', 'web')).verdict === 'Healthy');
  for (const name of ['deployment/web', 'service/web', 'namespace/default', 'serviceaccount/default']) {
    const answer = await why(name);
    t.same(answer.findings, [], `${name}: ${answer.summary}`);
  }
  const { stdout } = await cluster.ctl('get', 'nodes,pods', '-o', 'name');
  for (const name of stdout.trim().split('\n')) t.equal((await why(name)).verdict, 'Healthy', name);
});

t.test('a deployment whose pods fit nowhere leads to the nodes', async (t) => {
  await apply(deployment('large', 1, { nodeSelector: { disk: 'ssd' } }));
  const answer = await root('NodeAffinity', 'deployment', 'large');
  t.match(answer.summary, /refuses? the pod: node\(s\) didn't match Pod's node affinity\/selector/);
});

t.test('a quota keeps a deployment from its pods', async (t) => {
  await apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'small' } });
  await apply({
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'few', namespace: 'small' },
    spec: { hard: { pods: '1' } },
  });
  const { metadata, ...web } = deployment('web', 3);
  await apply({ ...web, metadata: { ...metadata, namespace: 'small' } });
  const answer = await root('QuotaExceeded', 'deployment', 'web', '-n', 'small');
  t.match(rootCauses(answer.findings)[0]?.evidence[0]?.text, /exceeded quota: few/);
});

t.test('services and ingresses', async () => {
  await apply(service('wrong', { app: 'wep' }), service('portless', { app: 'web' }, 'grpc'), {
    apiVersion: 'networking.orch.io/v1',
    kind: 'Ingress',
    metadata: { name: 'shop' },
    spec: {
      rules: [
        {
          http: {
            paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 'gone', port: { number: 80 } } } }],
          },
        },
      ],
    },
  });
  await root('SelectorMatchesNothing', 'svc', 'wrong');
  await root('TargetPortMissing', 'service/portless');
  await root('NoIngressClass', 'ingress', 'shop');
  await apply({
    apiVersion: 'networking.orch.io/v1',
    kind: 'IngressClass',
    metadata: { name: 'plain' },
    spec: { controller: 'example.com/ingress' },
  });
  await root('ServiceMissing', 'ingress', 'shop');
});

t.test('claims and the pods that wait for them', async () => {
  const claim = (name: string, storageClassName: string) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name },
    spec: { storageClassName, accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  });
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
  await apply(claim('data', 'fast'), claim('static', ''), deployment('db', 1, { volumes }));
  await root('StorageClassMissing', 'pvc', 'data');
  await root('NoMatchingVolume', 'pvc', 'static');
  await root('StorageClassMissing', 'deployment', 'db');
});

t.test('jobs, budgets and objects with finalizers', async (t) => {
  await apply(
    {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'later' },
      spec: { suspend: true, template: { spec: { ...template({}).spec, restartPolicy: 'Never' } } },
    },
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'web' },
      spec: { minAvailable: 2, selector: { matchLabels: { app: 'web' } } },
    },
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'held' } },
  );
  await apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'kept', namespace: 'held', finalizers: ['example.com/clean'] },
  });
  await root('JobSuspended', 'job', 'later');
  await root('BudgetAllowsNone', 'pdb', 'web');
  await cluster.ctl('delete', 'namespace', 'held', '--wait=false');
  const answer = await root('FinalizerPending', 'configmap', 'kept', '-n', 'held');
  t.match(answer.summary, /Finalizer example\.com\/clean of the controller of example\.com/);
  const text = await cluster.ctl('why', 'configmap', 'kept', '-n', 'held');
  t.match(text.stdout, /^ConfigMap held\/kept: stuck\n {2}Finalizer example\.com\/clean/);
  t.match(text.stdout, /What would help:\n {2}- Check that the controller of example\.com runs/);
});

t.test('the answers of docs/why.md', async (t) => {
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'late' } }];
  const shop = template({ app: 'shop', tier: 'back' });
  await apply(
    service('shop', { app: 'shop', tier: 'front' }),
    { apiVersion: 'v1', kind: 'Pod', ...shop, metadata: { ...shop.metadata, name: 'shop-0' } },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'late' },
      spec: { storageClassName: 'fast', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    },
    deployment('late', 1, { volumes }),
  );
  await root('SelectorMatchesNothing', 'service', 'shop');
  await root('StorageClassMissing', 'deployment', 'late');
  const page = readFileSync(join(projectRoot, 'docs', 'why.md'), 'utf8');
  const examples = [...page.matchAll(/```\n\$ orchctl why (.*)\n([\s\S]*?)```/g)];
  t.equal(examples.length, 2);
  for (const [, args = '', output] of examples) {
    const { stdout } = await cluster.ctl('why', ...args.split(' '));
    // Names of a deployment's pods are random.
    t.equal(stdout.replace(/late-[0-9a-z]+-[0-9a-z]+/, 'late-*'), output, args);
  }
});

t.test('a wrong name says what to do', async (t) => {
  t.match((await cluster.ctl('why', 'widgets', 'a')).stderr, /the server doesn't have a resource type "widgets"/);
  t.match((await cluster.ctl('why', 'pods')).stderr, /name one object: orchctl why TYPE NAME/);
});
