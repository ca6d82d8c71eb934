import { selector } from '#test/integration/apiserver/peer/samples/pod-spec.js';
import type { Sample } from '#test/integration/apiserver/peer/samples/sample.js';

const labelled = { metadata: { labels: { app: 'example' } } };
const service = { name: 'example', port: { number: 80 } };

export const networkSamples: readonly Sample[] = [
  {
    file: 'networking.v1.ingresses',
    sizes: [
      () => ({ spec: { defaultBackend: { service } } }),
      () => ({
        ...labelled,
        spec: {
          ingressClassName: 'example',
          tls: [{ hosts: ['example.com'], secretName: 'example-tls' }],
          rules: [
            {
              host: 'example.com',
              http: { paths: [{ path: '/', pathType: 'Prefix', backend: { service } }] },
            },
          ],
        },
      }),
    ],
  },
  {
    file: 'networking.v1.ingressclasses',
    serial: true,
    sizes: [
      () => ({ spec: { controller: 'example.com/ingress' } }),
      () => ({
        ...labelled,
        spec: {
          controller: 'example.com/ingress',
          parameters: { apiGroup: 'example.com', kind: 'Settings', name: 'example', scope: 'Cluster' },
        },
      }),
    ],
  },
  {
    file: 'networking.v1.networkpolicies',
    sizes: [
      () => ({ spec: { podSelector: {} } }),
      () => ({
        ...labelled,
        spec: {
          podSelector: selector,
          ingress: [
            {
              ports: [{ port: 80, protocol: 'TCP' }],
              from: [{ podSelector: selector }, { ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] } }],
            },
          ],
          egress: [{ to: [{ namespaceSelector: {} }], ports: [{ port: 53, endPort: 55, protocol: 'UDP' }] }],
          policyTypes: ['Ingress', 'Egress'],
        },
      }),
    ],
  },
  ...['discovery.v1.endpointslices', 'discovery.v1beta1.endpointslices'].map((file) => ({
    file,
    sizes: [
      () => ({ addressType: 'IPv4', endpoints: [], ports: [] }),
      () => ({
        ...labelled,
        addressType: 'IPv4',
        endpoints: [{ addresses: ['10.1.2.3'], conditions: { ready: true }, nodeName: 'n1' }],
        ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
      }),
    ],
  })),
];
