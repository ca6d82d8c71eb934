/**
 * What takes minutes to come about, or another release: the metrics of the daemons themselves, made by the code that makes
 * them there, are driven to that state and served beside those of the cluster.
 */
import { createServer } from 'node:http';
import type { Registry } from 'prom-client';
import type { Test } from 'tap';
import { type Dialect, dialectByName } from '#apimachinery/dialect.js';
import { listening } from '#client/testing/tls-server.js';
import { WorkQueueMetrics } from '#client/workqueue/metrics.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import { AgentMetrics } from '#nodeagent/metrics/agent-metrics.js';
import { again, type Cause } from '#test/e2e/alerts/cause.js';

const dialect = dialectByName('orch');

export class DrivenMetrics {
  #registry: Registry = createRegistry({ dialect });
  /** `host:port` where they are read. */
  readonly target: string;

  private constructor(target: string) {
    this.target = target;
  }

  static async open(t: Test): Promise<DrivenMetrics> {
    let metrics = () => Promise.resolve('');
    const server = createServer(async (_request, response) => response.end(await metrics()));
    const driven = new DrivenMetrics(`127.0.0.1:${await listening(t, server)}`);
    metrics = () => driven.#registry.metrics();
    return driven;
  }

  /** A daemon of another release, whose agent waits for a runtime, and one of whose controllers for somebody. */
  slowDaemonOfOtherRelease(): Cause {
    return {
      alerts: [
        'OrchVersionMismatch',
        'OrchControllerStuck',
        'NodeAgentPlegDurationHigh',
        'NodeAgentPodStartUpLatencyHigh',
      ],
      begin: async () => {
        const calm = this.#registry;
        const registry = createRegistry({ dialect: { ...dialect, version: 'v1.23.0' } as unknown as Dialect });
        const agent = new AgentMetrics(registry, dialect);
        new WorkQueueMetrics(registry).forQueue('garbage', { depth: () => 1, runningSeconds: () => [400] });
        let nowMs = 0;
        const stop = again(500, async () => {
          const ended = agent.relisting(nowMs, nowMs);
          nowMs += 8000;
          ended(nowMs);
          agent.worked('create', 30_000);
        });
        this.#registry = registry;
        return async () => {
          await stop();
          this.#registry = calm;
        };
      },
    };
  }
}
