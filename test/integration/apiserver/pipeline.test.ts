import { get, request } from 'node:https';
import t from 'tap';
import { LazyAbort } from '#apimachinery/cancellation.js';
import { badRequest } from '#apimachinery/errors/status.js';
import type { AuthorizationAttributes } from '#apiserver/authorization/authorizer.js';
import type { ApiRequest, UserInfo } from '#apiserver/http/exchange.js';
import { call, startServer } from '#test/integration/apiserver/server.js';

const configmaps = '/api/v1/namespaces/default/configmaps';

const authenticator = {
  async authenticate({
    headers,
  }: {
    headers: Readonly<Record<string, string | undefined>>;
  }): Promise<UserInfo | undefined> {
    const name = headers['authorization'];
    return name === undefined ? undefined : { name, groups: ['system:authenticated'] };
  },
};

/** Bob may read; root may do everything. */
const authorizer = {
  mode: 'Test',
  async authorize({ user, verb }: AuthorizationAttributes) {
    const allow = user.name === 'root' || (user.name === 'bob' && ['get', 'list', 'watch'].includes(verb));
    return allow
      ? ({ decision: 'allow', reason: '' } as const)
      : ({ decision: 'noOpinion', reason: 'no rule' } as const);
  },
};

const as = (name: string, more: Record<string, string> = {}) => ({ headers: { authorization: name, ...more } });

t.test('authentication and authorization', async (t) => {
  const server = await startServer(t, { dependencies: { authenticator, authorizer } });
  const anonymous = await call(server, 'GET', configmaps);
  t.match(anonymous.json, { kind: 'Status', code: 401, reason: 'Unauthorized', message: 'Unauthorized' });
  t.equal(anonymous.headers['www-authenticate'], undefined, 'as in 1.24');
  t.equal((await call(server, 'GET', configmaps, as('bob'))).status, 200);
  t.match((await call(server, 'DELETE', `${configmaps}/a`, as('bob'))).json, {
    code: 403,
    reason: 'Forbidden',
    message:
      'configmaps "a" is forbidden: User "bob" cannot delete resource "configmaps" in API group "" in the namespace "default": no rule',
    details: { name: 'a', kind: 'configmaps' },
  });
  t.match((await call(server, 'GET', '/apis/apps/v1/deployments', as('eve'))).json, {
    message:
      'deployments.apps is forbidden: User "eve" cannot list resource "deployments" in API group "apps" at the cluster scope: no rule',
  });
  t.match((await call(server, 'POST', '/version', as('bob'))).json, {
    code: 403,
    message: 'forbidden: User "bob" cannot post path "/version": no rule',
  });
});

t.test('impersonation', async (t) => {
  const seen: UserInfo[] = [];
  const server = await startServer(t, {
    dependencies: {
      authenticator,
      authorizer: {
        mode: 'Test',
        authorize: async (attributes) => {
          seen.push(attributes.user);
          return authorizer.authorize(attributes);
        },
      },
    },
  });
  t.equal((await call(server, 'GET', configmaps, as('root', { 'impersonate-user': 'bob' }))).status, 200);
  t.same(seen.at(-1)?.name, 'bob');
  t.ok(seen.at(-1)?.groups.includes('system:authenticated'));
  t.equal((await call(server, 'DELETE', `${configmaps}/a`, as('root', { 'impersonate-user': 'bob' }))).status, 403);
  const refused = await call(server, 'GET', configmaps, as('bob', { 'impersonate-user': 'root' }));
  t.match(refused.json, {
    code: 403,
    message: /users "root" is forbidden: User "bob" cannot impersonate resource "users"/,
  });
  t.equal((await call(server, 'GET', configmaps, as('root', { 'impersonate-group': 'g' }))).status, 400);
  const account = { 'impersonate-user': 'system:serviceaccount:ns:sa', 'impersonate-extra-scopes': 'a, b' };
  await call(server, 'GET', configmaps, as('root', account));
  t.match(seen.at(-1), {
    extra: { scopes: ['a', 'b'] },
    groups: ['system:serviceaccounts', 'system:serviceaccounts:ns'],
  });
  const keys = {
    'impersonate-extra-%zz': 'a',
    'impersonate-extra-acme.io%2Fscope': 'b',
    'impersonate-extra-__proto__': 'c',
  };
  const odd = await call(server, 'GET', configmaps, as('root', { 'impersonate-user': 'bob', ...keys }));
  t.equal(odd.status, 200, 'a key that is no percent-encoding stands for itself');
  t.same(Object.entries(seen.at(-1)?.extra ?? {}), [
    ['%zz', ['a']],
    ['acme.io/scope', ['b']],
    ['__proto__', ['c']],
  ]);
  const anonymous = { 'impersonate-user': 'system:anonymous', 'impersonate-group': 'system:authenticated' };
  await call(server, 'GET', configmaps, as('root', anonymous));
  t.same(
    seen.at(-1)?.groups,
    ['system:authenticated', 'system:unauthenticated'],
    'a claimed identity does not authenticate',
  );
});

