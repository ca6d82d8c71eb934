/**
 * Service discovery of `kubernetes_sd_configs` with the role `endpoints`, as target files: the same addresses with the same
 * labels as from the API, so that Prometheus's own relabeling selects among them. Debian's build cannot ask the API itself.
 */
import { endpoints, pods, services } from '#api/core/v1/resources.gen.js';
import type { Container, EndpointAddress, Endpoints, Pod, Service } from '#api/core/v1/types.gen.js';
import type { Client } from '#client/client.js';
import { type DiscoveryConfig, labelName } from '#test/e2e/observing/service-monitors.js';

export interface TargetGroup {
  readonly targets: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

/** One group for each port of each address. Container ports without a Service are left out: nothing selects them. */
export async function discover(client: Client, { role, namespaces }: DiscoveryConfig): Promise<TargetGroup[]> {
  if (role !== 'endpoints') throw new Error(`the role ${role} is not supported`);
  const perNamespace = await Promise.all(
    (namespaces?.names ?? [undefined]).map(async (namespace) => {
      const where = namespace === undefined ? {} : { namespace };
      const [endpointsList, owners, backing] = await Promise.all([
        client.resource(endpoints).list(where),
        client.resource(services).list(where),
        client.resource(pods).list(where),
      ]);
      return endpointsList.items.flatMap((each) => groupsOf(each, owners.items, backing.items));
    }),
  );
  return perNamespace.flat();
}

function groupsOf(endpoints: Endpoints, owners: readonly Service[], backing: readonly Pod[]): TargetGroup[] {
  const { name: endpointsName = '', namespace = '' } = endpoints.metadata;
  const is = (name: string | undefined) => (object: Service | Pod) =>
    object.metadata.namespace === namespace && object.metadata.name === name;
  // The Service of Endpoints has their name.
  const service = owners.find(is(endpointsName));
  const ofAddress = ({ targetRef, nodeName }: EndpointAddress, ready: boolean): Record<string, string> => ({
    endpoint_ready: String(ready),
    ...(nodeName === undefined ? {} : { endpoint_node_name: nodeName }),
    ...(targetRef === undefined
      ? {}
      : {
          endpoint_address_target_kind: targetRef.kind ?? '',
          endpoint_address_target_name: targetRef.name ?? '',
        }),
  });
  return (endpoints.subsets ?? []).flatMap(({ addresses = [], notReadyAddresses = [], ports = [] }) =>
    [
      ...addresses.map((address) => ({ address, ready: true })),
      ...notReadyAddresses.map((address) => ({ address, ready: false })),
    ].flatMap(({ address, ready }) => {
      const { targetRef, ip } = address;
      const pod = targetRef?.kind === 'Pod' ? backing.find(is(targetRef.name)) : undefined;
      return ports.map(({ name = '', port, protocol = 'TCP' }) => ({
        targets: [`${ip}:${port}`],
        labels: prefixed({
          ...{ namespace, endpoints_name: endpointsName, endpoint_port_name: name, endpoint_port_protocol: protocol },
          ...ofAddress(address, ready),
          ...(service === undefined
            ? {}
            : { service_name: service.metadata.name ?? '', ...labelsOf('service', service.metadata.labels) }),
          ...(pod === undefined ? {} : podLabels(pod, port)),
        }),
      }));
    }),
  );
}

function podLabels(pod: Pod, port: number): Record<string, string> {
  const has = ({ ports = [] }: Container) => ports.some(({ containerPort }) => containerPort === port);
  const container = pod.spec.containers.find(has);
  return {
    pod_name: pod.metadata.name ?? '',
    pod_ip: pod.status?.podIP ?? '',
    pod_node_name: pod.spec.nodeName ?? '',
    pod_phase: pod.status?.phase ?? '',
    ...labelsOf('pod', pod.metadata.labels),
    ...(container === undefined ? {} : { pod_container_name: container.name }),
  };
}

function labelsOf(kind: string, labels: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(labels).flatMap(([name, value]) => [
      [`${kind}_label_${labelName(name)}`, value],
      [`${kind}_labelpresent_${labelName(name)}`, 'true'],
    ]),
  );
}

function prefixed(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [`__meta_kubernetes_${name}`, value]));
}
