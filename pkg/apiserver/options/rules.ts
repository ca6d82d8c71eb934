/** Checks of Services, etcd and auditing as in 1.24, and the order of all checks. */
import { dialectByName, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import { type IPBlock, parseCIDR } from '#apimachinery/net/ip.js';
import { NodePortRange } from '#apiserver/allocators/node-port-range.js';
import {
  admissionRules,
  authenticationRules,
  authorizationRules,
  oidcRule,
  tokenExpirationRule,
  tokenRequestRule,
} from '#apiserver/options/access-rules.js';
import { auditModes } from '#apiserver/options/audit.js';
import { isEtcdAddress, parseOverride } from '#apiserver/options/etcd-overrides.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import {
  countRule,
  enablementRule,
  fairnessRule,
  headerRules,
  identityRules,
  limitsRule,
  strictRules,
} from '#apiserver/options/server-rules.js';
import { featureGateRules } from '#daemon/options/groups/feature-gates.js';
import { loggingRules } from '#daemon/options/groups/logging.js';
import { metricsRules } from '#daemon/options/groups/metrics.js';
import { requiredPortRule, servingRules, tlsRules } from '#daemon/options/groups/serving.js';
import { allOf, inOrder, type Rule, together } from '#daemon/options/validate.js';

/** Limit of the addresses in a range, as a power of two; it bounds the range's record in etcd. */
const maxBits = 20;
const minAddresses = 8;
const highestPort = 65_535;

interface Ranges {
  readonly texts: readonly string[];
  readonly blocks: readonly (IPBlock | undefined)[];
}

function rangesOf(values: ApiServerValues): Ranges {
  const text = values['service-cluster-ip-range'] ?? '';
  const texts = text === '' ? [] : text.split(',');
  // Count additional ranges without parsing them.
  return { texts, blocks: texts.slice(0, 2).map((range) => parseCIDR(range)) };
}

/** This check comes before all others. */
const serviceRangeRule: Rule<ApiServerValues> = (values) => {
  const { texts, blocks } = rangesOf(values);
  if (texts.length === 0) return [];
  const [primary] = blocks;
  if (primary === undefined) return ['service-cluster-ip-range[0] is not a valid cidr'];
  if (sizeBits(primary) < Math.log2(minAddresses)) {
    const why = `the service cluster IP range must be at least ${minAddresses} IP addresses`;
    return [`error determining service IP ranges for primary service cidr: ${why}`];
  }
  return texts.length > 1 && blocks[1] === undefined ? ['service-cluster-ip-range[1] is not an ip net'] : [];
};

const serviceRules: Rule<ApiServerValues> = (values) => [...rangeErrors(values), ...portErrors(values)];

function rangeErrors(values: ApiServerValues): string[] {
  const { texts, blocks } = rangesOf(values);
  const [primary, secondary] = blocks;
  const messages: string[] = [];
  if (texts.length > 2) messages.push('--service-cluster-ip-range must not contain more than two entries');
  messages.push(...sizeErrors(primary, '--service-cluster-ip-range'));
  if (secondary !== undefined && secondary.family === primary?.family) {
    messages.push('--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family');
  }
  return [...messages, ...sizeErrors(secondary, '--service-cluster-ip-range[1]')];
}

function sizeErrors(block: IPBlock | undefined, name: string): string[] {
  if (block === undefined || sizeBits(block) <= maxBits) return [];
  const bits = lengthOf(block);
  return [`specified ${name} is too large; for ${bits}-bit addresses, the mask must be >= ${bits - maxBits}`];
}

const lengthOf = ({ family }: IPBlock): number => (family === 4 ? 32 : 128);
const sizeBits = (block: IPBlock): number => lengthOf(block) - block.prefix;

function portErrors(values: ApiServerValues): string[] {
  const messages: string[] = [];
  const { product } = dialectByName(values.dialect);
  const port = values['api-service-node-port'];
  if (port < 0 || port > highestPort) {
    const title = `${product.charAt(0).toUpperCase()}${product.slice(1)}`;
    messages.push(
      `--api-service-node-port ${port} must be between 0 and ${highestPort}, inclusive. If 0, the ${title} master service will be of type ClusterIP`,
    );
  }
  const ports = new NodePortRange(values['service-node-port-range']);
  if (port > 0 && ports.offsetOf(port) === undefined) {
    messages.push(`${product} service node port range ${ports.first}-${ports.last} doesn't contain ${port}`);
  }
  return messages;
}

const etcdRules: Rule<ApiServerValues> = (values) => {
  const messages: string[] = [];
  const backend = values['storage-backend'];
  if (backend !== '' && backend !== 'etcd3') {
    messages.push("--storage-backend invalid, allowed values: etcd3. If not specified, it will default to 'etcd3'");
  }
  for (const override of values['etcd-servers-overrides']) {
    const parsed = parseOverride(override);
    if (parsed === undefined) {
      messages.push(
        '--etcd-servers-overrides invalid, must be of format: group/resource#servers, where servers are URLs, semicolon separated',
      );
    }
    messages.push(...addressErrors('etcd-servers-overrides', parsed?.servers ?? []));
  }
  messages.push(...addressErrors('etcd-servers', values['etcd-servers']));
  return messages;
};

/** 1.24 accepts any text and then never reaches its store. */
function addressErrors(option: string, servers: readonly string[]): string[] {
  return servers
    .filter((server) => !isEtcdAddress(server))
    .map((server) => `--${option}: ${quoted(server)} is not of the form scheme://host:port`);
}

const etcdServersRule: Rule<ApiServerValues> = (values) =>
  values['etcd-servers'].length === 0 ? ['--etcd-servers must be specified'] : [];

