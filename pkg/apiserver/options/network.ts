/** Options of Services, and of connections to nodes and extension API servers. */

import { portRangeError } from '#apiserver/allocators/node-port-range.js';
import { defaultAddressTypes } from '#apiserver/streaming/node-agents.js';
import type { OptionTable } from '#daemon/options/option.js';

const section = 'Misc';

export const networkOptions = {
  'service-cluster-ip-range': {
    type: 'string',
    section,
    meaning:
      'CIDR of the Services’ cluster IPs; two of different families, comma separated, make the cluster dual-stack. 10.0.0.0/24 when empty.',
  },
  'service-node-port-range': {
    type: 'string',
    default: '30000-32767',
    check: portRangeError,
    section,
    meaning: 'Ports that Services may open on every node.',
  },
  'api-service-node-port': {
    type: 'int',
    section,
    meaning: 'Node port of the API’s own Service; 0 makes it reachable inside the cluster only.',
  },
  'nodeagent-certificate-authority': {
    type: 'string',
    section,
    meaning: 'CA bundle for node agents. Empty: their certificates are not verified.',
  },
  'nodeagent-client-certificate': { type: 'string', section, meaning: 'Client certificate for node agents.' },
  'nodeagent-client-key': { type: 'string', section, meaning: 'Key of the client certificate for node agents.' },
  'nodeagent-port': {
    type: 'int',
    unsigned: true,
    default: 10_250,
    deprecated: 'nodes report their port themselves.',
    section,
    meaning: 'Port of node agents that do not report theirs.',
  },
  'nodeagent-preferred-address-types': {
    type: 'strings',
    default: [...defaultAddressTypes],
    section,
    meaning: 'Types of node addresses, in order of preference.',
  },
  'nodeagent-read-only-port': {
    type: 'int',
    unsigned: true,
    default: 10_255,
    inert: 'the API server never uses this port',
    deprecated: 'nothing uses it.',
    section,
    meaning: 'Read-only port of node agents.',
  },
  'nodeagent-timeout': {
    type: 'duration',
    default: 5000,
    inert: 'calls of node agents end with their request; release 1.24 does not read it, either',
    section,
    meaning: 'Time limit of requests to node agents.',
  },
  'proxy-client-cert-file': { type: 'string', section, meaning: 'Client certificate for extension API servers.' },
  'proxy-client-key-file': {
    type: 'string',
    section,
    meaning: 'Key of the client certificate for extension API servers.',
  },
} as const satisfies OptionTable;
