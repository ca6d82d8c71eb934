/**
 * Translates ServiceMonitors like Prometheus' operator (release 0.58) into scrape configurations with
 * `kubernetes_sd_configs`. Supports the fields that the chart uses, and refuses other fields by name. Pure.
 */

/** As the API has it. */
export interface ServiceMonitor {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: {
    readonly selector: { readonly matchLabels?: Readonly<Record<string, string>> };
    readonly namespaceSelector?: { readonly any?: boolean; readonly matchNames?: readonly string[] };
    readonly jobLabel?: string;
    readonly endpoints: readonly Endpoint[];
  };
}

interface Endpoint {
  readonly port: string;
  readonly interval?: string;
  readonly scrapeTimeout?: string;
  readonly path?: string;
  readonly scheme?: string;
  readonly honorLabels?: boolean;
  readonly honorTimestamps?: boolean;
  readonly tlsConfig?: {
    readonly ca?: SecretOrConfigMap;
    readonly cert?: SecretOrConfigMap;
    readonly keySecret?: Key;
    readonly serverName?: string;
    readonly insecureSkipVerify?: boolean;
  };
  readonly relabelings?: readonly Relabeling[];
  readonly metricRelabelings?: readonly Relabeling[];
}

interface Key {
  readonly name: string;
  readonly key: string;
}

interface SecretOrConfigMap {
  readonly secret?: Key;
  readonly configMap?: Key;
}

type Relabeling = Readonly<Record<string, unknown>>;

const knownFields = {
  spec: ['selector', 'namespaceSelector', 'jobLabel', 'endpoints'],
  selector: ['matchLabels'],
  namespaceSelector: ['any', 'matchNames'],
  endpoint: [
    ...['port', 'interval', 'scrapeTimeout', 'path', 'scheme', 'honorLabels', 'honorTimestamps', 'tlsConfig'],
    ...['relabelings', 'metricRelabelings'],
  ],
  tlsConfig: ['ca', 'cert', 'keySecret', 'serverName', 'insecureSkipVerify'],
};

/** Names of a relabeling's fields in Prometheus' configuration. */
const relabelFields: Readonly<Record<string, string>> = {
  ...{ sourceLabels: 'source_labels', separator: 'separator', targetLabel: 'target_label', regex: 'regex' },
  ...{ modulus: 'modulus', replacement: 'replacement', action: 'action' },
};

export interface ScrapeConfig {
  readonly job_name: string;
  readonly kubernetes_sd_configs: readonly DiscoveryConfig[];
  readonly [field: string]: unknown;
}

export interface DiscoveryConfig {
  readonly role: string;
  /** Absent: all. */
  readonly namespaces?: { readonly names: readonly string[] };
}

// biome-ignore lint/suspicious/noTemplateCurlyInString: Prometheus replaces it.
const firstGroup = '${1}';

/** Folder in which the operator puts files of Secrets. */
export const assetsFolder = '/etc/prometheus/certs';

/** In the operator's order. */
export function scrapeConfigs(monitors: readonly ServiceMonitor[]): ScrapeConfig[] {
  return [...monitors]
    .sort((a, b) => (identifier(a) < identifier(b) ? -1 : 1))
    .flatMap((monitor) => monitor.spec.endpoints.map((endpoint, index) => scrapeConfig(monitor, endpoint, index)));
}

/** `secret_NAMESPACE_NAME_KEY` of all files that the monitors name. */
export function assetKeys(monitors: readonly ServiceMonitor[]): (Key & { readonly namespace: string; file: string })[] {
  const keys = monitors.flatMap(({ metadata: { namespace }, spec }) =>
    spec.endpoints.flatMap(({ tlsConfig: { ca, cert, keySecret } = {} }) =>
      [ca?.secret, cert?.secret, keySecret].flatMap((key) =>
        key === undefined ? [] : [{ ...key, namespace, file: assetFile(namespace, { secret: key }) }],
      ),
    ),
  );
  return [...new Map(keys.map((key) => [key.file, key])).values()];
}

function identifier({ metadata: { name, namespace } }: ServiceMonitor): string {
  return `${namespace}/${name}`;
}

