/** Rules of scheduling fields: affinity, tolerations, topology spread. */

import { declaration as podSchema } from '#api/core/v1/pod.js';
import { declaration as schedulingSchema } from '#api/core/v1/scheduling.js';
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
import { coreValues } from '#api/core/v1/values/go-values.js';
import { validateLabelSelector } from '#api/meta/v1/labelselector/validation.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkDNSLabel, checkDNSSubdomain, checkEnum, checkQualifiedName } from '#apimachinery/validation/checks.js';
import {
  addAll,
  duplicate,
  forbiddenField,
  invalidValue,
  joined,
  none,
  notSupported,
  required,
} from '#apimachinery/validation/failure.js';
import { isQualifiedName, labelValueErrors } from '#apimachinery/validation/names.js';
import type { FieldPath } from '#apimachinery/validation/path.js';
import { inWords, type RangeWording, wordedRangesOf } from '#apimachinery/validation/ranges.js';

const inRange: RangeWording = ({ minimum, maximum }) => `must be in the range ${minimum}-${maximum}`;
const checkNodeWeight = wordedRangesOf(schedulingSchema.types.PreferredSchedulingTerm, inRange, 'weight');
const checkPodWeight = wordedRangesOf(schedulingSchema.types.WeightedPodAffinityTerm, inRange, 'weight');
const checkSkew = wordedRangesOf(podSchema.types.TopologySpreadConstraint, inWords, 'maxSkew');
const checkDomains = wordedRangesOf(podSchema.types.TopologySpreadConstraint, inWords, 'minDomains');

const requiredTerms = 'requiredDuringSchedulingIgnoredDuringExecution';
const preferredTerms = 'preferredDuringSchedulingIgnoredDuringExecution';

export function validateAffinity(affinity: Affinity | undefined, path: FieldPath): readonly FieldFailure[] {
  if (affinity === undefined) return none;
  const failures: FieldFailure[] = [];
  const node = affinity.nodeAffinity;
  if (node !== undefined) {
    const at = path.child('nodeAffinity');
    const selector = node[requiredTerms];
    if (selector !== undefined) addAll(failures, validateNodeSelector(selector, at.child(requiredTerms)));
    node[preferredTerms]?.forEach((term, i) => {
      const here = at.child(preferredTerms).index(i);
      addAll(failures, checkNodeWeight(term, here));
      addAll(failures, validateNodeSelectorTerm(term.preference ?? {}, here.child('preference')));
    });
  }
  addAll(failures, validatePodAffinity(affinity.podAffinity, path.child('podAffinity')));
  addAll(failures, validatePodAffinity(affinity.podAntiAffinity, path.child('podAntiAffinity')));
  return failures;
}

/** At least one term, each valid. */
export function validateNodeSelector(selector: NodeSelector, path: FieldPath): readonly FieldFailure[] {
  const at = path.child('nodeSelectorTerms');
  const terms = selector.nodeSelectorTerms ?? [];
  if (terms.length === 0) return [required(at, 'must have at least one node selector term')];
  return terms.flatMap((term, i) => validateNodeSelectorTerm(term, at.index(i)));
}

function validateNodeSelectorTerm(term: NodeSelectorTerm, path: FieldPath): readonly FieldFailure[] {
  const failures: FieldFailure[] = [];
  term.matchExpressions?.forEach((requirement, i) => {
    addAll(failures, validateNodeExpression(requirement, path.child('matchExpressions').index(i)));
  });
  term.matchFields?.forEach((requirement, i) => {
    addAll(failures, validateNodeField(requirement, path.child('matchFields').index(i)));
  });
  return failures;
}

function validateNodeExpression(requirement: NodeSelectorRequirement, path: FieldPath): readonly FieldFailure[] {
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
  return joined(failures, checkQualifiedName(path.child('key'), requirement.key ?? ''));
}

function validateNodeField(requirement: NodeSelectorRequirement, path: FieldPath): readonly FieldFailure[] {
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
      addAll(failures, checkDNSSubdomain(path.child('values').index(i), value));
    });
  } else failures.push(invalidValue(path.child('key'), requirement.key ?? '', 'not a valid field selector key'));
  return failures;
}

function validatePodAffinity(affinity: PodAffinity | undefined, path: FieldPath): readonly FieldFailure[] {
  if (affinity === undefined) return none;
  const failures: FieldFailure[] = [];
  affinity[requiredTerms]?.forEach((term, i) => {
    addAll(failures, validatePodAffinityTerm(term, path.child(requiredTerms).index(i)));
  });
  affinity[preferredTerms]?.forEach((weighted, i) => {
    const at = path.child(preferredTerms).index(i);
    addAll(failures, checkPodWeight(weighted, at));
    const term = weighted.podAffinityTerm ?? { topologyKey: '' };
    addAll(failures, validatePodAffinityTerm(term, at.child('podAffinityTerm')));
  });
  return failures;
}

