import t from 'tap';
import { leases } from '#api/coordination/v1/resources.gen.js';
import { configmaps, nodes, persistentvolumeclaims, pods, serviceaccounts } from '#api/core/v1/resources.gen.js';
import type { Node, PersistentVolumeClaim, Pod } from '#api/core/v1/types.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import type { OwnerReference } from '#api/meta/v1/types.gen.js';
import { csinodes } from '#api/storage/v1/resources.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { StatusError } from '#apimachinery/errors/status.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import type { AdmissionAttributes } from '#apiserver/admission/admission.js';
import { forbiddenLabels, NodeRestriction } from '#apiserver/admission/node-restriction.js';
import { MemoryObjectReader } from '#apiserver/objects/testing/memory-object-reader.js';

/** Sends a request as node n1; empty if it is allowed, else the text after "forbidden: ", or the reason of another refusal. */
function setup(user = 'system:node:n1') {
  const reader = new MemoryObjectReader();
  reader.put<Node>(nodes, { metadata: { name: 'n1', uid: 'n1-uid' } } as Node);
  reader.put<Pod>(pods, pod({ nodeName: 'n1' }, { name: 'mine', uid: 'mine-uid' }));
  reader.put<Pod>(pods, pod({ nodeName: 'n2' }, { name: 'theirs', uid: 'theirs-uid' }));
  const plugin = new NodeRestriction({ dialect, reader });
  return async (resource: ResourceDeclaration, more: Partial<AdmissionAttributes>): Promise<string> => {
    const attributes: AdmissionAttributes = {
      operation: 'CREATE',
      resource,
      subresource: '',
      namespace: resource.namespaced ? 'ns' : '',
      name: more.object?.metadata.name ?? '',
      user: { name: user, groups: ['system:nodes'] },
      dryRun: false,
      warn: () => undefined,
      require: () => undefined,
      ...more,
    };
    if (!plugin.handles(attributes)) return 'not looked at';
    try {
      await plugin.validate(attributes);
      return '';
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      return error.message.replace(/^.* is forbidden: /, '');
    }
  };
}

const pod = (spec: Partial<Pod['spec']> = {}, metadata: Pod['metadata'] = {}): Pod => ({
  metadata: { name: 'p', namespace: 'ns', ...metadata },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});

t.test('nodes may create only mirror pods', async (t) => {
  const ask = setup();
  const owner: OwnerReference = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'n1-uid', controller: true };
  const annotations = { [dialect.annotations.configMirror]: 'x' };
  const mirror = (spec: Partial<Pod['spec']> = {}, owners: OwnerReference[] = [owner]) =>
    ask(pods, { object: pod({ nodeName: 'n1', ...spec }, { annotations, ownerReferences: owners }) });
  t.equal(await mirror(), '');
  t.equal(await mirror({}, [{ ...owner, blockOwnerDeletion: false }]), '');
  const who = 'node "n1"';
  const notItself = `${who} can only create pods with an owner reference set to itself`;
  const { controller: _controller, ...uncontrolled } = owner;
  for (const [owners, message] of [
    [[], notItself],
    [[owner, owner], `${who} can only create pods with a single owner reference set to itself`],
    [[{ ...owner, apiVersion: 'apps/v1' }], notItself],
    [[{ ...owner, kind: 'Pod' }], notItself],
    [[{ ...owner, name: 'n2' }], notItself],
    [[uncontrolled], `${who} can only create pods with a controller owner reference set to itself`],
    [[{ ...owner, controller: false }], `${who} can only create pods with a controller owner reference set to itself`],
    [[{ ...owner, blockOwnerDeletion: true }], `${who} must not set blockOwnerDeletion on an owner reference`],
    [[{ ...owner, uid: 'old' }], `${who} UID mismatch: expected n1-uid got old`],
  ] as [OwnerReference[], string][]) {
    t.equal(await mirror({}, owners), message, JSON.stringify(owners));
  }
  const refers = (what: string) => `${who} can not create pods that reference ${what}`;
  const container = { name: 'c', image: 'i' };
  for (const [spec, message] of [
    [{ nodeName: 'n2' }, `${who} can only create pods with spec.nodeName set to itself`],
    [{ serviceAccountName: 'x' }, refers('a service account')],
    [{ imagePullSecrets: [{ name: 'x' }] }, refers('secrets')],
    [{ containers: [{ ...container, envFrom: [{ secretRef: { name: 'x' } }] }] }, refers('secrets')],
    [{ volumes: [{ name: 'v', configMap: { name: 'x' } }] }, refers('configmaps')],
    [{ volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'x' } }] }, refers('persistentvolumeclaims')],
    [{ volumes: [{ name: 'v', ephemeral: {} }] }, refers('persistentvolumeclaims')],
  ] as [Partial<Pod['spec']>, string][]) {
    t.equal(await mirror(spec), message, JSON.stringify(spec));
  }
  t.match(
    await ask(pods, { object: pod({ nodeName: 'n1' }, { ownerReferences: [owner] }) }),
    /can only create mirror pods$/,
  );
  const other = setup('system:node:n3');
  const theirs = { ...owner, name: 'n3', uid: 'x' };
  const mirrorPod = pod({ nodeName: 'n3' }, { annotations, ownerReferences: [theirs] });
  t.equal(await other(pods, { object: mirrorPod }), 'nodes "n3" not found');
});

