/** Floods of requests that a tenant may send: all rights to the ConfigMaps of one namespace, which holds large ones. */
import { connect as connectTls } from 'node:tls';
import { slowReaders } from '#test/integration/apiserver/floods/attacks.js';
import {
  authorization,
  type Flood,
  from,
  headOf,
  Keeper,
  outcomeOf,
  pauseMs,
  request,
  streams,
  tls,
} from '#test/integration/apiserver/floods/client.js';
import { tenantGroup, type Victim } from '#test/integration/apiserver/floods/victims.js';

const namespace = 'tenant';
const path = `/api/v1/namespaces/${namespace}/configmaps`;
const largeObjects = 20;
const bytesEach = 100_000;

/** Creates the namespace, its objects and the rights of the group of tenants. */
export async function furnish(administrator: Victim): Promise<void> {
  const post = async (to: string, body: object) => {
    const { status, text } = await administrator.send('POST', to, body);
    if (status !== 201 && status !== 409) throw new Error(`${to}: ${status} ${text}`);
  };
  const rbac = 'rbac.authorization.k8s.io';
  await post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  await post(`/apis/${rbac}/v1/namespaces/${namespace}/roles`, {
    apiVersion: `${rbac}/v1`,
    kind: 'Role',
    metadata: { name: tenantGroup, namespace },
    rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['*'] }],
  });
  await post(`/apis/${rbac}/v1/namespaces/${namespace}/rolebindings`, {
    apiVersion: `${rbac}/v1`,
    kind: 'RoleBinding',
    metadata: { name: tenantGroup, namespace },
    roleRef: { apiGroup: rbac, kind: 'Role', name: tenantGroup },
    subjects: [{ apiGroup: rbac, kind: 'Group', name: tenantGroup }],
  });
  for (let i = 0; i < largeObjects; i++)
    await post(path, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `large-${i}` },
      data: { a: 'x'.repeat(bytesEach) },
    });
}

/** Removes what floods of creates have left, and waits until it is gone. */
export async function removeCreated(administrator: Victim): Promise<void> {
  const selected = `${path}?labelSelector=${label}`;
  const { status, text } = await administrator.send('DELETE', selected);
  if (status !== 200) throw new Error(`${selected}: ${status} ${text}`);
}

const label = 'flood';
let created = 0;
const run = Math.random().toString(36).slice(2);

function newConfigMap(): string {
  const metadata = { name: `flood-${run}-${process.pid}-${created++}`, labels: { [label]: run } };
  return JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { a: 'x'.repeat(500) } });
}

/** Requests one after the other on each connection: the next follows `pauseMs` after an answer. */
const requests1 =
  (method: string, bodyOf?: () => string): Flood =>
  (target, size) => {
    const keeper = new Keeper();
    keeper.keep(size, (end) => {
      const socket = connectTls({ ...tls, ...from(target), ALPNProtocols: ['http/1.1'] });
      const send = () => {
        const body = bodyOf?.() ?? '';
        const length = { 'content-type': 'application/json', 'content-length': String(body.length) };
        socket.write(headOf(target, method, path, bodyOf === undefined ? {} : length) + body);
      };
      send();
      let pending: NodeJS.Timeout | undefined;
      socket.on('data', () => {
        // An answer has arrived when no more of it comes for the time of the pause.
        if (pending !== undefined) pending.refresh();
        else {
          pending = setTimeout(() => {
            pending = undefined;
            keeper.count('answered');
            if (!socket.destroyed) send();
          }, pauseMs);
          pending.unref();
        }
      });
      outcomeOf(socket, end);
      return socket;
    });
    return keeper;
  };

const requests2 =
  (method: string, bodyOf?: () => string, query = ''): Flood =>
  (target, size) =>
    streams(target, size, (session, end) => {
      const headers = { ':method': method, ':path': `${path}${query}`, ...authorization(target) };
      if (bodyOf === undefined) request(session, headers, { ends: true }, end);
      else request(session, { ...headers, 'content-type': 'application/json' }, { ends: false }, end).end(bodyOf());
    });

const watch = '?watch=true&resourceVersion=0';

/** Watches, each of which ends after a second and is begun again. */
const watches1: Flood = (target, size) => {
  const keeper = new Keeper();
  keeper.keep(size, (end) => {
    const socket = connectTls({ ...tls, ...from(target), ALPNProtocols: ['http/1.1'] });
    socket.write(headOf(target, 'GET', `${path}${watch}&timeoutSeconds=1`, { connection: 'close' }));
    outcomeOf(socket, end);
    return socket;
  });
  return keeper;
};

const [unread1, unread2] = slowReaders(path);

/** As `floods`. */
export const tenantFloods: Readonly<Record<string, readonly [size: number, flood: Flood]>> = {
  'lists over HTTP/1.1': [50, requests1('GET')],
  'lists over HTTP/2': [250, requests2('GET')],
  'creates over HTTP/1.1': [50, requests1('POST', newConfigMap)],
  'creates over HTTP/2': [250, requests2('POST', newConfigMap)],
  'watches over HTTP/1.1': [250, watches1],
  'watches over HTTP/2': [250, requests2('GET', undefined, `${watch}&timeoutSeconds=1`)],
  'slow readers over HTTP/1.1': [250, unread1],
  'slow readers over HTTP/2': [250, unread2],
};
