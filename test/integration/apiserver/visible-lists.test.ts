/** Lists and watches over all namespaces with `visible=true`, as clients see them. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { serverForUsers, type UserClient } from '#test/integration/apiserver/server-for-users.js';

// biome-ignore lint/suspicious/noExplicitAny: answers of the server
type Any = any;

const rbac = `/apis/${dialect.apiVersion('rbac', 'v1')}`;
const maps = '/api/v1/configmaps?visible=true';

const namesOf = (list: Any): string[] =>
  (list.items ?? []).map(({ metadata }: Any) => `${metadata.namespace ?? ''}/${metadata.name}`);

/** Reads the events of a watch. */
async function watching(client: UserClient, path: string) {
  const response = await client.open('GET', path);
  const iterator = response.body[Symbol.asyncIterator]();
  let rest = '';
  const queue: Any[] = [];
  const next = async (): Promise<Any> => {
    while (queue.length === 0) {
      const { value, done } = await iterator.next();
      if (done === true) return undefined;
      rest += value.toString();
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      queue.push(...lines.map((line) => JSON.parse(line)));
    }
    return queue.shift();
  };
  return {
    /** The next event that is no bookmark: `ADDED a/x`. */
    next: async () => {
      for (;;) {
        const event = await next();
        if (event?.type === 'BOOKMARK') continue;
        const { namespace, name } = event?.object.metadata ?? {};
        return event === undefined
          ? 'end'
          : event.type === 'ERROR'
            ? event.object
            : `${event.type} ${namespace}/${name}`;
      }
    },
    bookmark: async () => {
      for (;;) {
        const event = await next();
        if (event.type === 'BOOKMARK') return event.object.metadata.resourceVersion as string;
      }
    },
    stop: () => iterator.return?.(),
  };
}