/** Entries are `resource[.group]#size`; ignored while the cache is off. */
const watchCacheRule: Rule<ApiServerValues> = (values) => {
  if (!values['watch-cache']) return [];
  for (const text of values['watch-cache-sizes']) {
    const [, size = '', ...more] = text.split('#');
    if (!text.includes('#') || more.length > 0) return [`invalid value of watch cache size: ${text}`];
    if (!/^[+-]?\d+$/.test(size)) return [`invalid size of watch cache size: ${text}`];
    if (Number(size) < 0) return [`watch cache size cannot be negative: ${text}`];
  }
  return [];
};

/** 1.24 makes this check when it opens the store. */
const etcdKeyRule: Rule<ApiServerValues> = (values) => {
  const [cert, key] = [values['etcd-certfile'] ?? '', values['etcd-keyfile'] ?? ''];
  if ((cert === '') === (key === '')) return [];
  return [`KeyFile and CertFile must both be present[key: ${key}, cert: ${cert}]`];
};

const storedForms: readonly string[] = [
  '',
  'application/json',
  'application/yaml',
  orchDialect.protobufMediaType,
  kubernetesDialect.protobufMediaType,
];

const storedFormRule: Rule<ApiServerValues> = (values) => {
  const form = values['storage-media-type'];
  return storedForms.includes(form) ? [] : [`unable to find serializer for ${quoted(form)}`];
};

const auditRules: Rule<ApiServerValues> = (values) => [
  ...((values['audit-log-path'] ?? '') === '' ? [] : [...backendErrors(values, 'log'), ...fileErrors(values)]),
  ...((values['audit-webhook-config-file'] ?? '') === '' ? [] : backendErrors(values, 'webhook')),
];

type Backend = 'log' | 'webhook';

function backendErrors(values: ApiServerValues, backend: Backend): string[] {
  const parts = [batchError(values, backend), truncateError(values, backend), versionError(values, backend)];
  return parts.filter((message) => message !== undefined);
}

function batchError(values: ApiServerValues, backend: Backend): string | undefined {
  const mode = values[`audit-${backend}-mode`];
  if (!auditModes.some((each) => each === mode)) {
    return `invalid audit ${backend} mode ${mode}, allowed modes are ${quoted(auditModes.join(','))}`;
  }
  if (mode !== 'batch') return undefined;
  const throttled = values[`audit-${backend}-batch-throttle-enable`];
  const numbers: readonly (readonly [what: string, value: number])[] = [
    ['buffer size', values[`audit-${backend}-batch-buffer-size`]],
    ['max batch size', values[`audit-${backend}-batch-max-size`]],
    ...(throttled
      ? ([
          ['throttle QPS', values[`audit-${backend}-batch-throttle-qps`]],
          ['throttle burst', values[`audit-${backend}-batch-throttle-burst`]],
        ] as const)
      : []),
  ];
  const [what, value] = numbers.find(([, number]) => number <= 0) ?? [];
  return what && `invalid audit batch ${backend} ${what} ${value}, must be a positive number`;
}

function truncateError(values: ApiServerValues, backend: Backend): string | undefined {
  const event = values[`audit-${backend}-truncate-max-event-size`];
  const batch = values[`audit-${backend}-truncate-max-batch-size`];
  const what = `invalid audit truncate ${backend} max`;
  if (event <= 0) return `${what} event size ${event}, must be a positive number`;
  return batch < event ? `${what} batch size ${batch}, must be greater than max event size (${event})` : undefined;
}

function versionError(values: ApiServerValues, backend: Backend): string | undefined {
  const configured = values[`audit-${backend}-version`];
  if (configured.split('/').length > 2) return `unexpected GroupVersion string: ${configured}`;
  const version = `audit.${dialectByName(values.dialect).apiDomain}/v1`;
  return configured === version ? undefined : `invalid group version, allowed versions are [${quoted(version)}]`;
}

function fileErrors(values: ApiServerValues): string[] {
  const format = values['audit-log-format'];
  return [
    ...(format === 'legacy' || format === 'json'
      ? []
      : [`invalid audit log format ${format}, allowed formats are "legacy,json"`]),
    ...(['audit-log-maxage', 'audit-log-maxbackup', 'audit-log-maxsize'] as const)
      .filter((name) => values[name] < 0)
      .map((name) => `--${name} ${values[name]} can't be a negative number`),
  ];
}

/**
 * All checks in the order of 1.24: completing the options stops at the first error, validation reports all errors, and applying
 * the options stops at the first error again.
 */
function rulesWith(port: Rule<ApiServerValues>, store: Rule<ApiServerValues>): Rule<ApiServerValues> {
  return inOrder(
    loggingRules,
    serviceRangeRule,
    tokenExpirationRule,
    watchCacheRule,
    allOf(
      countRule,
      store,
      etcdRules,
      serviceRules,
      fairnessRule,
      port,
      authenticationRules,
      headerRules,
      authorizationRules,
      auditRules,
      admissionRules,
      enablementRule,
      tokenRequestRule,
      metricsRules,
      identityRules,
      featureGateRules,
      strictRules,
      together('nodeagent-client-certificate', 'nodeagent-client-key'),
      together('proxy-client-cert-file', 'proxy-client-key-file'),
    ),
    tlsRules,
    etcdKeyRule,
    oidcRule,
    limitsRule,
    storedFormRule,
  );
}

/** Checks for a server within another program, which may share that program's store and have no port. */
export const apiServerRules: readonly Rule<ApiServerValues>[] = [rulesWith(servingRules, () => [])];

/** Checks for a server that is a program of its own. */
export const apiServerProgramRules: readonly Rule<ApiServerValues>[] = [rulesWith(requiredPortRule, etcdServersRule)];
