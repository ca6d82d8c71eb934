/** Rules of pod security policies. Paths are those of 1.24, even where they differ from the fields. */

import { procMounts } from '#api/core/v1/pod/validation/security.js';
import { validateDriverName } from '#api/core/v1/volume/storage-sources.js';
import { goValuesOf } from '#api/go/go-values.js';
import { validateSysctlPatterns } from '#api/policy/v1beta1/podsecuritypolicy/sysctls.js';
import { declaration, declaration as schema } from '#api/policy/v1beta1/podsecuritypolicy.js';
import type {
  IDRange,
  PodSecurityPolicySpec,
  RunAsGroupStrategyOptions,
  RuntimeClassStrategyOptions,
} from '#api/policy/v1beta1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import {
  duplicate,
  invalidEach,
  invalidValue,
  notSupported,
  required,
  Strings,
} from '#apimachinery/validation/failure.js';
import { dns1123SubdomainErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const values = goValuesOf('policy', 'v1beta1', [schema]);
const path = FieldPath.of('spec');
const volumeTypes = declaration.enums?.['FSType'] ?? [];
/** Everything, in lists of capabilities, runtime classes and volumes. */
const all = '*';

export function validatePolicySpec(spec: PodSecurityPolicySpec): FieldFailure[] {
  return [
    ...validateRule(spec.runAsUser, schema.enums.RunAsUserStrategy, path.child('runAsUser')),
    ...validateGroups(spec.runAsGroup, path.child('runAsGroup')),
    ...validateWord(spec.seLinux?.rule, schema.enums.SELinuxStrategy, path.child('seLinux', 'rule')),
    ...validateRule(
      spec.supplementalGroups,
      schema.enums.SupplementalGroupsStrategyType,
      path.child('supplementalGroups'),
    ),
    ...validateRule(spec.fsGroup, schema.enums.FSGroupStrategyType, path.child('fsGroup')),
    ...(spec.volumes ?? [])
      .filter((volume) => !volumeTypes.includes(volume))
      .map((volume) => notSupported(path.child('volumes'), volume, volumeTypes)),
    ...validateCapabilities(spec),
    ...validateEscalation(spec),
    ...(spec.allowedProcMountTypes ?? []).flatMap((type, i) =>
      validateWord(type, procMounts, path.child('allowedProcMountTypes').index(i)),
    ),
    ...validateHostPaths(spec),
    ...(spec.allowedFlexVolumes ?? []).flatMap(({ driver = '' }, i) =>
      driver === ''
        ? [
            required(
              path.child('allowedFlexVolumes', 'allowedFlexVolumes').index(i).child('driver'),
              'must specify a driver',
            ),
          ]
        : [],
    ),
    ...(spec.allowedCSIDrivers ?? []).flatMap(({ name }, i) =>
      validateDriverName(name, path.child('allowedCSIDrivers', 'allowedCSIDriver').index(i).child('name')),
    ),
    ...validateSysctlPatterns(spec, path),
    ...validateRuntimeClasses(spec.runtimeClass, path.child('runtimeClass')),
  ];
}

/** Must be one of the words; an empty one is invalid. */
function validateWord(word = '', words: readonly string[], at: FieldPath): FieldFailure[] {
  return words.includes(word) ? [] : [notSupported(at, word, words)];
}

interface RuleAndRanges {
  readonly rule?: string;
  readonly ranges?: readonly IDRange[];
}

function validateRule(options: RuleAndRanges | undefined, rules: readonly string[], at: FieldPath): FieldFailure[] {
  return [
    ...validateWord(options?.rule, rules, at.child('rule')),
    ...validateRanges(options?.ranges, at.child('ranges')),
  ];
}

function validateGroups(options: RunAsGroupStrategyOptions | undefined, at: FieldPath): FieldFailure[] {
  if (options === undefined) return [];
  const { rule, ranges = [] } = options;
  const shown = values.member('RunAsGroupStrategyOptions', 'ranges', options.ranges);
  switch (rule) {
    case 'RunAsAny':
      return ranges.length === 0 ? [] : [invalidValue(at.child('ranges'), shown, 'Ranges must be empty')];
    case 'MustRunAs':
    case 'MayRunAs':
      return ranges.length === 0
        ? [invalidValue(at.child('ranges'), shown, 'must provide at least one range')]
        : validateRanges(ranges, at.child('ranges'));
    default:
      return [notSupported(at.child('rule'), rule, schema.enums.RunAsGroupStrategy)];
  }
}

function validateRanges(ranges: readonly IDRange[] = [], at: FieldPath): FieldFailure[] {
  return ranges.flatMap(({ min = 0, max = 0 }, i) => {
    const here = at.index(i);
    return [
      ...(min < 0 ? [invalidValue(here.child('min'), min, 'min cannot be negative')] : []),
      ...(max < 0 ? [invalidValue(here.child('max'), max, 'max cannot be negative')] : []),
      ...(min > max ? [invalidValue(here.child('min'), min, 'min cannot be greater than max')] : []),
    ];
  });
}

function validateCapabilities({
  requiredDropCapabilities: dropped = [],
  allowedCapabilities: allowed = [],
  defaultAddCapabilities: added = [],
}: PodSecurityPolicySpec): FieldFailure[] {
  const failures: FieldFailure[] = [];
  if (dropped.length > 0 && allowed.includes(all)) {
    const text = 'must be empty when all capabilities are allowed by a wildcard';
    failures.push(
      invalidValue(FieldPath.of('requiredDropCapabilities'), new Strings(dropped, 'core.Capability'), text),
    );
  }
  const gone = new Set(dropped);
  for (const [name, capabilities] of Object.entries({ defaultAddCapabilities: added, allowedCapabilities: allowed })) {
    const text = `capability is listed in ${name} and requiredDropCapabilities`;
    for (const capability of capabilities) {
      if (gone.has(capability)) failures.push(invalidValue(FieldPath.of(name), capability, text));
    }
  }
  return failures;
}

function validateEscalation(spec: PodSecurityPolicySpec): FieldFailure[] {
  const { defaultAllowPrivilegeEscalation: usual, allowPrivilegeEscalation: allowed } = spec;
  if (usual !== true || allowed === true) return [];
  const text =
    'Cannot set DefaultAllowPrivilegeEscalation to true without also setting AllowPrivilegeEscalation to true';
  return [invalidValue(path.child('defaultAllowPrivilegeEscalation'), usual, text)];
}

function validateHostPaths({ allowedHostPaths = [] }: PodSecurityPolicySpec): FieldFailure[] {
  const failures: FieldFailure[] = [];
  for (const [i, { pathPrefix = '' }] of allowedHostPaths.entries()) {
    const at = path.child('allowedHostPaths').index(i);
    if (pathPrefix === '') return [...failures, required(at, 'is required')];
    if (pathPrefix.split('/').includes('..')) failures.push(invalidValue(at, pathPrefix, "must not contain '..'"));
  }
  return failures;
}

function validateRuntimeClasses(options: RuntimeClassStrategyOptions | undefined, at: FieldPath): FieldFailure[] {
  if (options === undefined) return [];
  const { allowedRuntimeClassNames: names = [], defaultRuntimeClassName: usual } = options;
  const allowedPath = at.child('allowedRuntimeClassNames');
  const failures: FieldFailure[] = [];
  const allowed = new Set<string>();
  for (const [i, name] of names.entries()) {
    if (name !== all) failures.push(...invalidEach(allowedPath.index(i), name, dns1123SubdomainErrors(name)));
    if (allowed.has(name)) failures.push(duplicate(allowedPath.index(i), name));
    allowed.add(name);
  }
  if (usual !== undefined) {
    failures.push(...invalidEach(at.child('defaultRuntimeClassName'), usual, dns1123SubdomainErrors(usual)));
    if (!allowed.has(usual) && !allowed.has(all)) {
      failures.push(required(allowedPath, `default ${JSON.stringify(usual)} must be allowed`));
    }
  }
  if (allowed.has(all) && names.length > 1) {
    const text = "if '*' is present, must not specify other RuntimeClass names";
    failures.push(invalidValue(allowedPath, names, text));
  }
  return failures;
}
