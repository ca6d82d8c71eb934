/** Rules of flow schemas. */
import { declaration as declared } from '#api/flowcontrol/v1beta2/flowschema.js';
import { exemptName, fixedFlowSchema } from '#api/flowcontrol/v1beta2/shared/validation.js';
import type {
  FlowSchemaSpec,
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
  ServiceAccountSubject,
  Subject,
} from '#api/flowcontrol/v1beta2/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkDNSLabel, checkDNSSubdomain, checkRequired } from '#apimachinery/validation/checks.js';
import {
  addAll,
  forbiddenField,
  goStruct,
  invalidEach,
  invalidValue,
  notSupported,
  required,
  Strings,
} from '#apimachinery/validation/failure.js';
import { dns1123LabelErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { wordedRangesOf } from '#apimachinery/validation/ranges.js';
import { checkMember, type MemberChecks, memberNames, membersOf } from '#apimachinery/validation/unions.js';

const specPath = FieldPath.of('spec');
const checkPrecedence = wordedRangesOf(
  declared.types.FlowSchemaSpec,
  ({ maximum }, value) => (value > maximum ? `must not be greater than ${maximum}` : 'must be a positive value'),
  'matchingPrecedence',
);
const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch'];

export function validateFlowSchemaSpec(spec: FlowSchemaSpec, name: string, dialect: Dialect): FieldFailure[] {
  const fixed = fixedFlowSchema(name, dialect);
  const failures: FieldFailure[] = [];
  if (fixed !== undefined && !semanticEqual(spec, fixed)) {
    failures.push(invalidValue(specPath, spec, `spec of '${name}' must equal the fixed value`));
  }
  const method = spec.distinguisherMethod?.type;
  if (spec.distinguisherMethod !== undefined && !declared.enums.FlowDistinguisherMethodType.includes(method ?? '')) {
    failures.push(
      notSupported(
        specPath.child('distinguisherMethod', 'type'),
        goStruct('flowcontrol.FlowDistinguisherMethod', { Type: method ?? '' }),
        declared.enums.FlowDistinguisherMethodType,
      ),
    );
  }
  const level = spec.priorityLevelConfiguration?.name ?? '';
  const levelPath = specPath.child('priorityLevelConfiguration', 'name');
  if (level === '') failures.push(required(levelPath, 'must reference a priority level'));
  else addAll(failures, checkDNSSubdomain(levelPath, level));
  return [
    ...failures,
    ...checkPrecedence(spec, specPath),
    ...validatePrecedence(spec.matchingPrecedence, name),
    ...(spec.rules ?? []).flatMap((rule, i) => validateRules(rule, specPath.child('rules').index(i))),
  ];
}

function validatePrecedence(precedence: number | undefined, name: string): FieldFailure[] {
  if (precedence !== 1 || name === exemptName) return [];
  const path = specPath.child('matchingPrecedence');
  return [invalidValue(path, precedence, `only the schema named '${exemptName}' may have matchingPrecedence 1`)];
}

function validateRules(rule: PolicyRulesWithSubjects, path: FieldPath): FieldFailure[] {
  const { subjects = [], resourceRules = [], nonResourceRules = [] } = rule;
  const failures: FieldFailure[] = [];
  if (subjects.length === 0) {
    failures.push(required(path.child('subjects'), 'subjects must contain at least one value'));
  }
  subjects.forEach((subject, i) => {
    addAll(failures, validateSubject(subject, path.child('subjects').index(i)));
  });
  if (resourceRules.length === 0 && nonResourceRules.length === 0) {
    failures.push(required(path, 'at least one of resourceRules and nonResourceRules has to be non-empty'));
  }
  resourceRules.forEach((resources, i) => {
    addAll(failures, validateResourceRule(resources, path.child('resourceRules').index(i)));
  });
  nonResourceRules.forEach((urls, i) => {
    addAll(failures, validateNonResourceRule(urls, path.child('nonResourceRules').index(i)));
  });
  return failures;
}

type Subjects = Omit<Subject, 'kind'>;

const subjectNames = memberNames<Subjects>(declared.types.Subject);
const subjectsOf = membersOf<Subjects>(declared.types.Subject);
const subjectChecks: MemberChecks<Subjects> = {
  group: ({ name }, path) => checkRequired(path.child('name'), name),
  serviceAccount: validateServiceAccount,
  user: ({ name }, path) => checkRequired(path.child('name'), name),
};

function validateSubject(subject: Subject, path: FieldPath): FieldFailure[] {
  const { SubjectKind: kinds } = declared.enums;
  // Kinds and members differ only in case.
  const kindOf = (member: string) => kinds.find((kind) => kind.toLowerCase() === member.toLowerCase());
  const named = subjectNames.find((member) => kindOf(member) === subject.kind);
  if (named === undefined) return [notSupported(path.child('kind'), subject.kind ?? '', kinds)];
  const failures =
    subject[named] === undefined
      ? [required(path.child(named), `${named} is required when subject kind is '${subject.kind}'`)]
      : [...checkMember(subject, named, subjectChecks, path.child(named), undefined)];
  for (const other of subjectsOf(subject)) {
    if (other === named) continue;
    const why = `${other} is forbidden when subject kind is not '${kindOf(other)}'`;
    failures.push(forbiddenField(path.child(other), why));
  }
  return failures;
}

function validateServiceAccount({ name = '', namespace = '' }: ServiceAccountSubject, path: FieldPath): FieldFailure[] {
  const failures = [...checkRequired(path.child('name'), name)];
  // A star stands for all accounts of the namespace.
  if (name !== '' && name !== '*') addAll(failures, checkDNSSubdomain(path.child('name'), name));
  if (namespace === '') {
    return [...failures, required(path.child('namespace'), 'must specify namespace for service account')];
  }
  return [...failures, ...checkDNSLabel(path.child('namespace'), namespace)];
}

/** Must not be empty; a star must be the only element. */
function checkList(
  path: FieldPath,
  values: readonly string[],
  words: { none: string; others: string },
): FieldFailure[] {
  if (values.length === 0) return [required(path, words.none)];
  if (values.length === 1 || !values.includes('*')) return [];
  return [invalidValue(path, new Strings(values), `if '*' is present, must not specify other ${words.others}`)];
}

function checkVerbs(path: FieldPath, values: readonly string[]): FieldFailure[] {
  const failures = checkList(path, values, { none: 'verbs must contain at least one value', others: 'verbs' });
  if (failures.length > 0 || values.every((verb) => verb === '*' || verbs.includes(verb))) return failures;
  return [notSupported(path, new Strings(values), verbs)];
}

function validateResourceRule(rule: ResourcePolicyRule, path: FieldPath): FieldFailure[] {
  const { namespaces = [], clusterScope = false } = rule;
  const must = 'resource rules must supply at least one';
  const failures = [
    ...checkVerbs(path.child('verbs'), rule.verbs ?? []),
    ...checkList(path.child('apiGroups'), rule.apiGroups ?? [], { none: `${must} api group`, others: 'api groups' }),
    ...checkList(path.child('resources'), rule.resources ?? [], { none: `${must} resource`, others: 'resources' }),
  ];
  const at = path.child('namespaces');
  if (namespaces.length === 0 && !clusterScope) {
    const text = 'resource rules that are not cluster scoped must supply at least one namespace';
    failures.push(required(at, text));
  } else if (namespaces.includes('*')) {
    if (namespaces.length > 1) {
      failures.push(invalidValue(at, new Strings(namespaces), "if '*' is present, must not specify other namespaces"));
    }
  } else {
    namespaces.forEach((namespace, i) => {
      const intro = "each member of this list must be '*' or a DNS-1123 label; ";
      failures.push(
        ...invalidEach(
          at.index(i),
          namespace,
          dns1123LabelErrors(namespace).map((text) => intro + text),
        ),
      );
    });
  }
  return failures;
}

function validateNonResourceRule(rule: NonResourcePolicyRule, path: FieldPath): FieldFailure[] {
  const urls = rule.nonResourceURLs ?? [];
  const at = path.child('nonResourceURLs');
  const none = 'nonResourceURLs must contain at least one value';
  const failures = [
    ...checkVerbs(path.child('verbs'), rule.verbs ?? []),
    ...checkList(at, urls, { none, others: 'non-resource URLs' }),
  ];
  if (urls.includes('*')) return failures;
  return [...failures, ...urls.flatMap((url, i) => validateURLPath(url, at.index(i)))];
}

function validateURLPath(url: string, path: FieldPath): FieldFailure[] {
  const wrong = (text: string): FieldFailure[] => [invalidValue(path, url, text)];
  if (url === '') return wrong('must not be empty');
  if (url === '/') return [];
  if (!url.startsWith('/')) return wrong('must start with slash');
  if (url.includes(' ')) return wrong('must not contain white-space');
  if (url.includes('//')) return wrong('must not contain double slash');
  const star = url.indexOf('*');
  if (star >= 0 && !(star === url.length - 1 && url.endsWith('/*')))
    return wrong('wildcard can only do suffix matching');
  return [];
}
