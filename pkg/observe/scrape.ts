/** The scrape configuration of Prometheus for a cluster on this machine. Pure. */
import type { Names } from '#observe/names.js';

export interface ScrapeOptions {
  /** Value of the label `cluster` of all series. */
  readonly cluster: string;
  /** DNS name in the certificate of every API server. */
  readonly serverName: string;
  /** Certificate files of Prometheus; paths as Prometheus reads them. */
  readonly credentials: ClientFiles;
  /**
   * Files that list addresses, which Prometheus reads again when they change. Some builds of Prometheus, such as Debian's,
   * cannot discover targets from the API.
   */
  readonly targets: TargetFiles;
  /**
   * The self-signed certificates of controller manager and scheduler. Absent when they run in the process of the API server,
   * which serves their metrics.
   */
  readonly loopAuthorities?: Readonly<Record<'controllerManager' | 'scheduler', string>>;
  /** Rule files. */
  readonly rules: readonly string[];
  /** Interval of scrapes and of rule evaluation, in Prometheus's format. */
  readonly interval: string;
}

export interface ClientFiles {
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
}

/** A missing file counts as empty. */
export interface TargetFiles {
  readonly apiServers: string;
  readonly nodes: string;
  readonly etcd: string;
  readonly controllerManager: string;
  readonly scheduler: string;
  readonly ingress: string;
}

type Labels = Readonly<Record<string, string>>;

/** Interval in which target files are read even without a change notification. */
const refreshInterval = '30s';

/** The metrics paths of node agents. */
const agentPaths = ['/metrics', '/metrics/cadvisor', '/metrics/resource', '/metrics/probes', '/metrics/state'] as const;

/** Content of `prometheus.yml`. */
export function prometheusConfig({ jobs }: Names, options: ScrapeOptions): object {
  const { cluster, interval, rules, targets, credentials, serverName, loopAuthorities } = options;
  const tls = { ca_file: credentials.ca, cert_file: credentials.certificate, key_file: credentials.key };
  const from = (file: string, labels: Labels = {}) => ({
    file_sd_configs: [{ files: [file], refresh_interval: refreshInterval }],
    relabel_configs: Object.entries({ cluster, ...labels }).map(([label, value]) => ({
      target_label: label,
      replacement: value,
    })),
  });
  const loop = (part: 'controllerManager' | 'scheduler', authority: string) => ({
    job_name: jobs[part],
    scheme: 'https',
    tls_config: { ...tls, ca_file: authority },
    ...from(targets[part]),
  });
  return {
    global: { scrape_interval: interval, evaluation_interval: interval },
    rule_files: rules,
    scrape_configs: [
      {
        job_name: jobs.apiServer,
        scheme: 'https',
        // Targets are addresses, but the certificates of all API servers have this name.
        tls_config: { ...tls, server_name: serverName },
        ...from(targets.apiServers),
      },
      // Without TLS: etcd and the ingress controller serve only metrics at these loopback ports. Reading etcd's data takes a
      // certificate that Prometheus does not have.
      { job_name: jobs.etcd, ...from(targets.etcd) },
      { job_name: jobs.ingress, ...from(targets.ingress) },
      ...(loopAuthorities === undefined
        ? []
        : [loop('controllerManager', loopAuthorities.controllerManager), loop('scheduler', loopAuthorities.scheduler)]),
      ...agentPaths.map((path) => ({
        job_name: `${jobs.agent}${path.slice('/metrics'.length).replace('/', '-')}`,
        metrics_path: path,
        scheme: 'https',
        tls_config: tls,
        // The timestamps in the metrics would keep series of deleted pods alive.
        honor_timestamps: false,
        // All paths belong to one job, as is customary.
        ...from(targets.nodes, { job: jobs.agent, metrics_path: path }),
      })),
    ],
  };
}
