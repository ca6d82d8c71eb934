import { services } from '#api/core/v1/resources.gen.js';
import {
  defaultService,
  dropFieldsOfOldType,
  keepAllocated,
  normalizeClusterIPs,
} from '#api/core/v1/service/defaults.js';
import { validateService, validateServiceStatus, validateServiceUpdate } from '#api/core/v1/service/validation.js';
import type { Service } from '#api/core/v1/types.gen.js';
import type { TableRowCells } from '#api/meta/object.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import { formatLabels, none, orNone } from '#api/table/text.js';
import { dns1035LabelErrors } from '#apimachinery/validation/names.js';

export const serviceStrategy: Strategy<Service> = kindStrategy<Service>(services, {
  deletionAnswer: 'object',
  name: dns1035LabelErrors,
  allowCreateOnUpdate: true,
  defaults: (service) => defaultService(service),
  prepareForCreate: (service) => normalizeClusterIPs(service.spec),
  prepareForUpdate(service, old) {
    normalizeClusterIPs(service.spec, old.spec);
    keepAllocated(service.spec, old.spec);
    dropFieldsOfOldType(service.spec, old.spec);
  },
  validate: validateService,
  validateUpdate: (service, old) => validateServiceUpdate(service, old),
  validateStatusUpdate: (service) => validateServiceStatus(service),
  cells: (service, context) => serviceCells(service, context.now),
});

function serviceCells(service: Service, now: number): TableRowCells {
  const { metadata, spec } = service;
  const ports = (spec.ports ?? []).map((port) => {
    const node = (port.nodePort ?? 0) > 0 ? `:${port.nodePort}` : '';
    return `${port.port}${node}/${port.protocol}`;
  });
  return [
    metadata.name ?? '',
    spec.type ?? '',
    orNone(spec.clusterIPs?.[0] ?? spec.clusterIP),
    externalAddress(service),
    orNone(ports.join(',')),
    age(metadata.creationTimestamp, now),
    formatLabels(spec.selector),
  ];
}

function externalAddress(service: Service): string {
  const { spec, status } = service;
  const externalIPs = spec.externalIPs ?? [];
  switch (spec.type) {
    case 'ClusterIP':
    case 'NodePort':
      return orNone(externalIPs.join(','));
    case 'LoadBalancer': {
      const balancers = (status?.loadBalancer?.ingress ?? []).map((ingress) => ingress.ip || ingress.hostname || '');
      const addresses = new Set(balancers.filter((address) => address !== ''));
      const all = [...[...addresses].sort(), ...externalIPs];
      return all.length > 0 ? all.join(',') : '<pending>';
    }
    case 'ExternalName':
      return spec.externalName ?? none;
    default:
      return '<unknown>';
  }
}
