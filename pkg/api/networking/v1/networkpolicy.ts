import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    IPBlock: {
      cidr: { number: 1, type: 'string' },
      except: { number: 2, type: 'string', repeated: true, omitempty: true, optional: true },
    },
    NetworkPolicy: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'NetworkPolicySpec', omitempty: true, optional: true },
      status: { number: 3, type: 'NetworkPolicyStatus', omitempty: true, optional: true },
    },
    NetworkPolicyEgressRule: {
      ports: { number: 1, type: 'NetworkPolicyPort', repeated: true, omitempty: true, optional: true },
      to: { number: 2, type: 'NetworkPolicyPeer', repeated: true, omitempty: true, optional: true },
    },
    NetworkPolicyIngressRule: {
      ports: { number: 1, type: 'NetworkPolicyPort', repeated: true, omitempty: true, optional: true },
      from: { number: 2, type: 'NetworkPolicyPeer', repeated: true, omitempty: true, optional: true },
    },
    NetworkPolicyList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'NetworkPolicy', repeated: true },
    },
    NetworkPolicyPeer: {
      podSelector: { number: 1, type: 'meta.v1.LabelSelector', pointer: true, omitempty: true, optional: true },
      namespaceSelector: { number: 2, type: 'meta.v1.LabelSelector', pointer: true, omitempty: true, optional: true },
      ipBlock: { number: 3, type: 'IPBlock', pointer: true, omitempty: true, optional: true },
    },
    NetworkPolicyPort: {
      protocol: { number: 1, type: 'string', pointer: true, omitempty: true, optional: true },
      port: { number: 2, type: 'intstr.IntOrString', pointer: true, omitempty: true, optional: true },
      endPort: { number: 3, type: 'int32', pointer: true, omitempty: true, optional: true },
    },
    NetworkPolicySpec: {
      podSelector: { number: 1, type: 'meta.v1.LabelSelector' },
      ingress: { number: 2, type: 'NetworkPolicyIngressRule', repeated: true, omitempty: true, optional: true },
      egress: { number: 3, type: 'NetworkPolicyEgressRule', repeated: true, omitempty: true, optional: true },
      policyTypes: { number: 4, type: 'string', repeated: true, omitempty: true, optional: true, enum: 'PolicyType' },
    },
    NetworkPolicyStatus: {
      conditions: {
        number: 1,
        type: 'meta.v1.Condition',
        repeated: true,
        omitempty: true,
        optional: true,
        patchStrategy: 'merge',
        patchMergeKey: 'type',
        listType: 'map',
        listMapKeys: ['type'],
      },
    },
  },
  enums: {
    PolicyType: ['Egress', 'Ingress'],
  },
  resources: [
    {
      resource: 'networkpolicies',
      singular: 'networkpolicy',
      kind: 'NetworkPolicy',
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['netpol'],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Pod-Selector', type: 'string' },
        { name: 'Age', type: 'string' },
      ],
    },
  ],
};
