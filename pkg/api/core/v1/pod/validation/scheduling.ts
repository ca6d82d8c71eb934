/** Rules of what guides scheduling: affinity, tolerations, spreading. */
import type {
  Affinity,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodAffinity,
  PodAffinityTerm,
  Toleration,
  TopologySpreadConstraint,
} from '#api/core/v1/types.gen.js';
import { validateLabelSelector } from '#api/meta/v1/labelselector/validation.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkDNSLabel, checkDNSSubdomain, checkEnum, checkQualifiedName } from '#apimachinery/validation/checks.js';
import { duplicate, forbiddenField, invalidValue, notSupported, required } from '#apimachinery/validation/failure.js';
import { labelValueErrors } from '#apimachinery/validation/names.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

const requiredTerms = 'requiredDuringSchedulingIgnoredDuringExecution';
const preferredTerms = 'preferredDuringSchedulingIgnoredDuringExecution';

export function validateAffinity(affinity: Affinity | undefined, path: FieldPath): FieldFailure[] {
  if (affinity === undefined) return [];
  const failures: FieldFailure[] = [];
  const node = affinity.nodeAffinity;
  if (node !== undefined) {
    const at = path.child('nodeAffinity');
    const selector = node[requiredTerms];
    if (selector !== undefined) failures.push(...validateNodeSelector(selector, at.child(requiredTerms)));
    node[preferredTerms]?.forEach((term, i) => {
      const here = at.child(preferredTerms).index(i);
      failures.push(...checkWeight(here.child('weight'), term.weight));
      failures.push(...validateNodeSelectorTerm(term.preference ?? {}, here.child('preference')));
    });
  }
  failures.push(...validatePodAffinity(affinity.podAffinity, path.child('podAffinity')));
  failures.push(...validatePodAffinity(affinity.podAntiAffinity, path.child('podAntiAffinity')));
  return failures;
}

function checkWeight(path: FieldPath, weight: number | undefined): FieldFailure[] {
  const value = weight ?? 0;
  return value >= 1 && value <= 100 ? [] : [invalidValue(path, value, 'must be in the range 1-100')];
}

/** At least one term, each well formed. */
export function validateNodeSelector(selector: NodeSelector, path: FieldPath): FieldFailure[] {
  const at = path.child('nodeSelectorTerms');
  const terms = selector.nodeSelectorTerms ?? [];
  if (terms.length === 0) return [required(at, 'must have at least one node selector term')];
  return terms.flatMap((term, i) => validateNodeSelectorTerm(term, at.index(i)));
}

function validateNodeSelectorTerm(term: NodeSelectorTerm, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  term.matchExpressions?.forEach((requirement, i) => {
    failures.push(...validateNodeExpression(requirement, path.child('matchExpressions').index(i)));
  });
  term.matchFields?.forEach((requirement, i) => {
    failures.push(...validateNodeField(requirement, path.child('matchFields').index(i)));
  });
  return failures;
}

