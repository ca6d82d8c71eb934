import { defineTypes, message, object, optional, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    IPBlock: message('An address range, with exceptions.', {
      cidr: required(1, 'string', 'The range, such as `192.168.1.0/24` or `2001:db8::/64`.'),
      except: optional(2, 'string[]', 'Ranges within it that do not belong to it.'),
    }),
    NetworkPolicy: object('Which traffic pods may take and send. Pods that no policy selects may take and send all.', {
      spec: optional(2, 'NetworkPolicySpec', 'What the object is meant to be.'),
      status: optional(3, 'NetworkPolicyStatus', { featureGate: 'NetworkPolicyStatus' }, 'What was last observed of the object. Written by the system, never by users.'),
    }),
    NetworkPolicyEgressRule: message('Traffic that may leave: to one of the peers, on one of the ports.', {
      ports: optional(1, 'NetworkPolicyPort[]', 'Ports that traffic may go to. Empty: all.'),
      to: optional(2, 'NetworkPolicyPeer[]', 'Where traffic may go. Empty: anywhere.'),
    }),
    NetworkPolicyIngressRule: message('Traffic that may come in: from one of the peers, on one of the ports.', {
      ports: optional(1, 'NetworkPolicyPort[]', 'Ports of the pods that traffic may come in on. Empty: all.'),
      from: optional(2, 'NetworkPolicyPeer[]', 'Where traffic may come from. Empty: anywhere.'),
    }),
    NetworkPolicyPeer: message('Who traffic may come from or go to: either pods or an address range.', {
      podSelector: pointer(1, 'meta.v1.LabelSelector', "Labels of the pods. Empty: all pods. Without `namespaceSelector`, those of the policy's own namespace."),
      namespaceSelector: pointer(2, 'meta.v1.LabelSelector', 'Labels of the namespaces whose pods are meant. Empty: all namespaces.'),
      ipBlock: pointer(3, 'IPBlock', { excludes: ['podSelector', 'namespaceSelector'] }, 'An address range.'),
    }),
    NetworkPolicyPort: message('Ports of a protocol.', {
      protocol: pointer(1, 'string', { enum: 'Protocol', default: 'TCP' }, '`TCP`, `UDP` or `SCTP`.'),
      port: pointer(2, 'intstr.IntOrString', 'Number of the port or name of a container port. Default: all ports.'),
      endPort: pointer(3, 'int32', { minimum: 1, maximum: 65535, featureGate: 'NetworkPolicyEndPort' }, 'Last port of a range that begins at `port`, which must then be a number not above it.'),
    }),
    NetworkPolicySpec: message('Which pods a policy is for, and what it lets pass.', {
      podSelector: required(1, 'meta.v1.LabelSelector', 'Labels of the pods that the policy is for. Empty: all of the namespace.'),
      ingress: optional(2, 'NetworkPolicyIngressRule[]', 'Traffic that may come in. Empty: none, where the policy is about incoming traffic.'),
      egress: optional(3, 'NetworkPolicyEgressRule[]', 'Traffic that may leave. Empty: none, where the policy is about outgoing traffic.'),
      policyTypes: optional(4, 'string[]', { enum: 'PolicyType' }, 'What the policy is about: `Ingress`, `Egress` or both. Default: `Ingress`, and `Egress` where there are egress rules.'),
    }),
    NetworkPolicyStatus: message('What was last observed of a policy.', {
      conditions: optional(1, 'meta.v1.Condition[]', { patchMergeKey: 'type' }, 'Latest observations of single aspects of the state, one per condition type.'),
    }),
  },
  enums: {
    PolicyType: ['Ingress', 'Egress'],
    Protocol: ['TCP', 'UDP', 'SCTP'],
  },
  resources: [
    {
      resource: 'networkpolicies',
      kind: 'NetworkPolicy',
      refusedIn: 'extensions',
      shortNames: ['netpol'],
      subresources: ['status'],
      columns: ['Name', 'Pod-Selector', 'Age'],
    },
  ],
});
