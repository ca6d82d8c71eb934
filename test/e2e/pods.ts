/** Pods for tests, and what their status says. */
import { pods } from '#api/core/v1/resources.gen.js';
import type { Container, ContainerStatus, Pod } from '#api/core/v1/types.gen.js';
import type { Client } from '#client/client.js';
import { eventually } from '#test/e2e/harness.js';

export const namespace = 'default';
export const busybox = 'orch/busybox:1.0';
/** Nothing listens there, so that pulling fails at once and nothing leaves the machine. */
export const missingImage = '127.0.0.1:1/missing:1.0';

/** A container of the busybox image that runs the shell script. */
export function shell(script: string, more: Partial<Container> = {}): Container {
  return { name: 'main', image: busybox, command: ['sh', '-c', script], ...more };
}

/** Sleeps, and ends at once on SIGTERM. */
export const sleeper = 'trap "exit 0" TERM; while true; do sleep 3600 & wait $!; done';

export function pod(name: string, containers: Container[], more: Partial<Pod['spec']> = {}): Pod {
  return { metadata: { name, namespace }, spec: { terminationGracePeriodSeconds: 2, containers, ...more } };
}

export function statusOf(pod: Pod, container = 'main'): ContainerStatus | undefined {
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  return [...containerStatuses, ...initContainerStatuses].find((status) => status.name === container);
}

export function isReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
}

/** Waits until `isSo` holds for the pod; on timeout throws with its status. */
export function untilPod(
  client: Client,
  name: string,
  what: string,
  isSo: (pod: Pod) => boolean,
  timeoutMs = 60_000,
): Promise<Pod> {
  return eventually(
    `pod ${name} ${what}`,
    async () => {
      const pod = await client.resource(pods).get(name, { namespace });
      if (!isSo(pod)) throw new Error(JSON.stringify(pod.status));
      return pod;
    },
    timeoutMs,
  );
}

export function untilPodReady(client: Client, name: string): Promise<Pod> {
  return untilPod(client, name, 'is Ready', isReady);
}