function scrapeConfig(monitor: ServiceMonitor, endpoint: Endpoint, index: number): ScrapeConfig {
  const { metadata, spec } = monitor;
  refuseUnknown(spec, knownFields.spec);
  refuseUnknown(spec.selector, knownFields.selector);
  refuseUnknown(spec.namespaceSelector ?? {}, knownFields.namespaceSelector);
  refuseUnknown(endpoint, knownFields.endpoint);
  // Without a port the operator looks at those of containers.
  if (endpoint.port === undefined) throw new Error(`${identifier(monitor)}: an endpoint without port`);
  return {
    job_name: `serviceMonitor/${identifier(monitor)}/${index}`,
    honor_labels: endpoint.honorLabels === true,
    ...given('honor_timestamps', endpoint.honorTimestamps),
    kubernetes_sd_configs: [{ role: 'endpoints', ...namespacesOf(monitor) }],
    ...given('scrape_interval', endpoint.interval),
    ...given('scrape_timeout', endpoint.scrapeTimeout),
    ...given('metrics_path', endpoint.path),
    ...given('scheme', endpoint.scheme),
    ...given('tls_config', endpoint.tlsConfig && tlsConfig(metadata.namespace, endpoint.tlsConfig)),
    relabel_configs: [
      { source_labels: ['job'], target_label: '__tmp_prometheus_job_name' },
      ...Object.entries(spec.selector.matchLabels ?? {})
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([label, value]) => ({
          action: 'keep',
          source_labels: ['label', 'labelpresent'].map(
            (kind) => `__meta_kubernetes_service_${kind}_${labelName(label)}`,
          ),
          regex: `(${value});true`,
        })),
      { action: 'keep', source_labels: ['__meta_kubernetes_endpoint_port_name'], regex: endpoint.port },
      ...targetKind('Node', 'node'),
      ...targetKind('Pod', 'pod'),
      { source_labels: ['__meta_kubernetes_namespace'], target_label: 'namespace' },
      { source_labels: ['__meta_kubernetes_service_name'], target_label: 'service' },
      { source_labels: ['__meta_kubernetes_pod_name'], target_label: 'pod' },
      { source_labels: ['__meta_kubernetes_pod_container_name'], target_label: 'container' },
      { source_labels: ['__meta_kubernetes_service_name'], target_label: 'job', replacement: firstGroup },
      ...(spec.jobLabel === undefined
        ? []
        : [
            {
              source_labels: [`__meta_kubernetes_service_label_${labelName(spec.jobLabel)}`],
              ...{ target_label: 'job', regex: '(.+)', replacement: firstGroup },
            },
          ]),
      { target_label: 'endpoint', replacement: endpoint.port },
      ...(endpoint.relabelings ?? []).map(relabelConfig),
      { source_labels: ['__address__'], target_label: '__tmp_hash', modulus: 1, action: 'hashmod' },
      { source_labels: ['__tmp_hash'], regex: '$(SHARD)', action: 'keep' },
    ],
    metric_relabel_configs: (endpoint.metricRelabelings ?? []).map(relabelConfig),
  };
}

function namespacesOf({ metadata, spec }: ServiceMonitor): { namespaces?: { names: readonly string[] } } {
  const { any, matchNames = [] } = spec.namespaceSelector ?? {};
  if (any === true) return {};
  return { namespaces: { names: matchNames.length === 0 ? [metadata.namespace] : matchNames } };
}

function tlsConfig(namespace: string, config: NonNullable<Endpoint['tlsConfig']>): object {
  refuseUnknown(config, knownFields.tlsConfig);
  const { ca, cert, keySecret, serverName, insecureSkipVerify } = config;
  const file = (from: SecretOrConfigMap | undefined) => from && `${assetsFolder}/${assetFile(namespace, from)}`;
  return {
    insecure_skip_verify: insecureSkipVerify === true,
    ...given('ca_file', file(ca)),
    ...given('cert_file', file(cert)),
    ...given('key_file', keySecret && file({ secret: keySecret })),
    ...given('server_name', serverName),
  };
}

function assetFile(namespace: string, { secret, ...other }: SecretOrConfigMap): string {
  if (secret === undefined) throw new Error(`only Secrets are read: ${JSON.stringify(other)}`);
  return `secret_${namespace}_${secret.name}_${secret.key}`;
}

function targetKind(kind: string, label: string): object[] {
  const what = ['kind', 'name'].map((part) => `__meta_kubernetes_endpoint_address_target_${part}`);
  return [{ source_labels: what, separator: ';', regex: `${kind};(.*)`, replacement: firstGroup, target_label: label }];
}

function relabelConfig(relabeling: Relabeling): object {
  refuseUnknown(relabeling, Object.keys(relabelFields));
  return Object.fromEntries(Object.entries(relabeling).map(([field, value]) => [relabelFields[field], value]));
}

function given(field: string, value: unknown): object {
  return value === undefined ? {} : { [field]: value };
}

function refuseUnknown(object: object, fields: readonly string[]): void {
  const unknown = Object.keys(object).filter((field) => !fields.includes(field));
  if (unknown.length > 0) throw new Error(`not translated: ${unknown.join(', ')} of ${JSON.stringify(object)}`);
}

/** A label's name in names of Prometheus. */
export function labelName(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_]/g, '_');
}