t.test('nodes may change only their own pods', async (t) => {
  const ask = setup();
  const only = (what: string) => `node "n1" can only ${what} pods with spec.nodeName set to itself`;
  const [mine, theirs] = [pod({ nodeName: 'n1' }, { name: 'mine' }), pod({ nodeName: 'n2' }, { name: 'theirs' })];
  t.equal(await ask(pods, { operation: 'DELETE', name: 'mine', oldObject: mine }), '');
  t.equal(await ask(pods, { operation: 'DELETE', name: 'theirs', oldObject: theirs }), only('delete'));
  t.equal(
    await ask(pods, { operation: 'UPDATE', object: mine, oldObject: mine }).then((m) => m.split(',')[0]),
    'unexpected operation "UPDATE"',
  );
  const evict = (name: string) => ask(pods, { subresource: 'eviction', name, object: { metadata: { name } } });
  t.equal(await evict('mine'), '');
  t.equal(await evict('theirs'), only('evict'));
  t.equal(await evict('none'), 'pods "none" not found');
  const status = (object: Pod, oldObject: Pod) =>
    ask(pods, { operation: 'UPDATE', subresource: 'status', object, oldObject });
  t.equal(await status(mine, mine), '');
  t.equal(
    await status(theirs, theirs),
    'node "n1" can only update pod status for pods with spec.nodeName set to itself',
  );
  const labelled = pod({ nodeName: 'n1' }, { labels: { a: 'b' } });
  t.equal(await status(labelled, mine), 'node "n1" cannot update labels through pod status');
  t.equal(
    await status(pod({ nodeName: 'n1' }, { labels: {} }), mine),
    '',
    'an absent list of labels equals an empty one',
  );
  for (const subresource of ['binding', 'ephemeralcontainers', 'exec']) {
    const expected = `unexpected pod subresource "${subresource}", only 'status' and 'eviction' are allowed`;
    t.equal(await ask(pods, { subresource, object: mine }), expected);
  }
});

t.test('nodes may update only the resize status of claims', async (t) => {
  const ask = setup();
  const old: PersistentVolumeClaim = {
    metadata: { name: 'c', namespace: 'ns', resourceVersion: '1', labels: { a: 'b' } },
    spec: { accessModes: ['ReadWriteOnce'] },
    status: { phase: 'Bound', capacity: { storage: '1Gi' } },
  };
  const status = (object: PersistentVolumeClaim, more: Partial<AdmissionAttributes> = {}) =>
    ask(persistentvolumeclaims, { operation: 'UPDATE', subresource: 'status', object, oldObject: old, ...more });
  const resized = {
    capacity: { storage: '2Gi' },
    conditions: [{ type: 'FileSystemResizePending', status: 'True' }],
    allocatedResources: { storage: '2Gi' },
    resizeStatus: 'NodeExpansionInProgress',
  };
  const { resourceVersion: _version, ...unversioned } = old.metadata;
  t.equal(
    await status({ ...old, metadata: { ...unversioned, managedFields: [] }, status: { phase: 'Bound', ...resized } }),
    '',
  );
  const refused = /^node "n1" is not allowed to update fields other than status.capacity and status.conditions/;
  const owner: OwnerReference = { apiVersion: 'v1', kind: 'Pod', name: 'mine', uid: 'gone' };
  for (const metadata of [
    { ownerReferences: [owner] },
    { finalizers: ['a/b'] },
    { labels: {} },
    { annotations: { a: 'b' } },
    { deletionTimestamp: '2020-01-01T00:00:00Z' },
  ]) {
    t.match(await status({ ...old, metadata: { ...old.metadata, ...metadata } }), refused, JSON.stringify(metadata));
  }
  t.match(await status({ ...old, status: { phase: 'Lost' } }), refused);
  t.match(await status({ ...old, status: { phase: 'Bound', accessModes: ['ReadWriteMany'] } }), refused);
  t.match(await status({ ...old, spec: {} as PersistentVolumeClaim['spec'] }), refused);
  for (const operation of ['CREATE', 'UPDATE', 'DELETE'] as const)
    t.equal(await status(old, { operation, subresource: '' }), 'may only update PVC status', operation);
});

