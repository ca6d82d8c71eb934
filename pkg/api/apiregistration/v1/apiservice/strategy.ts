/** The strategy of API services, which register servers of a group version. */
import { declaration as schema } from '#api/apiregistration/v1/apiservice.js';
import { apiservices } from '#api/apiregistration/v1/resources.gen.js';
import type { APIService, APIServiceSpec } from '#api/apiregistration/v1/types.gen.js';
import { getCondition } from '#api/meta/v1/condition/conditions.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import { formatTime } from '#apimachinery/clock.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkRequired } from '#apimachinery/validation/checks.js';
import { addAll, invalidEach, invalidValue, notSupported, required } from '#apimachinery/validation/failure.js';
import { dns1035LabelErrors, dns1123SubdomainErrors, pathSegmentErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { servicePortWording, wordedRangesOf } from '#apimachinery/validation/ranges.js';
import { clashOf } from '#apimachinery/validation/unions.js';

const trustClashes = clashOf<APIServiceSpec>(schema.types.APIServiceSpec, 'insecureSkipTLSVerify');
const specPath = FieldPath.of('spec');
const checkPort = wordedRangesOf(schema.types.ServiceReference, servicePortWording, 'port');
const checkPriorities = wordedRangesOf(
  schema.types.APIServiceSpec,
  ({ maximum }) => `must be positive and less than ${maximum}`,
  'groupPriorityMinimum',
  'versionPriority',
);

export const apiServiceStrategy: Strategy<APIService> = kindStrategy<APIService>(apiservices, {
  name: pathSegmentErrors,
  allowUnconditionalUpdate: false,
  prepareForCreate(object, context) {
    // Local API services need no availability check.
    if (object.spec.service !== undefined) return;
    const text = 'Local APIServices are always available';
    const since = formatTime(context.now);
    const condition = { type: 'Available', status: 'True', lastTransitionTime: since, reason: 'Local', message: text };
    object.status = { conditions: [condition] };
  },
  validate: (object) => [...validateName(object), ...validateSpec(object.spec)],
  validateStatusUpdate: (object) =>
    (object.status?.conditions ?? []).flatMap((condition, i) => {
      if (schema.enums.ConditionStatus.includes(condition.status)) return [];
      const at = FieldPath.of('status', 'conditions').index(i).child('status');
      return [notSupported(at, condition.status ?? '', schema.enums.ConditionStatus)];
    }),
  cells: (object, context) => [
    object.metadata.name ?? '',
    serviceText(object.spec),
    availability(object),
    age(object.metadata.creationTimestamp, context.now),
  ],
});

function validateName(object: APIService): FieldFailure[] {
  const name = object.metadata.name ?? '';
  const expectedName = `${object.spec.version ?? ''}.${object.spec.group ?? ''}`;
  // Avoids a second failure for a missing or malformed name.
  if (name === '' || name === expectedName || pathSegmentErrors(name).length > 0) return [];
  const text = `must be \`spec.version+"."+spec.group\`: "${expectedName}"`;
  return [invalidValue(FieldPath.of('metadata', 'name'), name, text)];
}

function validateSpec(spec: APIServiceSpec): FieldFailure[] {
  const { group = '', version = '', service, caBundle = '', insecureSkipTLSVerify = false } = spec;
  const failures: FieldFailure[] = [];
  if (group === '') {
    const text = 'only v1 may have an empty group and it better be legacy kube';
    if (version !== 'v1') failures.push(required(specPath.child('group'), text));
  } else addAll(failures, invalidEach(specPath.child('group'), group, dns1123SubdomainErrors(group)));
  addAll(failures, invalidEach(specPath.child('version'), version, dns1035LabelErrors(version)));
  addAll(failures, checkPriorities(spec, specPath));
  if (service === undefined) return [...failures, ...validateLocal(caBundle, insecureSkipTLSVerify)];
  const at = specPath.child('service');
  addAll(failures, checkRequired(at.child('namespace'), service.namespace));
  addAll(failures, checkRequired(at.child('name'), service.name));
  addAll(failures, checkPort(service, at));
  if (trustClashes(spec)) {
    failures.push(
      invalidValue(specPath.child('insecureSkipTLSVerify'), true, 'may not be true if caBundle is present'),
    );
  }
  return failures;
}

/** A local API service has no connection to secure. */
function validateLocal(caBundle: string, insecure: boolean): FieldFailure[] {
  const failures: FieldFailure[] = [];
  if (caBundle !== '') {
    const shown = `${Buffer.from(caBundle, 'base64').length} bytes`;
    failures.push(invalidValue(specPath.child('caBundle'), shown, 'local APIServices may not have a caBundle'));
  }
  if (insecure) {
    const text = 'local APIServices may not have insecureSkipTLSVerify';
    failures.push(invalidValue(specPath.child('insecureSkipTLSVerify'), true, text));
  }
  return failures;
}

function serviceText(spec: APIServiceSpec): string {
  return spec.service === undefined ? 'Local' : `${spec.service.namespace ?? ''}/${spec.service.name ?? ''}`;
}

function availability(object: APIService): string {
  const condition = getCondition(object.status?.conditions, 'Available');
  if (condition === undefined) return 'Unknown';
  const { status, reason = '' } = condition;
  return status === 'True' || reason === '' ? status : `${status} (${reason})`;
}
