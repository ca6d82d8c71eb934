/** Runs the example of `examples/web.yaml` and waits until it answers to readiness probes. */
import { setMaxListeners } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Deployment } from '#api/apps/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import { type ProgressSink, step } from '#cmd/orch/progress.js';
import { Api, objectPath, withQuery } from '#cmd/orchctl/api/api.js';
import { parseManifests } from '#cmd/orchctl/commands/manifests.js';
import { TablePrinter } from '#cmd/orchctl/print/table.js';
import type { Output } from '#cmd/orchctl/terminal/terminal.js';

const manifest = fileURLToPath(new URL('../../../examples/web.yaml', import.meta.url));
const namespace = 'default';
/** Longest time that the example may take to run; ms. */
const patienceMs = 180_000;

export async function runExample(clientConfig: string, sink: ProgressSink, out: Output): Promise<void> {
  const { namespace: _namespace, ...target } = await loadKubeconfig(clientConfig, { clock: realClock });
  const signal = AbortSignal.timeout(patienceMs);
  // Every request under way listens to it.
  setMaxListeners(0, signal);
  const api = new Api({
    transport: new HttpTransport({ ...target, clock: realClock }),
    signal,
    clock: realClock,
    webSocket: () => Promise.reject(new Error('the example opens no streams')),
  });
  try {
    await step(sink, 'example applied', () => apply(api));
    await step(sink, 'example running', () => untilAvailable(api));
    const pods = (await api.catalog()).one('pods');
    const table = await api.table(pods, undefined, { namespace }, { labelSelector: 'app=web' });
    out.write('\n');
    const printer = new TablePrinter(out, { wide: true, namespaces: false, header: true, labels: false });
    if (table !== undefined) printer.print(table);
  } finally {
    await api.close();
  }
}

async function apply(api: Api): Promise<void> {
  const catalog = await api.catalog();
  for (const object of parseManifests(readFileSync(manifest, 'utf8'), manifest)) {
    const resource = catalog.byKind(object.apiVersion ?? '', object.kind ?? '');
    const path = withQuery(objectPath(resource, object.metadata.name ?? '', { namespace }), {
      fieldManager: 'orch',
      force: 'true',
    });
    await api.json('PATCH', path, object, { 'content-type': 'application/apply-patch+yaml' });
  }
}

/** Follows the deployment until as many pods as it wants are available. */
async function untilAvailable(api: Api): Promise<void> {
  const resource = (await api.catalog()).one('deployments.apps');
  const available = ({ metadata, spec, status }: Deployment) =>
    status?.observedGeneration === metadata.generation &&
    (status?.updatedReplicas ?? 0) >= (spec.replicas ?? 1) &&
    (status?.availableReplicas ?? 0) >= (spec.replicas ?? 1);
  for (;;) {
    const deployment = await api.get<Deployment>(resource, 'web', { namespace });
    if (available(deployment)) return;
    const selection = { fieldSelector: 'metadata.name=web', resourceVersion: deployment.metadata.resourceVersion };
    for await (const { object } of api.watch<Deployment>(resource, { namespace }, selection)) {
      if (available(object)) return;
    }
  }
}
