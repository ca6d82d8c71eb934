/**
 * The configuration of the plugin PodSecurity: levels for namespaces without labels, and exemptions.
 *
 * ```yaml
 * apiVersion: pod-security.admission.config.orch.io/v1
 * kind: PodSecurityConfiguration
 * defaults:
 *   enforce: baseline
 *   enforce-version: latest
 *   warn: restricted
 * exemptions:
 *   usernames: [system:serviceaccount:builds:builder]
 *   namespaces: [orch-system]
 *   runtimeClasses: [sandboxed]
 * ```
 */
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { duplicate, invalidValue } from '#apimachinery/validation/failure.js';
import { dns1123LabelErrors, dns1123SubdomainErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import {
  configurationError,
  decodeConfiguration,
  type PluginConfiguration,
} from '#apiserver/admission/configuration.js';
import type { Mode, Policy } from '#apiserver/admission/podsecurity/policy/namespace-policy.js';
import {
  latestVersion,
  levelRule,
  parseLevel,
  parseVersion,
  versionRule,
} from '#apiserver/admission/podsecurity/standards/level.js';
import type { FieldTable } from '#daemon/options/config-decode.js';

export interface PodSecurityConfiguration {
  /** For modes that a namespace has no label for. */
  readonly defaults: Policy;
  readonly exemptions: Exemptions;
}

/** Requests and pods that are never checked. */
export interface Exemptions {
  readonly usernames: ReadonlySet<string>;
  readonly namespaces: ReadonlySet<string>;
  readonly runtimeClasses: ReadonlySet<string>;
}

const fields: FieldTable = {
  apiVersion: 'string',
  kind: 'string',
  defaults: {
    fields: {
      enforce: 'string',
      'enforce-version': 'string',
      audit: 'string',
      'audit-version': 'string',
      warn: 'string',
      'warn-version': 'string',
    },
  },
  exemptions: {
    fields: {
      usernames: { listOf: 'string' },
      namespaces: { listOf: 'string' },
      runtimeClasses: { listOf: 'string' },
    },
  },
};

interface Decoded {
  readonly defaults?: Readonly<Record<string, string>>;
  readonly exemptions?: Readonly<Partial<Record<keyof Exemptions, readonly string[]>>>;
}

/** `privileged` and no exemptions without a configuration. Throws OptionsError. */
export function podSecurityConfiguration(
  own: PluginConfiguration | undefined,
  dialect: Dialect,
): PodSecurityConfiguration {
  const { defaults = {}, exemptions = {} } = own === undefined ? {} : decoded(own, dialect);
  const failures: FieldFailure[] = [];
  const level = (mode: Mode) => levelVersion(mode, defaults, failures);
  // The order of failures is that of 1.24.
  const [enforce, warn, audit] = [level('enforce'), level('warn'), level('audit')];
  const names = (kind: keyof Exemptions) => exempted(kind, exemptions[kind] ?? [], failures);
  const [namespaces, runtimeClasses, usernames] = [names('namespaces'), names('runtimeClasses'), names('usernames')];
  if (own !== undefined && failures.length > 0) {
    const errors = failures.map(({ field, message }) => `${field}: ${message}`);
    throw configurationError(own.path, errors);
  }
  return { defaults: { enforce, audit, warn }, exemptions: { namespaces, runtimeClasses, usernames } };
}

function decoded(own: PluginConfiguration, dialect: Dialect): Decoded {
  const versions = dialect.podSecurityConfigVersions;
  return decodeConfiguration(own, { fields, kind: 'PodSecurityConfiguration', versions });
}

function levelVersion(mode: Mode, defaults: Readonly<Record<string, string>>, failures: FieldFailure[]) {
  // An empty text is an unset one, as in 1.24.
  const levelText = defaults[mode] || 'privileged';
  const versionText = defaults[`${mode}-version`] || latestVersion.text;
  const [level, version] = [parseLevel(levelText), parseVersion(versionText)];
  const path = FieldPath.of('defaults');
  if (level === undefined) failures.push(invalidValue(path.child(mode), levelText, levelRule));
  if (version === undefined) failures.push(invalidValue(path.child(`${mode}-version`), versionText, versionRule));
  return { level: level ?? 'restricted', version: version ?? latestVersion } as const;
}

const nameErrors: Readonly<Record<keyof Exemptions, (name: string) => readonly string[]>> = {
  namespaces: dns1123LabelErrors,
  runtimeClasses: dns1123SubdomainErrors,
  usernames: (name) => (name === '' ? ['username must not be empty'] : []),
};

function exempted(kind: keyof Exemptions, names: readonly string[], failures: FieldFailure[]): ReadonlySet<string> {
  const set = new Set<string>();
  for (const [i, name] of names.entries()) {
    const path = FieldPath.of('exemptions', kind).index(i);
    const errors = nameErrors[kind](name);
    if (errors.length > 0) failures.push(invalidValue(path, name, errors.join(', ')));
    else if (set.has(name)) failures.push(duplicate(path, name));
    else set.add(name);
  }
  return set;
}
