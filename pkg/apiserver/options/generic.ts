/** Options of request handling and of the server as a whole. */
import { addressError } from '#daemon/options/groups/serving.js';
import type { OptionTable } from '#daemon/options/option.js';

const section = 'Generic';
const misc = 'Misc';

export const genericServerOptions = {
  'advertise-address': {
    type: 'string',
    check: addressError,
    section,
    meaning:
      'Address under which the other members of the cluster reach this server. Empty: the bind address, or that of an interface of the machine when the bind address is not one that others can use.',
  },
  'cors-allowed-origins': {
    type: 'strings',
    inert: true,
    section,
    meaning: 'Origins, as regular expressions, that browsers may call from.',
  },
  'default-not-ready-toleration-seconds': {
    type: 'int',
    plainErrors: true,
    default: 300,
    section,
    meaning: 'How long pods that do not say otherwise stay on a node that is not ready.',
  },
  'default-unreachable-toleration-seconds': {
    type: 'int',
    plainErrors: true,
    default: 300,
    section,
    meaning: 'How long pods that do not say otherwise stay on a node that cannot be reached.',
  },
  'enable-priority-and-fairness': {
    type: 'bool',
    default: true,
    inert: true,
    section,
    meaning: 'Queue requests by priority level instead of only limiting their number.',
  },
  'external-hostname': {
    type: 'string',
    inert: true,
    section,
    meaning: 'Host name of this server in URLs that it writes, as in the discovery of token issuers.',
  },
  'goaway-chance': {
    type: 'float',
    section,
    meaning:
      'Share of HTTP/2 requests after which the connection is asked to be made anew, to spread clients over servers.',
  },
  'metric-resolution': {
    type: 'duration',
    default: 15_000,
    section,
    meaning:
      'Time between two measurements of what a node and its pods use, for the metrics API. Nodes are measured while somebody asks for figures.',
  },
  'livez-grace-period': {
    type: 'duration',
    inert: true,
    section,
    meaning: 'Longest start-up time during which /livez does not fail for what is still starting.',
  },
  'master-service-namespace': {
    type: 'string',
    default: 'default',
    inert: true,
    deprecated: 'the Service is always in the default namespace.',
    section,
    meaning: 'Namespace of the Service of the API itself.',
  },
  'max-mutating-requests-inflight': {
    type: 'int',
    default: 200,
    section,
    meaning: 'Writing requests under way at once; 0 means no limit.',
  },
  'max-requests-inflight': {
    type: 'int',
    default: 400,
    section,
    meaning: 'Reading requests under way at once; 0 means no limit.',
  },
  'min-request-timeout': {
    type: 'int',
    default: 1800,
    section,
    meaning:
      'Seconds that a watch without a time limit of its own lives at least; it ends at a random time before twice that.',
  },
  'request-timeout': {
    type: 'duration',
    default: 60_000,
    section,
    meaning: 'Longest time of a request that is not a watch or another long one.',
  },
  'response-memory-mb': {
    type: 'int',
    min: 0,
    default: 0,
    section,
    meaning:
      'Megabytes that answers on their way to clients may hold together. Further ones wait for a while, and are then refused with 429. 0: a sixteenth of the memory that the process may use, between 64 and 512.',
  },
  'shutdown-delay-duration': {
    type: 'duration',
    section,
    meaning: 'Time between the order to stop and the refusal of new connections, with /readyz failing meanwhile.',
  },
  'shutdown-send-retry-after': {
    type: 'bool',
    inert: true,
    section,
    meaning: 'Answer requests with Retry-After while stopping.',
  },
  'strict-transport-security-directives': {
    type: 'strings',
    section,
    meaning: 'Directives of the Strict-Transport-Security header.',
  },
  workers: {
    type: 'int',
    min: 0,
    section,
    meaning:
      'Processes that serve requests, each with a cache of its own. 0: half as many as the machine has cores, eight at most, and one on machines with fewer than four.',
  },
  'cloud-provider-gce-l7lb-src-cidrs': {
    type: 'strings',
    inert: true,
    section,
    meaning: 'Sources of a cloud provider’s load balancers.',
  },
  'runtime-config': {
    type: 'map',
    bareKeys: true,
    section: 'API enablement',
    meaning:
      'What of the API is turned on or off: `api/all`, `api/ga`, `api/beta` or `api/alpha`, all versions of that kind; `group/version` (`v1` for the core group); `group/version/resource`; each `=true|false`, the more particular overruling the others. Alpha versions are off unless told; a feature gate that is on turns its resources on.',
  },
  'egress-selector-config-file': {
    type: 'string',
    inert: true,
    section: 'Egress selector',
    meaning: 'Config of the proxies through which the server reaches nodes, etcd and others.',
  },
  'tracing-config-file': {
    type: 'string',
    section: 'Traces',
    meaning:
      'TracingConfiguration: where spans of requests and of their calls to etcd are sent, and of how many requests. Needs the feature gate APIServerTracing.',
  },
  'cloud-config': {
    type: 'string',
    inert: true,
    section: 'Cloud provider',
    meaning: 'Config file of the cloud provider.',
  },
  'cloud-provider': {
    type: 'string',
    inert: true,
    section: 'Cloud provider',
    meaning: 'Cloud provider; empty for none.',
  },
  'aggregator-reject-forwarding-redirect': {
    type: 'bool',
    default: true,
    section: misc,
    meaning: 'Refuse redirects of extension API servers instead of passing them to clients.',
  },
  'allow-privileged': {
    type: 'bool',
    default: true,
    section: misc,
    meaning: 'Admit privileged containers.',
  },
  'apiserver-count': {
    type: 'int',
    default: 1,
    inert: true,
    deprecated: 'the endpoints are kept by leases.',
    section: misc,
    meaning: 'Number of API servers of the cluster.',
  },
  'enable-aggregator-routing': {
    type: 'bool',
    section: misc,
    meaning:
      'Send requests to webhooks and extension API servers to endpoints of their Services rather than to cluster IPs.',
  },
  'endpoint-reconciler-type': {
    type: 'string',
    default: 'lease',
    oneOf: ['lease', 'master-count', 'none'],
    section: misc,
    meaning: 'How the endpoints of the API’s own Service are kept: by leases of the servers, or not at all.',
  },
  'event-ttl': { type: 'duration', default: 3_600_000, section: misc, meaning: 'How long events are kept.' },
  'identity-lease-duration-seconds': {
    type: 'int',
    default: 3600,
    section: misc,
    meaning: 'Lifetime of the server’s identity lease.',
  },
  'identity-lease-renew-interval-seconds': {
    type: 'int',
    default: 10,
    section: misc,
    meaning: 'Renewal interval of the server’s identity lease.',
  },
  'max-connection-bytes-per-sec': {
    type: 'int',
    inert: true,
    section: misc,
    meaning: 'Bytes per second of one tunnelled connection; 0 means no limit.',
  },
} as const satisfies OptionTable;
