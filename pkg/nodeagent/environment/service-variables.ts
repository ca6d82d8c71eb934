/** Variables that tell containers of services, in the form of Docker links: `REDIS_SERVICE_HOST`, … */
import type { Service } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

const variableName = (name: string): string => name.toUpperCase().replaceAll('-', '_').replaceAll('.', '_');

function hasClusterIP(service: Service): boolean {
  const ip = service.spec.clusterIP ?? '';
  return ip !== '' && ip !== 'None' && service.spec.type !== 'ExternalName';
}

function variablesOf(service: Service, prefix: string): [string, string][] {
  const host = service.spec.clusterIP ?? '';
  const ports = service.spec.ports ?? [];
  const first = ports[0];
  if (first === undefined) return [[`${prefix}_SERVICE_HOST`, host]];
  const bracketed = host.includes(':') ? `[${host}]` : host;
  const variables: [string, string][] = [
    [`${prefix}_SERVICE_HOST`, host],
    [`${prefix}_SERVICE_PORT`, String(first.port)],
  ];
  for (const port of ports) {
    if (port.name !== undefined && port.name !== '') {
      variables.push([`${prefix}_SERVICE_PORT_${variableName(port.name)}`, String(port.port)]);
    }
  }
  for (const port of ports) {
    const protocol = (port.protocol ?? 'TCP').toLowerCase();
    const url = `${protocol}://${bracketed}:${port.port}`;
    const name = `${prefix}_PORT_${port.port}_${protocol.toUpperCase()}`;
    if (port === first) variables.push([`${prefix}_PORT`, url]);
    variables.push(
      [name, url],
      [`${name}_PROTO`, protocol],
      [`${name}_PORT`, String(port.port)],
      [`${name}_ADDR`, host],
    );
  }
  return variables;
}

/**
 * The API's own service, of the namespace `apiNamespace`, always; the others of the pod's namespace unless the pod has `enableServiceLinks: false`.
 */
export function serviceVariables(
  services: readonly Service[],
  pod: { namespace: string; apiNamespace: string; enableServiceLinks: boolean },
  dialect: Dialect,
): Map<string, string> {
  const chosen = new Map<string, Service>();
  for (const service of services) {
    if (!hasClusterIP(service)) continue;
    const name = service.metadata.name ?? '';
    const ofAPI = service.metadata.namespace === pod.apiNamespace && name === dialect.apiServiceName;
    const own = service.metadata.namespace === pod.namespace && pod.enableServiceLinks;
    if (own || (ofAPI && !chosen.has(name))) chosen.set(name, service);
  }
  const variables = new Map<string, string>();
  for (const [name, service] of [...chosen].sort(([a], [b]) => (a < b ? -1 : 1))) {
    for (const [key, text] of variablesOf(service, variableName(name))) variables.set(key, text);
  }
  return variables;
}
