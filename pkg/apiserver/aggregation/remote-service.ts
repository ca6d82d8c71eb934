/** An APIService whose version of a group another server serves. */
import type { APIService } from '#api/apiregistration/v1/types.gen.js';
import { isConditionTrue } from '#api/meta/v1/condition/conditions.js';
import type { ServicePlace } from '#apiserver/service-routing/address.js';
import type { BackendTLS } from '#apiserver/streaming/backend.js';

export interface RemoteService {
  /** Of the APIService: `<version>.<group>`. */
  readonly name: string;
  readonly group: string;
  readonly version: string;
  /** Where discovery lists it. */
  readonly groupPriority: number;
  readonly versionPriority: number;
  readonly service: ServicePlace;
  /** As the condition says; requests are refused while it is false. */
  readonly available: boolean;
  /** Whom to believe to be the server, and by which name. */
  readonly trust: Pick<BackendTLS, 'ca' | 'systemTrust' | 'serverName'>;
  /** Changes with everything that connections depend on. */
  readonly connectionKey: string;
}

const defaultPort = 443;

/** Undefined for what this server serves itself. */
export function remoteService({ metadata, spec, status }: APIService): RemoteService | undefined {
  if (spec.service === undefined) return undefined;
  const { group = '', version = '', caBundle = '', insecureSkipTLSVerify = false } = spec;
  const { namespace = '', name = '', port = defaultPort } = spec.service;
  const ca = Buffer.from(caBundle, 'base64').toString('utf8');
  const serverName = `${name}.${namespace}.svc`;
  const trust = insecureSkipTLSVerify
    ? { serverName }
    : ca === ''
      ? { serverName, systemTrust: true }
      : { serverName, ca };
  return {
    name: metadata.name ?? '',
    group,
    version,
    groupPriority: spec.groupPriorityMinimum,
    versionPriority: spec.versionPriority,
    service: { namespace, name, port },
    available: isConditionTrue(status?.conditions, 'Available'),
    trust,
    connectionKey: JSON.stringify(trust),
  };
}

/** Where the version is discovered, and what its paths begin with: `/apis/GROUP/VERSION`. */
export function rootOf({ group, version }: Pick<RemoteService, 'group' | 'version'>): string {
  return group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
}
