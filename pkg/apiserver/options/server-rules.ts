/** What 1.24 refuses about request handling, serving, the store, Services and the server's part in the cluster. */

import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { ipErrors } from '#apimachinery/validation/ip.js';
import { IpRange } from '#apiserver/allocators/ip-range.js';
import { NodePortRange } from '#apiserver/allocators/node-ports.js';
import { runtimeConfigErrors } from '#apiserver/options/api-enablement.js';
import { isEtcdAddress, parseOverride } from '#apiserver/options/etcd-overrides.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import type { Rule } from '#daemon/options/validate.js';

type NumberOption = {
  [K in keyof ApiServerValues]: ApiServerValues[K] extends number ? K : never;
}[keyof ApiServerValues];

const notNegative: readonly NumberOption[] = [
  'default-not-ready-toleration-seconds',
  'default-unreachable-toleration-seconds',
  'default-watch-cache-size',
  'etcd-compaction-interval',
  'etcd-count-metric-poll-period',
  'etcd-db-metric-poll-interval',
  'livez-grace-period',
  'max-connection-bytes-per-sec',
  'max-mutating-requests-inflight',
  'max-requests-inflight',
  'min-request-timeout',
  'shutdown-delay-duration',
  'v',
];

const positive: readonly NumberOption[] = [
  'apiserver-count',
  'delete-collection-workers',
  'etcd-healthcheck-timeout',
  'event-ttl',
  'identity-lease-duration-seconds',
  'identity-lease-renew-interval-seconds',
  'lease-reuse-duration-seconds',
  'metric-resolution',
  'nodeagent-timeout',
  'request-timeout',
];

const maxGoawayChance = 0.02;
const storedForms: readonly string[] = [
  'application/json',
  'application/yaml',
  orchDialect.protobufMediaType,
  kubernetesDialect.protobufMediaType,
];
const highestPort = 65_535;

/** More workers than any machine gains by. */
const maxWorkers = 64;

export const serverRules: Rule<ApiServerValues> = (values) => [
  ...(values.workers > maxWorkers ? [`--workers can not be more than ${maxWorkers}`] : []),
  ...notNegative.filter((name) => values[name] < 0).map((name) => `--${name} can not be a negative value`),
  ...positive.filter((name) => values[name] <= 0).map((name) => `--${name} must be greater than zero`),
  ...requestErrors(values),
  ...addressErrors(values),
  ...storeErrors(values),
  ...serviceErrors(values),
  ...runtimeConfigErrors(values['runtime-config']),
];

function requestErrors(values: ApiServerValues): string[] {
  const messages: string[] = [];
  const chance = values['goaway-chance'];
  if (chance < 0 || chance > maxGoawayChance) {
    messages.push(`--goaway-chance can not be less than 0 or greater than ${maxGoawayChance}`);
  }
  const total = values['max-requests-inflight'] + values['max-mutating-requests-inflight'];
  if (values['enable-priority-and-fairness'] && total <= 0) {
    messages.push('--max-requests-inflight and --max-mutating-requests-inflight must be above 0 together');
  }
  for (const origin of values['cors-allowed-origins']) {
    try {
      new RegExp(origin);
    } catch {
      messages.push(`--cors-allowed-origins: ${JSON.stringify(origin)} is not a regular expression`);
    }
  }
  for (const directive of values['strict-transport-security-directives']) {
    if (!/^(max-age=\d+|includeSubDomains|preload)$/.test(directive)) {
      messages.push(
        `--strict-transport-security-directives: ${JSON.stringify(directive)} is not one of max-age=<seconds>, includeSubDomains, preload`,
      );
    }
  }
  const renewSeconds = values['identity-lease-renew-interval-seconds'];
  if (renewSeconds > values['identity-lease-duration-seconds']) {
    messages.push('--identity-lease-renew-interval-seconds must not be above --identity-lease-duration-seconds');
  }
  return messages;
}

function addressErrors(values: ApiServerValues): string[] {
  const messages: string[] = [];
  for (const name of ['bind-address', 'advertise-address'] as const) {
    const address = values[name] ?? '';
    if (address === '') continue;
    for (const error of ipErrors(address)) messages.push(`--${name} ${JSON.stringify(address)}: ${error}`);
  }
  if (((values['proxy-client-cert-file'] ?? '') === '') !== ((values['proxy-client-key-file'] ?? '') === '')) {
    messages.push('--proxy-client-cert-file and --proxy-client-key-file must be given together');
  }
  const port = values['nodeagent-port'];
  if (port < 1 || port > highestPort) messages.push(`--nodeagent-port ${port} must be between 1 and 65535, inclusive`);
  return messages;
}

function storeErrors(values: ApiServerValues): string[] {
  const messages: string[] = [];
  for (const server of values['etcd-servers']) {
    if (!isEtcdAddress(server))
      messages.push(`--etcd-servers: ${JSON.stringify(server)} is not of the form scheme://host:port`);
  }
  for (const override of values['etcd-servers-overrides']) {
    messages.push(...overrideErrors(override));
  }
  const form = values['storage-media-type'];
  if (form !== '' && !storedForms.includes(form)) {
    messages.push(`--storage-media-type: unable to find serializer for ${JSON.stringify(form)}`);
  }
  for (const size of values['watch-cache-sizes']) {
    if (!/^[^#]+#\d+$/.test(size)) {
      messages.push(`--watch-cache-sizes: ${JSON.stringify(size)} is not of the form resource[.group]#size`);
    }
  }
  return messages;
}

function overrideErrors(override: string): string[] {
  const messages: string[] = [];
  const parsed = tried(() => parseOverride(override), undefined, messages);
  for (const server of parsed?.servers ?? []) {
    if (!isEtcdAddress(server))
      messages.push(`--etcd-servers-overrides: ${JSON.stringify(server)} is not of the form scheme://host:port`);
  }
  return messages;
}

function serviceErrors(values: ApiServerValues): string[] {
  const messages: string[] = [];
  const cidrs = (values['service-cluster-ip-range'] ?? '').split(',').filter((cidr) => cidr !== '');
  const ranges = cidrs.flatMap((cidr) => {
    const range = tried(() => new IpRange(cidr.trim()), '--service-cluster-ip-range', messages);
    return range === undefined ? [] : [range];
  });
  if (cidrs.length > 2) messages.push('--service-cluster-ip-range must not hold more than two entries');
  else if (ranges.length === 2 && ranges[0]?.family === ranges[1]?.family) {
    messages.push('--service-cluster-ip-range: the two ranges must be of different IP families');
  }
  const ports = tried(
    () => new NodePortRange(values['service-node-port-range']),
    '--service-node-port-range',
    messages,
  );
  const port = values['api-service-node-port'];
  if (port < 0 || port > highestPort) {
    messages.push(`--api-service-node-port ${port} must be between 0 and 65535, inclusive`);
  } else if (port > 0 && ports !== undefined && ports.offsetOf(port) === undefined) {
    messages.push(
      `--api-service-node-port: --service-node-port-range ${ports.first}-${ports.last} does not contain ${port}`,
    );
  }
  return messages;
}

/** `option`: what the error's message does not name by itself. */
function tried<T>(make: () => T, option: string | undefined, messages: string[]): T | undefined {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    messages.push(option === undefined ? error.message : `${option}: ${error.message}`);
    return undefined;
  }
}

/** A server that is not given its store from outside needs etcd. */
export const etcdServersRule: Rule<ApiServerValues> = (values) =>
  values['etcd-servers'].length === 0 ? ['--etcd-servers must be specified'] : [];
