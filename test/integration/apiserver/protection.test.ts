/** Objects that are protected from deletion, and what contains them. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { serverForUsers } from '#test/integration/apiserver/server-for-users.js';

const annotation = dialect.annotations.protectFromDeletion;
const merge = 'application/merge-patch+json';

t.test('protected objects', async (t) => {
  const as = await serverForUsers(t, dialect);
  const { masters, authenticated } = dialect.groups;
  const admin = as('admin', masters, authenticated);
  const create = async (path: string, name: string, more: object = {}, labels = {}) => {
    const { status, body } = await admin.send('POST', path, { body: { metadata: { name, labels }, ...more } });
    t.equal(status, 201, status === 201 ? `${path}/${name}` : JSON.stringify(body));
  };
  const protect = (path: string, value: string | null) =>
    admin.send('PATCH', path, { body: { metadata: { annotations: { [annotation]: value } } }, contentType: merge });
  const maps = '/api/v1/namespaces/shop/configmaps';
  await create('/api/v1/namespaces', 'shop');
  await create('/api/v1/namespaces', 'empty');
  for (const name of ['a', 'b', 'c']) await create(maps, name, {}, { app: name });
  await protect(`${maps}/b`, 'the books');

  await t.test('are not deleted', async (t) => {
    for (const query of ['', '?dryRun=All', '?gracePeriodSeconds=0', '?propagationPolicy=Foreground']) {
      const { status, body } = await admin.send('DELETE', `${maps}/b${query}`);
      t.equal(status, 403, query);
      t.equal(
        body.message,
        `configmaps "b" is forbidden: it is protected from deletion by the annotation ${annotation} (the books); to delete it, ` +
          `remove the annotation first: annotate configmaps b -n shop ${annotation}-`,
      );
      t.match(body.details.causes, [{ reason: 'ProtectedFromDeletion', field: 'metadata.annotations' }]);
    }
    await protect(`${maps}/b`, 'false');
    t.equal((await admin.send('DELETE', `${maps}/b?dryRun=All`)).status, 200, 'false protects nothing');
    await protect(`${maps}/b`, 'true');
  });

  await t.test('keep a collection as a whole', async (t) => {
    const { status, body } = await admin.send('DELETE', maps);
    t.equal(status, 403);
    t.equal(
      body.message,
      `configmaps is forbidden: nothing is deleted, because configmaps b is protected by the annotation ${annotation}`,
    );
    const left = (await admin.send('GET', maps)).body.items.map(
      ({ metadata }: { metadata: { name: string } }) => metadata.name,
    );
    t.same(left, ['a', 'b', 'c'], 'nothing is deleted');
    t.equal((await admin.send('DELETE', `${maps}?labelSelector=app%3Da`)).status, 200, 'a selection without them');
  });

  await t.test('keep their namespace', async (t) => {
    const { status, body } = await admin.send('DELETE', '/api/v1/namespaces/shop');
    t.equal(status, 403);
    t.equal(
      body.message,
      `namespaces "shop" is forbidden: it contains what may not be deleted: configmaps b is protected by the annotation ${annotation}`,
    );
    t.equal((await admin.send('GET', '/api/v1/namespaces/shop')).body.status.phase, 'Active');
    t.equal((await admin.send('DELETE', '/api/v1/namespaces/empty')).status, 200, 'another namespace goes');
  });

  await t.test('keep the definition of their kind', async (t) => {
    const definitions = `/apis/${dialect.apiVersion('apiextensions', 'v1')}/customresourcedefinitions`;
    await create(definitions, 'things.example.com', {
      spec: {
        ...{ group: 'example.com', scope: 'Namespaced', names: { plural: 'things', kind: 'Thing' } },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
      },
    });
    const things = '/apis/example.com/v1/namespaces/shop/things';
    for (let status = 0; status !== 200; await nextTurn()) ({ status } = await admin.send('GET', things));
    await create(things, 'one', { apiVersion: 'example.com/v1', kind: 'Thing' });
    await protect(`${things}/one`, 'true');
    t.equal((await admin.send('DELETE', `${things}/one`)).status, 403, 'custom objects, too');
    const { status, body } = await admin.send('DELETE', `${definitions}/things.example.com`);
    t.equal(status, 403);
    t.match(body.message, /things one is protected/);
    await protect(`${things}/one`, null);
    t.equal((await admin.send('DELETE', `${things}/one`)).status, 200, 'without the annotation it goes');
    t.equal((await admin.send('DELETE', `${definitions}/things.example.com`)).status, 200);
  });
  await admin.close();
});
