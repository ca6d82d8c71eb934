/** Helpers that the checks of one cluster's pods share. */
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Client } from '#client/client.js';
import type { GrpcCRI } from '#nodeagent/cri/grpc/client.js';
import { eventually, type TestCluster } from '#test/e2e/harness.js';
import { namespace, statusOf } from '#test/e2e/pods.js';
import type { StatusHistory } from '#test/e2e/status-history.js';

export interface Bench {
  readonly cluster: TestCluster;
  readonly client: Client;
  readonly cri: GrpcCRI;
  readonly history: StatusHistory;
  /** A folder of the machine for hostPath volumes. */
  readonly folder: string;
}

/** Runs a command in the pod's container; its output without surrounding space. Throws when it fails. */
export async function exec({ cri, client }: Bench, name: string, script: string): Promise<string> {
  const pod = await client.resource(pods).get(name, { namespace });
  const containerId = statusOf(pod)?.containerID?.replace('containerd://', '') ?? '';
  const result = await cri.execSync({ containerId, cmd: ['sh', '-c', script], timeoutSeconds: 10 });
  if (result.exitCode !== 0) throw new Error(`${script}: ${result.exitCode} ${result.stderr.toString()}`);
  return result.stdout.toString().trim();
}

export async function create({ client }: Bench, ...newPods: Pod[]): Promise<void> {
  for (const one of newPods) await client.resource(pods).create(one);
}

/** Waits until the API has no pod of that name. */
export const gone = ({ client }: Bench, name: string) =>
  eventually(`pod ${name} is gone`, async () => {
    const { items } = await client.resource(pods).list({ namespace, fieldSelector: `metadata.name=${name}` });
    return items.length === 0;
  });

/** An emptyDir and where a container sees it. */
export const scratch = { volumes: [{ name: 'scratch', emptyDir: {} }] };
export const scratchMount = { volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }] };
