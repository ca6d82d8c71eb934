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
      'Address at which other members of the cluster reach this server. Empty: the bind address, or the address of a network interface if the bind address is not reachable from other machines.',
  },
  'cors-allowed-origins': {
    type: 'strings',
    section,
    meaning:
      'Origins, as regular expressions in RE2 syntax, that browsers may call from. An expression matches anywhere in the origin: anchor it, as in `^https://console\\.example\\.com$`.',
  },
  dashboard: {
    type: 'bool',
    section,
    meaning:
      'Serve the dashboard below /ui/, to users who log in there with a token, or at the OpenID provider if --oidc-issuer-url names one. Its files need no authentication; what it shows needs the rights of the user.',
  },
  'dashboard-oidc-client-secret-file': {
    type: 'string',
    section,
    meaning:
      'File with the client secret by which the dashboard proves itself to the OpenID provider. Empty: it is a public client, which PKCE protects. The provider has to accept the redirect address https://HOST/ui/login/return.',
  },
  'dashboard-oidc-scopes': {
    type: 'strings',
    default: ['openid', 'profile', 'email'],
    section,
    meaning: 'Scopes that the dashboard requests of the OpenID provider.',
  },
  'default-not-ready-toleration-seconds': {
    type: 'int',
    plainErrors: true,
    default: 300,
    section,
    meaning: 'Default time that pods stay on a node that is not ready.',
  },
  'default-unreachable-toleration-seconds': {
    type: 'int',
    plainErrors: true,
    default: 300,
    section,
    meaning: 'Default time that pods stay on an unreachable node.',
  },
  'enable-priority-and-fairness': {
    type: 'bool',
    default: true,
    section,
    meaning:
      'Share the sum of --max-requests-inflight and --max-mutating-requests-inflight fairly among priority levels, whose requests wait in queues, instead of applying each limit on its own.',
  },
  'external-hostname': {
    type: 'string',
    section,
    meaning:
      'Host name of this server, with or without a port, in the discovery of the API and of token issuers. Empty: the address on which it listens.',
  },
  'goaway-chance': {
    type: 'float',
    section,
    meaning: 'Share of HTTP/2 requests that make the client reconnect, to spread clients over servers.',
  },
  'metric-resolution': {
    type: 'duration',
    default: 15_000,
    section,
    meaning:
      'Time between two measurements of a node and its pods, for the metrics API. Nodes are measured while clients request metrics.',
  },
  'livez-grace-period': {
    type: 'duration',
    section,
    meaning: 'Longest startup during which /livez ignores checks that still fail.',
  },
  'master-service-namespace': {
    type: 'string',
    default: 'default',
    inert: 'release 1.24 does not read it, either',
    inertUnless: ['default'],
    deprecated: 'the Service is always in the default namespace.',
    section,
    meaning: 'Namespace of the Service of the API itself.',
  },
  'max-mutating-requests-inflight': {
    type: 'int',
    default: 200,
    section,
    meaning: 'Most writing requests in flight; 0 means no limit.',
  },
  'max-connections': {
    type: 'int',
    min: 0,
    default: 0,
    section,
    meaning:
      'Most open connections of all clients. An address has as many as are free, so at most half; beyond that, its new connections close the oldest ones of the user that has most. 0: one for each 256 kB of memory that the process may use, between 4096 and 65536.',
  },
  'max-open-requests': {
    type: 'int',
    min: 0,
    default: 0,
    section,
    meaning:
      'Most open requests of all users, watches included. A user has as many as are free, so at most half; further ones are refused with 429. 0: one for each 32 kB of memory that the process may use, between 32768 and 524288.',
  },
  'max-requests-inflight': {
    type: 'int',
    default: 400,
    section,
    meaning: 'Most reading requests in flight; 0 means no limit.',
  },
  'min-request-timeout': {
    type: 'int',
    default: 1800,
    section,
    meaning:
      'Shortest duration in seconds of a watch without a time limit; it ends at a random time before twice that.',
  },
  'request-memory-mb': {
    type: 'int',
    min: 0,
    default: 0,
    section,
    meaning:
      'Megabytes that the bodies of all requests may hold until they are answered. A user holds as much as is free, so at most half; further bodies are refused with 429. 0: a sixteenth of the memory that the process may use, between 64 and 512.',
  },
  'request-timeout': {
    type: 'duration',
    default: 60_000,
    section,
    meaning: 'Time limit of requests that are not long-running, such as watches.',
  },
  'response-memory-mb': {
    type: 'int',
    min: 0,
    default: 0,
    section,
    meaning:
      'Megabytes that all responses being sent may hold. Further responses wait for a while and are then refused with 429. 0: a sixteenth of the memory that the process may use, between 64 and 512.',
  },
  'shutdown-delay-duration': {
    type: 'duration',
    section,
    meaning: 'Time between the stop signal and the refusal of new connections; /readyz fails meanwhile.',
  },
  'shutdown-send-retry-after': {
    type: 'bool',
    section,
    meaning:
      'After the shutdown delay, listen on and answer new requests with 429 and Retry-After until those under way have their responses.',
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
      'Processes that serve requests, each with its own cache. 0: half the number of cores, at most eight, and one on machines with fewer than four cores.',
  },
  'cloud-provider-gce-l7lb-src-cidrs': {
    type: 'strings',
    inert: 'only a vendor’s load balancers use it, and none is built in',
    section,
    meaning: 'Sources of a cloud provider’s load balancers.',
  },
  'runtime-config': {
    type: 'map',
    bareKeys: true,
    section: 'API enablement',
    meaning:
      'Parts of the API to turn on or off: `api/all`, `api/ga`, `api/beta` or `api/alpha` for all versions of that kind; `group/version` (`v1` for the core group); `group/version/resource`; each with `=true|false`. The most specific key counts. Alpha versions are off by default; a feature gate that is on turns its resources on.',
  },
  'egress-selector-config-file': {
    type: 'string',
    section: 'Egress selector',
    meaning:
      'EgressSelectorConfiguration: the proxies through which the server reaches nodes, pods and Services (`cluster`), etcd (`etcd`), and webhooks with a URL (`controlplane`).',
  },
  'tracing-config-file': {
    type: 'string',
    section: 'Traces',
    meaning:
      'TracingConfiguration: where the spans of requests and their etcd calls are sent, and the share of sampled requests. Needs the feature gate APIServerTracing.',
  },
  'cloud-config': {
    type: 'string',
    inert: 'only a vendor’s admission plugins use it, and none is built in',
    section: 'Cloud provider',
    meaning: 'Configuration file of the cloud provider.',
  },
  'cloud-provider': {
    type: 'string',
    inert: 'only a vendor’s admission plugins use it, and none is built in',
    section: 'Cloud provider',
    meaning: 'Cloud provider; empty for none.',
  },
  'aggregator-reject-forwarding-redirect': {
    type: 'bool',
    default: true,
    section: misc,
    meaning: 'Refuse redirects of extension API servers instead of passing them to clients.',
  },
  'allow-privileged': { type: 'bool', default: true, section: misc, meaning: 'Admit privileged containers.' },
  'apiserver-count': {
    type: 'int',
    default: 1,
    inert: 'servers count each other by their leases',
    deprecated: 'the endpoints are maintained by leases.',
    section: misc,
    meaning: 'Number of API servers of the cluster.',
  },
  'enable-aggregator-routing': {
    type: 'bool',
    section: misc,
    meaning:
      'Send requests for webhooks and extension API servers to endpoints of their Services rather than to cluster IPs.',
  },
  'endpoint-reconciler-type': {
    type: 'string',
    default: 'lease',
    oneOf: ['lease', 'master-count', 'none'],
    section: misc,
    meaning: 'How the endpoints of the API’s own Service are maintained: by leases of the servers, or not at all.',
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
    section: misc,
    meaning: 'Bytes per second of one tunnelled connection, in each direction; 0 means no limit.',
  },
} as const satisfies OptionTable;
