/** Discovery: every resource as recorded facts have it, in both forms; entity tags; versions. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import type { ApiServer } from '#apiserver/apiserver.js';
import { root } from '#test/e2e/harness.js';
import { betaCases } from '#test/integration/apiserver/resources/beta.js';
import { call, startServer } from '#test/integration/apiserver/server.js';

/** What is known of the resources of 1.24, with the names of the orch dialect; beside the checkout, where it is at all. */
const factsFile = join(root, '../shared/api/resources.json');

interface Named {
  readonly kind: string;
  readonly group?: string;
  readonly version?: string;
  readonly verbs: readonly string[];
}

interface Fact extends Named {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly subresources?: readonly (Named & { readonly name: string })[];
}

interface Listed extends Named {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly storageVersionHash?: string;
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

for (const dialect of [orchDialect, kubernetesDialect]) {
  const skip = existsSync(factsFile) ? false : 'there are no facts beside the checkout';
  t.test(`every resource is as recorded, ${dialect.name} dialect`, { skip }, async (t) => {
    const facts = (JSON.parse(readFileSync(factsFile, 'utf8')) as Fact[]).map((fact) => translated(fact, dialect));
    const server = await startServer(t, { dialect });
    const lists = await resourceLists(server);
    const apiVersion = ({ group, version }: Fact) => (group === '' ? version : `${group}/${version}`);
    const listed = [...lists].flatMap(([gv, list]) => list.map(({ name }) => `${gv} ${name}`));
    const recorded = facts.flatMap((fact) => [
      `${apiVersion(fact)} ${fact.resource}`,
      ...(fact.subresources ?? []).map((sub) => `${apiVersion(fact)} ${fact.resource}/${sub.name}`),
    ]);
    // What is recorded are the newest versions.
    const older = betaCases.flatMap(({ resource: { group, version, resource, subresources = [] } }) =>
      ['', ...subresources.map(({ name }) => `/${name}`)].map(
        (sub) => `${dialect.apiVersion(group, version)} ${resource}${sub}`,
      ),
    );
    // With 1.24 a server beside this one has them.
    const metrics = ['nodes', 'pods'].map((name) => `${dialect.metricsGroups.resource}/v1beta1 ${name}`);
    t.same(listed.sort(), [...recorded, ...older, ...metrics].sort(), 'the same resources, no more and no fewer');
    for (const fact of facts) {
      const list = lists.get(apiVersion(fact)) ?? [];
      const { storageVersionHash, ...own } = list.find(({ name }) => name === fact.resource) ?? ({} as Listed);
      const { kind, verbs, namespaced } = fact;
      const names = {
        ...(fact.shortNames === undefined ? {} : { shortNames: fact.shortNames }),
        ...(fact.categories === undefined ? {} : { categories: fact.categories }),
      };
      const at = `${apiVersion(fact)} ${fact.resource}`;
      t.same(own, { name: fact.resource, singularName: '', namespaced, kind, verbs, ...names }, at);
      const hashed = fact.verbs.includes('list') && fact.verbs.includes('create');
      if (hashed) t.match(storageVersionHash, /^[A-Za-z0-9+/]{11}=$/, `${at} has a storage version`);
      for (const sub of fact.subresources ?? []) {
        const found = list.find(({ name }) => name === `${fact.resource}/${sub.name}`);
        const other = sub.group === undefined ? {} : { group: sub.group, version: sub.version };
        const { name, verbs } = { name: `${fact.resource}/${sub.name}`, verbs: sub.verbs };
        t.same(found, { name, singularName: '', namespaced, ...other, kind: sub.kind, verbs }, `${at}/${sub.name}`);
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
        const wanted = list.map(({ storageVersionHash: _, singularName: __, ...rest }) => ({
          group,
          version,
          ...rest,
        }));
        t.same(seen.get(gv)?.sort(byName), wanted.sort(byName), gv);
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

/** A resource of aggregated discovery and its subresources, as the older form lists them. */
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

/** Facts are recorded with the names of the orch dialect. */
function translated(fact: Fact, dialect: Dialect): Fact {
  const suffix = `.${orchDialect.groupName('coordination').replace('coordination.', '')}`;
  const own = `.${dialect.groupName('coordination').replace('coordination.', '')}`;
  const group = (name: string) => (name.endsWith(suffix) ? name.slice(0, -suffix.length) + own : name);
  return {
    ...fact,
    group: group(fact.group),
    subresources: (fact.subresources ?? []).map((sub) =>
      sub.group === undefined ? sub : { ...sub, group: group(sub.group) },
    ),
  };
}

t.test('who has a document already does not get it again', async (t) => {
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
    for (const known of [etag, `"other", ${etag}`, `W/${etag}`, '*']) {
      const again = await call(server, 'GET', path, { headers: { accept, 'if-none-match': known } });
      t.match(again, { status: 304, text: '', headers: { etag } }, `${path} ${accept} ${known}`);
    }
    const other = await call(server, 'GET', path, { headers: { accept, 'if-none-match': '"other"' } });
    t.equal(other.status, 200);
  }
  t.equal(tags.size, rows.length, 'each form has its own tag');
  t.match(await call(server, 'GET', v3Link), { headers: { 'cache-control': /immutable/, expires: /GMT$/ } });
  const moved = await call(server, 'GET', '/openapi/v3/apis/apps/v1?hash=OLD');
  t.match(moved, { status: 301, headers: { location: v3Link } }, 'an old link');
  // With the extensions of both dialects it is the largest.
  const larger = await startServer(t, { dialect: orchDialect });
  t.equal((await call(larger, 'GET', '/openapi/v2', { headers: { accept: v2 } })).status, 200);
});

t.test('what is not served is not found', async (t) => {
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

t.test('groups and versions stand in the order of 1.24', async (t) => {
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
      // Which 1.24 has from somebody else.
      'metrics.k8s.io v1beta1',
    ],
  );
});
