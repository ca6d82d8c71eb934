import { declaration as schema } from '#api/core/v1/container.js';
import { validateNonSpecialIP } from '#api/core/v1/endpoints/non-special-ip.js';
import { declaration as endpointsSchema } from '#api/core/v1/endpoints.js';
import { endpoints } from '#api/core/v1/resources.gen.js';
import type { EndpointAddress, EndpointPort, EndpointSubset, Endpoints } from '#api/core/v1/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import { none } from '#api/table/text.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { hostPort } from '#apimachinery/net/host-port.js';
import {
  checkDNSLabel,
  checkDNSSubdomain,
  checkEnum,
  checkQualifiedName,
  ipErrors,
} from '#apimachinery/validation/checks.js';
import { addAll, invalidEach, required } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { rangesOf } from '#apimachinery/validation/ranges.js';

const checkPort = rangesOf(endpointsSchema.types.EndpointPort, 'port');

/** Further addresses are only counted in tables. */
const shownInTable = 3;

export const endpointsStrategy: Strategy<Endpoints> = kindStrategy<Endpoints>(endpoints, {
  allowCreateOnUpdate: true,
  validate: (object) =>
    (object.subsets ?? []).flatMap((subset, i) => validateSubset(subset, FieldPath.of('subsets').index(i))),
  cells: (object, context) => [
    object.metadata.name ?? '',
    formatEndpoints(object),
    age(object.metadata.creationTimestamp, context.now),
  ],
});

function validateSubset(subset: EndpointSubset, path: FieldPath): FieldFailure[] {
  const { addresses = [], notReadyAddresses = [], ports = [] } = subset;
  const failures: FieldFailure[] = [];
  if (addresses.length === 0 && notReadyAddresses.length === 0) {
    failures.push(required(path, 'must specify `addresses` or `notReadyAddresses`'));
  }
  addresses.forEach((address, i) => {
    addAll(failures, validateAddress(address, path.child('addresses').index(i)));
  });
  notReadyAddresses.forEach((address, i) => {
    addAll(failures, validateAddress(address, path.child('notReadyAddresses').index(i)));
  });
  ports.forEach((port, i) => {
    addAll(failures, validatePort(port, ports.length > 1, path.child('ports').index(i)));
  });
  return failures;
}

function validateAddress(address: EndpointAddress, path: FieldPath): FieldFailure[] {
  const { ip = '', hostname = '', nodeName } = address;
  const failures = [...invalidEach(path.child('ip'), ip, ipErrors(ip))];
  if (hostname !== '') addAll(failures, checkDNSLabel(path.child('hostname'), hostname));
  if (nodeName !== undefined) addAll(failures, checkDNSSubdomain(path.child('nodeName'), nodeName));
  return [...failures, ...validateNonSpecialIP(path.child('ip'), ip)];
}

function validatePort(port: EndpointPort, nameRequired: boolean, path: FieldPath): FieldFailure[] {
  const name = port.name ?? '';
  const failures: FieldFailure[] = [];
  if (name === '') {
    if (nameRequired) failures.push(required(path.child('name')));
  } else addAll(failures, checkDNSLabel(path.child('name'), name));
  addAll(failures, checkPort(port, path));
  addAll(failures, checkEnum(path.child('protocol'), port.protocol, schema.enums.Protocol));
  if (port.appProtocol !== undefined) addAll(failures, checkQualifiedName(path.child('appProtocol'), port.appProtocol));
  return failures;
}

function formatEndpoints(object: Endpoints): string {
  const all = (object.subsets ?? []).flatMap((subset) => {
    const addresses = (subset.addresses ?? []).map((address) => address.ip ?? '');
    if ((subset.ports ?? []).length === 0) return addresses;
    return (subset.ports ?? []).flatMap((port) => addresses.map((ip) => hostPort(ip, port.port)));
  });
  if ((object.subsets ?? []).length === 0) return none;
  const list = all.slice(0, shownInTable).join(',');
  return all.length > shownInTable ? `${list} + ${all.length - shownInTable} more...` : list;
}
