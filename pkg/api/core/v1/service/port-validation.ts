/** Rules of a service's ports. */
import { isHeadless } from '#api/core/v1/service/defaults.js';
import type { Service, ServicePort } from '#api/core/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import {
  checkDNSLabel,
  checkEnum,
  checkPortNumberOrName,
  checkQualifiedName,
} from '#apimachinery/validation/checks.js';
import { duplicate, forbiddenField, invalidEach, required } from '#apimachinery/validation/failure.js';
import { portNumberErrors } from '#apimachinery/validation/identifiers.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

const protocols = ['SCTP', 'TCP', 'UDP'] as const;

export function validateServicePorts(service: Service, path: FieldPath): FieldFailure[] {
  const ports = service.spec.ports ?? [];
  if (ports.length === 0) {
    return isHeadless(service) || service.spec.type === 'ExternalName' ? [] : [required(path)];
  }
  const failures: FieldFailure[] = [];
  const names = new Set<string>();
  const claimed = new Set<string>();
  const nodePorts = new Set<string>();
  ports.forEach((port, i) => {
    const at = path.index(i);
    failures.push(...validatePort(port, ports.length > 1, names, at));
    const claim = `${port.protocol}/${port.port}`;
    if (claimed.has(claim)) failures.push(duplicate(at, { protocol: port.protocol, port: port.port }));
    claimed.add(claim);
    const nodePort = port.nodePort ?? 0;
    if (nodePort === 0) return;
    if (service.spec.type === 'ClusterIP') {
      failures.push(forbiddenField(at.child('nodePort'), "may not be used when `type` is 'ClusterIP'"));
    }
    const key = `${port.protocol}/${nodePort}`;
    if (nodePorts.has(key)) failures.push(duplicate(at.child('nodePort'), nodePort));
    nodePorts.add(key);
  });
  return failures;
}

function validatePort(port: ServicePort, nameRequired: boolean, names: Set<string>, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const name = port.name ?? '';
  if (name === '') {
    if (nameRequired) failures.push(required(path.child('name')));
  } else {
    failures.push(...checkDNSLabel(path.child('name'), name));
    if (names.has(name)) failures.push(duplicate(path.child('name'), name));
    names.add(name);
  }
  failures.push(...invalidEach(path.child('port'), port.port ?? 0, portNumberErrors(port.port ?? 0)));
  failures.push(...checkEnum(path.child('protocol'), port.protocol, protocols));
  failures.push(...checkPortNumberOrName(path.child('targetPort'), port.targetPort));
  if (port.appProtocol !== undefined) {
    failures.push(...checkQualifiedName(path.child('appProtocol'), port.appProtocol));
  }
  return failures;
}
