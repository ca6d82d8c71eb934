import t from 'tap';
import { groupVersions } from '#api/scheme.gen.js';
import { schemeFor } from '#api/scheme.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { compileTypes } from '#apimachinery/schema/compile.js';
import { message, required } from '#apimachinery/schema/language.js';

const scheme = schemeFor(orchDialect);
const kubernetes = schemeFor(kubernetesDialect);

t.test('kinds are found by apiVersion and by group and version', async (t) => {
  t.equal(scheme.kind('v1', 'Pod')?.type, scheme.type('core.v1.Pod'));
  t.equal(scheme.kind('apps/v1', 'DeploymentList')?.type.isList, true);
  t.equal(scheme.kindOf('coordination.orch.io', 'v1', 'Lease')?.group, 'coordination');
  t.equal(kubernetes.kindOf('coordination.k8s.io', 'v1', 'Lease')?.group, 'coordination');
  t.equal(scheme.kind('coordination.k8s.io/v1', 'Lease'), undefined);
  t.equal(scheme.kind('v1', 'PodSpec'), undefined);
  t.equal(scheme.kind('v1', 'PodTemplateSpec'), undefined);
  t.equal(scheme.kind('apps/v1', 'DeleteOptions')?.type.name, 'meta.v1.DeleteOptions');
  t.equal(scheme.kind('v1', 'Status')?.type.name, 'meta.v1.Status');
  t.throws(() => scheme.type('core.v1.Nothing'), RangeError);
});

t.test('resources are found by their plural name', async (t) => {
  const pods = scheme.resource('', 'v1', 'pods');
  t.equal(pods?.type.name, 'core.v1.Pod');
  t.equal(pods?.listKind, 'PodList');
  t.equal(scheme.resourceOfKind('apps/v1', 'Deployment')?.declaration.resource, 'deployments');
  t.equal(scheme.resource('authentication.orch.io', 'v1', 'tokenreviews')?.listKind, undefined);
  for (const info of scheme.resources) {
    const listable = info.declaration.verbs.includes('list');
    t.equal(info.listType !== undefined, listable, `${info.declaration.resource} has a list kind when listed`);
    t.equal(scheme.resourceOf(info.declaration), info);
    t.equal(info.type.isKind, true);
  }
});

t.test('fields have the merge rules and names of their declarations', async (t) => {
  const pod = scheme.type('core.v1.PodSpec');
  const containers = pod.byName.get('containers');
  t.equal(containers?.type?.name, 'core.v1.Container');
  t.match(containers, { container: 'list', listKind: 'map', listMapKeys: ['name'], patchMergeKey: 'name' });
  t.match(scheme.type('core.v1.Container').byName.get('ports')?.listMapKeys, ['containerPort', 'protocol']);
  t.equal(scheme.type('meta.v1.ObjectMeta').byName.get('finalizers')?.listKind, 'set');
  t.ok(scheme.type('core.v1.Volume').byName.has('emptyDir'), 'fields of inline messages belong to the parent');
  t.equal(scheme.type('resource.Quantity').shape, 'quantity');
  const props = 'apiextensions.v1.JSONSchemaProps';
  t.ok(scheme.type(props).byName.has('x-orch-list-type'));
  t.ok(kubernetes.type(props).byName.has('x-kubernetes-list-type'));
  for (const name of scheme.typeNames()) {
    const numbers = scheme.type(name).fields.map((field) => field.number);
    t.equal(new Set(numbers).size, numbers.length, `${name} uses each number once`);
  }
});

t.test('a reference to an unknown type is refused', async (t) => {
  const broken = {
    group: 'core' as const,
    version: 'v1',
    kinds: [{ types: { A: message('A.', { b: required(1, 'B') }) } }],
  };
  const types = compileTypes([...groupVersions, broken], 'x-');
  t.throws(() => types.get('core.v1.A')?.fields, /core\.v1\.A\.b refers to the type B/);
});