function validatePodAffinityTerm(term: PodAffinityTerm, path: FieldPath): readonly FieldFailure[] {
  const failures: FieldFailure[] = [];
  addAll(failures, validateLabelSelector(term.labelSelector, path.child('labelSelector')));
  addAll(failures, validateLabelSelector(term.namespaceSelector, path.child('namespaceSelector')));
  for (const name of term.namespaces ?? []) addAll(failures, checkDNSLabel(path.child('namespace'), name));
  const key = term.topologyKey ?? '';
  if (key === '') failures.push(required(path.child('topologyKey'), 'can not be empty'));
  addAll(failures, checkQualifiedName(path.child('topologyKey'), key));
  return failures;
}

/** Effects of taints and tolerations. */
export const taintEffects = schedulingSchema.enums.TaintEffect;

export function validateTolerations(
  tolerations: readonly Toleration[] | undefined,
  path: FieldPath,
): readonly FieldFailure[] {
  if (tolerations === undefined) return none;
  const failures: FieldFailure[] = [];
  tolerations.forEach((toleration, i) => {
    addToleration(failures, toleration, path.index(i));
  });
  return failures;
}

function addToleration(failures: FieldFailure[], toleration: Toleration, path: FieldPath): void {
  const { key = '', operator = '', value = '', effect = '' } = toleration;
  if (key !== '') {
    if (!isQualifiedName(key)) addAll(failures, checkQualifiedName(path.child('key'), key));
  } else if (operator !== 'Exists') {
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
    failures.push(notSupported(path.child('operator'), operator, schedulingSchema.enums.TolerationOperator));
  } else if (value !== '') {
    const shown = coreValues.of('Toleration', toleration);
    failures.push(invalidValue(path.child('operator'), shown, "value must be empty when `operator` is 'Exists'"));
  }
  if (effect !== '') addAll(failures, checkEnum(path.child('effect'), effect, taintEffects));
}

/** Stored tolerations stay; only their duration may change. */
export function validateOnlyAddedTolerations(
  tolerations: readonly Toleration[] | undefined,
  old: readonly Toleration[] | undefined,
  path: FieldPath,
): readonly FieldFailure[] {
  if (tolerations !== old && old !== undefined && !holdAll(tolerations ?? [], old))
    return [forbiddenField(path, 'existing toleration can not be modified except its tolerationSeconds')];
  return validateTolerations(tolerations, path);
}

/** Whether all old tolerations remain, with any duration. */
function holdAll(tolerations: readonly Toleration[], old: readonly Toleration[]): boolean {
  const text = ({ key, operator, value, effect }: Toleration) => JSON.stringify([key, operator, value, effect]);
  const present = new Set(tolerations.map(text));
  return old.every((before) => present.has(text(before)));
}

export function validateTopologySpread(
  constraints: readonly TopologySpreadConstraint[] | undefined,
  path: FieldPath,
): readonly FieldFailure[] {
  if (constraints === undefined) return none;
  const failures: FieldFailure[] = [];
  const pairOf = (of: TopologySpreadConstraint) => JSON.stringify([of.topologyKey, of.whenUnsatisfiable ?? '']);
  const last = new Map(constraints.map((constraint, i) => [pairOf(constraint), i]));
  constraints.forEach((constraint, i) => {
    const at = path.index(i);
    const { topologyKey = '', whenUnsatisfiable = '', minDomains } = constraint;
    addAll(failures, checkSkew(constraint, at));
    if (topologyKey === '') failures.push(required(at.child('topologyKey'), 'can not be empty'));
    if (!podSchema.enums.UnsatisfiableConstraintAction.includes(whenUnsatisfiable)) {
      failures.push(
        notSupported(at.child('whenUnsatisfiable'), whenUnsatisfiable, podSchema.enums.UnsatisfiableConstraintAction),
      );
    }
    // Of equal constraints, all but the last are reported as duplicates.
    if (last.get(pairOf(constraint)) !== i) {
      const pair = `{${topologyKey}, ${whenUnsatisfiable}}`;
      failures.push(duplicate(at.child('{topologyKey, whenUnsatisfiable}'), pair));
    }
    if (minDomains === undefined) return;
    addAll(failures, checkDomains(constraint, at));
    if (whenUnsatisfiable !== 'DoNotSchedule') {
      const text = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`;
      failures.push(invalidValue(at.child('minDomains'), minDomains, text));
    }
  });
  return failures;
}
