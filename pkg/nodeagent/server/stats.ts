/** `/stats/summary`: what the node's pods use, from the runtime's own counters. */
import type { Pod } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import type { ContainerStats } from '#nodeagent/cri/cri.js';
import { isRunning, type RuntimeContainer } from '#nodeagent/runtime/pod-runtime.js';
import type { ServedNode } from '#nodeagent/server/agent-server.js';

/** @param now For counters without an instant of their own: those of a container that has ended. */
function containerStats(container: RuntimeContainer, stats: ContainerStats, now: number) {
  const time = formatTime(stats.timestamp > 0 ? stats.timestamp : now);
  return {
    name: stats.name,
    startTime: formatTime(container.createdAt),
    cpu: { time, usageCoreNanoSeconds: stats.usageCoreNanoSeconds },
    memory: {
      time,
      usageBytes: stats.usageBytes,
      workingSetBytes: stats.workingSetBytes,
      rssBytes: stats.rssBytes,
    },
    rootfs: { time, usedBytes: stats.writableLayerUsedBytes, inodesUsed: stats.writableLayerInodesUsed },
  };
}

/** Of each name the runs that are running, else the newest: as release 1.24 tells of them. Newest first is given. */
function reported(containers: readonly RuntimeContainer[]): RuntimeContainer[] {
  const names = [...new Set(containers.map((container) => container.metadata.name))];
  return names.flatMap((name) => {
    const runs = containers.filter((container) => container.metadata.name === name);
    const running = runs.filter((container) => isRunning(container));
    return running.length > 0 ? running : runs.slice(0, 1);
  });
}

/** Throws CRIError when the runtime does not answer. */
export async function statsSummary(
  { cri, clock, observer, nodeName }: Pick<ServedNode, 'cri' | 'clock' | 'observer' | 'nodeName'>,
  pods: readonly Pod[],
) {
  const stats = new Map((await cri.listContainerStats()).map((one) => [one.id, one]));
  const now = clock.now();
  return {
    node: { nodeName, startTime: formatTime(now) },
    pods: pods.map((pod) => {
      const { name = '', namespace = '', uid = '' } = pod.metadata;
      return {
        podRef: { name, namespace, uid },
        startTime: pod.status?.startTime ?? formatTime(now),
        containers: reported(observer.get(uid)?.containers ?? []).flatMap((container) => {
          const found = stats.get(container.id);
          return found === undefined ? [] : [containerStats(container, found, now)];
        }),
      };
    }),
  };
}