t.test('lists and watches of what a user may see', async (t) => {
  const as = await serverForUsers(t, dialect);
  const admin = as('admin', dialect.groups.masters, dialect.groups.authenticated);
  const jane = as('jane', 'dev', dialect.groups.authenticated);
  const create = async (path: string, body: object) => {
    const { status, body: created } = await admin.send('POST', path, { body });
    t.equal(status, 201, status === 201 ? path : JSON.stringify(created));
    return created;
  };
  const binding = (namespace: string, subject: object, name = 'viewers') =>
    create(`${rbac}/namespaces/${namespace}/rolebindings`, {
      metadata: { name },
      roleRef: { apiGroup: dialect.groupName('rbac'), kind: 'ClusterRole', name: 'viewer' },
      subjects: [{ apiGroup: dialect.groupName('rbac'), ...subject }],
    });
  const map = (namespace: string, name: string, labels = {}) =>
    create(`/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name, labels }, data: { secret: namespace } });
  await create(`${rbac}/clusterroles`, {
    metadata: { name: 'viewer' },
    rules: [{ verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['configmaps', 'namespaces'] }],
  });
  for (const namespace of ['a', 'b', 'c']) {
    await create('/api/v1/namespaces', { metadata: { name: namespace } });
    await map(namespace, 'one', { odd: 'yes' });
    await map(namespace, 'two');
  }
  await binding('a', { kind: 'User', name: 'jane' });
  await binding('b', { kind: 'Group', name: 'dev' });
  const expected = ['a/one', 'a/two', 'b/one', 'b/two'];

  await t.test('lists', async (t) => {
    const refused = await jane.send('GET', '/api/v1/configmaps');
    t.equal(refused.status, 403, 'without the parameter');
    t.equal(
      refused.body.message,
      'configmaps is forbidden: User "jane" cannot list resource "configmaps" in API group "" at the cluster scope',
    );
    const list = await jane.send('GET', maps);
    t.equal(list.status, 200);
    t.same(namesOf(list.body), expected);
    t.match(list.body.metadata, { resourceVersion: /^\d+$/ });
    t.equal((await jane.send('GET', '/api/v1/configmaps?visible=false')).status, 403);
    t.same(namesOf((await jane.send('GET', `${maps}&labelSelector=odd`)).body), ['a/one', 'b/one'], 'labels');
    const named = await jane.send('GET', `${maps}&fieldSelector=metadata.name%3Dtwo`);
    t.same(namesOf(named.body), ['a/two', 'b/two'], 'fields');
    const other = await jane.send('GET', `${maps}&fieldSelector=metadata.namespace%3Dc`);
    t.same(namesOf(other.body), [], 'another namespace');
    const pages: string[] = [];
    let token = '';
    do {
      const page = await jane.send('GET', `${maps}&limit=3&continue=${token}`);
      pages.push(...namesOf(page.body));
      token = page.body.metadata.continue ?? '';
      t.notMatch(Buffer.from(token, 'base64url').toString(), 'c/', 'the token tells of no other namespace');
    } while (token !== '');
    t.same(pages, expected, 'pages');
    const all = await admin.send('GET', maps);
    t.same(all.body, (await admin.send('GET', '/api/v1/configmaps')).body, 'a user with all rights sees all');
  });

  await t.test('every form of lists', async (t) => {
    const group = dialect.groupName('meta');
    const table = await jane.send('GET', maps, { accept: `application/json;as=Table;g=${group};v=v1` });
    t.same(
      table.body.rows.map(({ object }: Any) => `${object.metadata.namespace}/${object.metadata.name}`),
      expected,
      'Table',
    );
    const partial = await jane.send('GET', maps, {
      accept: `application/json;as=PartialObjectMetadataList;g=${group};v=v1`,
    });
    t.same(namesOf(partial.body), expected, 'metadata');
    const encodings = [`application/vnd.${dialect.name}.protobuf`, 'application/yaml'];
    for (const accept of encodings) {
      const { status, body } = await jane.send('GET', maps, { accept });
      t.equal(status, 200, accept);
      t.match(body, 'two', `${accept}: objects`);
      t.notMatch(body, /namespace\W+c\W/, `${accept}: no others`);
    }
  });

  await t.test('what else the parameter does, and does not', async (t) => {
    const spaces = await jane.send('GET', '/api/v1/namespaces?visible=true');
    t.same(namesOf(spaces.body), ['/a', '/b'], 'namespaces that jane may get');
    t.equal((await jane.send('GET', '/api/v1/namespaces')).status, 403);
    t.equal((await jane.send('GET', '/api/v1/nodes?visible=true')).status, 403, 'objects outside of namespaces');
    t.same(namesOf((await jane.send('GET', '/api/v1/secrets?visible=true')).body), [], 'nothing is visible');
    t.equal((await jane.send('DELETE', maps)).status, 403, 'deletions');
    t.equal((await jane.send('GET', '/api/v1/namespaces/c/configmaps?visible=true')).status, 403, 'one namespace');
    t.equal((await jane.send('GET', '/apis/none.example/v1/things?visible=true')).status, 403, 'unserved resources');
    const anonymous = as(dialect.users.anonymous, dialect.groups.unauthenticated);
    t.equal((await anonymous.send('GET', maps)).status, 403, 'anonymous users');
    await create('/apis/apiregistration.k8s.io/v1/apiservices', {
      metadata: { name: 'v1.far.example' },
      spec: {
        ...{ group: 'far.example', version: 'v1', groupPriorityMinimum: 1, versionPriority: 1 },
        ...{ insecureSkipTLSVerify: true, service: { namespace: 'a', name: 'far' } },
      },
    });
    for (let status = 0; status !== 503; await nextTurn()) {
      ({ status } = await admin.send('GET', '/apis/far.example/v1/things'));
    }
    t.equal((await jane.send('GET', '/apis/far.example/v1/things?visible=true')).status, 403, 'extension servers');
  });

  await t.test('watches follow permissions', async (t) => {
    const list = await jane.send('GET', maps);
    const version = list.body.metadata.resourceVersion;
    t.equal((await jane.send('GET', '/api/v1/configmaps?watch=true')).status, 403, 'without the parameter');
    const path = `${maps}&watch=true&allowWatchBookmarks=true`;
    const watch = await watching(jane, `${path}&resourceVersion=${version}`);
    await map('c', 'three');
    await map('b', 'three');
    t.equal(await watch.next(), 'ADDED b/three');
    await binding('c', { kind: 'User', name: 'jane' });
    t.same(
      [await watch.next(), await watch.next(), await watch.next()],
      ['ADDED c/one', 'ADDED c/three', 'ADDED c/two'],
    );
    const marked = await watch.bookmark();
    t.ok(Number(marked) > Number(version), 'a bookmark follows');
    await admin.send('DELETE', '/api/v1/namespaces/c/configmaps/two');
    t.equal(await watch.next(), 'DELETED c/two');
    await admin.send('DELETE', `${rbac}/namespaces/a/rolebindings/viewers`);
    t.same([await watch.next(), await watch.next()], ['DELETED a/one', 'DELETED a/two']);
    await map('a', 'unseen');
    await map('b', 'last');
    t.equal(await watch.next(), 'ADDED b/last');
    watch.stop();
    const late = await watching(jane, `${path}&resourceVersion=${version}`);
    t.match(await late.next(), { reason: 'Expired', code: 410 }, 'permissions have changed since');
    const again = await jane.send('GET', maps);
    t.same(namesOf(again.body), ['b/last', 'b/one', 'b/three', 'b/two', 'c/one', 'c/three']);
    const resumed = await watching(jane, `${path}&resourceVersion=${again.body.metadata.resourceVersion}`);
    await map('c', 'after');
    t.equal(await resumed.next(), 'ADDED c/after', 'a watch of the new list resumes');
    resumed.stop();
    const whole = await watching(jane, `${path}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`);
    const initial = [];
    for (let i = 0; i < 7; i++) initial.push(await whole.next());
    t.equal(initial.at(-1), 'ADDED c/three', 'a list as a watch');
    whole.stop();
  });

  await t.test('a right in all namespaces comes and goes', async (t) => {
    const watch = await watching(jane, `${maps}&watch=true&labelSelector=odd`);
    t.same([await watch.next(), await watch.next()], ['ADDED b/one', 'ADDED c/one']);
    const everywhere = await create(`${rbac}/clusterrolebindings`, {
      metadata: { name: 'jane' },
      roleRef: { apiGroup: dialect.groupName('rbac'), kind: 'ClusterRole', name: 'viewer' },
      subjects: [{ apiGroup: dialect.groupName('rbac'), kind: 'User', name: 'jane' }],
    });
    t.equal(await watch.next(), 'ADDED a/one');
    await admin.send('DELETE', `${rbac}/clusterrolebindings/${everywhere.metadata.name}`);
    t.equal(await watch.next(), 'DELETED a/one');
    watch.stop();
  });
  await Promise.all([admin.close(), jane.close()]);
});
