/**
 * The service proxy of a node: follows services, endpoints and network policies, and keeps the kernel's rules for them.
 * The rules stay when it ends, so that traffic goes on while it is started again.
 */
import type { Registry } from 'prom-client';
import { nodes } from '#api/core/v1/resources.gen.js';
import { aborted } from '#apimachinery/async/aborted.js';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { InformerFactory } from '#client/informer/informer.js';
import type { Daemon } from '#daemon/daemon.js';
import { Lifetime } from '#daemon/lifetime.js';
import type { Logger } from '#daemon/log/logger.js';
import { type KernelSettings, prepareKernel } from '#proxy/kernel.js';
import { ProxyMetrics } from '#proxy/metrics/proxy-metrics.js';
import { Nft, type RunWithInput } from '#proxy/nft/nft.js';
import { TableLoop, type TableSource } from '#proxy/nft/table-loop.js';
import { PolicyRules } from '#proxy/policies/policy-rules.js';
import { Conntrack } from '#proxy/services/conntrack.js';
import type { EndpointGates } from '#proxy/services/endpoints.js';
import { HealthCheckPorts } from '#proxy/services/health-check-ports.js';
import { ServiceRules } from '#proxy/services/service-rules.js';
import type { ProxySettings } from '#proxy/services/view.js';

export interface NodeProxyOptions {
  /** Started and ended by the caller. */
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: Registry;
  /** All nodes whose network this is; the first one's zone counts. */
  readonly nodeNames: readonly string[];
  readonly settings: Omit<ProxySettings, 'isBridgeUnfiltered'>;
  readonly gates: EndpointGates;
  /** Whether to enforce network policies. */
  readonly policies: boolean;
  readonly syncPeriodMs: number;
  readonly minSyncPeriodMs: number;
  readonly run: RunWithInput;
  readonly kernel: KernelSettings;
}

/** Something that keeps a table of its own. */
interface Rules extends TableSource {
  whenSynced(): Promise<void>;
  follow(changed: () => void): () => void;
}

const lookForNftMs = 15_000;

export class NodeProxy implements Daemon {
  readonly name = 'service-proxy';
  readonly #options: NodeProxyOptions;
  readonly #nft: Nft;
  readonly #metrics: ProxyMetrics;
  readonly #life = new Lifetime('the service proxy');
  #loops: readonly TableLoop[] = [];

  constructor(options: NodeProxyOptions) {
    this.#options = options;
    this.#nft = new Nft(options.run);
    this.#metrics = new ProxyMetrics(options.metrics, options.informers.client.dialect);
  }

  /** For health: when all rules were last brought to the kernel, and since when some wait; milliseconds since the epoch. */
  get times(): { readonly lastSync: number; readonly queuedAt: number | undefined } {
    const times = this.#loops.map((loop) => loop.times);
    const queued = times.flatMap(({ queuedAt }) => queuedAt ?? []);
    return {
      lastSync: times.length === 0 ? 0 : Math.min(...times.map(({ lastSync }) => lastSync)),
      queuedAt: queued.length === 0 ? undefined : Math.min(...queued),
    };
  }

  start(signal: AbortSignal): Promise<void> {
    return this.#life.run(signal, (stopping) => this.#run(stopping));
  }

  /** All that was known at the start is in the kernel. */
  ready(): Promise<void> {
    return this.#life.ready();
  }

  close(): Promise<void> {
    return this.#life.close();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { informers, kernel, log, nodeNames, policies, run, settings } = this.#options;
    if (!(await this.#untilNft(signal))) return;
    const { isBridgeUnfiltered } = await prepareKernel(kernel, run, { log, settings });
    const healthChecks = new HealthCheckPorts(log);
    const conntrack = new Conntrack(run, log);
    const node = informers.informer(nodes, { fieldSelector: `metadata.name=${nodeNames[0] ?? ''}` });
    const rules: Rules[] = [
      new ServiceRules({
        ...this.#options,
        settings: { ...settings, isBridgeUnfiltered },
        ...{ node, conntrack, healthChecks },
        nodeNames: new Set(nodeNames),
        nft: this.#nft,
        metrics: this.#metrics,
      }),
      ...(policies
        ? [new PolicyRules({ informers, log, table: policiesTable(settings.table), nodeNames: new Set(nodeNames) })]
        : []),
    ];
    const started = rules.map((source) => ({ source, loop: this.#loop(source) }));
    this.#loops = started.map(({ loop }) => loop);
    const ends = started.map(({ loop, source }) => source.follow(() => loop.changed()));
    Promise.all(this.#loops.map((loop) => loop.ready())).then(
      () => this.#life.becameReady(),
      () => undefined,
    );
    try {
      await Promise.all(
        started.map(async ({ loop, source }) => {
          // With less than everything the rules of the rest would be taken away.
          await Promise.race([source.whenSynced(), aborted(signal)]);
          if (!signal.aborted) await loop.run(signal);
        }),
      );
    } finally {
      for (const end of ends) end();
      healthChecks.close();
      await conntrack.idle();
    }
  }

  #loop(source: TableSource): TableLoop {
    return new TableLoop({ ...this.#options, source, nft: this.#nft, metrics: this.#metrics });
  }

  /** False when the signal came first. */
  async #untilNft(signal: AbortSignal): Promise<boolean> {
    const { clock, log } = this.#options;
    let told = '';
    while (!signal.aborted) {
      try {
        const version = await this.#nft.version();
        await this.#nft.has('');
        log.info({ nft: version.trim() }, 'Keeping the rules of services');
        return true;
      } catch (error) {
        const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
        const why = isMissing
          ? 'Services lead nowhere: the program nft is missing; install the package nftables, or switch the service proxy off and run another'
          : 'Services lead nowhere: nft has no access to the kernel’s tables';
        if (messageOf(error) !== told) log.error({ err: error }, why);
        told = messageOf(error);
        await clock.sleep(lookForNftMs, signal);
      }
    }
    return false;
  }
}

/** The tables of a proxy: that of services, and that of network policies. */
export function tablesOf(table: string): string[] {
  return [table, policiesTable(table)];
}

function policiesTable(table: string): string {
  return `${table}-policies`;
}

/** Takes the tables away, with all their rules: services lead nowhere from then on. */
export async function removeTables(run: RunWithInput, tables: readonly string[]): Promise<void> {
  const nft = new Nft(run);
  for (const table of tables) {
    try {
      await nft.deleteTable(table);
    } catch (error) {
      // Without the program there are no rules of ours either.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
}
