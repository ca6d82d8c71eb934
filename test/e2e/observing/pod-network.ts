/** Processes in the network of a pod: they reach, and are reachable from, the same addresses as the pod. */
import { readdirSync, readFileSync } from 'node:fs';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Client } from '#client/client.js';
import { eventually, run } from '#test/e2e/harness.js';

export interface PodNetwork {
  readonly ip: string;
  /** Beginning of a command line that runs in the network. */
  readonly enter: readonly [string, string];
}

/** Creates a pod of that name that does nothing, with the label `app` of the same name, and waits until it runs. */
export async function podNetwork(client: Client, name: string, namespace: string): Promise<PodNetwork> {
  const metadata = { name, namespace, labels: { app: name } };
  const { uid = '' } = (
    await client.resource(pods).create({
      metadata,
      spec: { containers: [{ name: 'main', image: 'orch/web:1.0' }], terminationGracePeriodSeconds: 0 },
    })
  ).metadata;
  const ip = await eventually(`${name} runs`, async () => {
    const { status } = await client.resource(pods).get(name, { namespace });
    return status?.phase === 'Running' && status.podIP;
  });
  return { ip, enter: ['nsenter', `--net=/proc/${processOf(uid)}/ns/net`] };
}

/** One of the pod's processes. */
function processOf(uid: string): string {
  const pid = readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid))
    .find((pid) => {
      try {
        const groups = readFileSync(`/proc/${pid}/cgroup`, 'utf8');
        return groups.includes(uid) || groups.includes(uid.replaceAll('-', '_'));
      } catch {
        // It has ended meanwhile.
        return false;
      }
    });
  if (pid === undefined) throw new Error(`no process of the pod ${uid}`);
  return pid;
}

/** Whether a connection succeeds within two seconds. */
export async function reaches({ enter: [command, where] }: PodNetwork, address: string): Promise<boolean> {
  const [host, port] = address.split(':');
  const connects = await run(command, [where, 'timeout', '2', 'bash', '-c', `: </dev/tcp/${host}/${port}`]);
  return connects.code === 0;
}
