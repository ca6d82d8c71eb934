import { defineTypes, message, object, optional, pointer, required, wide } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    ClientIPConfig: message("Session affinity by the client's address.", {
      timeoutSeconds: pointer(1, 'int32', { minimum: 1, maximum: 86_400 }, 'Seconds that a client is sent to the same endpoint, from 1 to 86400. Default 10800 (3 hours).'),
    }),
    LoadBalancerIngress: message('A point at which a load balancer takes traffic.', {
      ip: optional(1, 'string', 'Its address, for load balancers known by address.'),
      hostname: optional(2, 'string', 'Its host name, for load balancers known by name.'),
      ports: optional(4, 'PortStatus[]', { listType: 'atomic', featureGate: 'MixedProtocolLBService' }, 'State of its ports.'),
    }),
    LoadBalancerStatus: message('State of a load balancer.', {
      ingress: optional(1, 'LoadBalancerIngress[]', 'Points at which traffic is taken.'),
    }),
    PortStatus: message('State of a port of a load balancer.', {
      port: required(1, 'int32', 'Number of the port.'),
      protocol: required(2, 'string', { enum: 'Protocol' }, '`TCP`, `UDP` or `SCTP`.'),
      error: pointer(3, 'string', 'What is wrong with the port, in one word.'),
    }),
    Service: object('A stable address and name in front of a changing set of pods.', {
      spec: optional(2, 'ServiceSpec', 'What the object is meant to be.'),
      status: optional(3, 'ServiceStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    ServicePort: message('A port of a service.', {
      name: optional(1, 'string', 'Name of the port, a DNS label. Unique in the service; may be empty only where there is a single port.'),
      protocol: optional(2, 'string', { default: 'TCP', defaultInSchema: true, enum: 'Protocol' }, '`TCP`, `UDP` or `SCTP`. Default `TCP`.'),
      appProtocol: pointer(6, 'string', 'Protocol spoken on the port, such as a registered service name or a name with a domain prefix.'),
      port: required(3, 'int32', { minimum: 1, maximum: 65535 }, 'Port that the service listens on, 1 to 65535.'),
      targetPort: optional(4, 'intstr.IntOrString', 'Port of the pods: a number, or the name of a container port, which may have another number in each pod. Default: `port`. Not used by headless services without selector.'),
      nodePort: optional(5, 'int32', "Port on every node that leads to the service, for the types `NodePort` and `LoadBalancer`. Default: a free one of the cluster's range."),
    }),
    ServiceProxyOptions: message('Options of a request that is passed on to a service.', {
      path: optional(1, 'string', 'Path to ask the service for.'),
    }),
    ServiceSpec: message('What a service is meant to be.', {
      ports: optional(1, 'ServicePort[]', { patchMergeKey: 'port', listMapKeys: ['port', 'protocol'] }, 'Ports of the service. Required unless it is headless or of type `ExternalName`.'),
      selector: optional(2, 'map<string, string>', { mapType: 'atomic' }, 'Labels of the pods to send traffic to. Without it the endpoints are managed by others. Ignored for `ExternalName`.'),
      clusterIP: optional(3, 'string', "Address of the service inside the cluster. `None` makes it headless: no address, and DNS gives those of the pods. Default: a free one of the cluster's range. The first entry of `clusterIPs`."),
      clusterIPs: optional(18, 'string[]', { listType: 'atomic' }, 'Addresses inside the cluster, at most one of each address family, in the order of `ipFamilies`. Default: assigned.'),
      type: optional(4, 'string', { default: 'ClusterIP', enum: 'ServiceType' }, '`ClusterIP`: reachable inside the cluster. `NodePort`: also on a port of every node. `LoadBalancer`: also through a load balancer outside. `ExternalName`: a mere DNS alias.'),
      externalIPs: optional(5, 'string[]', "Addresses outside the cluster's control at which nodes also take traffic for the service."),
      sessionAffinity: optional(7, 'string', { default: 'None', enum: 'ServiceAffinity' }, '`ClientIP` sends a client to the same endpoint each time, `None` to any.'),
      loadBalancerIP: optional(8, 'string', 'Address wanted of the load balancer, where its provider supports it. Deprecated.'),
      loadBalancerSourceRanges: optional(9, 'string[]', 'Address ranges of clients that the load balancer lets in, where supported. Default: all.'),
      externalName: optional(10, 'string', 'DNS name that the service is an alias of. Required for, and only for, the type `ExternalName`.'),
      externalTrafficPolicy: optional(11, 'string', { enum: 'ServiceExternalTrafficPolicyType' }, "`Local` sends traffic from outside only to endpoints on the node it reached, and keeps the client's address. `Cluster` sends it to all. Default `Cluster`."),
      healthCheckNodePort: optional(12, 'int32', 'Port on every node that tells a load balancer whether there are local endpoints. Only for `LoadBalancer` with the policy `Local`; cannot be changed. Default: assigned.'),
      publishNotReadyAddresses: optional(13, 'bool', 'Treats all endpoints as ready, even those of pods that are not. Default false.'),
      sessionAffinityConfig: pointer(14, 'SessionAffinityConfig', 'Settings of the session affinity.'),
      ipFamilies: optional(19, 'string[]', { listType: 'atomic', enum: 'IPFamily' }, "Address families, `IPv4` and `IPv6`; the first cannot be changed. Default: the cluster's, by `ipFamilyPolicy`."),
      ipFamilyPolicy: pointer(17, 'string', { enum: 'IPFamilyPolicyType' }, '`SingleStack`: one family. `PreferDualStack`: both where the cluster has both. `RequireDualStack`: both, or fail. Default `SingleStack`.'),
      allocateLoadBalancerNodePorts: pointer(20, 'bool', 'Whether a `LoadBalancer` service is given node ports. Those asked for by number are given anyway. Default true.'),
      loadBalancerClass: pointer(21, 'string', "Which load balancer implementation is in charge, as a name that may have a domain prefix. Cannot be changed. Default: the cluster's. Only for `LoadBalancer`."),
      internalTrafficPolicy: pointer(22, 'string', { enum: 'ServiceInternalTrafficPolicyType', featureGate: 'ServiceInternalTrafficPolicy' }, '`Local` sends traffic from inside the cluster only to endpoints on the same node, dropping it where there is none. `Cluster` sends it to all. Default `Cluster`.'),
    }),
    ServiceStatus: message('What was last observed of a service.', {
      loadBalancer: optional(1, 'LoadBalancerStatus', 'State of its load balancer, if it has one.'),
      conditions: optional(2, 'meta.v1.Condition[]', { patchMergeKey: 'type', featureGate: 'MixedProtocolLBService' }, 'Latest observations of single aspects of the state, one per condition type.'),
    }),
    SessionAffinityConfig: message('Settings of session affinity.', {
      clientIP: pointer(1, 'ClientIPConfig', "Settings of affinity by the client's address."),
    }),
  },
  enums: {
    IPFamily: ['IPv4', 'IPv6'],
    IPFamilyPolicyType: ['PreferDualStack', 'RequireDualStack', 'SingleStack'],
    ServiceAffinity: ['ClientIP', 'None'],
    ServiceExternalTrafficPolicyType: ['Cluster', 'Local'],
    ServiceInternalTrafficPolicyType: ['Cluster', 'Local'],
    ServiceType: ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'],
  },
  resources: [
    {
      resource: 'services',
      kind: 'Service',
      shortNames: ['svc'],
      categories: ['all'],
      subresources: [{ name: 'proxy', kind: 'ServiceProxyOptions', verbs: ['create', 'delete', 'get', 'patch', 'update'] }, 'status'],
      columns: ['Name', 'Type', 'Cluster-IP', 'External-IP', 'Port(s)', 'Age', ...wide('Selector')],
    },
  ],
});
