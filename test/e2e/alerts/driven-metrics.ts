/**
 * States that need minutes or another release: the metrics code of the daemons is driven to the state, and its metrics are
 * served beside those of the cluster.
 */
import { createServer } from 'node:http';
import { Registry } from 'prom-client';
import type { Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { type Dialect, dialectByName } from '#apimachinery/dialect.js';
import { RequestMetrics } from '#apiserver/http/request-metrics.js';
import { listening } from '#client/testing/tls-server.js';
import { WorkQueueMetrics } from '#client/workqueue/metrics.js';
import { expositionText } from '#daemon/metrics/exposition.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import { AgentMetrics } from '#nodeagent/metrics/agent-metrics.js';
import type { MachineFacts } from '#nodeagent/node/machine.js';
import { cadvisorFamilies } from '#nodeagent/stats/cadvisor-metrics.js';
import type { NodeUsage } from '#nodeagent/stats/collector.js';
import { resourceFamilies } from '#nodeagent/stats/resource-metrics.js';
import { again, type Cause } from '#test/e2e/alerts/cause.js';

const dialect = dialectByName('orch');

type Page = () => string | Promise<string>;

const facts: MachineFacts = {
  cpus: 4,
  memoryBytes: 2 ** 34,
  ephemeralStorageBytes: 2 ** 36,
  hugePages: {},
  machineID: 'driven',
  systemUUID: 'driven',
  bootID: 'driven',
  kernelVersion: '6.1.0',
  osImage: 'driven',
  architecture: 'amd64',
  appArmor: false,
};

/** A machine with all cores busy and a twentieth of its memory free. */
function usageOfBusyMachine(beganMs: number): NodeUsage {
  const nowMs = realClock.now();
  return {
    facts,
    timestampMs: nowMs,
    host: undefined,
    filesystem: undefined,
    cpuSeconds: (facts.cpus * (nowMs - beganMs)) / 1000,
    workingSetBytes: facts.memoryBytes * 0.95,
    pods: [],
    system: [],
    stats: new Map(),
  };
}

export class DrivenMetrics {
  #daemon: Registry = createRegistry({ dialect });
  readonly #more = new Set<Page>();
  /** `host:port` where they are read. */
  readonly target: string;

  private constructor(target: string) {
    this.target = target;
  }

  static async open(t: Test): Promise<DrivenMetrics> {
    let page = () => Promise.resolve('');
    const server = createServer(async (_request, response) => response.end(await page()));
    const driven = new DrivenMetrics(`127.0.0.1:${await listening(t, server)}`);
    page = () => driven.#page();
    return driven;
  }

  /** A daemon of another release with a slow runtime and a stuck controller. */
  slowDaemonOfOtherRelease(): Cause {
    return {
      alerts: [
        'OrchVersionMismatch',
        'OrchControllerStuck',
        'NodeAgentPlegDurationHigh',
        'NodeAgentPodStartUpLatencyHigh',
      ],
      begin: async () => {
        const calm = this.#daemon;
        const registry = createRegistry({ dialect: { ...dialect, version: 'v1.23.0' } as unknown as Dialect });
        const agent = new AgentMetrics(registry, dialect);
        new WorkQueueMetrics(registry).forQueue('garbage', { depth: () => 1, runningSeconds: () => [400] });
        let nowMs = 0;
        const stop = again(500, async () => {
          const ended = agent.relisting(nowMs, nowMs);
          nowMs += 8000;
          ended(nowMs);
          agent.recordPass('create', 30_000);
        });
        this.#daemon = registry;
        return async () => {
          await stop();
          this.#daemon = calm;
        };
      },
    };
  }

  /** Pods that use up a machine; real ones would use up the machine of all other causes. */
  busyMachine(): Cause {
    return {
      alerts: ['NodeCPUHighUsage', 'NodeMemoryHighUtilization'],
      begin: async () => {
        const beganMs = realClock.now();
        return this.#serve(() => {
          const usage = usageOfBusyMachine(beganMs);
          const machine = cadvisorFamilies(usage, { version: dialect.version, details: new Map() });
          const own = machine.filter(({ name }) => name.startsWith('machine_'));
          return expositionText([...resourceFamilies(usage), ...own]);
        });
      },
    };
  }

  /** More than a hundred slow readers of long lists; real ones would delay all other causes. */
  answersWithoutMemory(): Cause {
    return {
      alerts: ['OrchAPIResponsesRefused'],
      begin: async () => {
        const registry = new Registry();
        const metrics = new RequestMetrics({ registry, isServed: () => false });
        const refused = metrics.responseMemory(() => ({ used: 2 ** 26, waiting: 100 }));
        const stop = again(500, async () => refused());
        const end = this.#serve(() => registry.metrics());
        return async () => {
          await stop();
          await end();
        };
      },
    };
  }

  #serve(page: Page): () => Promise<void> {
    this.#more.add(page);
    return async () => {
      this.#more.delete(page);
    };
  }

  async #page(): Promise<string> {
    const pages = await Promise.all([() => this.#daemon.metrics(), ...this.#more].map((page) => page()));
    return pages.join('\n');
  }
}