function validateNodeExpression(requirement: NodeSelectorRequirement, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const count = requirement.values?.length ?? 0;
  const at = path.child('values');
  switch (requirement.operator) {
    case 'In':
    case 'NotIn':
      if (count === 0) failures.push(required(at, "must be specified when `operator` is 'In' or 'NotIn'"));
      break;
    case 'Exists':
    case 'DoesNotExist':
      if (count > 0) {
        failures.push(forbiddenField(at, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
      }
      break;
    case 'Gt':
    case 'Lt':
      if (count !== 1) failures.push(required(at, "must be specified single value when `operator` is 'Lt' or 'Gt'"));
      break;
    default:
      failures.push(invalidValue(path.child('operator'), requirement.operator ?? '', 'not a valid selector operator'));
  }
  return [...failures, ...checkQualifiedName(path.child('key'), requirement.key ?? '')];
}

function validateNodeField(requirement: NodeSelectorRequirement, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const values = requirement.values ?? [];
  if (requirement.operator === 'In' || requirement.operator === 'NotIn') {
    if (values.length !== 1) {
      const text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
      failures.push(required(path.child('values'), text));
    }
  } else {
    failures.push(invalidValue(path.child('operator'), requirement.operator ?? '', 'not a valid selector operator'));
  }
  if (requirement.key === 'metadata.name') {
    values.forEach((value, i) => {
      failures.push(...checkDNSSubdomain(path.child('values').index(i), value));
    });
  } else failures.push(invalidValue(path.child('key'), requirement.key ?? '', 'not a valid field selector key'));
  return failures;
}

function validatePodAffinity(affinity: PodAffinity | undefined, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  affinity?.[requiredTerms]?.forEach((term, i) => {
    failures.push(...validatePodAffinityTerm(term, path.child(requiredTerms).index(i)));
  });
  affinity?.[preferredTerms]?.forEach((weighted, i) => {
    const at = path.child(preferredTerms).index(i);
    failures.push(...checkWeight(at.child('weight'), weighted.weight));
    failures.push(
      ...validatePodAffinityTerm(weighted.podAffinityTerm ?? { topologyKey: '' }, at.child('podAffinityTerm')),
    );
  });
  return failures;
}

function validatePodAffinityTerm(term: PodAffinityTerm, path: FieldPath): FieldFailure[] {
  const failures = [
    ...validateLabelSelector(term.labelSelector, path.child('labelSelector')),
    ...validateLabelSelector(term.namespaceSelector, path.child('namespaceSelector')),
    ...(term.namespaces ?? []).flatMap((name) => checkDNSLabel(path.child('namespace'), name)),
  ];
  const key = term.topologyKey ?? '';
  if (key === '') failures.push(required(path.child('topologyKey'), 'can not be empty'));
  return [...failures, ...checkQualifiedName(path.child('topologyKey'), key)];
}

const taintEffects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const;

/** Effects of taints and tolerations. */
export function validateTaintEffect(path: FieldPath, effect: string | undefined, mayBeEmpty: boolean): FieldFailure[] {
  if (mayBeEmpty && (effect ?? '') === '') return [];
  return checkEnum(path, effect, taintEffects);
}

export function validateTolerations(tolerations: Toleration[] | undefined, path: FieldPath): FieldFailure[] {
  return (tolerations ?? []).flatMap((toleration, i) => validateToleration(toleration, path.index(i)));
}

function validateToleration(toleration: Toleration, path: FieldPath): FieldFailure[] {
  const { key = '', operator = '', value = '', effect = '' } = toleration;
  const failures: FieldFailure[] = [];
  if (key !== '') failures.push(...checkQualifiedName(path.child('key'), key));
  else if (operator !== 'Exists') {
    const text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
    failures.push(invalidValue(path.child('operator'), operator, text));
  }
  if (toleration.tolerationSeconds !== undefined && effect !== 'NoExecute') {
    const text = "effect must be 'NoExecute' when `tolerationSeconds` is set";
    failures.push(invalidValue(path.child('effect'), effect, text));
  }
  if (operator === '' || operator === 'Equal') {
    const wrong = labelValueErrors(value);
    if (wrong.length > 0) failures.push(invalidValue(path.child('operator'), value, wrong.join(';')));
  } else if (operator !== 'Exists') {
    failures.push(notSupported(path.child('operator'), operator, ['Equal', 'Exists']));
  } else if (value !== '') {
    failures.push(invalidValue(path.child('operator'), toleration, "value must be empty when `operator` is 'Exists'"));
  }
  return [...failures, ...validateTaintEffect(path.child('effect'), effect, true)];
}

/** Once set, a toleration stays; only how long it lasts may change. */
export function validateOnlyAddedTolerations(
  tolerations: Toleration[] | undefined,
  old: Toleration[] | undefined,
  path: FieldPath,
): FieldFailure[] {
  const timeless = (toleration: Toleration): Toleration => {
    const { tolerationSeconds: _, ...rest } = toleration;
    return rest;
  };
  for (const before of old ?? []) {
    if (!tolerations?.some((after) => semanticEqual(timeless(after), timeless(before)))) {
      return [forbiddenField(path, 'existing toleration can not be modified except its tolerationSeconds')];
    }
  }
  return validateTolerations(tolerations, path);
}

export function validateTopologySpread(
  constraints: TopologySpreadConstraint[] | undefined,
  path: FieldPath,
): FieldFailure[] {
  const failures: FieldFailure[] = [];
  constraints?.forEach((constraint, i) => {
    const at = path.index(i);
    const { maxSkew = 0, topologyKey = '', whenUnsatisfiable = '', minDomains } = constraint;
    if (maxSkew <= 0) failures.push(invalidValue(at.child('maxSkew'), maxSkew, 'must be greater than zero'));
    if (topologyKey === '') failures.push(required(at.child('topologyKey'), 'can not be empty'));
    const actions = ['DoNotSchedule', 'ScheduleAnyway'];
    if (!actions.includes(whenUnsatisfiable)) {
      failures.push(notSupported(at.child('whenUnsatisfiable'), whenUnsatisfiable, actions));
    }
    // Of constraints that are alike, all but the last are the duplicates.
    const alike = constraints
      .slice(i + 1)
      .some((later) => later.topologyKey === constraint.topologyKey && later.whenUnsatisfiable === whenUnsatisfiable);
    if (alike) {
      const pair = `{${topologyKey}, ${whenUnsatisfiable}}`;
      failures.push(duplicate(at.child('{topologyKey, whenUnsatisfiable}'), pair));
    }
    if (minDomains === undefined) return;
    if (minDomains <= 0) failures.push(invalidValue(at.child('minDomains'), minDomains, 'must be greater than zero'));
    if (whenUnsatisfiable !== 'DoNotSchedule') {
      const text = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`;
      failures.push(invalidValue(at.child('minDomains'), minDomains, text));
    }
  });
  return failures;
}
