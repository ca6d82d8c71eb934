/** Rules of a service's ports. */

import { declaration as schema } from '#api/core/v1/container.js';
import { isHeadless } from '#api/core/v1/service/defaults.js';
import { declaration as serviceSchema } from '#api/core/v1/service.js';
import type { Service, ServicePort, ServiceSpec } from '#api/core/v1/types.gen.js';
import { coreValues } from '#api/core/v1/values/go-values.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import {
  checkDNSLabel,
  checkEnum,
  checkPortNumberOrName,
  checkQualifiedName,
} from '#apimachinery/validation/checks.js';
import { addAll, duplicate, forbiddenField, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';
import { rangesOf } from '#apimachinery/validation/ranges.js';

const checkPort = rangesOf(serviceSchema.types.ServicePort, 'port');

export function validateServicePorts(service: Service, path: FieldPath): FieldFailure[] {
  const ports = service.spec.ports ?? [];
  if (ports.length === 0) {
    return isHeadless(service) || service.spec.type === 'ExternalName' ? [] : [required(path)];
  }
  const names = new Set<string>();
  return ports.flatMap((port, i) => validatePort(port, ports.length > 1, names, path.index(i)));
}

/** Port numbers must be unique per protocol. */
export function validatePortClaims({ type, ports = [] }: ServiceSpec, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const seen = new Set<string>();
  const claim = (kind: string, { protocol }: ServicePort, number: number, failure: () => FieldFailure): void => {
    const key = `${kind} ${protocol}/${number}`;
    if (seen.has(key)) failures.push(failure());
    seen.add(key);
  };
  ports.forEach(({ nodePort = 0 }, i) => {
    if (type !== 'ClusterIP' || nodePort === 0) return;
    failures.push(forbiddenField(path.index(i).child('nodePort'), "may not be used when `type` is 'ClusterIP'"));
  });
  ports.forEach((port, i) => {
    const { nodePort = 0 } = port;
    if (nodePort === 0) return;
    claim('node', port, nodePort, () => duplicate(path.index(i).child('nodePort'), nodePort));
  });
  ports.forEach((port, i) => {
    const { protocol, port: number } = port;
    claim('own', port, number, () =>
      duplicate(path.index(i), coreValues.of('ServicePort', { protocol, port: number })),
    );
  });
  return failures;
}

function validatePort(port: ServicePort, nameRequired: boolean, names: Set<string>, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const name = port.name ?? '';
  if (name === '') {
    if (nameRequired) failures.push(required(path.child('name')));
  } else {
    addAll(failures, checkDNSLabel(path.child('name'), name));
    if (names.has(name)) failures.push(duplicate(path.child('name'), name));
    names.add(name);
  }
  addAll(failures, checkPort(port, path));
  addAll(failures, checkEnum(path.child('protocol'), port.protocol, schema.enums.Protocol));
  addAll(failures, checkPortNumberOrName(path.child('targetPort'), port.targetPort));
  if (port.appProtocol !== undefined) {
    addAll(failures, checkQualifiedName(path.child('appProtocol'), port.appProtocol));
  }
  return failures;
}
