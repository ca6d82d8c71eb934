/** Whether an APIService is available: the conditions of 1.24's `available_controller.go`. Pure. */
import type { APIService, APIServiceCondition } from '#api/apiregistration/v1/types.gen.js';
import type { Endpoints, Service } from '#api/core/v1/types.gen.js';
import type { RemoteService } from '#apiserver/aggregation/remote-service.js';

export type Availability = Required<Pick<APIServiceCondition, 'status' | 'reason' | 'message'>>;

/** What was read of the cluster; an Error stands for what could not be read. */
export interface Observed {
  readonly service: Service | undefined | Error;
  /** Looked at only where the Service has a cluster IP. */
  readonly endpoints: Endpoints | undefined | Error;
}

export const local: Availability = {
  status: 'True',
  reason: 'Local',
  message: 'Local APIServices are always available',
};

const passed: Availability = { status: 'True', reason: 'Passed', message: 'all checks passed' };

/** What stands in the way as far as the cluster's objects tell; undefined: the server itself has to be asked. */
export function foundFault(
  { service: place }: RemoteService,
  { service, endpoints }: Observed,
): Availability | undefined {
  const { namespace, name, port } = place;
  const shown = `service/${name} in ${JSON.stringify(namespace)}`;
  if (service instanceof Error)
    return unknown('ServiceAccessError', `${shown} cannot be checked due to: ${service.message}`);
  if (service === undefined) return failed('ServiceNotFound', `${shown} is not present`);
  if ((service.spec?.type ?? 'ClusterIP') !== 'ClusterIP') return undefined;
  const open = service.spec?.ports?.find((each) => each.port === port);
  if (open === undefined) return failed('ServicePortError', `${shown} is not listening on port ${port}`);
  if (endpoints instanceof Error) {
    return unknown('EndpointsAccessError', `${shown} cannot be checked due to: ${endpoints.message}`);
  }
  if (endpoints === undefined) return failed('EndpointsNotFound', `cannot find endpoints for ${shown}`);
  const portName = open.name ?? '';
  const active = (endpoints.subsets ?? []).some(
    ({ addresses = [], ports = [] }) => addresses.length > 0 && ports.some(({ name: each = '' }) => each === portName),
  );
  if (active) return undefined;
  const text = `endpoints for ${shown} have no addresses with port name ${JSON.stringify(portName)}`;
  return failed('MissingEndpoints', text);
}

/** From what asking the server came to: its failure, or undefined. */
export function answered(failure: Error | undefined): Availability {
  return failure === undefined ? passed : failed('FailedDiscoveryCheck', failure.message);
}

function failed(reason: string, message: string): Availability {
  return { status: 'False', reason, message };
}

function unknown(reason: string, message: string): Availability {
  return { status: 'Unknown', reason, message };
}

/** The condition as the object has it; undefined: nobody has looked yet. */
export function availabilityOf({ status }: APIService): APIServiceCondition | undefined {
  return status?.conditions?.find(({ type }) => type === 'Available');
}
