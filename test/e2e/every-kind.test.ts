/** kubectl with every kind: discovery, descriptions, validation, and the server's answer to each example. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import t, { type Test } from 'tap';
import { serviceaccounts } from '#api/core/v1/resources.gen.js';
import { schemeFor } from '#api/scheme.js';
import type { DialectName } from '#apimachinery/dialect.js';
import type { ResourceInfo } from '#apimachinery/schema/scheme.js';
import { type Cluster, startCluster } from '#cluster/embedded/start-cluster.js';
import { eventually, kubectls, minorVersion, type RunResult, run } from '#test/e2e/harness.js';
import { ungatedCases } from '#test/integration/apiserver/resources/every-case.js';
import type { AnyCase } from '#test/integration/apiserver/resources/resource-case.js';
import { workloadCases } from '#test/integration/apiserver/resources/workloads.js';

/** Programs that run at the same time. */
const parallel = 4;
/** A sample takes every n-th kind. */
const sampling = 14;
/** The same for the newest kubectl when it covers every kind again with other options. */
const againSampling = 4;

/** The first version whose clients can ask for strict validation. */
const firstStrict = 25;

const installed = await kubectls();
const versions = await Promise.all(installed.map(minorVersion));
const programs = installed.filter((_, i) => (versions[i] ?? 0) >= firstStrict);
t.setTimeout(600_000);

interface Session {
  readonly cluster: Cluster;
  readonly folder: string;
  /** The newest program covers every kind once, the others a sample. */
  readonly isThorough: boolean;
  kubectl(...args: string[]): Promise<RunResult>;
}

t.test('kubernetes dialect', { skip: programs.length === 0, timeout: 300_000 }, async (t) => {
  const sessions = await open(t, 'kubernetes');
  await each(t, sessions, 'api-resources', apiResources);
  await each(t, sessions, 'explain', (t, session) => explain(t, session, []));
  await each(t, sessions, 'explain --recursive', (t, session) => explain(t, session, ['--recursive']));
  await each(t, sessions, 'create --dry-run=server', (t, session) =>
    submit(t, session, ungatedCases, ['create', '--dry-run=server']),
  );
  await each(t, sessions, 'apply', (t, session) =>
    submit(t, session, lasting(ungatedCases), ['apply', '--validate=strict']),
  );
  await each(t, sessions, 'mistakes', mistakes);
});

t.test('orch dialect', { skip: programs.length === 0, timeout: 300_000 }, async (t) => {
  const sessions = await open(t, 'orch');
  await each(t, sessions, 'api-resources', apiResources);
  await each(t, sessions, 'apply', (t, session) => submit(t, session, workloadCases, ['apply', '--validate=strict']));
});

async function each(
  t: Test,
  sessions: ReadonlyMap<string, Session>,
  what: string,
  work: (t: Test, session: Session) => Promise<void>,
): Promise<void> {
  for (const [program, session] of sessions) {
    await t.test(`${basename(program)} ${what}`, { timeout: 120_000 }, (t) => work(t, session));
  }
}

