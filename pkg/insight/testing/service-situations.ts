/** Services and ingresses that do not answer, and why. */
import type { Secret, Service } from '#api/core/v1/types.gen.js';
import type { Ingress, IngressClass, NetworkPolicy } from '#api/networking/v1/types.gen.js';
import { expired, forOther } from '#insight/testing/certificates.js';
import { ago, crashed, event, node, pod } from '#insight/testing/objects.js';
import type { Situation } from '#insight/testing/situation.js';

const good = node();

export function service(spec: object = {}, name = 'web'): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'shop', uid: `uid-${name}`, creationTimestamp: ago(900) },
    spec: {
      selector: { app: 'web' },
      ports: [{ name: 'http', port: 80, targetPort: 8080 }],
      type: 'ClusterIP',
      ...spec,
    },
  };
}

export function ingress(spec: object = {}): Ingress {
  const backend = { service: { name: 'web', port: { number: 80 } } };
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: 'web', namespace: 'shop' },
    spec: {
      ingressClassName: 'plain',
      rules: [{ host: 'shop.example.com', http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }],
      ...spec,
    },
  };
}

export const ingressClass: IngressClass = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'IngressClass',
  metadata: { name: 'plain' },
  spec: { controller: 'example.com/ingress' },
};

export const ready = pod({ name: 'web-0', isReady: true });

export function tlsSecret(content: string): Secret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'web-tls', namespace: 'shop' },
    type: 'kubernetes.io/tls',
    data: { 'tls.crt': Buffer.from(content).toString('base64') },
  };
}

const tls = { tls: [{ hosts: ['shop.example.com'], secretName: 'web-tls' }] };
const denyAll: NetworkPolicy = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'deny-all', namespace: 'shop' },
  spec: { podSelector: {}, policyTypes: ['Ingress'] },
};
const balanced = service({ type: 'LoadBalancer' });

export const serviceSituations: readonly Situation[] = [
  {
    name: "the API's own service while API servers listen on loopback",
    about: { ...service({ selector: undefined }), metadata: { name: 'kubernetes', namespace: 'default' } },
    objects: [],
    root: 'ApiNotPublished',
    says: 'listen on loopback',
  },
  {
    name: 'a service whose selector has a typing error',
    about: service({ selector: { app: 'wep' } }),
    objects: [pod({ isReady: true, labels: { app: 'web' } })],
    root: 'SelectorMatchesNothing',
    says: 'No pod',
    quotes: 'app=wep',
  },
  {
    name: 'a service whose selector fits a pod nearly',
    about: service({ selector: { app: 'web', tier: 'front' } }),
    objects: [pod({ isReady: true, labels: { app: 'web', tier: 'back' } })],
    root: 'SelectorMatchesNothing',
    says: 'pod web-0 lacks tier=front',
    quotes: 'tier=back',
  },
  {
    name: 'a service whose pods crash',
    about: service(),
    objects: [pod({ app: crashed(1), phase: 'Running' }), good],
    root: 'Crashes',
    says: 'exit code 1',
  },
  {
    name: 'a service with a target port that no container has',
    about: service({ ports: [{ name: 'http', port: 80, targetPort: 'web' }] }),
    objects: [pod({ isReady: true, container: { ports: [{ name: 'http', containerPort: 8080 }] } })],
    root: 'TargetPortMissing',
    says: 'name web',
    quotes: 'http 8080/TCP',
  },
  {
    name: 'a service behind a policy',
    about: service(),
    objects: [ready, denyAll],
    root: 'PolicyDeniesAll',
    says: 'NetworkPolicy deny-all',
  },
  {
    name: 'a service without a selector and without endpoints',
    about: service({ selector: undefined }),
    objects: [],
    root: 'NoEndpoints',
    says: 'no selector',
  },
  {
    name: 'a service without a provider of load balancers',
    about: balanced,
    objects: [ready],
    root: 'NoLoadBalancer',
    says: 'No provider',
  },
  {
    name: 'a load balancer that cannot be set up',
    about: balanced,
    objects: [ready],
    events: [event(balanced, 'SyncLoadBalancerFailed', 'Error syncing load balancer: no free addresses')],
    root: 'LoadBalancerFailed',
    says: 'cannot be set up',
    quotes: 'no free addresses',
  },
  {
    name: 'an ingress of a service that does not exist',
    about: ingress(),
    objects: [ingressClass],
    root: 'ServiceMissing',
    says: 'Service web of the ingress does not exist',
  },
  {
    name: 'an ingress with a port that the service does not have',
    about: ingress(),
    objects: [ingressClass, service({ ports: [{ name: 'http', port: 8080 }] }), ready],
    root: 'ServicePortMissing',
    says: 'no port 80',
    quotes: 'http 8080',
  },
  {
    name: 'an ingress of a service whose pods crash',
    about: ingress(),
    objects: [ingressClass, service(), pod({ app: crashed(1), phase: 'Running' }), good],
    root: 'Crashes',
    says: 'exit code 1',
  },
  {
    name: 'an ingress of a class that does not exist',
    about: ingress({ ingressClassName: 'fancy' }),
    objects: [ingressClass, service(), ready],
    root: 'IngressClassMissing',
    says: 'IngressClass fancy',
  },
  {
    name: 'an ingress in a cluster without classes',
    about: ingress({ ingressClassName: undefined }),
    objects: [service(), ready],
    root: 'NoIngressClass',
    says: 'names no class',
  },
  {
    name: 'an ingress whose certificate is missing',
    about: ingress(tls),
    objects: [ingressClass, service(), ready],
    root: 'CertificateMissing',
    says: 'web-tls',
  },
  {
    name: 'an ingress whose certificate is for another host',
    about: ingress(tls),
    objects: [ingressClass, service(), ready, tlsSecret(forOther)],
    root: 'CertificateForOtherHost',
    says: 'other.example.com',
  },
  {
    name: 'an ingress whose certificate has ended',
    about: ingress(tls),
    objects: [ingressClass, service(), ready, tlsSecret(expired)],
    root: 'CertificateExpired',
    says: 'ended on',
  },
  {
    name: 'an ingress whose certificate is none',
    about: ingress(tls),
    objects: [ingressClass, service(), ready, tlsSecret('certificate')],
    root: 'CertificateInvalid',
    says: 'no valid certificate',
  },
];
