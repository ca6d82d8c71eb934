/** Specification 1, 5: rights to events, on a server with its real authenticators and authorizers. */
import { request } from 'node:https';
import t, { type Test } from 'tap';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { issueCertificate } from '#pki/certificate.js';
import { startEtcd } from '#test/etcd.js';
import { clusterCredentials, startCompleteServer } from '#test/integration/apiserver/complete-server.js';
import { covers } from '#test/integration/apiserver/spec/rules.js';
import { mergePatch, openStore, SpecClient, withEtcd } from '#test/integration/apiserver/spec/spec-server.js';

const group = dialect.groupName('events');
const path = `/apis/${group}/v1/namespaces/default/events`;
const all = `/apis/${group}/v1/events`;
const event = (name: string) => ({
  apiVersion: `${group}/v1`,
  kind: 'Event',
  metadata: { name, namespace: 'default' },
  eventTime: '2024-05-01T12:00:00.000001Z',
  action: 'Pulling',
  reason: 'Pulled',
  type: 'Normal',
  regarding: { kind: 'Pod', namespace: 'default', name: 'p' },
  reportingController: 'example.com/tester',
  reportingInstance: 'tester-1',
});

/** Every operation of 4.3, as a dry run or not. */
const operations: readonly [
  verb: string,
  method: string,
  url: string,
  body?: object,
  headers?: Record<string, string>,
][] = [
  ['get', 'GET', `${path}/e`],
  ['list', 'GET', path],
  ['list', 'GET', all],
  ['watch', 'GET', `${path}?watch=1&timeoutSeconds=1`],
  ['create', 'POST', path, event('new')],
  ['update', 'PUT', `${path}/e`, event('e')],
  ['patch', 'PATCH', `${path}/e`, {}, mergePatch],
  ['delete', 'DELETE', `${path}/e`],
  ['deletecollection', 'DELETE', path],
];

interface Complete {
  readonly port: number;
  readonly client: SpecClient;
  /** A certificate of the cluster's authority for that user. */
  certificate(user: string): Promise<{ cert: string; key: string }>;
}

async function startComplete(t: Test, more: readonly string[] = []): Promise<Complete> {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const tokens = 'admin-token,admin,1,"system:masters"\nalice-token,alice,2,dev\n';
  const { pki, argv } = await clusterCredentials(t, dialect, tokens);
  const store = openStore(etcd);
  const server = await startCompleteServer(t, { dialect, argv: [...argv, ...more], store, listens: true });
  const port = server.address?.port ?? 0;
  const client = new SpecClient(port);
  t.teardown(() => client.close());
  const certificate = async (user: string) => {
    const issued = await issueCertificate(pki.authority, {
      subject: { commonName: user, organizations: [] },
      usages: ['client'],
      now: Date.now(),
    });
    return { cert: issued.certificate, key: issued.privateKey };
  };
  return { port, client, certificate };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

t.test('authentication', withEtcd, async (t) => {
  const { client, port, certificate } = await startComplete(t, ['--anonymous-auth=false']);
  const admin = bearer('admin-token');
  const alice = bearer('alice-token');
  await client.post(path, event('e'), admin);
  const unauthorized = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'Unauthorized',
    reason: 'Unauthorized',
    code: 401,
  };

  await covers(t, ['5.1', '7 401'], 'without credentials: 401 for every operation', async (t) => {
    for (const [verb, method, url, body, headers = {}] of operations) {
      for (const credentials of [{}, bearer('wrong'), { authorization: 'Basic YWRtaW46YWRtaW4=' }]) {
        const answer = await client.ask(method, url, { body, headers: { ...headers, ...credentials } });
        t.equal(answer.status, 401, verb);
        t.same(answer.json, unauthorized);
        t.equal(answer.headers['www-authenticate'], undefined, 'as in 1.24');
      }
    }
  });

  await covers(t, ['5.1', '5.2', '5.3'], 'no rule: 403 for every operation, as a dry run or not', async (t) => {
    for (const [verb, method, url, body, headers = {}] of operations) {
      for (const dry of verb === 'get' || verb === 'list' || verb === 'watch' ? [''] : ['', '?dryRun=All']) {
        const { json } = await client.ask(method, url + dry, { body, headers: { ...headers, ...alice } });
        const name = url.startsWith(`${path}/`) ? ' "e"' : '';
        const where = url.startsWith(path) ? 'in the namespace "default"' : 'at the cluster scope';
        t.match(json, {
          code: 403,
          reason: 'Forbidden',
          message: `events.${group}${name} is forbidden: User "alice" cannot ${verb} resource "events" in API group "${group}" ${where}`,
          details: { group, kind: 'events' },
        });
      }
    }
  });

  await covers(t, ['5.3', '5.2'], 'a rule of groups, resources and verbs grants exactly these', async (t) => {
    const rbac = dialect.apiVersion('rbac', 'v1');
    const roles = `/apis/${rbac}/namespaces/default`;
    for (const [verb, method, url, body, headers = {}] of operations) {
      if (url.startsWith(all)) continue;
      const rules = [{ apiGroups: [group], resources: ['events'], verbs: [verb] }];
      const role = { apiVersion: rbac, kind: 'Role', metadata: { name: `r-${verb}` }, rules };
      const bound = await client.post(`${roles}/roles`, role, admin);
      t.equal(bound.status, 201, bound.text);
      const binding = {
        apiVersion: rbac,
        kind: 'RoleBinding',
        metadata: { name: `r-${verb}` },
        subjects: [{ kind: 'User', name: 'alice', apiGroup: dialect.groupName('rbac') }],
        roleRef: { kind: 'Role', name: `r-${verb}`, apiGroup: dialect.groupName('rbac') },
      };
      await client.post(`${roles}/rolebindings`, binding, admin);
      const run = (query = '') => client.ask(method, url + query, { body, headers: { ...headers, ...alice } });
      // The authorizer learns of the rule by a watch.
      let answer = await run();
      while (answer.status === 403) answer = await run();
      t.ok(answer.status < 300, `${verb}: ${answer.text}`);
      await client.delete(`${roles}/rolebindings/r-${verb}`);
      await client.ask('DELETE', `${roles}/rolebindings/r-${verb}`, { headers: admin });
      while ((await run('')).status !== 403) await client.post(path, event('e'), admin);
      if (verb === 'delete') await client.post(path, event('e'), admin);
      await client.post(path, event('e'), admin);
    }
  });

  await covers(t, ['5.4'], 'bearer tokens and client certificates', async (t) => {
    t.equal((await client.get(`${path}/e`, admin)).status, 200);
    const { cert, key } = await certificate('carol');
    const text = await new Promise<string>((resolve, reject) => {
      const outgoing = request({ host: '127.0.0.1', port, path, cert, key, rejectUnauthorized: false, agent: false });
      outgoing.on('error', reject).on('response', (incoming) => {
        let body = '';
        incoming.setEncoding('utf8').on('data', (part: string) => {
          body += part;
        });
        incoming.on('end', () => resolve(body));
      });
      outgoing.end();
    });
    t.match(JSON.parse(text), { code: 403, message: /User "carol" cannot list/ });
  });
});

t.test('anonymous callers', withEtcd, async (t) => {
  const { client } = await startComplete(t);
  await covers(t, ['5.1'], 'are users without rights if the server allows them', async (t) => {
    t.match((await client.get(path)).json, {
      code: 403,
      message: /User "system:anonymous" cannot list resource "events"/,
    });
    t.equal((await client.get(path, bearer('wrong'))).status, 401, 'wrong credentials are not anonymous');
    t.equal((await client.get('/healthz')).status, 200);
  });
});
