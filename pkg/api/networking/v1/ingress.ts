import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    HTTPIngressPath: {
      path: { number: 1, type: 'string', omitempty: true, optional: true },
      pathType: { number: 3, type: 'string', pointer: true },
      backend: { number: 2, type: 'IngressBackend' },
    },
    HTTPIngressRuleValue: {
      paths: { number: 1, type: 'HTTPIngressPath', repeated: true, listType: 'atomic' },
    },
    Ingress: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'IngressSpec', omitempty: true, optional: true },
      status: { number: 3, type: 'IngressStatus', omitempty: true, optional: true },
    },
    IngressBackend: {
      service: { number: 4, type: 'IngressServiceBackend', pointer: true, omitempty: true, optional: true },
      resource: {
        number: 3,
        type: 'core.v1.TypedLocalObjectReference',
        pointer: true,
        omitempty: true,
        optional: true,
      },
    },
    IngressList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'Ingress', repeated: true },
    },
    IngressRule: {
      host: { number: 1, type: 'string', omitempty: true, optional: true },
      '~ingressRuleValue': {
        number: 2,
        type: 'IngressRuleValue',
        omitempty: true,
        optional: true,
        inline: true,
        protoName: 'ingressRuleValue',
      },
    },
    IngressRuleValue: {
      http: { number: 1, type: 'HTTPIngressRuleValue', pointer: true, omitempty: true, optional: true },
    },
    IngressServiceBackend: {
      name: { number: 1, type: 'string' },
      port: { number: 2, type: 'ServiceBackendPort', omitempty: true, optional: true },
    },
    IngressSpec: {
      ingressClassName: { number: 4, type: 'string', pointer: true, omitempty: true, optional: true },
      defaultBackend: { number: 1, type: 'IngressBackend', pointer: true, omitempty: true, optional: true },
      tls: { number: 2, type: 'IngressTLS', repeated: true, omitempty: true, optional: true, listType: 'atomic' },
      rules: { number: 3, type: 'IngressRule', repeated: true, omitempty: true, optional: true, listType: 'atomic' },
    },
    IngressStatus: {
      loadBalancer: { number: 1, type: 'core.v1.LoadBalancerStatus', omitempty: true, optional: true },
    },
    IngressTLS: {
      hosts: { number: 1, type: 'string', repeated: true, omitempty: true, optional: true, listType: 'atomic' },
      secretName: { number: 2, type: 'string', omitempty: true, optional: true },
    },
    ServiceBackendPort: {
      name: { number: 1, type: 'string', omitempty: true, optional: true },
      number: { number: 2, type: 'int32', omitempty: true, optional: true },
    },
  },
  resources: [
    {
      resource: 'ingresses',
      singular: 'ingress',
      kind: 'Ingress',
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['ing'],
      subresources: [{ name: 'status', kind: 'Ingress', verbs: ['get', 'patch', 'update'] }],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Class', type: 'string' },
        { name: 'Hosts', type: 'string' },
        { name: 'Address', type: 'string' },
        { name: 'Ports', type: 'string' },
        { name: 'Age', type: 'string' },
      ],
    },
  ],
};
