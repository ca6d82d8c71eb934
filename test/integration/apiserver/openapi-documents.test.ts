/** Documents of `/openapi/v3`, and those of paths that are not resources, compared with kube-apiserver 1.24.17. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import { clusterCredentials, startCompleteServer } from '#test/integration/apiserver/complete-server.js';
import { call } from '#test/integration/apiserver/server.js';

const file = new URL('../../../../test/integration/apiserver/discovery/plain-documents.json', import.meta.url);
const recorded = JSON.parse(readFileSync(fileURLToPath(file), 'utf8')) as {
  readonly names: readonly string[];
  readonly documents: Readonly<Record<string, unknown>>;
};

/** Only in 1.24: there is no handler of node logs here. */
const missing: ReadonlySet<string> = new Set(['logs']);
/** Groups of another server in 1.24, which does not serve their documents. */
const more: ReadonlySet<string> = new Set(['apis/apiregistration.k8s.io/v1', 'apis/metrics.k8s.io/v1beta1']);

/** Drops descriptions, which differ, and defaults that equal the type's zero. */
function comparable(value: unknown, inSchema = false): unknown {
  if (Array.isArray(value)) return value.map((each) => comparable(each, inSchema));
  if (typeof value !== 'object' || value === null) return value;
  const { allOf } = value as { readonly allOf?: readonly unknown[] };
  if (allOf?.length === 1) return comparable(allOf[0], inSchema);
  const members = Object.entries(value).filter(
    ([name, member]) =>
      !(name === 'schemas' && Object.keys(member as object).length === 0) &&
      !['default', 'info', 'securitySchemes', ...(inSchema ? ['description'] : [])].includes(name),
  );
  return Object.fromEntries(
    members.map(([name, member]) => [name, comparable(member, inSchema || name === 'schemas')] as const),
  );
}

t.test('documents of paths that are not resources', async (t) => {
  const { argv } = await clusterCredentials(t, kubernetesDialect, 'token,admin,1,"system:masters"\n');
  const store = new MemoryStore({ clock: realClock });
  const { server } = await startCompleteServer(t, { dialect: kubernetesDialect, argv, store });
  const get = (path: string) => call(server, 'GET', path, { headers: { authorization: 'Bearer token' } });
  const { paths } = (await get('/openapi/v3')).json;
  t.same(
    Object.keys(paths).filter((name) => !more.has(name)),
    recorded.names.filter((name) => !missing.has(name)),
  );
  for (const [name, document] of Object.entries(recorded.documents)) {
    t.same(comparable((await get(`/openapi/v3/${name}`)).json), comparable(document), name);
    t.equal((await get(paths[name].serverRelativeURL)).headers['cache-control'], 'public, immutable', name);
  }
});
