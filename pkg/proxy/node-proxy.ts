/**
 * The service proxy of a node: follows services, endpoints and network policies, and manages kernel rules for them. The
 * rules stay when it ends, so traffic continues during a restart.
 */
import type { Registry } from 'prom-client';
import { nodes } from '#api/core/v1/resources.gen.js';
import { aborted } from '#apimachinery/async/abort.js';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { InformerFactory } from '#client/informer/informer.js';
import type { Daemon } from '#daemon/daemon.js';
import { Lifetime } from '#daemon/lifetime.js';
import type { Logger } from '#daemon/log/logger.js';
import type { ProxyMode } from '#daemon/options/groups/service-proxy.js';
import { type Backend, findBackend, policiesTable, removeRulesOf } from '#proxy/backend.js';
import { serviceBaseChains } from '#proxy/iptables/base-chains.js';
import { chainPrefix } from '#proxy/iptables/chain.js';
import { IptablesServices } from '#proxy/iptables/iptables-services.js';
import { IptablesPolicies, policyRules } from '#proxy/iptables/policies/iptables-policies.js';
import { type KernelSettings, prepareKernel } from '#proxy/kernel-settings.js';
import { type KernelRules, RuleLoop, type RuleSource } from '#proxy/loop/rule-loop.js';
import { ProxyMetrics } from '#proxy/metrics/proxy-metrics.js';
import type { PolicyTable } from '#proxy/policies/model.js';
import { NftPolicies } from '#proxy/policies/nft-policies.js';
import { PolicyRules } from '#proxy/policies/policy-rules.js';
import type { RunWithInput } from '#proxy/program/run-program.js';
import { Conntrack } from '#proxy/services/conntrack.js';
import type { EndpointGates } from '#proxy/services/endpoints.js';
import { HealthCheckPorts } from '#proxy/services/health-check-ports.js';
import { NftServices } from '#proxy/services/nft-services.js';
import type { ProxySettings } from '#proxy/services/proxy-settings.js';
import { ServiceRules } from '#proxy/services/service-rules.js';

export interface NodeProxyOptions {
  /** Started and stopped by the caller. */
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: Registry;
  /** Nodes that share this network; the first one's zone counts. */
  readonly nodeNames: readonly string[];
  readonly mode: ProxyMode;
  readonly settings: Omit<ProxySettings, 'isBridgeUnfiltered'>;
  readonly gates: EndpointGates;
  readonly policies: boolean;
  readonly syncPeriodMs: number;
  readonly minSyncPeriodMs: number;
  readonly run: RunWithInput;
  readonly kernel: KernelSettings;
}

/** A source of rules that reports changes. */
interface Followed<Listing, Commands> extends RuleSource<Listing, Commands> {
  whenSynced(): Promise<void>;
  follow(changed: () => void): () => void;
}

/** Rules and their loop, independent of the backend. */
interface Kept {
  readonly source: Pick<Followed<unknown, unknown>, 'whenSynced' | 'follow'>;
  readonly loop: Pick<RuleLoop<unknown, unknown>, 'changed' | 'ready' | 'run' | 'times'>;
}

const lookAgainMs = 15_000;

export class NodeProxy implements Daemon {
  readonly name = 'service-proxy';
  readonly #options: NodeProxyOptions;
  readonly #metrics: ProxyMetrics;
  readonly #life = new Lifetime('the service proxy');
  #kept: readonly Kept[] = [];

  constructor(options: NodeProxyOptions) {
    this.#options = options;
    this.#metrics = new ProxyMetrics(options.metrics, options.informers.client.dialect);
  }

  /**
   * For health checks: when all rules were last applied, and since when a change waits; milliseconds since the epoch.
   */
  get times(): { readonly lastSync: number; readonly queuedAt: number | undefined } {
    const times = this.#kept.map(({ loop }) => loop.times);
    const queued = times.flatMap(({ queuedAt }) => queuedAt ?? []);
    return {
      lastSync: times.length === 0 ? 0 : Math.min(...times.map(({ lastSync }) => lastSync)),
      queuedAt: queued.length === 0 ? undefined : Math.min(...queued),
    };
  }

  start(signal: AbortSignal): Promise<void> {
    return this.#life.run(signal, (stopping) => this.#run(stopping));
  }

  /** Resolves when the objects known at the start are applied. */
  ready(): Promise<void> {
    return this.#life.ready();
  }

