/** Applies one of the examples below `examples/` and waits until it runs. */
import { setMaxListeners } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { realClock } from '#apimachinery/clock.js';
import { type Dialect, orchDialect } from '#apimachinery/dialect.js';
import type { ApiObject } from '#client/client.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import type { ExampleRun } from '#cluster/bootstrap/up.js';
import type { ExampleName } from '#cluster/config/options.js';
import { type ProgressSink, step } from '#cluster/terminal/progress.js';
import { Api, objectPath, withQuery } from '#cmd/orchctl/api/api.js';
import { parseManifests } from '#cmd/orchctl/commands/manifests.js';
import { TablePrinter } from '#cmd/orchctl/print/table.js';
import type { Output } from '#cmd/orchctl/terminal/terminal.js';

/** A file, or a folder whose files are applied in the order of their names. */
const sources: Readonly<Record<ExampleName, string>> = { web: 'examples/web.yaml', shop: 'examples/shop' };
const defaultNamespace = 'default';
/** Time limit until the example runs; ms. */
const timeoutMs = 180_000;

export async function runExample(
  { clientConfig, dialect, name, ctl, ingressPort }: ExampleRun,
  sink: ProgressSink,
  out: Output,
): Promise<readonly string[]> {
  const { namespace: _namespace, ...target } = await loadKubeconfig(clientConfig, { clock: realClock });
  const signal = AbortSignal.timeout(timeoutMs);
  // Each request adds a listener.
  setMaxListeners(0, signal);
  const api = new Api({
    transport: new HttpTransport({ ...target, clock: realClock }),
    signal,
    clock: realClock,
    webSocket: () => Promise.reject(new Error('the example opens no streams')),
  });
  const objects = exampleObjects(name, dialect);
  try {
    await step(sink, 'example applied', () => apply(api, objects));
    await step(sink, 'example running', () => Promise.all(objects.map((object) => untilDone(api, object))));
    const namespaces = new Set(objects.filter(({ kind = '' }) => kind in isDone).map(namespaceOf));
    const pods = (await api.catalog()).one('pods');
    for (const namespace of namespaces) {
      const selection = name === 'web' ? { labelSelector: 'app=web' } : {};
      const table = await api.table(pods, undefined, { namespace }, selection);
      out.write('\n');
      const printer = new TablePrinter(out, { wide: true, namespaces: false, header: true, labels: false });
      if (table !== undefined) printer.print(table);
    }
    return exampleSteps(name, ctl, ingressPort);
  } finally {
    await api.close();
  }
}

/** Commands that show the example at work. */
function exampleSteps(name: ExampleName, ctl: string, ingressPort: number | undefined): string[] {
  if (name === 'web') {
    return [
      `${ctl} port-forward deployment/web 8080:8080 &`,
      'curl http://127.0.0.1:8080/',
      `${ctl} scale deployment/web --replicas 5`,
      `${ctl} logs deployment/web -f`,
      `${ctl} exec -it deployment/web -- sh`,
    ];
  }
  const at = ingressPort === undefined ? undefined : `127.0.0.1${ingressPort === 80 ? '' : `:${ingressPort}`}`;
  return [
    ...(at === undefined
      ? [`${ctl} -n shop port-forward deployment/api 8080:8080 &`, 'curl http://127.0.0.1:8080/cgi-bin/items']
      : [`curl http://${at}/cgi-bin/items`, `curl -d apple http://${at}/cgi-bin/orders`]),
    `${ctl} -n shop top pods`,
    `${ctl} -n shop get hpa,ingress,pvc`,
    `${ctl} -n shop delete pod database-0   # its orders stay`,
  ];
}

/** The example's objects, with the API groups of the cluster's dialect. */
function exampleObjects(name: ExampleName, dialect: Dialect): ApiObject[] {
  const source = fileURLToPath(new URL(`../../../${sources[name]}`, import.meta.url));
  const files = statSync(source).isDirectory()
    ? readdirSync(source)
        .filter((file) => file.endsWith('.yaml'))
        .sort()
        .map((file) => join(source, file))
    : [source];
  return files
    .flatMap((file) => parseManifests(readFileSync(file, 'utf8'), file))
    .map((object) => {
      const [group = '', version] = (object.apiVersion ?? '').split('/');
      const key = version === undefined ? undefined : orchDialect.groupKey(group);
      return key === undefined ? object : { ...object, apiVersion: dialect.apiVersion(key, version ?? '') };
    });
}

async function apply(api: Api, objects: readonly ApiObject[]): Promise<void> {
  const catalog = await api.catalog();
  for (const object of objects) {
    const resource = catalog.byKind(object.apiVersion ?? '', object.kind ?? '');
    const namespace = namespaceOf(object);
    const path = withQuery(objectPath(resource, object.metadata.name ?? '', { namespace }), {
      fieldManager: 'orch',
      force: 'true',
    });
    await api.json('PATCH', path, object, { 'content-type': 'application/apply-patch+yaml' });
  }
}

function namespaceOf({ metadata }: ApiObject): string {
  return metadata.namespace ?? defaultNamespace;
}

/** The common fields of workloads. */
interface Workload extends ApiObject {
  readonly spec: { readonly replicas?: number; readonly completions?: number };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
    readonly readyReplicas?: number;
    readonly succeeded?: number;
  };
}

function isAvailable({ metadata, spec, status }: Workload): boolean {
  const replicas = spec.replicas ?? 1;
  return (
    status?.observedGeneration === metadata.generation &&
    (status?.updatedReplicas ?? 0) >= replicas &&
    (status?.availableReplicas ?? status?.readyReplicas ?? 0) >= replicas
  );
}

const isDone: Readonly<Record<string, (workload: Workload) => boolean>> = {
  Deployment: isAvailable,
  StatefulSet: isAvailable,
  Job: ({ spec, status }) => (status?.succeeded ?? 0) >= (spec.completions ?? 1),
};

/** Resolves when all of a workload's pods are available, or have succeeded. */
async function untilDone(api: Api, { apiVersion = '', kind = '', metadata }: ApiObject): Promise<void> {
  const check = isDone[kind];
  if (check === undefined) return;
  const resource = (await api.catalog()).byKind(apiVersion, kind);
  const { name = '' } = metadata;
  const place = { namespace: metadata.namespace ?? defaultNamespace };
  for (;;) {
    const workload = await api.get<Workload>(resource, name, place);
    if (check(workload)) return;
    const selection = { fieldSelector: `metadata.name=${name}`, resourceVersion: workload.metadata.resourceVersion };
    for await (const { object } of api.watch<Workload>(resource, place, selection)) {
      if (check(object)) return;
    }
  }
}
