/** Metrics of pods and probes: `/metrics/cadvisor`, `/metrics/resource`, `/metrics/probes`, `/metrics/state`. */
import type { FastifyReply } from 'fastify';
import { expositionText, expositionType, type Family } from '#daemon/metrics/exposition.js';
import type { DaemonApp } from '#daemon/serving/daemon-app.js';
import type { ProbeCount } from '#nodeagent/probes/prober.js';
import type { AgentServerInput } from '#nodeagent/server/agent-server.js';
import { cadvisorFamilies } from '#nodeagent/stats/cadvisor-metrics.js';
import type { NodeUsage, UsageCollector } from '#nodeagent/stats/collector.js';
import { podStateFamilies } from '#nodeagent/stats/pod-state-metrics.js';
import { resourceFamilies } from '#nodeagent/stats/resource-metrics.js';

export function addMetricsRoutes(app: DaemonApp, { node, pods }: AgentServerInput, collector: UsageCollector): void {
  const { dialect, log, prober, statuses } = node;
  const send = (reply: FastifyReply, families: readonly Family[]) =>
    reply.type(expositionType).send(expositionText(families));
  const usage = async (): Promise<NodeUsage | undefined> => {
    try {
      return await collector.collect();
    } catch (error) {
      // The response reports the error, too.
      log.warn({ err: error }, 'measuring the usage of pods failed');
      return undefined;
    }
  };
  app.get('/metrics/cadvisor', async (_request, reply) => {
    const used = await usage();
    const details = used === undefined ? new Map() : await collector.details(used);
    return send(reply, cadvisorFamilies(used, { version: dialect.version, details }));
  });
  app.get('/metrics/resource', async (_request, reply) => send(reply, resourceFamilies(await usage())));
  app.get('/metrics/probes', (_request, reply) => send(reply, [probeFamily([...prober.counts()])]));
  app.get('/metrics/state', (_request, reply) =>
    send(
      reply,
      podStateFamilies(
        pods.list().map((pod) => statuses.latest(pod)),
        dialect,
      ),
    ),
  );
}

function probeFamily(counts: readonly ProbeCount[]): Family {
  return {
    name: 'prober_probe_total',
    help: 'Cumulative number of a liveness, readiness or startup probe for a container by result.',
    type: 'counter',
    samples: counts.map(({ type, result, container, pod, namespace, podUID, count }) => ({
      labels: { container, namespace, pod, pod_uid: podUID, probe_type: type, result },
      value: count,
    })),
  };
}