t.test('a comma in a group is part of its name', async (t) => {
  const seen: UserInfo[] = [];
  const authorizeAs = {
    mode: 'Test',
    authorize: async (attributes: { user: UserInfo }) => {
      seen.push(attributes.user);
      return { decision: 'allow', reason: '' } as const;
    },
  };
  const server = await startServer(t, { https: true, dependencies: { authorizer: authorizeAs } });
  for (const groups of [['a, system:masters'], ['a', 'b,c'], ['a']]) {
    await new Promise<void>((resolve, reject) => {
      const headers = { 'impersonate-user': 'bob', 'impersonate-group': groups };
      const path = '/api/v1/configmaps';
      const options = { host: '127.0.0.1', port: server.address?.port, path, headers, rejectUnauthorized: false };
      get({ ...options, agent: false }, (answer) => answer.resume().on('end', resolve)).on('error', reject);
    });
    t.same(seen.at(-1)?.groups, [...groups, 'system:authenticated']);
  }
});

t.test('concurrent requests are limited', async (t) => {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let entered = 0;
  const server = await startServer(t, {
    options: { maxMutatingRequestsInFlight: 2 },
    dependencies: {
      authenticator,
      authorizer: { mode: 'Test', authorize: async () => ({ decision: 'allow', reason: '' }) },
      admission: [
        {
          name: 'Hold',
          handles: () => true,
          admit: async () => {
            entered += 1;
            await held;
          },
        },
      ],
    },
  });
  const post = (name: string) =>
    call(server, 'POST', configmaps, {
      ...as('x', { 'content-type': 'application/json' }),
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } },
    });
  const two = [post('a'), post('b')];
  while (entered < 2) await new Promise((resolve) => setImmediate(resolve));
  const third = await post('c');
  t.match(third.json, { code: 429, reason: 'TooManyRequests' });
  t.equal(third.headers['retry-after'], '1');
  t.equal((await call(server, 'GET', configmaps, as('x'))).status, 200, 'reads are counted apart');
  release();
  t.same(
    (await Promise.all(two)).map(({ status }) => status),
    [201, 201],
  );
  t.equal((await post('c')).status, 201);
});

