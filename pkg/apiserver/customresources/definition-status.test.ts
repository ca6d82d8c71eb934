import t from 'tap';
import type { CustomResourceDefinition, CustomResourceDefinitionNames } from '#api/apiextensions/v1/types.gen.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import { planStatus } from '#apiserver/customresources/definition-status.js';
import type { Addition } from '#apiserver/customresources/exceeded-bounds.js';

const now = '2026-01-01T00:00:00Z';

function definition(given: CustomResourceDefinitionNames, group = 'example.com'): Draft<CustomResourceDefinition> {
  const names = copyJson(given);
  return {
    metadata: { name: `${names.plural}.${group}` },
    spec: { group, names, scope: 'Cluster', versions: [{ name: 'v1', served: true, storage: true }] },
  };
}

const settled = (one: CustomResourceDefinition, ...others: CustomResourceDefinition[]) =>
  planStatus({
    definition: one,
    group: [one, ...others].map(({ metadata, status }) => ({
      name: metadata.name ?? '',
      acceptedNames: status?.acceptedNames,
    })),
    dialect,
    now,
  });
const conditions = ({ status }: CustomResourceDefinition) =>
  (status?.conditions ?? []).map(({ type, status: is, reason, message }) => [type, is, reason, message]);

const accepted = ['NamesAccepted', 'True', 'NoConflicts', 'no conflicts found'];
const established = ['Established', 'True', 'InitialNamesAccepted', 'the initial names have been accepted'];
const names = { plural: 'foos', singular: 'foo', shortNames: ['f'], kind: 'Foo', listKind: 'FooList' };

t.test('unused names are accepted', (t) => {
  const first = settled(definition(names));
  t.same(conditions(first), [accepted, established]);
  t.same(first.status?.acceptedNames, names);
  t.equal(settled(first), first, 'nothing more to write');
  t.end();
});

t.test('names of other definitions are refused', (t) => {
  const first = settled(definition(names));
  const other = { plural: 'bars', singular: 'bar', kind: 'Bar', listKind: 'BarList' };
  const rows: [change: Partial<CustomResourceDefinitionNames>, reason: string, message: string][] = [
    [{ singular: 'foos' }, 'SingularConflict', '"foos" is already in use'],
    [{ shortNames: ['f'] }, 'ShortNamesConflict', '"f" is already in use'],
    [{ shortNames: ['f', 'x', 'foo'] }, 'ShortNamesConflict', '["f" is already in use, "foo" is already in use]'],
    [{ kind: 'FooList' }, 'KindConflict', '"FooList" is already in use'],
    [{ listKind: 'Foo' }, 'ListKindConflict', '"Foo" is already in use'],
  ];
  for (const [change, reason, message] of rows) {
    const late = settled(definition({ ...other, ...change }), first);
    t.same(conditions(late), [
      ['NamesAccepted', 'False', reason, message],
      ['Established', 'False', 'NotAccepted', 'not all names are accepted'],
    ]);
    t.same(conditions(settled(late)), [accepted, established], 'once they are free');
  }
  const inUse = settled(definition({ ...other, plural: 'foos' }, 'example.com'), {
    ...first,
    metadata: { name: 'another.example.com' },
  });
  t.match(conditions(inUse)[0], ['NamesAccepted', 'False', 'PluralConflict']);
  t.equal(inUse.status?.acceptedNames?.plural, '', 'unused names are accepted nevertheless');
  t.equal(inUse.status?.acceptedNames?.kind, 'Bar');
  t.end();
});

t.test('an established definition stays established', (t) => {
  const first = settled(definition(names));
  const second = settled(definition({ plural: 'bars', singular: 'bar', kind: 'Bar', listKind: 'BarList' }), first);
  const renamed = { ...second, spec: { ...second.spec, names: { ...second.spec.names, shortNames: ['f'] } } };
  const late = settled(renamed, first);
  t.same(conditions(late), [['NamesAccepted', 'False', 'ShortNamesConflict', '"f" is already in use'], established]);
  t.same(late.status?.acceptedNames, second.status?.acceptedNames);
  t.end();
});

t.test('groups of the product need approval', (t) => {
  const key = `api-approved.${dialect.labelDomain}`;
  const rows: [value: string | undefined, status: string, reason: string, message: string][] = [
    [undefined, 'False', 'MissingAnnotation', `protected groups must have approval annotation "${key}"`],
    ['unapproved, experimental', 'False', 'UnapprovedAnnotation', 'not approved: "unapproved, experimental"'],
    ['https://example.com/1', 'True', 'ApprovedAnnotation', 'approved in https://example.com/1'],
    [
      'x',
      'False',
      'InvalidAnnotation',
      `protected groups must have approval annotation "${key}" with either a URL or a reason starting with "unapproved"`,
    ],
  ];
  for (const [value, status, reason, message] of rows) {
    const one = definition(names, `x.${dialect.apiDomain}`);
    if (value !== undefined) one.metadata.annotations = { [key]: value };
    t.same(conditions(settled(one))[2], ['KubernetesAPIApprovalPolicyConformant', status, reason, message]);
  }
  t.end();
});

t.test('definitions of former versions may have schemas that are not structural', (t) => {
  const one = definition(names);
  one.spec.preserveUnknownFields = true;
  const message = 'spec.preserveUnknownFields: Invalid value: true: must be false';
  const violating = settled(one);
  t.same(conditions(violating)[2], ['NonStructuralSchema', 'True', 'Violations', message]);
  const mended = { ...violating, spec: { ...violating.spec, preserveUnknownFields: false } };
  t.same(conditions(settled(mended)), [accepted, established]);
  t.end();
});

t.test('a definition that adds too much to objects gets a condition until its next generation', (t) => {
  const one = definition(names);
  one.metadata.generation = 3;
  const plan = (changed: CustomResourceDefinition, generation?: number, addition: Addition = 'defaults') =>
    planStatus({
      definition: changed,
      group: [],
      dialect,
      now,
      excess:
        generation === undefined ? undefined : { definition: 'foos.example.com', generation, version: 'v1', addition },
    });
  const message = 'generation 3, version "v1": its defaults add more than 1572864 bytes to an object';
  const reported = plan(one, 3);
  t.same(conditions(reported).at(-1), ['BoundsExceeded', 'True', 'DefaultsTooLarge', message]);
  t.equal(plan(reported, 3, 'columns'), reported, 'reported once per generation');
  t.equal(plan(reported), reported, 'a server that knows of no excess keeps the condition');
  t.same(conditions(plan(one, 2)), [accepted, established], 'an excess of another generation counts no more');
  const next = { ...reported, metadata: { ...reported.metadata, generation: 4 } };
  t.same(conditions(plan(next)), [accepted, established], 'the next generation begins without it');
  t.match(conditions(plan(next, 4, 'schema')).at(-1), [
    'BoundsExceeded',
    'True',
    'SchemaTooExpensive',
    /^generation 4, /,
  ]);
  t.end();
});
