/** What differs between the dialects in what is observed: names of series, of scrape jobs and of alerts. */
import type { Dialect } from '#apimachinery/dialect.js';

export interface Names {
  readonly dialect: Dialect;
  /** What names of alerts begin with: `Kube`, `Orch`. */
  readonly prefix: string;
  /** What the node agent's series begin with: `kubelet`, `nodeagent`. */
  readonly agent: string;
  /** The same in names of alerts: `Kubelet`, `NodeAgent`. */
  readonly agentAlert: string;
  /** What series of the state of objects begin with: `kube`, `orch`. */
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
