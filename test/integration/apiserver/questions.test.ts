/** The API that answers why, with the rights of its client, and the documented request. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { serverForUsers } from '#test/integration/apiserver/server-for-users.js';

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(`questions in the dialect ${dialect.name}`, async (t) => {
    const as = await serverForUsers(t, dialect);
    const { masters, authenticated, unauthenticated } = dialect.groups;
    const admin = as('admin', masters, authenticated);
    const jane = as('jane', authenticated);
    const rbac = `/apis/${dialect.apiVersion('rbac', 'v1')}`;
    const { apiVersion } = dialect.insight;
    const path = `/apis/${apiVersion}/whys`;
    const create = async (where: string, body: object) => {
      const { status, body: answer } = await admin.send('POST', where, { body });
      t.equal(status, 201, status === 201 ? where : JSON.stringify(answer));
    };
    const ask = (client: typeof admin, spec: object) =>
      client.send('POST', path, { body: { apiVersion, kind: 'Why', spec } });
    const group = dialect.groupName('rbac');
    await create(`${rbac}/namespaces/default/roles`, {
      metadata: { name: 'services' },
      rules: [{ verbs: ['get'], apiGroups: [''], resources: ['services'] }],
    });
    await create(`${rbac}/namespaces/default/rolebindings`, {
      metadata: { name: 'jane' },
      roleRef: { apiGroup: group, kind: 'Role', name: 'services' },
      subjects: [{ apiGroup: group, kind: 'User', name: 'jane' }],
    });
    await create('/api/v1/namespaces/default/services', {
      metadata: { name: 'shop' },
      spec: { selector: { app: 'shop', tier: 'front' }, ports: [{ port: 80 }] },
    });
    const subject = { kind: 'Service', namespace: 'default', name: 'shop' };

    await t.test('an object', async (t) => {
      const { status, body } = await ask(admin, { subject });
      t.equal(status, 201);
      t.match(body, { kind: 'Why', apiVersion, spec: { subject } });
      t.equal(body.status.verdict, 'Stuck');
      t.equal(body.status.findings[0].reason, 'SelectorMatchesNothing');
      t.same(body.status.unreadable, []);
      t.match(body.status.findings[0].evidence[0], {
        source: 'spec',
        at: 'spec.selector',
        text: 'app=shop,tier=front',
      });
    });

    await t.test('with the rights of the client', async (t) => {
      const partial = await ask(jane, { subject });
      t.equal(partial.status, 201);
      t.same(partial.body.status.unreadable, ['pods'], 'what may not be read is named');
      t.equal(partial.body.status.verdict, 'Healthy', 'and accuses nothing');
      const hidden = await ask(jane, { subject: { kind: 'Pod', namespace: 'default', name: 'shop' } });
      t.equal(hidden.status, 403, 'an object that jane may not get, whether it exists or not');
      t.match(hidden.body.message, /pods "shop" is forbidden: User "jane" cannot get it in the namespace "default"/);
      const anonymous = as(dialect.users.anonymous, unauthenticated);
      t.equal((await ask(anonymous, { subject })).status, 403, 'anonymous users ask nothing');
    });

    await t.test('a request', async (t) => {
      const access = { verb: 'delete', resource: 'services', namespace: 'default', name: 'shop' };
      const own = await ask(jane, { access });
      t.equal(own.body.status.summary, 'jane may not delete services shop in the namespace default.');
      const [finding] = own.body.status.findings;
      t.equal(finding.reason, 'RequestForbidden');
      t.equal(finding.remedies[0].manifests[0].kind, 'Role', 'the smallest role');
      t.same(own.body.status.unreadable, ['clusterrolebindings', 'rolebindings']);
      const other = await ask(admin, { access: { ...access, user: 'jane' } });
      t.match(other.body.status.findings[0].evidence, [{ of: { kind: 'RoleBinding', name: 'jane' } }]);
      t.match(other.body.status.findings[0].evidence[0].text, 'its role allows get, not delete');
      const allowed = await ask(jane, { access: { ...access, verb: 'get' } });
      t.match(allowed.body.status, {
        verdict: 'Healthy',
        summary: 'jane may get services shop in the namespace default.',
      });
      t.equal((await ask(jane, { access: { ...access, user: 'bob' } })).status, 403, 'about others');
    });

    await t.test('what is refused', async (t) => {
      const refusals: readonly [object, number, RegExp][] = [
        [{}, 400, /spec: must have either subject or access/],
        [{ subject, access: { verb: 'get', resource: 'pods' } }, 400, /either subject or access/],
        [{ subject: { kind: 'Service', name: 'shop' } }, 400, /spec.subject.namespace: must be set/],
        [{ subject: { kind: 'Node', namespace: 'default', name: 'n' } }, 400, /objects of kind Node have none/],
        [{ subject: { ...subject, name: '' } }, 400, /spec.subject.name: must be set/],
        [{ subject: { ...subject, name: '../x' } }, 400, /must not contain a slash/],
        [{ subject: { ...subject, name: 'gone' } }, 404, /services "gone" not found/],
        [{ subject: { ...subject, kind: 'Unicorn' } }, 400, /no kind "Unicorn" is served/],
        [{ subject: { ...subject, color: 'red' } }, 400, /unknown field "color"/],
        [{ subject: { ...subject, name: 'x'.repeat(2000) } }, 400, /at most 1024 characters/],
        [{ access: { verb: 'get' } }, 400, /either resource or path/],
        [{ access: { verb: 'get', path: '/x', groups: ['a'] } }, 400, /spec.access.groups: needs a user/],
      ];
      for (const [spec, status, message] of refusals) {
        const answer = await ask(admin, spec);
        t.equal(answer.status, status, JSON.stringify(spec).slice(0, 80));
        t.match(answer.body.message, message);
      }
      t.equal((await admin.send('GET', path)).status, 405);
      t.equal((await admin.send('POST', `${path}/x`)).status, 404);
    });

    await t.test('discovery is that of 1.24', async (t) => {
      const { body } = await admin.send('GET', '/apis');
      t.notOk(JSON.stringify(body).includes(dialect.insight.group), 'the group is not listed');
    });
    if (dialect === orchDialect) {
      const docs = readFileSync(new URL('../../../../docs/why.md', import.meta.url), 'utf8');
      const [, request = ''] = /<<'EOF'\n(\{[\s\S]*?\})\nEOF/.exec(docs) ?? [];
      const documented = await admin.send('POST', path, { body: JSON.parse(request) as object });
      t.equal(documented.body.status?.findings?.[0]?.reason, 'SelectorMatchesNothing', 'the example of docs/why.md');
    }
    await Promise.all([admin.close(), jane.close()]);
  });
}
