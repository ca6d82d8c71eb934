/** Rules of storage versions: the versions of each server, and their common version. */
import type {
  ServerStorageVersion,
  StorageVersionCondition,
  StorageVersionStatus,
} from '#api/apiserverinternal/v1alpha1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkDNSSubdomain, checkQualifiedName, checkRequired } from '#apimachinery/validation/checks.js';
import { invalidEach, invalidValue } from '#apimachinery/validation/failure.js';
import { dns1035LabelErrors, dns1123SubdomainErrors, qualifiedNameErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const statusPath = FieldPath.of('status');
const malformed =
  "an apiVersion is a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name', or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')";

/** `<group>.<resource>`. */
export function storageVersionNameErrors(name: string): string[] {
  const dot = name.lastIndexOf('.');
  if (dot < 0) return ['name must be in the form of <group>.<resource>'];
  return [
    ...dns1123SubdomainErrors(name.slice(0, dot)).map((text) => `the group segment ${text}`),
    ...dns1035LabelErrors(name.slice(dot + 1)).map((text) => `the resource segment ${text}`),
  ];
}

export function validateStorageVersionStatus(status: StorageVersionStatus): FieldFailure[] {
  const servers = status.storageVersions ?? [];
  return [
    ...servers.flatMap((server, i) => validateServer(server, statusPath.child('storageVersions').index(i))),
    ...validateCommonVersion(servers, status.commonEncodingVersion),
    // 1.24 reports conditions at this path.
    ...validateConditions(status.conditions ?? [], statusPath),
  ];
}

function validateServer(server: ServerStorageVersion, path: FieldPath): FieldFailure[] {
  const { apiServerID = '', encodingVersion = '', decodableVersions = [] } = server;
  const at = path.child('decodableVersions');
  const failures = [
    ...checkDNSSubdomain(path.child('apiServerID'), apiServerID),
    ...checkVersion(path.child('encodingVersion'), encodingVersion),
    ...decodableVersions.flatMap((version, i) => checkVersion(at.index(i), version)),
  ];
  if (decodableVersions.includes(encodingVersion)) return failures;
  const text = `decodableVersions must include encodingVersion ${encodingVersion}`;
  return [...failures, invalidValue(at, decodableVersions, text)];
}

function checkVersion(path: FieldPath, apiVersion: string): FieldFailure[] {
  const errors = apiVersionErrors(apiVersion);
  return errors.length === 0 ? [] : [invalidValue(path, apiVersion, errors.join(','))];
}

/** `v1`, `apps/v1`. */
function apiVersionErrors(apiVersion: string): string[] {
  const parts = apiVersion.split('/');
  if (parts.length > 2) return [malformed];
  const version = parts.at(-1) ?? '';
  const group = parts.length === 1 ? undefined : parts[0];
  return [
    ...(group === undefined ? [] : partErrors('group', group, dns1123SubdomainErrors)),
    ...partErrors('version', version, dns1035LabelErrors),
  ];
}

function partErrors(name: string, part: string, errorsOf: (part: string) => readonly string[]): string[] {
  const errors = part === '' ? ['must be non-empty'] : errorsOf(part);
  return errors.map((text) => `${name} part: ${text}`);
}

function validateCommonVersion(servers: readonly ServerStorageVersion[], common: string | undefined): FieldFailure[] {
  const [first, ...others] = servers;
  const agreed = others.every(({ encodingVersion }) => encodingVersion === first?.encodingVersion)
    ? first?.encodingVersion
    : undefined;
  if (agreed === common) return [];
  const path = statusPath.child('commonEncodingVersion');
  if (agreed === undefined) {
    const text =
      'should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet';
    return [invalidValue(path, common, text)];
  }
  const said = common === undefined ? 'the common' : 'the actual common';
  return [invalidValue(path, common, `${said} encoding version is ${agreed}`)];
}

function validateConditions(conditions: readonly StorageVersionCondition[], path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const seen = new Map<string, number>();
  conditions.forEach(({ type = '', status = '', reason, message }, i) => {
    const at = path.index(i);
    const earlier = seen.get(type);
    if (earlier !== undefined) {
      const text = `the type of the condition is not unique, it also appears in conditions[${earlier}]`;
      failures.push(invalidValue(at.child('type'), type, text));
    }
    seen.set(type, i);
    failures.push(
      ...checkQualifiedName(at.child('type'), type),
      ...invalidEach(at.child('status'), type, qualifiedNameErrors(status)),
      ...checkRequired(at.child('reason'), reason, 'reason cannot be empty'),
      ...checkRequired(at.child('message'), message, 'message cannot be empty'),
    );
  });
  return failures;
}