/** One cluster for all programs. */
async function open(t: Test, dialect: DialectName): Promise<ReadonlyMap<string, Session>> {
  const cluster = await startCluster({ dialect, nodes: 0, listen: true });
  t.teardown(() => cluster.close());
  const folder = await mkdtemp(join(tmpdir(), 'every-kind-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const config = join(folder, 'config');
  await writeFile(config, cluster.kubeconfig());
  // Pods are refused in a namespace without its service account.
  const accounts = cluster.client.resource(serviceaccounts);
  await eventually('the namespace has its account', () => accounts.get('default', { namespace: 'default' }));
  const newest = programs.at(-1);
  const session = (program: string): Session => {
    const env = { KUBECONFIG: config, KUBECACHEDIR: join(folder, basename(program)) };
    return {
      cluster,
      folder,
      isThorough: program === newest,
      kubectl: (...args) => run(program, args, { env, timeoutMs: 60_000 }),
    };
  };
  return new Map(programs.map((program) => [program, session(program)]));
}

/** The resources of a server with the feature gates of the release. */
function served({ dialect }: Cluster): readonly ResourceInfo[] {
  return schemeFor(dialect).resources.filter(({ declaration }) => declaration.featureGate === undefined);
}

async function apiResources(t: Test, { cluster, kubectl }: Session): Promise<void> {
  const { code, stdout, stderr } = await kubectl('api-resources', '--no-headers');
  t.equal(code, 0, stderr);
  const rows = stdout.split('\n').map((line) => line.trim().split(/\s+/));
  const shown = new Set(rows.map((row) => [row[0], ...row.slice(-3)].join(' ')));
  // One version of a group is shown: the preferred one. That is the stored one, but for events, which core stores.
  const preferred = served(cluster).filter(
    ({ declaration: { storedAs, group, version } }) => storedAs === undefined || `${group}/${version}` === 'events/v1',
  );
  for (const { declaration, apiVersion } of preferred) {
    const { resource, namespaced, kind } = declaration;
    t.ok(shown.has(`${resource} ${apiVersion} ${namespaced} ${kind}`), `${resource} ${apiVersion}`);
  }
}

async function explain(t: Test, { cluster, kubectl, isThorough }: Session, options: readonly string[]): Promise<void> {
  const resources = served(cluster);
  const thorough = options.length === 0 ? 1 : againSampling;
  const sample = resources.filter((_, index) => index % (isThorough ? thorough : sampling) === 0);
  await inParallel(sample, async ({ declaration: { resource, kind, version }, apiVersion }) => {
    const { code, stdout, stderr } = await kubectl('explain', resource, `--api-version=${apiVersion}`, ...options);
    t.equal(code, 0, `explain ${resource} of ${apiVersion} ${stderr}`);
    t.match(stdout, new RegExp(`KIND: +${kind}\\n`));
    t.match(stdout, new RegExp(`VERSION: +(${apiVersion}|${version})\\n`));
    t.match(stdout, /\n\s+kind\s+<string>/);
    t.notMatch(stdout, /DESCRIPTION:\s+<empty>/, 'is described');
  });
}

async function submit(
  t: Test,
  { cluster, folder, kubectl }: Session,
  given: readonly AnyCase[],
  args: readonly string[],
): Promise<void> {
  const items = given.map((one) => one.object(cluster.dialect));
  const file = join(folder, 'examples.json');
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  const { code, stdout, stderr } = await kubectl(...args, '-f', file, '-o', 'name');
  t.equal(code, 0, stderr);
  t.notMatch(stderr, /Warning: (?!.*last-applied|.* is deprecated in v1\.\d+\+, unavailable in v1\.\d+\+)/);
  t.equal(stdout.trim().split('\n').length, items.length, 'an answer for each');
}

/** Examples that can exist side by side: not two forms of one object, and no APIService without a server. */
function lasting(all: readonly AnyCase[]): readonly AnyCase[] {
  const excluded = new Set(['apiregistration', 'events']);
  return all.filter(({ resource }) => !excluded.has(resource.group));
}

async function mistakes(t: Test, { folder, kubectl }: Session): Promise<void> {
  const file = join(folder, 'mistake.json');
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'odd' }, spec: { containers: [{ name: 'A' }] } };
  await writeFile(file, JSON.stringify({ ...pod, spec: { ...pod.spec, odd: 1 } }));
  const unknown = await kubectl('apply', '--validate=strict', '-f', file);
  t.equal(unknown.code, 1);
  // Where the server does not offer to validate fields, as 1.24 does not by itself, kubectl does by OpenAPI.
  t.match(unknown.stderr, /unknown field "odd" in io\.k8s\.api\.core\.v1\.PodSpec/);
  await writeFile(file, JSON.stringify(pod));
  const invalid = await kubectl('create', '-f', file);
  t.match(invalid.stderr, /The Pod "odd" is invalid:.*\* spec\.containers\[0\]\.name: Invalid value: "A"/s);
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  const worker = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: parallel }, worker));
}
