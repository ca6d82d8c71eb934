import { defineTypes, inlined, message, object, optional, pointer, required, union } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    HTTPIngressPath: message('Where requests to some paths go.', {
      path: optional(1, 'string', 'Path that requests are compared with; begins with `/`. Required for `Exact` and `Prefix`.'),
      pathType: required(3, 'string', { enum: 'PathType', pointer: true }, 'How the path is compared: `Exact` as a whole, `Prefix` element by element, `ImplementationSpecific` as the ingress controller likes. Required.'),
      backend: required(2, 'IngressBackend', 'Where the requests go.'),
    }),
    HTTPIngressRuleValue: message('Where requests to a host go, by path.', {
      paths: required(1, 'HTTPIngressPath[]', { listType: 'atomic' }, 'Paths and their backends. The longest match wins.'),
    }),
    Ingress: object('Routes HTTP requests from outside to services. A controller must be there to carry it out.', {
      spec: optional(2, 'IngressSpec', 'What the object is meant to be.'),
      status: optional(3, 'IngressStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    IngressBackend: union('Where requests go.', {
      service: pointer(4, 'IngressServiceBackend', 'A service of the same namespace.'),
      resource: pointer(3, 'core.v1.TypedLocalObjectReference', 'Another object of the same namespace that the controller understands.'),
    }),
    IngressRule: message('Where requests to a host go.', {
      host: optional(1, 'string', 'Host name of the requests, without port and not an address. `*.` stands for one first label. Default: all hosts.'),
      '~ingressRuleValue': inlined(2, 'IngressRuleValue', { omitempty: true, optional: true }),
    }),
    IngressRuleValue: message('Routing within a host.', {
      http: pointer(1, 'HTTPIngressRuleValue', 'Routing by path.'),
    }),
    IngressServiceBackend: message('A service that requests go to.', {
      name: required(1, 'string', 'Name of the service.'),
      port: optional(2, 'ServiceBackendPort', 'Port of the service.'),
    }),
    IngressSpec: message('What an Ingress routes.', {
      ingressClassName: pointer(4, 'string', 'Name of the IngressClass, which says who carries this out. Default: the default class, if there is one.'),
      defaultBackend: pointer(1, 'IngressBackend', 'Where requests go that match no rule. Required where there are no rules.'),
      tls: optional(2, 'IngressTLS[]', { listType: 'atomic' }, 'Hosts served with TLS, and their certificates.'),
      rules: optional(3, 'IngressRule[]', { listType: 'atomic', keepsEmpty: true }, 'Routing by host.'),
    }),
    IngressStatus: message('What was last observed of an Ingress.', {
      loadBalancer: optional(1, 'core.v1.LoadBalancerStatus', { ungated: ['MixedProtocolLBService'] }, 'Addresses at which requests are taken.'),
    }),
    IngressTLS: message('Hosts served with one certificate.', {
      hosts: optional(1, 'string[]', { listType: 'atomic' }, 'Host names in the certificate. Default: all, as the controller sees fit.'),
      secretName: optional(2, 'string', 'Secret of type TLS with certificate and key, in the same namespace.'),
    }),
    ServiceBackendPort: union('A port of a service.', {
      name: optional(1, 'string', 'Name of the port.'),
      number: optional(2, 'int32', { minimum: 1, maximum: 65535 }, 'Number of the port.'),
    }),
  },
  enums: {
    PathType: ['Exact', 'ImplementationSpecific', 'Prefix'],
  },
  resources: [
    {
      resource: 'ingresses',
      kind: 'Ingress',
      refusedIn: 'extensions',
      shortNames: ['ing'],
      subresources: ['status'],
      columns: ['Name', 'Class', 'Hosts', 'Address', 'Ports', 'Age'],
    },
  ],
});
