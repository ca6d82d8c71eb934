import t, { type Test } from 'tap';
import { configmaps, namespaces, secrets } from '#api/core/v1/resources.gen.js';
import type { Namespace } from '#api/core/v1/types.gen.js';
import { forbidden } from '#apimachinery/errors/status.js';
import type { ApiObject } from '#client/client.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { NamespaceController } from '#controllers/namespace/controller.js';
import { nextAttemptMs } from '#controllers/namespace/plan.js';

function setUp(t: Test) {
  const harness = new Harness(t, [namespaces, configmaps, secrets]);
  const { api, dialect } = harness;
  api.seed<Namespace>(namespaces, { metadata: { name: 'a' }, spec: { finalizers: [dialect.namespaceFinalizer] } });
  // The server deletes a namespace when its last finalizer is removed.
  api.intercept((call) => {
    if (call.subresource !== 'finalize') return undefined;
    const body = call.body as Namespace;
    if ((body.spec.finalizers ?? []).length === 0) api.remove(namespaces, 'a');
    return body as ApiObject;
  });
  const start = (resyncMs = 300_000) =>
    harness.start(new NamespaceController(harness.context, { concurrency: 2, resyncMs }));
  const remove = () =>
    api.change<Namespace>(namespaces, 'a', (object) => {
      object.metadata.deletionTimestamp = '2022-05-03T00:00:00Z';
      // Keep the object: the fake ignores a namespace's finalizers, which are in its spec.
      object.metadata.deletionGracePeriodSeconds = 1;
    });
  const read = () => api.get(namespaces, 'a');
  const condition = (type: string) => read()?.status?.conditions?.find((each) => each.type === type);
  return { harness, api, start, remove, read, condition };
}

t.test('a namespace in deletion is emptied and finalized; others are not touched', async (t) => {
  const { harness, api, start, remove, read } = setUp(t);
  for (const namespace of ['a', 'b']) {
    api.seed(configmaps, { metadata: { name: 'x', namespace } });
    api.seed(secrets, { metadata: { name: 'x', namespace } });
  }
  await start();
  t.same(api.takeWrites(), []);
  remove();
  await harness.advance(1000);
  t.equal(read(), undefined);
  t.same(
    api.list(configmaps).map(({ metadata }) => metadata.namespace),
    ['b'],
  );
  t.same(
    api.list(secrets).map(({ metadata }) => metadata.namespace),
    ['b'],
  );
  api.takeWrites();
  await harness.advance(600_000);
  t.same(api.takeWrites(), []);
});

t.test('remaining objects are reported, and deletion is retried', async (t) => {
  const { harness, api, start, remove, read, condition } = setUp(t);
  api.seed(configmaps, { metadata: { name: 'x', namespace: 'a', finalizers: ['test.io/hold'] } });
  await start();
  remove();
  await harness.advance(1000);
  t.equal(read()?.status?.phase, 'Terminating');
  t.match(condition('NamespaceContentRemaining'), {
    status: 'True',
    reason: 'SomeResourcesRemain',
    message: 'Some resources are remaining: configmaps. has 1 resource instances',
  });
  t.match(condition('NamespaceFinalizersRemaining'), {
    status: 'True',
    message: 'Some content in the namespace has finalizers remaining: test.io/hold in 1 resource instances',
  });
  api.remove(configmaps, 'a/x');
  await harness.advance(60_000);
  t.equal(read(), undefined);
});

t.test('a resource that cannot be emptied is reported and does not stop the others', async (t) => {
  const { harness, api, start, remove, read, condition } = setUp(t);
  api.seed(configmaps, { metadata: { name: 'x', namespace: 'a' } });
  api.seed(secrets, { metadata: { name: 'x', namespace: 'a' } });
  const heal = harness.fail(
    (call) => call.verb === 'deletecollection' && call.resource === 'configmaps',
    forbidden({ group: '', resource: 'configmaps' }, '', 'locked'),
  );
  await start();
  remove();
  await harness.advance(1000);
  t.equal(api.list(secrets).length, 0);
  t.match(condition('NamespaceDeletionContentFailure'), { status: 'True', reason: 'ContentDeletionFailed' });
  heal();
  await harness.advance(60_000);
  t.equal(read(), undefined);
});

t.test('pauses between attempts grow up to a limit', (t) => {
  t.same([0, 1, 2, 5, 50].map(nextAttemptMs), [500, 1000, 2000, 15_000, 15_000]);
  t.end();
});

t.test('namespaces in deletion are resynced', async (t) => {
  const looksIn = async (resyncMs: number) => {
    const { harness, api, start, remove } = setUp(t);
    api.seed(configmaps, { metadata: { name: 'x', namespace: 'a', finalizers: ['test.io/hold'] } });
    await start(resyncMs);
    remove();
    await harness.advance(600_000);
    const before = api.calls.length;
    await harness.advance(60_000);
    return api.calls.slice(before).filter(({ verb, resource }) => verb === 'list' && resource === 'configmaps').length;
  };
  const seldom = await looksIn(0);
  t.ok(seldom > 0, 'in addition to retries');
  t.ok((await looksIn(2000)) > 3 * seldom);
});