t.test('nodes may change only their own node, lease and CSINode', async (t) => {
  const ask = setup();
  const node = (name: string, more: ApiObjectShape['metadata'] = {}, spec: Node['spec'] = {}): Node => ({
    metadata: { name, ...more },
    spec,
  });
  t.equal(await ask(nodes, { object: node('n1', { labels: { [dialect.labels.hostname]: 'n1', mine: 'x' } }) }), '');
  t.equal(await ask(nodes, { object: node('n2') }), 'node "n1" is not allowed to modify node "n2"');
  t.equal(
    await ask(nodes, { object: { metadata: { generateName: 'n1' } } }),
    'node "n1" is not allowed to modify node ""',
  );
  const label = 'node-restriction.orch.io/a';
  const labelled = node('n1', { labels: { [label]: 'b' } });
  t.equal(await ask(nodes, { object: labelled }), `node "n1" is not allowed to set the following labels: ${label}`);
  const update = (object: Node, oldObject: Node, subresource = '') =>
    ask(nodes, { operation: 'UPDATE', subresource, name: oldObject.metadata.name ?? '', object, oldObject });
  for (const subresource of ['', 'status']) {
    t.equal(await update(labelled, node('n1'), subresource), `node "n1" is not allowed to modify labels: ${label}`);
    t.equal(await update(node('n1'), labelled, subresource), `node "n1" is not allowed to modify labels: ${label}`);
    t.equal(await update(labelled, labelled, subresource), '');
    const tainted = node('n1', {}, { taints: [{ key: 'a', effect: 'NoSchedule' }] });
    t.equal(await update(node('n1'), tainted, subresource), 'node "n1" is not allowed to modify taints');
    const owned = node('n1', { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'x', uid: 'x' }] });
    t.equal(await update(owned, node('n1'), subresource), 'node "n1" is not allowed to modify ownerReferences');
    t.equal(await update(node('n2'), node('n2'), subresource), 'node "n1" is not allowed to modify node "n2"');
  }
  const source = { configMap: { name: 'a', namespace: 'b', kubeletConfigKey: 'c' } } as unknown as NonNullable<
    Node['spec']
  >['configSource'];
  const configured = node('n1', {}, { configSource: source } as Node['spec']);
  t.equal(
    await ask(nodes, { object: configured }),
    'node "n1" is not allowed to create pods with a non-nil configSource',
  );
  t.equal(
    await update(configured, node('n1')),
    'node "n1" is not allowed to update configSource to a new non-nil configSource',
  );
  t.equal(await update(configured, configured), '');
  t.same(forbiddenLabels({ [`${dialect.labels.nodeRolePrefix}x`]: '' }, {}, dialect), ['node-role.orch.io/x']);

  const namespace = dialect.namespaces.nodeLease;
  const own = (name: string, more: Partial<AdmissionAttributes> = {}) =>
    ask(leases, { namespace, name, object: { metadata: { name } }, ...more });
  t.equal(await own('n1'), '');
  t.equal(await own('n1', { namespace: 'ns' }), `can only access leases in the "${namespace}" system namespace`);
  const notOwn = 'can only access node lease with the same name as the requesting node';
  for (const operation of ['CREATE', 'UPDATE', 'DELETE'] as const)
    t.equal(await own('n2', { operation }), notOwn, operation);
  t.equal(await own('', { object: { metadata: { generateName: 'n1' } } }), notOwn);
  t.equal(await ask(csinodes, { object: { metadata: { name: 'n1' } } }), '');
  const notItsCsi = 'can only access CSINode with the same name as the requesting node';
  t.equal(await ask(csinodes, { operation: 'UPDATE', name: 'n2', object: { metadata: { name: 'n2' } } }), notItsCsi);
});

t.test('nodes get tokens only for their own pods', async (t) => {
  const ask = setup();
  const token = (boundObjectRef?: object) =>
    ask(serviceaccounts, {
      subresource: 'token',
      name: 'sa',
      object: { metadata: {}, spec: { audiences: [], ...(boundObjectRef && { boundObjectRef }) } } as ApiObjectShape,
    });
  const mine = { apiVersion: 'v1', kind: 'Pod', name: 'mine', uid: 'mine-uid' };
  t.equal(await token(mine), '');
  const unbound = 'node requested token not bound to a pod';
  for (const bad of [undefined, { ...mine, apiVersion: 'v2' }, { ...mine, kind: 'Secret' }, { ...mine, name: '' }])
    t.equal(await token(bad), unbound, JSON.stringify(bad));
  t.equal(await token({ ...mine, uid: '' }), 'node requested token with a pod binding without a uid');
  t.equal(await token({ ...mine, name: 'none' }), 'pods "none" not found');
  t.match(
    await token({ ...mine, uid: 'x' }),
    /^the UID in the bound object reference \(x\) does not match the UID in record/,
  );
  const theirs = { ...mine, name: 'theirs', uid: 'theirs-uid' };
  t.equal(await token(theirs), 'node requested token bound to a pod scheduled on a different node');
});

t.test('users of the nodes group with a node name count as nodes', async (t) => {
  t.equal(await setup('alice')(pods, { object: pod() }), 'not looked at');
  const nameless = setup('system:node:');
  t.equal(await nameless(configmaps, { object: pod() }), 'could not determine node from user "system:node:"');
});