  close(): Promise<void> {
    return this.#life.close();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { kernel, log, run, settings } = this.#options;
    const backend = await this.#untilBackend(signal);
    if (backend === undefined) return;
    const { isBridgeUnfiltered } = await prepareKernel(kernel, run, { log, settings });
    const healthChecks = new HealthCheckPorts(log);
    const conntrack = new Conntrack(run, log);
    this.#kept = this.#rulesOf(backend, { settings: { ...settings, isBridgeUnfiltered }, conntrack, healthChecks });
    const ends = this.#kept.map(({ loop, source }) => source.follow(() => loop.changed()));
    const ready = Promise.all(this.#kept.map(({ loop }) => loop.ready()));
    // Traffic continues meanwhile: rules of another mode are removed only after their replacement is active.
    ready
      .then(() => this.#leaveOther(backend))
      .then(
        () => this.#life.becameReady(),
        () => undefined,
      );
    try {
      await Promise.all(
        this.#kept.map(async ({ loop, source }) => {
          // Incomplete data would remove the rules of objects not yet seen.
          await Promise.race([source.whenSynced(), aborted(signal)]);
          if (!signal.aborted) await loop.run(signal);
        }),
      );
    } finally {
      for (const end of ends) end();
      await healthChecks.close();
      await conntrack.idle();
    }
  }

  #rulesOf(
    backend: Backend,
    shared: {
      readonly settings: ProxySettings;
      readonly conntrack: Conntrack;
      readonly healthChecks: HealthCheckPorts;
    },
  ): Kept[] {
    const { gates, informers, log, nodeNames: names, policies } = this.#options;
    const { settings } = shared;
    const nodeNames = new Set(names);
    const node = informers.informer(nodes, { fieldSelector: `metadata.name=${names[0] ?? ''}` });
    const common = { ...shared, ...{ gates, informers, log, node, nodeNames, metrics: this.#metrics } };
    const policiesBy = <Listing, Commands>(table: PolicyTable<Listing, Commands>) =>
      new PolicyRules({ informers, log, nodeNames, table });
    if (backend.mode === 'nftables') {
      const { nft } = backend;
      const services = new ServiceRules({ ...common, table: new NftServices(nft, settings) });
      const kept = [this.#keep(services, nft.table(settings.table))];
      if (policies) {
        const table = policiesTable(settings.table);
        kept.push(this.#keep(policiesBy(new NftPolicies(table)), nft.table(table)));
      }
      return kept;
    }
    const { families, ipset, iptables } = backend;
    const prefix = chainPrefix(settings.table);
    const services = new ServiceRules({ ...common, table: new IptablesServices({ families, prefix, settings }) });
    const { hooks } = serviceBaseChains('IPv4', prefix, settings);
    const kept = [this.#keep(services, iptables.rules({ prefix, keeper: 'services', hooks, families }))];
    if (policies) {
      const table = new IptablesPolicies({ families, prefix, hasSets: ipset !== undefined });
      kept.push(this.#keep(policiesBy(table), policyRules(iptables, ipset, { families, prefix })));
    }
    return kept;
  }

  #keep<Listing, Commands>(source: Followed<Listing, Commands>, kernel: KernelRules<Listing, Commands>): Kept {
    return { source, loop: new RuleLoop({ ...this.#options, source, kernel, metrics: this.#metrics }) };
  }

  async #leaveOther({ mode }: Backend): Promise<void> {
    const { log, policies, run, settings } = this.#options;
    const other = mode === 'nftables' ? 'iptables' : 'nftables';
    try {
      await removeRulesOf(other, run, settings.table);
      // Left-over policies would not be updated and would isolate pods for ever.
      if (!policies) await removeRulesOf(mode, run, settings.table, ['policies']);
    } catch (error) {
      log.warn({ err: error, mode }, 'cannot remove rules of another mode or of former policies; they still apply');
    }
  }

  /** Undefined if the signal aborted first. */
  async #untilBackend(signal: AbortSignal): Promise<Backend | undefined> {
    const { clock, log, mode, run } = this.#options;
    let lastProblem = '';
    while (!signal.aborted) {
      try {
        const backend = await findBackend(mode, run);
        log.info({ mode: backend.mode, program: backend.version }, 'managing service rules');
        return backend;
      } catch (error) {
        const why = messageOf(error);
        if (why !== lastProblem) log.error({ problem: why }, 'cannot manage service rules; services are not routed');
        lastProblem = why;
        await clock.sleep(lookAgainMs, signal);
      }
    }
    return undefined;
  }
}