t.test('a body that does not arrive holds no place', async (t) => {
  const server = await startServer(t, {
    options: { maxMutatingRequestsInFlight: 1 },
    dependencies: {
      authenticator,
      authorizer: {
        mode: 'Test',
        authorize: async ({ user }) =>
          user.name === 'stranger' ? { decision: 'noOpinion', reason: '' } : { decision: 'allow', reason: '' },
      },
    },
  });
  const body = (name: string) =>
    Buffer.from(JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }));
  const arrivals: ((bytes: Buffer) => void)[] = [];
  const send = (user: string) =>
    server.handler({
      method: 'POST',
      url: configmaps,
      ...as(user, { 'content-type': 'application/json' }),
      body: Buffer.alloc(0),
      readBody: () => new Promise<Buffer>((resolve) => arrivals.push(resolve)),
      remoteAddress: '127.0.0.1',
      signal: new AbortController().signal,
    });
  const slow = Array.from({ length: 5 }, () => send('x'));
  while (arrivals.length < slow.length) await new Promise((resolve) => setImmediate(resolve));
  const post = { ...as('x', { 'content-type': 'application/json' }), body: body('quick') };
  t.equal((await call(server, 'POST', configmaps, post)).status, 201, 'others write');
  t.equal((await send('stranger')).status, 403, 'the body of a refused request is not read');
  t.equal(arrivals.length, slow.length, 'nothing waits for it');
  for (const [i, arrive] of arrivals.entries()) {
    arrive(body(`slow-${i}`));
    t.equal((await slow[i])?.status, 201, `body ${i}`);
  }
});

t.test('a request that takes too long is cancelled', async (t) => {
  const server = await startServer(t, {
    dependencies: {
      admission: [{ name: 'Never', handles: () => true, admit: () => new Promise(() => undefined) }],
    },
  });
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } };
  const late = await call(server, 'POST', `${configmaps}?timeout=20ms`, { body });
  t.match(late.json, { code: 504, reason: 'Timeout', message: /did not complete within the allotted timeout/ });
  t.equal((await call(server, 'GET', `${configmaps}?timeout=soon`)).status, 400);
});

t.test('admission sees, changes, warns and refuses', async (t) => {
  const operations: string[] = [];
  const server = await startServer(t, {
    dependencies: {
      admission: [
        {
          name: 'Mark',
          handles: ({ resource }) => resource.resource === 'configmaps',
          admit: async ({ operation, object, warn }) => {
            operations.push(operation);
            if (object !== undefined) object.metadata.labels = { ...object.metadata.labels, marked: 'yes' };
            warn('marked by admission');
          },
          validate: async ({ name }) => {
            if (name === 'bad') throw badRequest('not this one');
          },
        },
      ],
    },
  });
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } };
  const created = await call(server, 'POST', configmaps, { body });
  t.equal(created.json.metadata.labels.marked, 'yes');
  t.equal(created.headers['warning'], '299 - "marked by admission"');
  t.equal(
    (await call(server, 'POST', configmaps, { body: { ...body, metadata: { name: 'bad' } } })).json.message,
    'not this one',
  );
  await call(server, 'PUT', `${configmaps}/a`, { body: { ...created.json, data: { x: '1' } } });
  await call(server, 'DELETE', `${configmaps}/a`);
  t.same(new Set(operations), new Set(['CREATE', 'UPDATE', 'DELETE']));
});

t.test('hooks claim and release', async (t) => {
  const claimed = new Set<string>();
  const server = await startServer(t, {
    dependencies: {
      hooks: [
        {
          resources: [{ group: 'core', resource: 'configmaps' }],
          beforeCreate: async ({ metadata }) => {
            claimed.add(metadata.name ?? '');
            return async () => void claimed.delete(metadata.name ?? '');
          },
          afterDelete: async ({ metadata }) => void claimed.delete(metadata.name ?? ''),
        },
      ],
    },
  });
  const body = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
  await call(server, 'POST', configmaps, { body: body('a') });
  t.same([...claimed], ['a']);
  await call(server, 'POST', `${configmaps}?dryRun=All`, { body: body('b') });
  await call(server, 'POST', configmaps, { body: body('Not Valid') });
  t.same([...claimed], ['a'], 'nothing stays claimed by a dry run or a refused create');
  await call(server, 'DELETE', `${configmaps}/a`);
  t.same([...claimed], []);
});

