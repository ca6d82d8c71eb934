/** How Prometheus finds the daemons of a cluster of this machine, and proves who it is. Pure. */
import type { Names } from '#observe/names.js';

export interface ScrapeOptions {
  /** Value of the label `cluster` of all series. */
  readonly cluster: string;
  /** DNS name that every API server has in its certificate. */
  readonly serverName: string;
  /** Files by which Prometheus comes; paths as Prometheus finds them. */
  readonly credentials: ClientFiles;
  /**
   * Files that list addresses. Prometheus reads them again when they change. It could ask the API itself, but builds such as
   * Debian's cannot.
   */
  readonly targets: TargetFiles;
  /**
   * The certificates that controller manager and scheduler have made for themselves. Absent: they run in the process of the
   * API server, which tells their metrics with its own.
   */
  readonly loopAuthorities?: Readonly<Record<'controllerManager' | 'scheduler', string>>;
  /** Rule files. */
  readonly rules: readonly string[];
  /** Of scrapes and of evaluation, as Prometheus writes it. */
  readonly interval: string;
}

export interface ClientFiles {
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
}

/** One that is not there is one without addresses. */
export interface TargetFiles {
  readonly apiServers: string;
  readonly nodes: string;
  readonly etcd: string;
  readonly controllerManager: string;
  readonly scheduler: string;
  readonly ingress: string;
}

type Labels = Readonly<Record<string, string>>;

/** Besides what the system tells of changes. */
const betweenLooks = '30s';

/** The agent's pages of metrics. */
const agentPaths = ['/metrics', '/metrics/cadvisor', '/metrics/resource', '/metrics/probes', '/metrics/state'] as const;

/** What `prometheus.yml` says. */
export function prometheusConfig({ jobs }: Names, options: ScrapeOptions): object {
  const { cluster, interval, rules, targets, credentials, serverName, loopAuthorities } = options;
  const tls = { ca_file: credentials.ca, cert_file: credentials.certificate, key_file: credentials.key };
  const from = (file: string, labels: Labels = {}) => ({
    file_sd_configs: [{ files: [file], refresh_interval: betweenLooks }],
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
        // They are found by address; the name is the same for all of them.
        tls_config: { ...tls, server_name: serverName },
        ...from(targets.apiServers),
      },
      // Without TLS: etcd and the ingress controller tell metrics, and nothing else, at ports of loopback. What reads etcd's
      // data needs a certificate that Prometheus has not.
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
        // Times of measurement would keep series of pods that are gone.
        honor_timestamps: false,
        // All pages are of one job, as they are elsewhere.
        ...from(targets.nodes, { job: jobs.agent, metrics_path: path }),
      })),
    ],
  };
}
