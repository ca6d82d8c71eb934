/** Changes of objects that are, with their managers, about as large as the store allows. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { ApiServer } from '#apiserver/build/api-server.js';
import type { CostRequest } from '#test/fuzz/cost/meter.js';
import { call } from '#test/integration/apiserver/server.js';

const core = '/api/v1/namespaces/default';
const counted = <T>(size: number, part: (i: number) => T): T[] => Array.from({ length: size }, (_, i) => part(i));
const map = (size: number, prefix: string) => Object.fromEntries(counted(size, (i) => [`${prefix}${i}`, 'v']));

/** Creates the objects in the namespace `default`. `keys`: number of keys per change. */
export async function changesOfLarge(
  server: ApiServer,
  dialect: Dialect,
  keys: number,
): Promise<Readonly<Record<string, CostRequest>>> {
  const deployments = `/apis/${dialect.apiVersion('apps', 'v1')}/namespaces/default/deployments`;
  const ports = counted(6000, (i) => ({ name: `p${i}`, containerPort: i + 1 }));
  const podSpec = { containers: [{ name: 'c', image: 'i', ports }] };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec: podSpec };
  const labels = { app: 'a' };
  const deployment = {
    apiVersion: dialect.apiVersion('apps', 'v1'),
    kind: 'Deployment',
    metadata: { name: 'a' },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: podSpec } },
  };
  const small = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
  const full = { ...small('full'), data: map(keys / 2, 'k') };
  await create(server, `${core}/pods/a?fieldManager=one`, pod);
  await create(server, `${deployments}/a?fieldManager=one`, deployment);
  await create(server, `${core}/configmaps/small?fieldManager=one`, small('small'));
  await create(server, `${core}/configmaps/full?fieldManager=one`, full);
  const patch = (url: string, type: string, body: object): CostRequest => ({
    method: 'PATCH',
    url: `${url}${url.includes('?') ? '&' : '?'}dryRun=All`,
    headers: { 'content-type': `application/${type}` },
    body: Buffer.from(JSON.stringify(body)),
  });
  const scale = {
    apiVersion: dialect.apiVersion('autoscaling', 'v1'),
    kind: 'Scale',
    metadata: { name: 'a', namespace: 'default' },
    spec: { replicas: 2 },
  };
  const many = { data: map(keys, 'k') };
  return {
    'an apply of what others applied': patch(`${core}/pods/a?fieldManager=two`, 'apply-patch+yaml', pod),
    'an apply of many keys': patch(`${core}/configmaps/small?fieldManager=two`, 'apply-patch+yaml', {
      ...small('small'),
      ...many,
    }),
    'an apply beside many keys': patch(`${core}/configmaps/full?fieldManager=two`, 'apply-patch+yaml', small('full')),
    'an apply of a scale': patch(`${deployments}/a/scale?fieldManager=two&force=true`, 'apply-patch+yaml', scale),
    'a merge patch of many keys': patch(`${core}/configmaps/small`, 'merge-patch+json', many),
    'a strategic merge patch of many keys': patch(`${core}/configmaps/small`, 'strategic-merge-patch+json', many),
    'a JSON patch that adds many keys': patch(`${core}/configmaps/small`, 'json-patch+json', [
      { op: 'add', path: '/data', value: many.data },
    ] as object),
    'a merge patch of other keys': patch(`${core}/configmaps/full`, 'merge-patch+json', { data: map(keys / 2, 'o') }),
    'an update with many keys': {
      method: 'PUT',
      url: `${core}/configmaps/small?dryRun=All`,
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify({ metadata: { name: 'small' }, ...many })),
    },
    'an update with many labels': {
      method: 'PUT',
      url: `${core}/configmaps/small?dryRun=All`,
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify({ metadata: { name: 'small', labels: many.data } })),
    },
    'a merge patch of many annotations': patch(`${core}/configmaps/small`, 'merge-patch+json', {
      metadata: { annotations: many.data },
    }),
    'a merge patch of many values': patch(`${core}/configmaps/full`, 'merge-patch+json', {
      data: Object.fromEntries(counted(keys / 2, (i) => [`k${i}`, 'w'])),
    }),
    'a merge patch that takes many keys away': patch(`${core}/configmaps/full`, 'merge-patch+json', {
      data: Object.fromEntries(counted(keys / 2, (i) => [`k${i}`, null])),
    }),
    'an apply of many labels': patch(`${core}/configmaps/small?fieldManager=two`, 'apply-patch+yaml', {
      ...small('small'),
      metadata: { name: 'small', labels: many.data },
    }),
    'an apply of many keys of another': patch(`${core}/configmaps/full?fieldManager=two`, 'apply-patch+yaml', full),
    'an apply that takes many keys away': patch(
      `${core}/configmaps/full?fieldManager=one`,
      'apply-patch+yaml',
      small('full'),
    ),
    'a patch of a scale with many keys': patch(`${deployments}/a/scale`, 'merge-patch+json', many),
    'options of a deletion': {
      method: 'DELETE',
      url: `${core}/configmaps/small?dryRun=All`,
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify({ preconditions: { uid: 'x'.repeat(1000) }, x: counted(1_000_000, () => 1) })),
    },
  };
}

async function create(server: ApiServer, url: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/apply-patch+yaml' };
  const { status, text } = await call(server, 'PATCH', url, { headers, body });
  if (status !== 201) throw new Error(`${url}: ${status} ${text.slice(0, 400)}`);
}
