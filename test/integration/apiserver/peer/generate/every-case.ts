/** All cases, in files by resource. */
import { schemeFor } from '#api/scheme.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { ResourceInfo, Scheme } from '#apimachinery/schema/scheme.js';
import type { Case, CaseSet, Step } from '#test/integration/apiserver/peer/case.js';
import { definitionSets } from '#test/integration/apiserver/peer/generate/definition-cases.js';
import { FieldCases } from '#test/integration/apiserver/peer/generate/field-cases.js';
import { fractionOf } from '#test/integration/apiserver/peer/generate/hash.js';
import { jsonType, KindUnderTest } from '#test/integration/apiserver/peer/generate/kind.js';
import { acceptCases, listCases } from '#test/integration/apiserver/peer/generate/list-cases.js';
import { managerCases } from '#test/integration/apiserver/peer/generate/manager-cases.js';
import { printedCases, printedWatchCase } from '#test/integration/apiserver/peer/generate/printed-cases.js';
import { protobufCases } from '#test/integration/apiserver/peer/generate/protobuf-cases.js';
import { subresourceCases } from '#test/integration/apiserver/peer/generate/subresource-cases.js';
import { declaredUnions } from '#test/integration/apiserver/peer/generate/unions.js';
import { verbCases } from '#test/integration/apiserver/peer/generate/verb-cases.js';
import { everySample } from '#test/integration/apiserver/peer/samples/every-sample.js';

/** Cases common to all kinds run in full for these, and for others in this share. */
const exemplary: ReadonlySet<string> = new Set([
  'core.v1.configmaps',
  'core.v1.pods',
  'core.v1.namespaces',
  'apps.v1.deployments',
  'rbac.v1.clusterroles',
]);
const shareOfGeneric = 0.25;

/** The same cases in the same order for both dialects, with their own names; optionally only for some files. */
export function* everyCaseSet(dialect: Dialect, isIncluded = (_file: string): boolean => true): Generator<CaseSet> {
  const scheme = schemeFor(dialect);
  const unions = declaredUnions();
  const fields = new FieldCases(unions);
  for (const sample of everySample) {
    const info = resourceOf(scheme, sample.file);
    const kind = new KindUnderTest(info, sample, dialect);
    const ofFields = fields.of(kind, isIncluded(kind.file));
    const printed = new KindUnderTest(info, sample, dialect, 'printed.');
    if (isIncluded(printed.file)) {
      yield { file: printed.file, steps: namespaceSteps(printed), cases: printedCases(printed) };
    }
    if (!isIncluded(kind.file)) continue;
    const generic = [...verbCases(kind), ...listCases(kind), ...acceptCases(kind)];
    const cases: Case[] = [
      ...ofFields,
      ...(exemplary.has(kind.file)
        ? generic
        : generic.filter(({ file, id }) => fractionOf(`${file} ${id}`) < shareOfGeneric)),
      ...protobufCases(kind),
      ...managerCases(kind, unions),
      ...subresourceCases(kind),
    ];
    yield { file: kind.file, steps: namespaceSteps(kind), cases };
  }
  if (isIncluded(watchesFile)) yield watchSet(scheme, dialect);
  for (const set of definitionSets(dialect)) if (isIncluded(set.file)) yield set;
}

const watchesFile = 'printed.watches';

/** Kinds whose objects are independent of others, so that all are watched at once. */
function watchSet(scheme: Scheme, dialect: Dialect): CaseSet {
  const kinds = everySample
    .filter(({ serial, sharedWithServer }) => serial !== true && sharedWithServer !== true)
    .map((sample) => new KindUnderTest(resourceOf(scheme, sample.file), sample, dialect, 'watched.'))
    .filter(({ info }) => info.declaration.verbs.includes('watch'));
  return {
    file: watchesFile,
    steps: kinds.flatMap(namespaceSteps),
    cases: kinds.map((kind) => printedWatchCase(kind, watchesFile)),
  };
}

/** Cases of one file, such as `apps.v1.deployments`. */
function resourceOf(scheme: Scheme, file: string): ResourceInfo {
  const [group = '', version = '', resource = ''] = file.split('.');
  const info = scheme.resources.find(
    ({ declaration }) =>
      declaration.group === group && declaration.version === version && declaration.resource === resource,
  );
  if (info === undefined) throw new RangeError(`no such resource: ${file}`);
  return info;
}

function namespaceSteps({ namespace: name }: KindUnderTest): Step[] {
  if (name === undefined) return [];
  const body = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  return [{ method: 'POST', path: '/api/v1/namespaces', contentType: jsonType, body }];
}
