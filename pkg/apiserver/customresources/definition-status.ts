/**
 * Plans a definition's status: its accepted names, and whether it is established. Names are unique within a group; the first
 * owner keeps them. Source: 1.24, staging/src/k8s.io/apiextensions-apiserver/pkg/controller/{status/naming_controller.go,
 * establish/establishing_controller.go,apiapproval/apiapproval_controller.go,
 * nonstructuralschema/nonstructuralschema_controller.go}.
 */

import {
  isEstablished,
  type NewCondition,
  withCondition,
  withoutCondition,
} from '#api/apiextensions/v1/customresourcedefinition/conditions.js';
import { validateStructure } from '#api/apiextensions/v1/customresourcedefinition/structural-validation.js';
import type { CustomResourceDefinition, CustomResourceDefinitionNames } from '#api/apiextensions/v1/types.gen.js';
import { isConditionTrue } from '#api/meta/v1/condition/conditions.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Replaceable } from '#apimachinery/draft.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { type Addition, type Excess, excessText } from '#apiserver/customresources/exceeded-bounds.js';

/** A definition with the names that it occupies. */
export interface NamedDefinition {
  readonly name: string;
  readonly acceptedNames: CustomResourceDefinitionNames | undefined;
}

export interface NamingInput {
  readonly definition: CustomResourceDefinition;
  /** All definitions of the group, including this one. */
  readonly group: Iterable<NamedDefinition>;
  readonly dialect: Dialect;
  /** What the definition adds to objects beyond its bounds, if that has happened. */
  readonly excess?: Excess | undefined;
  /** RFC 3339. */
  readonly now: string;
}

/** The definition with the status that it should have; the same object if there is nothing to write. */
export function planStatus(input: NamingInput): CustomResourceDefinition {
  const { definition, now, dialect } = input;
  const { names, conflict } = acceptNames(definition, otherNames(input));
  let next = withNames(definition, names);
  const accepted: NewCondition = conflict ?? {
    type: 'NamesAccepted',
    status: 'True',
    reason: 'NoConflicts',
    message: 'no conflicts found',
  };
  next = withCondition(next, accepted, now);
  // Once established, always established, whatever happens to its names.
  if (!isEstablished(next)) next = withCondition(next, established(conflict !== undefined), now);
  next = approval(next, dialect, now);
  next = structure(next, dialect, now);
  return bounds(next, input.excess, now);
}

/** Beyond 1.24: objects are refused because of what the definition adds to them. */
const tooLarge = 'BoundsExceeded';

/**
 * Reports an excess once per generation. The next generation may add less, so it begins without the condition: the message
 * names the generation, because a server that starts later knows of no excess.
 */
function bounds(definition: CustomResourceDefinition, excess: Excess | undefined, now: string) {
  const { metadata, status } = definition;
  const about = `generation ${metadata.generation}, `;
  const old = status?.conditions?.find(({ type }) => type === tooLarge);
  if (old?.message?.startsWith(about)) return definition;
  if (excess !== undefined && excess.generation === metadata.generation) {
    const message = about + excessText(excess);
    return withCondition(
      definition,
      { type: tooLarge, status: 'True', reason: reasons[excess.addition], message },
      now,
    );
  }
  return old === undefined ? definition : withoutCondition(definition, tooLarge);
}

const reasons: Readonly<Record<Addition, string>> = {
  defaults: 'DefaultsTooLarge',
  conversion: 'ConversionTooLarge',
  columns: 'ColumnsTooLarge',
  schema: 'SchemaTooExpensive',
};

