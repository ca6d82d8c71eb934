/** Requests about stored data: selectors of maximum length over many objects, and single objects with many parts. */
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import type { ApiServer } from '#apiserver/build/api-server.js';
import type { Shape } from '#test/fuzz/cost/shapes.js';
import { call } from '#test/integration/apiserver/server.js';

const namespace = 'stored';
const core = `/api/v1/namespaces/${namespace}`;
const apps = `/apis/${dialect.groupName('apps')}/v1/namespaces/${namespace}`;
const counted = <T>(size: number, part: (i: number) => T): T[] => Array.from({ length: size }, (_, i) => part(i));

/** Enough to make the cost of each object visible. */
const objects = 2000;

export async function storedShapes(server: ApiServer): Promise<Shape[]> {
  await call(server, 'POST', '/api/v1/namespaces', { body: { metadata: { name: namespace } } });
  for (let i = 0; i < objects; i++) {
    const labels = { app: 'z', tier: 'z', [`own${i}`]: 'z' };
    await call(server, 'POST', `${core}/configmaps`, { body: { metadata: { name: `m${i}`, labels } } });
  }
  return [...selectorShapes(), ...largeObjects(server)];
}

/** Selectors that match nothing, so that only matching costs. */
function selectorShapes(): Shape[] {
  const forms: readonly [string, (size: number) => string][] = [
    ['values', (size) => `labelSelector=app in (${counted(size, (i) => `a${i}`).join()})`],
    ['refused values', (size) => `labelSelector=app notin (${counted(size, (i) => `a${i}`).join()}),tier=a`],
    ['sets of values', (size) => `labelSelector=${counted(size / 4, (i) => `app in (z,a${i})`).join()},tier=a`],
    ['labels not there', (size) => `labelSelector=${counted(size, (i) => `!a${i}`).join()},tier=a`],
    ['labels there', (size) => `labelSelector=${counted(size, () => 'app').join()},tier=a`],
    ['terms', (size) => `fieldSelector=${counted(size / 4, (i) => `metadata.name!=a${i}`).join()},metadata.name=x`],
  ];
  const requests: readonly [string, (query: string) => ReturnType<Shape['request']>][] = [
    ['a list', (query) => ({ method: 'GET', url: `${core}/configmaps?${query}` })],
    ['a deletion', (query) => ({ method: 'DELETE', url: `${core}/configmaps?dryRun=All&${query}` })],
  ];
  return forms.flatMap(([form, query]) =>
    requests.map(([name, request]) => ({
      name: `${name} that selects by many ${form}`,
      size: 4000,
      flat: true,
      request: (size: number) => request(query(size).replaceAll(' ', '%20').replaceAll('!', '%21')),
    })),
  );
}

/** A large object is created once per size and then requested in every way. */
function largeObjects(server: ApiServer): Shape[] {
  const json = { 'content-type': 'application/json' };
  const table = { accept: `application/json;as=Table;v=v1;g=${dialect.groupName('meta')}` };
  const labels = { app: 'a' };
  const ports = (size: number) => counted(size, (i) => ({ name: `p${i}`, containerPort: (i % 60_000) + 1 }));
  const container = (size: number) => ({ name: 'c', image: 'i', ports: ports(size) });
  const kinds: readonly [string, string, (size: number) => object][] = [
    ['pods', `${core}/pods`, (size) => ({ spec: { containers: [container(size)] } })],
    [
      'deployments',
      `${apps}/deployments`,
      (size) => ({
        spec: {
          selector: { matchLabels: labels },
          template: {
            metadata: { labels },
            spec: {
              containers: counted(size / 2, (i) => ({
                name: `c${i}`,
                image: 'i',
                env: [{ name: `A${i}`, value: 'b' }],
              })),
            },
          },
        },
      }),
    ],
    [
      'endpoints',
      `${core}/endpoints`,
      (size) => ({
        subsets: [
          {
            ports: [{ port: 1 }],
            addresses: counted(size, (i) => ({ ip: `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}` })),
          },
        ],
      }),
    ],
    [
      'configmaps',
      `${core}/configmaps`,
      (size) => ({ data: Object.fromEntries(counted(size, (i) => [`k${i}`, 'v'])) }),
    ],
  ];
  return kinds.flatMap(([kind, path, rest]) => {
    const metadata = { name: 'large', finalizers: [] };
    const prepare = async (size: number) => {
      await call(server, 'DELETE', `${path}/large?gracePeriodSeconds=0`);
      const body = { metadata, ...rest(size) };
      const { status, text } = await call(server, 'POST', path, { body });
      if (status !== 201) throw new Error(`${kind}: ${status} ${text.slice(0, 400)}`);
    };
    const of = (name: string, request: Shape['request']): Shape => ({
      name: `${name} large ${kind}`,
      size: 3000,
      prepare,
      request,
    });
    const patch = (type: string, value: unknown, query = '', subresource = '') => ({
      method: 'PATCH',
      url: `${path}/large${subresource}?dryRun=All${query}`,
      headers: { 'content-type': `application/${type}` },
      body: Buffer.from(JSON.stringify(value)),
    });
    const change = { metadata: { labels: { a: 'b' } } };
    const { apiVersion, kind: name } = kindOf(kind);
    return [
      of('reads', () => ({ method: 'GET', url: `${path}/large` })),
      of('reads as a table', () => ({ method: 'GET', url: `${path}/large`, headers: table })),
      of('merges into', () => patch('merge-patch+json', change)),
      of('merges strategically into', () => patch('strategic-merge-patch+json', change)),
      of('applies to', () => patch('apply-patch+yaml', { apiVersion, kind: name, ...change }, '&fieldManager=cost')),
      of('applies all of', (size) =>
        patch(
          'apply-patch+yaml',
          { apiVersion, kind: name, metadata: { name: 'large' }, ...rest(size) },
          '&fieldManager=cost&force=true',
        ),
      ),
      of('updates', (size) => ({
        method: 'PUT',
        url: `${path}/large?dryRun=All`,
        headers: json,
        body: Buffer.from(JSON.stringify({ metadata: { name: 'large' }, ...rest(size) })),
      })),
      ...(kind === 'deployments'
        ? [of('scales', () => patch('merge-patch+json', { spec: { replicas: 2 } }, '', '/scale'))]
        : []),
      ...(kind === 'pods' || kind === 'deployments'
        ? [of('reports on', () => patch('merge-patch+json', { status: { observedGeneration: 1 } }, '', '/status'))]
        : []),
    ];
  });
}

function kindOf(resource: string) {
  const kinds: Readonly<Record<string, string>> = { pods: 'Pod', endpoints: 'Endpoints', configmaps: 'ConfigMap' };
  const kind = kinds[resource];
  if (kind !== undefined) return { apiVersion: 'v1', kind };
  return { apiVersion: dialect.apiVersion('apps', 'v1'), kind: 'Deployment' };
}
