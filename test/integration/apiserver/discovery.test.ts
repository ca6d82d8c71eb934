/** Discovery: every resource as recorded of 1.24, in both forms; entity tags; versions. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import type { ApiServer } from '#apiserver/build/api-server.js';
import { root } from '#test/e2e/harness.js';
import { call, startServer } from '#test/integration/apiserver/server.js';

/** Resources of kube-apiserver 1.24.17 in its order, with the columns of its tables. */
const factsFile = join(root, 'test/integration/apiserver/discovery/resources-1.24.17.json');

interface Named {
  readonly kind: string;
  readonly group?: string;
  readonly version?: string;
  readonly verbs: readonly string[];
}

interface Column {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly priority: number;
  readonly description?: string;
}

interface Listed extends Named {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly storageVersionHash?: string;
}

interface Fact extends Listed {
  readonly groupVersion: string;
  readonly columns?: readonly Column[];
}

const aggregatedAs = (dialect: Dialect, version: string) =>
  `application/json;g=apidiscovery.${dialect.groupName('coordination').replace('coordination.', '')};v=${version};as=APIGroupDiscoveryList`;

async function resourceLists(server: ApiServer): Promise<Map<string, Listed[]>> {
  const lists = new Map<string, Listed[]>();
  for (const version of (await call(server, 'GET', '/api')).json.versions as string[]) {
    lists.set(version, (await call(server, 'GET', `/api/${version}`)).json.resources);
  }
  for (const group of (await call(server, 'GET', '/apis')).json.groups) {
    t.same(group.preferredVersion, group.versions[0]);
    t.same((await call(server, 'GET', `/apis/${group.name}`)).json.preferredVersion, group.preferredVersion);
    for (const { groupVersion } of group.versions) {
      const list = (await call(server, 'GET', `/apis/${groupVersion}`)).json;
      t.match(list, { kind: 'APIResourceList', apiVersion: 'v1', groupVersion });
      lists.set(groupVersion, list.resources);
    }
  }
  return lists;
}

/** Kinds that 1.24 stores in an older version; the hashes of their storage versions differ. */
const storedNewer: ReadonlySet<string> = new Set([
  'CSIStorageCapacity',
  'CustomResourceDefinition',
  'EndpointSlice',
  'FlowSchema',
  'HorizontalPodAutoscaler',
  'PodDisruptionBudget',
  'PriorityLevelConfiguration',
]);

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(`every resource is as recorded, ${dialect.name} dialect`, async (t) => {
    const facts = (JSON.parse(readFileSync(factsFile, 'utf8')) as Fact[]).map((fact) => translated(fact, dialect));
    const server = await startServer(t, { dialect });
    const lists = await resourceLists(server);
    // In 1.24, a separate server serves them.
    lists.delete(`${dialect.metricsGroups.resource}/v1beta1`);
    const groupVersions = [...new Set(facts.map(({ groupVersion }) => groupVersion))];
    t.same([...lists.keys()], groupVersions, 'groups and versions in their order');
    for (const groupVersion of groupVersions) {
      const own = facts.filter((fact) => fact.groupVersion === groupVersion);
      const list = lists.get(groupVersion) ?? [];
      t.same(
        list.map(({ name }) => name),
        own.map(({ name }) => name),
        `${groupVersion}: resources in their order`,
      );
      for (const [i, { groupVersion: _, columns, ...fact }] of own.entries()) {
        const { storageVersionHash, ...named } = list[i] ?? ({} as Listed);
        const { storageVersionHash: hash, ...recorded } = fact;
        t.same(named, recorded, `${groupVersion} ${fact.name}`);
        if (dialect === kubernetesDialect && !storedNewer.has(fact.kind)) t.equal(storageVersionHash, hash, fact.name);
        else t.equal(storageVersionHash === undefined, hash === undefined, `${fact.name} has a storage version`);
        if (columns === undefined) continue;
        const root = groupVersion.includes('/') ? '/apis' : '/api';
        const accept = `application/json;as=Table;g=${dialect.groupName('meta')};v=v1`;
        const table = await call(server, 'GET', `${root}/${groupVersion}/${fact.name}`, { headers: { accept } });
        const shown = table.json.columnDefinitions.map(({ description, ...column }: Column) => {
          t.type(description, 'string');
          return column;
        });
        t.same(shown, columns, `${groupVersion} ${fact.name}: columns`);
      }
    }
  });

  t.test(`aggregated discovery says the same, ${dialect.name} dialect`, async (t) => {
    const server = await startServer(t, { dialect });
    const lists = await resourceLists(server);
    for (const version of ['v2', 'v2beta1']) {
      const accept = aggregatedAs(dialect, version);
      const seen = new Map<string, Listed[]>();
      for (const path of ['/api', '/apis']) {
        const answer = await call(server, 'GET', path, { headers: { accept: `${accept},application/json` } });
        t.equal(answer.headers['content-type'], accept);
        t.match(answer.json, { kind: 'APIGroupDiscoveryList', metadata: {} });
        for (const group of answer.json.items) {
          for (const { version: v, resources, freshness } of group.versions) {
            t.equal(freshness, 'Current');
            const gv =
              group.metadata.name === undefined || group.metadata.name === '' ? v : `${group.metadata.name}/${v}`;
            seen.set(gv, resources.flatMap(flat));
          }
        }
      }
      t.same([...seen.keys()].sort(), [...lists.keys()].sort());
      for (const [gv, list] of lists) {
        const [group, version] = gv.includes('/') ? gv.split('/') : ['', gv];
        const expected = list.map(({ storageVersionHash: _, singularName: __, ...rest }) => ({
          group,
          version,
          ...rest,
        }));
        t.same(seen.get(gv)?.sort(byName), expected.sort(byName), gv);
      }
    }
  });
}

