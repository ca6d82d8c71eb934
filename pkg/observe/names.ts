/** The names of series, scrape jobs and alerts that differ between the dialects. */
import type { Dialect } from '#apimachinery/dialect.js';

export interface Names {
  readonly dialect: Dialect;
  /** Start of the names of alerts: `Kube`, `Orch`. */
  readonly prefix: string;
  /** Start of the node agent's series: `kubelet`, `nodeagent`. */
  readonly agent: string;
  /** The node agent in names of alerts: `Kubelet`, `NodeAgent`. */
  readonly agentAlert: string;
  /** Start of the series about objects: `kube`, `orch`. */
  readonly state: string;
  /** The DNS server in names of alerts: `CoreDNS`, `OrchDNS`. */
  readonly dnsAlert: string;
  /** The label `job` of each daemon's series. */
  readonly jobs: Jobs;
}

export interface Jobs {
  readonly apiServer: string;
  readonly controllerManager: string;
  readonly scheduler: string;
  readonly agent: string;
  readonly etcd: string;
  readonly ingress: string;
}

export function namesOf(dialect: Dialect): Names {
  const { components, nodeAgentIdentifier, shortName, dnsMetricsPrefix } = dialect;
  const prefix = capitalized(shortName);
  return {
    dialect,
    prefix,
    agent: components.nodeAgent,
    agentAlert: capitalized(nodeAgentIdentifier),
    state: shortName,
    dnsAlert: dnsMetricsPrefix === 'coredns' ? 'CoreDNS' : `${prefix}DNS`,
    jobs: {
      apiServer: 'apiserver',
      controllerManager: components.controllerManager,
      scheduler: components.scheduler,
      agent: components.nodeAgent,
      etcd: 'etcd',
      ingress: components.ingress,
    },
  };
}

function capitalized(word: string): string {
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
}

/** Replaces the placeholders in the strings of a data file: `@prefix@`. Throws an Error for an unknown one. */
export function fillNames<T>(data: T, { dialect, jobs, ...names }: Names): T {
  const values: Readonly<Record<string, unknown>> = {
    ...names,
    ...jobs,
    product: dialect.product,
    systemNamespace: dialect.namespaces.system,
    dnsMetrics: dialect.dnsMetricsPrefix,
    proxyMetrics: dialect.proxyMetricsPrefix,
  };
  const text = JSON.stringify(data).replaceAll(/@(\w+)@/g, (_, name: string) => {
    const value = values[name];
    if (typeof value !== 'string') throw new Error(`unknown placeholder @${name}@`);
    return value;
  });
  return JSON.parse(text) as T;
}

/**
 * Limits a query to one cluster, so that one Prometheus may watch several. Queries in the data files have braces after the
 * name of every series, `up{}`, and nowhere else.
 * @param cluster Value of the label `cluster`, which may be a variable of Grafana.
 */
export function ofCluster(query: string, cluster: string): string {
  return query.replaceAll(/\{(?=(\})?)/g, (_, empty: string | undefined) =>
    empty === undefined ? `{cluster="${cluster}", ` : `{cluster="${cluster}"`,
  );
}
