/** An APIService of an extension API server. */
import type { APIService } from '#api/apiregistration/v1/types.gen.js';
import { isConditionTrue } from '#api/meta/v1/condition/conditions.js';
import type { ServicePlace } from '#apiserver/service-routing/address.js';
import type { BackendTLS } from '#apiserver/streaming/backend.js';

export interface RemoteService {
  /** Name of the APIService: `<version>.<group>`. */
  readonly name: string;
  readonly group: string;
  readonly version: string;
  /** Position in discovery. */
  readonly groupPriority: number;
  readonly versionPriority: number;
  readonly service: ServicePlace;
  /** The condition's status; requests are refused while it is false. */
  readonly available: boolean;
  /** Trusted authorities, and the name expected in the certificate. */
  readonly trust: Pick<BackendTLS, 'ca' | 'systemTrust' | 'serverName'>;
  /** Changes when existing connections must not be reused. */
  readonly connectionKey: string;
}

const defaultPort = 443;

/** Undefined if this server serves the version itself. */
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

/** Root path of the version: `/apis/GROUP/VERSION`. */
export function rootOf({ group, version }: Pick<RemoteService, 'group' | 'version'>): string {
  return group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
}
