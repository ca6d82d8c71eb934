/** For every kind with a spec: fields that the server resets, and changes that increment the generation. */

import t from 'tap';
import type { ApiObjectShape } from '#api/meta/object.js';
import { schemeFor } from '#api/scheme.js';
import { strategyFor } from '#api/strategies.js';
import { testContext } from '#api/testing/strategy-table.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import { orchDialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';

type Loose = Draft<ApiObjectShape> & { spec?: Record<string, unknown>; status?: Record<string, unknown> };

/** Kinds of 1.24 with generations. */
const counting = new Set([
  'cronjobs',
  'customresourcedefinitions',
  'daemonsets',
  'deployments',
  'flowschemas',
  'ingressclasses',
  'ingresses',
  'jobs',
  'mutatingwebhookconfigurations',
  'networkpolicies',
  'poddisruptionbudgets',
  'priorityclasses',
  'prioritylevelconfigurations',
  'replicasets',
  'statefulsets',
  'validatingwebhookconfigurations',
]);

/** Groups in this table. */
const groups = new Set([
  'admissionregistration',
  'apiextensions',
  'apiregistration',
  'apiserverinternal',
  'apps',
  'autoscaling',
  'batch',
  'certificates',
  'coordination',
  'events',
  'flowcontrol',
  'networking',
  'node',
  'policy',
  'rbac',
  'scheduling',
]);

/** Kinds with an initial status set by the server. */
const ownStatus: Readonly<Record<string, object>> = {
  apiservices: { conditions: [{ type: 'Available', status: 'True', reason: 'Local' }] },
  customresourcedefinitions: { storedVersions: [] },
  replicasets: { replicas: 0 },
  statefulsets: { replicas: 0 },
  storageversions: {},
};

const every = schemeFor(orchDialect)
  .resources.map(({ declaration }) => declaration)
  .filter(({ verbs }) => verbs.includes('create') && verbs.includes('update'));
const resources = every.filter(({ group }) => groups.has(group));

function draft(): Loose {
  return {
    metadata: { name: 'a', uid: 'u', generation: 7 },
    spec: { scaleTargetRef: {}, podSelector: {}, names: {} },
    status: { foo: 1 },
  } as unknown as Loose;
}

t.test('fields reset on create', (t) => {
  for (const resource of resources) {
    const strategy = strategyFor(resource);
    const object = draft();
    strategy.defaults?.(object, testContext);
    strategy.prepareForCreate?.(object, testContext);
    const hasStatus = resource.subresources?.some(({ name }) => name === 'status') === true;
    const name = `${resource.group} ${resource.resource}`;
    const own = ownStatus[resource.resource];
    if (hasStatus && own === undefined) t.equal(object.status, undefined, `${name}: status`);
    if (own !== undefined) t.match(object.status, own, `${name}: its own status`);
    if (counting.has(resource.resource)) t.equal(object.metadata.generation, 1, `${name}: generation`);
  }
  t.end();
});

t.test('fields reset on update', (t) => {
  for (const resource of resources) {
    const strategy = strategyFor(resource);
    const name = `${resource.group} ${resource.resource}`;
    const old = draft();
    strategy.defaults?.(old, testContext);
    strategy.prepareForCreate?.(old, testContext);
    old.status = { replicas: 1, storedVersions: ['v1'] };
    const next = copyJson(old);
    next.status = { replicas: 2 };
    next.metadata.generation = 99;
    strategy.prepareForUpdate?.(next, old, testContext);
    if (resource.subresources?.some((subresource) => subresource.name === 'status') === true) {
      t.match(next.status, { replicas: 1 }, `${name}: status stays`);
    }
    t.equal(next.metadata.generation, old.metadata.generation, `${name}: generation stays while nothing changes`);
    if (strategy.prepareForStatusUpdate === undefined) continue;
    const reported = copyJson(old);
    Object.assign(reported, { spec: { other: true }, status: { replicas: 3 } });
    strategy.prepareForStatusUpdate(reported, old, testContext);
    t.strictSame(reported.spec, old.spec, `${name}: a status update leaves the spec`);
    t.match(reported.status, { replicas: 3 }, `${name}: a status update changes the status`);
  }
  t.end();
});

t.test('a change of the spec increments the generation', (t) => {
  for (const resource of resources) {
    if (!counting.has(resource.resource) || resource.resource === 'priorityclasses') continue;
    const strategy = strategyFor(resource);
    const old = draft();
    strategy.defaults?.(old, testContext);
    strategy.prepareForCreate?.(old, testContext);
    const next = copyJson(old);
    Object.assign(next, { webhooks: [{ name: 'x' }] });
    Object.assign(next.spec ?? {}, { minReadySeconds: 5, policyTypes: ['Egress'] });
    strategy.prepareForUpdate?.(next, old, testContext);
    t.equal(next.metadata.generation, 2, `${resource.group} ${resource.resource}`);
  }
  t.end();
});

/** Kinds of 1.24 whose updates require a resource version. */
const conditional = new Set([
  'apiservices',
  'csidrivers',
  'csinodes',
  'csistoragecapacities',
  'customresourcedefinitions',
  'leases',
  'mutatingwebhookconfigurations',
  'poddisruptionbudgets',
  'runtimeclasses',
  'storageversions',
  'validatingwebhookconfigurations',
  'volumeattachments',
]);

/** Kinds that an update of an unknown name creates. */
const creating = new Set([
  'clusterrolebindings',
  'clusterroles',
  'endpoints',
  'events',
  'leases',
  'limitranges',
  'rolebindings',
  'roles',
  'runtimeclasses',
  'services',
]);

t.test('updates without resource version and of unknown names', (t) => {
  for (const resource of every) {
    const { allowUnconditionalUpdate, allowCreateOnUpdate = false } = strategyFor(resource);
    const name = `${resource.group} ${resource.resource}`;
    t.equal(allowUnconditionalUpdate, !conditional.has(resource.resource), `${name}: unconditional`);
    t.equal(allowCreateOnUpdate, creating.has(resource.resource), `${name}: creates`);
  }
  t.end();
});
