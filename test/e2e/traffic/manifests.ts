/** Objects of the cluster in the tests of traffic between nodes. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Pod, Service } from '#api/core/v1/types.gen.js';
import type { NetworkPolicy } from '#api/networking/v1/types.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { root } from '#test/e2e/harness.js';
import { busybox } from '#test/e2e/pods.js';

/** Ports on which every place answers. */
export const tcpPorts = [8080, 8081, 8082];
export const udpPorts = [8053];

export const otherNamespace = 'other';

const sleeper = ['sleep', '3600'];

/** A sleeping pod on the node; the test serves and connects in its network. */
export function pod(
  name: string,
  nodeName: string,
  labels: Readonly<Record<string, string>>,
  more: Partial<Pod['spec']> & { readonly namespace?: string } = {},
): object {
  const { namespace = 'default', ...spec } = more;
  const ports = [
    { name: 'web', containerPort: 8080 },
    { name: 'dns', containerPort: 8053, protocol: 'UDP' },
  ];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels },
    spec: {
      nodeName,
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'main', image: busybox, command: sleeper, ports }],
      ...spec,
    },
  };
}

function service(name: string, spec: Partial<Service['spec']>, metadata: Partial<Service['metadata']> = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, ...metadata },
    spec: {
      ipFamilyPolicy: 'RequireDualStack',
      selector: { app: 'web' },
      ports: [
        { name: 'web', port: 80, targetPort: 'web' },
        { name: 'dns', port: 53, targetPort: 'dns', protocol: 'UDP' },
      ],
      ...spec,
    },
  };
}

/** Pods that answer for services: one on each node, those of `half` on two of them only. */
export const half = ['web-near', 'web-far'];
export const webPods = ['web-first', ...half];
/** Addresses for documentation (RFC 5737, RFC 3849). */
export const externals = { 4: '198.51.100.7', 6: '2001:db8:77::7' } as const;

const halfLabels = { half: 'yes' };

export function webPod(name: string, nodeName: string): object {
  return pod(name, nodeName, { app: 'web', ...(half.includes(name) ? halfLabels : {}) });
}

export interface ServiceAddresses {
  /** Source ranges of the balancer that restricts its clients. */
  readonly sources: readonly string[];
}

export function services({ sources }: ServiceAddresses): object[] {
  const local = 'Local';
  return [
    service('all', {}),
    service('headless', { clusterIP: 'None' }),
    service('ported', { type: 'NodePort' }),
    service('ported-kept', { type: 'NodePort', selector: halfLabels, externalTrafficPolicy: local }),
    service('balanced', { type: 'LoadBalancer' }),
    service('balanced-kept', { type: 'LoadBalancer', selector: halfLabels, externalTrafficPolicy: local }),
    service('sourced', { type: 'LoadBalancer', loadBalancerSourceRanges: [...sources] }),
    service('external', { externalIPs: Object.values(externals) }),
    service('sticky', { sessionAffinity: 'ClientIP' }),
    service('inner', { selector: halfLabels, internalTrafficPolicy: local }),
    service('zoned', {}, { annotations: { [orchDialect.annotations.topologyAwareHints]: 'auto' } }),
    service('unserved', { type: 'NodePort', selector: { app: 'unserved' } }),
    service('ending', { selector: { app: 'ending' } }),
    service('rolling', { type: 'NodePort', selector: { app: 'rolling' }, ports: [{ port: 80, targetPort: 8080 }] }),
  ];
}

/** Answers with the pod's name and the client's address. */
const answer = 'printf "Content-Type: text/plain\\r\\n\\r\\n$(hostname) $REMOTE_ADDR\\n"';
const server = [
  'mkdir -p /www/cgi-bin; cd /www/cgi-bin',
  `echo ${Buffer.from(`#!/bin/sh\n${answer}\n`).toString('base64')} | base64 -d >who`,
  // Ends at once on SIGTERM; later connections are refused.
  'chmod +x who; httpd -f -p 8080 -h /www & trap "kill $!; exit" TERM; wait',
].join('; ');

/** As in the documentation: ready when it listens, and still serving for a while after its termination begins. */
export function rolling(replicas: number): object {
  const labels = { app: 'rolling' };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'rolling' },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          terminationGracePeriodSeconds: 10,
          containers: [
            {
              name: 'main',
              image: busybox,
              command: ['sh', '-c', server],
              ports: [{ containerPort: 8080 }],
              readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
              lifecycle: { preStop: { exec: { command: ['sleep', '2'] } } },
            },
          ],
        },
      },
    },
  };
}

export interface PolicyBlocks {
  /** Allowed source blocks, with their exceptions. */
  readonly enter: readonly { readonly cidr: string; readonly except: string[] }[];
}

/** Policies for access to the pods of the services, and for the connections of `friend`. */
export function policies({ enter }: PolicyBlocks): object[] {
  const policy = (name: string, spec: NetworkPolicy['spec']) => ({
    apiVersion: `networking.${orchDialect.apiDomain}/v1`,
    kind: 'NetworkPolicy',
    metadata: { name },
    spec,
  });
  const namespaceSelector = { matchLabels: { [orchDialect.labels.metadataName]: otherNamespace } };
  return [
    policy('web', {
      podSelector: { matchLabels: { app: 'web' } },
      policyTypes: ['Ingress'],
      ingress: [
        { from: [{ podSelector: { matchLabels: { role: 'friend' } } }], ports: [{ port: 'web' }] },
        { from: [{ namespaceSelector }], ports: [{ port: 8080, endPort: 8081 }] },
        { from: enter.map((ipBlock) => ({ ipBlock })), ports: [{ port: 'dns', protocol: 'UDP' }, { port: 8080 }] },
      ],
    }),
    policy('friend', {
      podSelector: { matchLabels: { role: 'friend' } },
      policyTypes: ['Egress'],
      egress: [
        { to: [{ podSelector: { matchLabels: { app: 'web' } } }], ports: [{ port: 'web' }] },
        { to: enter.map((ipBlock) => ({ ipBlock })), ports: [{ port: 8080, endPort: 8081 }] },
      ],
    }),
  ];
}

export const shopNamespace = 'shop';

/** The example, with its database on the node that `keeps` data: YAML. */
export function shop(): string {
  const folder = join(root, 'examples', 'shop');
  const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'));
  const text = files.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n---\n');
  // The first of these fields is the database's.
  return text.replace('terminationGracePeriodSeconds', (field) => `nodeSelector: { keeps: data }\n      ${field}`);
}
