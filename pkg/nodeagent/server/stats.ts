/** `/stats/summary`: what the node's pods use, from the runtime's own counters. */
import type { Pod } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import type { ContainerStats } from '#nodeagent/cri/cri.js';
import type { PodContext } from '#nodeagent/pods/context.js';

function containerStats(stats: ContainerStats, startTime: string) {
  const time = formatTime(stats.timestamp);
  return {
    name: stats.name,
    startTime,
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

/** Throws CRIError when the runtime does not answer. */
export async function statsSummary(context: PodContext, pods: readonly Pod[]) {
  const stats = await context.cri.listContainerStats();
  const byPod = new Map<string, ContainerStats[]>();
  for (const one of stats) {
    const uid = one.labels[context.labels.podUID] ?? '';
    byPod.set(uid, [...(byPod.get(uid) ?? []), one]);
  }
  const startTime = formatTime(context.clock.now());
  return {
    node: { nodeName: context.node().nodeName, startTime },
    pods: pods.map((pod) => {
      const { name = '', namespace = '', uid = '' } = pod.metadata;
      return {
        podRef: { name, namespace, uid },
        startTime: pod.status?.startTime ?? startTime,
        containers: (byPod.get(uid) ?? []).map((one) => containerStats(one, pod.status?.startTime ?? startTime)),
      };
    }),
  };
}
