/**
 * How much of the product one warm request executes, and how much its code pulls in: counts, which are the same on every
 * machine, whatever else it does.
 *
 * `hack/bench.sh executed [--files] [--functions]`
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { podBody, podName, podPath, podsPath } from '#test/bench/access/pods.js';
import { importClosure } from '#test/bench/executed/closure.js';
import { Coverage, type Executed, inEach } from '#test/bench/executed/coverage.js';
import { figure } from '#test/bench/report.js';
import { startEtcd } from '#test/etcd.js';
import { configMap, configMaps, openStore, SpecClient } from '#test/integration/apiserver/spec/spec-server.js';
import { startApi } from '#test/integration/daemons/api.js';

const { values } = parseArgs({ options: { files: { type: 'boolean' }, functions: { type: 'boolean' } } });
/** So many of each come first. */
const warmUps = 300;
/** What only some of these execute belongs to timers, or to what an earlier request has left. */
const repetitions = 5;
const entry = 'pkg/apiserver/registry/create.js';
const maxClosure = 60;

const teardowns: (() => unknown)[] = [];
const etcd = await startEtcd();
teardowns.push(() => etcd.stop());
const { port } = await startApi(
  { teardown: (end: () => unknown) => teardowns.push(end) },
  { dialect, mode: 'Node,RBAC', store: openStore(etcd) },
);
const client = new SpecClient(port);
const headers = { authorization: 'Bearer root', 'user-agent': 'bench/1.0 (linux/amd64)' };
const coverage = new Coverage();

async function ask(method: string, path: string, body?: unknown): Promise<void> {
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const { status, text } = await client.ask(method, path, { headers: { ...headers, ...type }, body });
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
}

async function measured(name: string, limit: number, work: (n: number) => Promise<unknown>): Promise<void> {
  for (let n = 0; n < warmUps; n++) await work(n);
  const all: Executed[] = [];
  for (let n = 0; n < repetitions; n++) all.push(await coverage.during(() => work(warmUps + n)));
  const executed = inEach(all);
  const functions = [...executed.values()].reduce((sum, names) => sum + names.length, 0);
  figure(`${name}, files`, String(executed.size), String(limit));
  figure(`${name}, functions`, String(functions));
  for (const [file, names] of [...executed].sort()) {
    if (values.files === true || values.functions === true) console.log(`    ${file} ${names.length}`);
    if (values.functions === true) console.log(`      ${names.join(' ')}`);
  }
}

/** etcd's own gateway: what this process runs of the client for etcd would be counted. */
async function askEtcd(path: string, body: object): Promise<{ kvs?: { key: string; value: string }[] }> {
  const response = await fetch(`${etcd.endpoint}/v3/kv/${path}`, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`etcd: ${response.status} ${await response.text()}`);
  return (await response.json()) as { kvs?: { key: string; value: string }[] };
}

try {
  await coverage.start();
  const serviceAccount = { metadata: { name: 'web' }, automountServiceAccountToken: false };
  await ask('POST', '/api/v1/namespaces/default/serviceaccounts', serviceAccount);
  await ask('POST', podsPath, podBody(podName(0), 0));
  await measured('GET of a pod', 55, () => ask('GET', podPath(0)));
  await measured('POST of a ConfigMap', 110, (n) => ask('POST', configMaps('default'), configMap(`c${n}`, { n: 'x' })));

  const watch = await client.watch(
    { teardown: (end: () => unknown) => teardowns.push(end) },
    `${configMaps('default')}?watch=true&fieldSelector=metadata.name=c0`,
    headers,
  );
  await watch.until(1);
  const all = await askEtcd('range', { key: 'AA==', range_end: 'AA==' });
  const stored = all.kvs?.find(({ key }) => atob(key).endsWith('/configmaps/default/c0'));
  if (stored === undefined) throw new Error('the watched ConfigMap is not in etcd');
  await measured('an event of a watch', 25, async () => {
    const next = watch.events.length + 1;
    await askEtcd('put', stored);
    await watch.until(next);
  });

  const closure = importClosure(entry);
  const lines = closure.reduce(
    (sum, file) => sum + readFileSync(file.replace(/js$/, 'ts')).toString().split('\n').length,
    0,
  );
  figure('what create.ts pulls in, files', String(closure.length), String(maxClosure));
  figure('what create.ts pulls in, lines', String(lines));
  if (values.files === true) for (const file of closure.toSorted()) console.log(`    ${file}`);
} finally {
  coverage.stop();
  client.close();
  for (const end of teardowns.reverse()) await end();
}