t.test('a client that does not read delays no other client, and its watch ends', async (t) => {
  const server = await startServer(t, { https: true });
  const data = { x: 'y'.repeat(200_000) };
  for (let i = 0; i < 30; i += 1) {
    const { status } = await call(server, 'POST', configmaps, {
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `c${i}` }, data },
    });
    t.equal(status, 201);
  }
  const stalled = request({
    host: '127.0.0.1',
    port: server.address?.port,
    path: configmaps,
    rejectUnauthorized: false,
    agent: false,
  });
  const responded = new Promise<void>((resolve) => {
    stalled.on('response', (response) => {
      response.on('error', () => undefined);
      response.pause();
      resolve();
    });
  });
  stalled.on('error', () => undefined);
  stalled.end();
  await responded;
  t.equal((await call(server, 'GET', `${configmaps}/c1`)).status, 200);
  stalled.destroy();
});

t.test('hostile bodies are refused without harm', async (t) => {
  const server = await startServer(t);
  const deep = (open: string, close = '') => open.repeat(50_000) + close.repeat(50_000);
  const bodies: [type: string, body: string][] = [
    ['application/json', deep('[', ']')],
    ['application/json', deep('{"a":', '}')],
    ['application/json', `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":${deep('{"a":')}`],
    ['application/yaml', deep('[')],
    ['application/yaml', deep('[', ']')],
    ['application/yaml', deep('{a: ')],
    ['application/yaml', `${deep('- ')}x`],
    ['application/yaml', '&a { kind: ConfigMap, apiVersion: v1, metadata: *a }'],
    ['application/yaml', '&a [*a, *a]'],
    ['application/yaml', `a: &a "${'x'.repeat(100_000)}"\nb: [${'*a, '.repeat(90)}*a]`],
    ['application/vnd.kubernetes.protobuf', 'k8s\u0000\u0012\u00ff\u00ff\u00ff\u00ff'],
    ['application/json', '"text"'],
  ];
  for (const [type, body] of bodies) {
    const headers = { 'content-type': type };
    const { status: created } = await call(server, 'POST', configmaps, { headers, body });
    t.equal(created, 400, `POST ${type} ${body.slice(0, 20)}`);
    // As in 1.24, an error of the options' decoder is 500.
    const { status: deleted } = await call(server, 'DELETE', configmaps, { headers, body });
    t.equal(deleted, 500, `DELETE ${type} ${body.slice(0, 20)}`);
  }
  for (const type of ['json-patch+json', 'merge-patch+json', 'strategic-merge-patch+json', 'apply-patch+yaml']) {
    const headers = { 'content-type': `application/${type}` };
    const { status } = await call(server, 'PATCH', `${configmaps}/a?fieldManager=x`, { headers, body: deep('[', ']') });
    t.ok(status === 400 || status === 404, `${type}: ${status}`);
  }
  t.equal(
    (await call(server, 'POST', '/api/v1/namespaces/default/pods/p/binding', { headers: {}, body: '{}' })).status,
    400,
  );
});

t.test('requests for one object create no abort signal', async (t) => {
  const server = await startServer(t, { dependencies: { authenticator, authorizer } });
  const signals: string[] = [];
  const send = async (method: string, url: string, body?: object, type = 'application/json') => {
    const gone = new LazyAbort();
    const request: ApiRequest = {
      method,
      url,
      headers: { authorization: 'root', ...(body === undefined ? {} : { 'content-type': type }) },
      body: body === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(body)),
      remoteAddress: '127.0.0.1',
      cancellation: gone,
      cancel: (reason) => gone.abort(reason),
      get signal() {
        signals.push(method);
        return gone.signal;
      },
    };
    const { status } = await server.handler(request);
    t.ok(status < 300, `${method}: ${status}`);
  };
  const object = { metadata: { name: 'quiet' }, data: { a: '1' } };
  await send('POST', configmaps, object);
  await send('GET', `${configmaps}/quiet`);
  await send('PUT', `${configmaps}/quiet`, { ...object, data: { a: '2' } });
  await send('PATCH', `${configmaps}/quiet`, { data: { a: '3' } }, 'application/merge-patch+json');
  await send('DELETE', `${configmaps}/quiet`);
  t.same(signals, []);
});