interface Aggregated extends Omit<Listed, 'name'> {
  readonly resource: string;
  readonly scope: string;
  readonly singularResource: string;
  readonly responseKind: Required<Omit<Named, 'verbs'>>;
  readonly subresources?: readonly (Aggregated & { readonly subresource: string })[];
}

/** Converts a resource of aggregated discovery and its subresources to the older form. */
function flat(entry: Aggregated): object[] {
  const namespaced = entry.scope === 'Namespaced';
  t.equal(entry.singularResource, entry.responseKind.kind.toLowerCase());
  const { shortNames, categories } = entry;
  const names = { ...(shortNames && { shortNames }), ...(categories && { categories }) };
  return [
    { ...entry.responseKind, name: entry.resource, namespaced, verbs: entry.verbs, ...names },
    ...(entry.subresources ?? []).map((sub) => ({
      ...sub.responseKind,
      name: `${entry.resource}/${sub.subresource}`,
      namespaced,
      verbs: sub.verbs,
    })),
  ];
}

function byName(a: object, b: object): number {
  return String(Reflect.get(a, 'name')) < String(Reflect.get(b, 'name')) ? -1 : 1;
}

/** The recorded facts use names of the kubernetes dialect. */
function translated(fact: Fact, dialect: Dialect): Fact {
  const translate = (name: string) => dialect.groupName(kubernetesDialect.groupKey(name) ?? 'core');
  const [version = '', group = ''] = fact.groupVersion.split('/').reverse();
  return {
    ...fact,
    groupVersion: group === '' ? version : `${translate(group)}/${version}`,
    ...(fact.group === undefined ? {} : { group: translate(fact.group) }),
  };
}

t.test('a client that has the document gets 304', async (t) => {
  const server = await startServer(t);
  const v2 = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
  const v3Link = (await call(server, 'GET', '/openapi/v3')).json.paths['apis/apps/v1'].serverRelativeURL;
  const rows: [string, string][] = [
    ['/api', 'application/json'],
    ['/apis', 'application/json'],
    ['/apis', aggregatedAs(kubernetesDialect, 'v2')],
    ['/apis', aggregatedAs(kubernetesDialect, 'v2beta1')],
    ['/apis', kubernetesDialect.protobufMediaType],
    ['/apis/apps/v1', 'application/json'],
    ['/openapi/v2', 'application/json'],
    ['/openapi/v2', v2],
    ['/openapi/v3', 'application/json'],
    [v3Link, 'application/json'],
    [v3Link, v2.replaceAll('v2@', 'v3@')],
  ];
  const tags = new Set<string>();
  for (const [path, accept] of rows) {
    const first = await call(server, 'GET', path, { headers: { accept } });
    t.equal(first.status, 200, `${path} ${accept}`);
    const etag = first.headers['etag'] ?? '';
    t.match(etag, /^"[0-9A-F]{64}"$/);
    t.match(first.headers['vary'], /Accept/);
    tags.add(etag);
    for (const header of [etag, `"other", ${etag}`, `W/${etag}`, '*']) {
      const again = await call(server, 'GET', path, { headers: { accept, 'if-none-match': header } });
      t.match(again, { status: 304, text: '', headers: { etag } }, `${path} ${accept} ${header}`);
    }
    const other = await call(server, 'GET', path, { headers: { accept, 'if-none-match': '"other"' } });
    t.equal(other.status, 200);
  }
  t.equal(tags.size, rows.length, 'each form has its own tag');
  t.match(await call(server, 'GET', v3Link), { headers: { 'cache-control': /immutable/, expires: /GMT$/ } });
  const moved = await call(server, 'GET', '/openapi/v3/apis/apps/v1?hash=OLD');
  t.match(moved, { status: 301, headers: { location: v3Link } }, 'an old link');
  // With the extensions of both dialects, this document is the largest.
  const larger = await startServer(t, { dialect: orchDialect });
  t.equal((await call(larger, 'GET', '/openapi/v2', { headers: { accept: v2 } })).status, 200);
});

t.test('unknown groups and versions get 404', async (t) => {
  const server = await startServer(t);
  for (const path of [
    '/api/v2',
    '/apis/apps/v2',
    '/apis/none.example',
    '/apis/apps/v1/x/y/z',
    '/openapi/v3/apis/none/v1',
  ]) {
    t.match((await call(server, 'GET', path)).status, 404, path);
  }
});

t.test('groups and versions are in the order of 1.24', async (t) => {
  const server = await startServer(t, { dialect: kubernetesDialect });
  const { groups } = (await call(server, 'GET', '/apis')).json as {
    groups: { name: string; versions: { version: string }[]; preferredVersion: { version: string } }[];
  };
  t.same(
    groups.map(({ name, versions }) => [name, ...versions.map(({ version }) => version)].join(' ')),
    [
      'apiregistration.k8s.io v1',
      'apps v1',
      'events.k8s.io v1 v1beta1',
      'authentication.k8s.io v1',
      'authorization.k8s.io v1',
      'autoscaling v2 v1 v2beta1 v2beta2',
      'batch v1 v1beta1',
      'certificates.k8s.io v1',
      'networking.k8s.io v1',
      'policy v1 v1beta1',
      'rbac.authorization.k8s.io v1',
      'storage.k8s.io v1 v1beta1',
      'admissionregistration.k8s.io v1',
      'apiextensions.k8s.io v1',
      'scheduling.k8s.io v1',
      'coordination.k8s.io v1',
      'node.k8s.io v1 v1beta1',
      'discovery.k8s.io v1 v1beta1',
      'flowcontrol.apiserver.k8s.io v1beta2 v1beta1',
      // In 1.24, a separate server serves it.
      'metrics.k8s.io v1beta1',
    ],
  );
});