function established(inConflict: boolean): NewCondition {
  const type = 'Established';
  if (inConflict) return { type, status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' };
  const message = 'the initial names have been accepted';
  return { type, status: 'True', reason: 'InitialNamesAccepted', message };
}

interface OtherNames {
  /** Plural, singular and short names. */
  readonly resources: ReadonlySet<string>;
  readonly kinds: ReadonlySet<string>;
}

/** Names of other definitions. */
function otherNames({ definition, group }: NamingInput): OtherNames {
  const resources = new Set<string>();
  const kinds = new Set<string>();
  for (const { name: other, acceptedNames: names } of group) {
    if (other === definition.metadata.name) continue;
    if (names === undefined) continue;
    for (const name of [names.plural, names.singular, ...(names.shortNames ?? [])]) {
      if (name !== undefined && name !== '') resources.add(name);
    }
    for (const kind of [names.kind, names.listKind]) if (kind !== undefined && kind !== '') kinds.add(kind);
  }
  return { resources, kinds };
}

interface Acceptance {
  readonly names: CustomResourceDefinitionNames;
  readonly conflict: NewCondition | undefined;
}

/** Checks each name separately: a conflicting name leaves the previously accepted one in place. */
function acceptNames({ spec, status }: CustomResourceDefinition, { resources, kinds }: OtherNames): Acceptance {
  const requested = spec.names;
  const accepted = status?.acceptedNames;
  const names: Replaceable<CustomResourceDefinitionNames> = { ...emptyNames, ...accepted };
  let conflict: NewCondition | undefined;
  const refuse = (reason: string, conflicting: readonly string[]): void => {
    const texts = conflicting.map((name) => `${JSON.stringify(name)} is already in use`);
    const message = texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;
    conflict = { type: 'NamesAccepted', status: 'False', reason, message };
  };
  const isTaken = (name: string | undefined, before: string | undefined, others: ReadonlySet<string>): name is string =>
    name !== undefined && name !== before && others.has(name);
  if (isTaken(requested.plural, accepted?.plural, resources)) refuse('PluralConflict', [requested.plural]);
  else names.plural = requested.plural;
  if (isTaken(requested.singular, accepted?.singular, resources)) refuse('SingularConflict', [requested.singular]);
  else assign(names, 'singular', requested.singular);
  const shortNames = requested.shortNames ?? [];
  const short = shortNames.filter((name) => !(accepted?.shortNames ?? []).includes(name) && resources.has(name));
  if (short.length > 0) refuse('ShortNamesConflict', short);
  else assign(names, 'shortNames', requested.shortNames);
  if (isTaken(requested.kind, accepted?.kind, kinds)) refuse('KindConflict', [requested.kind]);
  else names.kind = requested.kind;
  if (isTaken(requested.listKind, accepted?.listKind, kinds)) refuse('ListKindConflict', [requested.listKind]);
  else assign(names, 'listKind', requested.listKind);
  assign(names, 'categories', requested.categories);
  return { names, conflict };
}

const emptyNames: CustomResourceDefinitionNames = { plural: '', kind: '' };

function assign<K extends keyof CustomResourceDefinitionNames>(
  names: CustomResourceDefinitionNames,
  key: K,
  value: CustomResourceDefinitionNames[K],
): void {
  if (value === undefined) delete names[key];
  else names[key] = value;
}

function withNames(definition: CustomResourceDefinition, names: CustomResourceDefinitionNames) {
  const accepted = definition.status?.acceptedNames;
  if (accepted !== undefined && JSON.stringify(sorted(accepted)) === JSON.stringify(sorted(names))) return definition;
  return { ...definition, status: { ...definition.status, acceptedNames: names } } as CustomResourceDefinition;
}

/** Only old definitions have schemas that are not structural. */
function violationsOf({ spec }: CustomResourceDefinition, dialect: Dialect): string[] {
  const failures = spec.versions.flatMap(({ schema }, i) => {
    const path = FieldPath.of('spec', 'versions').index(i).child('schema', 'openAPIV3Schema');
    return schema?.openAPIV3Schema === undefined ? [] : validateStructure(schema.openAPIV3Schema, dialect, path);
  });
  const texts = failures.map(({ field = '', message }) => `${field}: ${message}`).sort();
  return ['spec.preserveUnknownFields: Invalid value: true: must be false', ...new Set(texts)];
}

function sorted(names: CustomResourceDefinitionNames): unknown[] {
  return Object.entries(names).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Only for groups of the product's own domains. */
function approval(definition: CustomResourceDefinition, dialect: Dialect, now: string): CustomResourceDefinition {
  const { group } = definition.spec;
  const domains = [dialect.apiDomain, dialect.labelDomain];
  if (!domains.some((domain) => group === domain || group.endsWith(`.${domain}`))) return definition;
  const key = `api-approved.${dialect.labelDomain}`;
  const value = definition.metadata.annotations?.[key] ?? '';
  const missing = `protected groups must have approval annotation "${key}"`;
  const [status, reason, message] =
    value === ''
      ? (['False', 'MissingAnnotation', missing] as const)
      : value.startsWith('unapproved')
        ? (['False', 'UnapprovedAnnotation', `not approved: ${JSON.stringify(value)}`] as const)
        : URL.canParse(value)
          ? (['True', 'ApprovedAnnotation', `approved in ${value}`] as const)
          : ([
              'False',
              'InvalidAnnotation',
              `${missing} with either a URL or a reason starting with "unapproved"`,
            ] as const);
  return withCondition(definition, { type: 'KubernetesAPIApprovalPolicyConformant', status, reason, message }, now);
}

/** New definitions can violate the structure only by the flag that they keep from former versions. */
function structure(definition: CustomResourceDefinition, dialect: Dialect, now: string): CustomResourceDefinition {
  const type = 'NonStructuralSchema';
  if (definition.spec.preserveUnknownFields === true) {
    const violations = violationsOf(definition, dialect);
    const message = violations.length === 1 ? `${violations[0]}` : `[${violations.join(', ')}]`;
    return withCondition(definition, { type, status: 'True', reason: 'Violations', message }, now);
  }
  return isConditionTrue(definition.status?.conditions, type) ? withoutCondition(definition, type) : definition;
}
