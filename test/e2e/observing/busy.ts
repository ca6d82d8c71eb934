/** Work that gives every panel data. */
import { deployments } from '#api/apps/v1/resources.gen.js';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Container } from '#api/core/v1/types.gen.js';
import type { Client } from '#client/client.js';

export interface BusyOptions {
  readonly namespace: string;
  /** Has `sh` and `true`. */
  readonly image: string;
}

/** A Deployment with probes, a pod that fits nowhere (`too-large`) and one that fails (`crashing`). */
export async function keepBusy(client: Client, { namespace, image }: BusyOptions): Promise<void> {
  const labels = { app: 'busy' };
  const probe = { exec: { command: ['true'] }, periodSeconds: 1 };
  await client.resource(deployments).create({
    metadata: { name: 'busy', namespace },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image, readinessProbe: probe }] } },
    },
  });
  await createPod(client, 'too-large', { namespace, image, resources: { requests: { cpu: '1000' } } });
  await createPod(client, 'crashing', { namespace, image, command: ['sh', '-c', 'exit 1'] });
}

export async function createPod(
  client: Client,
  name: string,
  { namespace, ...container }: BusyOptions & Partial<Container>,
): Promise<void> {
  const spec = { containers: [{ name: 'main', ...container }] };
  await client.resource(pods).create({ metadata: { name, namespace }, spec });
}
